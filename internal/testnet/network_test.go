package testnet_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// members returns n ids. The network does not care that nobody has their keys.
func members(n int) []keys.ID {
	ids := make([]keys.ID, n)
	for i := range ids {
		ids[i] = keys.ID(keys.HashOf("testnet test member", []byte{byte(i), byte(i >> 8)}))
	}
	return ids
}

// network makes n members that are up until the test ends.
func network(t testing.TB, n int) (*testnet.Network, []keys.ID) {
	ids := members(n)
	net := testnet.New(ids)
	t.Cleanup(net.Close)
	return net, ids
}
