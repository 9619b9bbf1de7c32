package testnet_test

import (
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/conformance"
	"github.com/hanse-project/hanse/protocol"
)

// TestConformance holds the network in memory to what every transport does.
func TestConformance(t *testing.T) {
	conformance.Conformance(t, func(t *testing.T, n int) []protocol.Transport {
		net, ids := network(t, n)
		transports := make([]protocol.Transport, n)
		for i, id := range ids {
			transports[i] = net.Transport(id)
		}
		return transports
	})
}
