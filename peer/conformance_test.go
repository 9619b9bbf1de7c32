package peer

import (
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/conformance"
	"github.com/hanse-project/hanse/protocol"
)

// TestConformance holds the network over libp2p to what every transport does.
func TestConformance(t *testing.T) {
	conformance.Conformance(t, func(t *testing.T, n int) []protocol.Transport {
		hosts := federation(t, n)
		meetAll(t, hosts...)
		out := make([]protocol.Transport, n)
		for i, h := range hosts {
			out[i] = h
		}
		return out
	})
}
