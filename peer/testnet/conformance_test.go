package testnet_test

import (
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/conformance"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// TestConformance holds the network in memory to what every transport does.
func TestConformance(t *testing.T) {
	conformance.Conformance(t, func(t *testing.T, n int) []protocol.Transport {
		f := testnet.Found(t, testnet.Numbered(n)...)
		transports := make([]protocol.Transport, n)
		for i, id := range f.IDs {
			transports[i] = f.Transport(id)
		}
		return transports
	})
}
