package peer

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// TestIdentities translates ids to libp2p and back, and refuses keys of another kind.
func TestIdentities(t *testing.T) {
	id := newKeys(t, 1)[0].ID()
	p, err := peerID(id)
	mustDo(t, err)
	if back, err := memberID(p); err != nil || back != id {
		t.Errorf("%s came back as %s, %v", id, back, err)
	}
	for name, generate := range map[string]func() (crypto.PrivKey, crypto.PubKey, error){
		"RSA":       func() (crypto.PrivKey, crypto.PubKey, error) { return crypto.GenerateRSAKeyPair(2048, rand.Reader) },
		"secp256k1": func() (crypto.PrivKey, crypto.PubKey, error) { return crypto.GenerateSecp256k1Key(rand.Reader) },
	} {
		_, public, err := generate()
		mustDo(t, err)
		other, err := libpeer.IDFromPublicKey(public)
		mustDo(t, err)
		if _, err := memberID(other); !errors.Is(err, errKeyType) {
			t.Errorf("%s: error %v, want %v", name, err, errKeyType)
		}
	}
}

// TestLimits sizes hosts for charters of all sizes: windows fit into the memory that backs them.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(1, keys.MaxMembers).Draw(t, "members")
		window := firstWindow(members)
		if window < windowLeast || window > windowFirst || window > windowMost {
			t.Fatalf("a first window of %d bytes", window)
		}
		if members <= 63 && window < protocol.MaxFrame+4 {
			t.Errorf("with %d members a frame does not fit into %d bytes", members, window)
		}
		if all := memoryFor(members); all < int64(members)*windowShare*int64(window)/2 || all < memoryLeast {
			t.Errorf("%d members share %d bytes in windows of %d", members, all, window)
		}
		limits, err := newLimits(members, rapid.IntRange(0, keys.MaxMembers).Draw(t, "workers"))
		mustDo(t, err)
		if err := limits.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStrangersHaveNoPlacesOfWorkers counts how many connections there may be of which nobody knows the key, at a node
// without workers and at one with as many as a node may have.
func TestStrangersHaveNoPlacesOfWorkers(t *testing.T) {
	const members = 3
	for _, workers := range []int{0, keys.MaxMembers} {
		limits, err := newLimits(members, workers)
		mustDo(t, err)
		in := 0
		for {
			scope, err := limits.OpenConnection(network.DirInbound, true, multiaddr.StringCast("/ip4/127.0.0.1/tcp/1"))
			if err != nil {
				break
			}
			defer scope.Done()
			in++
		}
		if want := placesAtDoor(members) + acceptedAtOnce; in != want {
			t.Errorf("with %d workers %d strangers have places, want %d", workers, in, want)
		}
		defer limits.Close()
	}
}
