package peer

import (
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/crypto/pb"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"github.com/hanse-project/hanse/keys"
)

// errKeyType refuses libp2p identities that no member can have: members have Ed25519 keys.
var errKeyType = errors.New("the key is not an Ed25519 key")

// peerID returns the libp2p name of a member: the identity multihash of its public key.
func peerID(id keys.ID) (libpeer.ID, error) {
	public, err := crypto.UnmarshalEd25519PublicKey(id[:])
	if err != nil {
		return "", fmt.Errorf("%s is no public key: %w", id.Short(), err)
	}
	return libpeer.IDFromPublicKey(public)
}

// memberID undoes peerID. An identity with another kind of key is an error.
func memberID(p libpeer.ID) (keys.ID, error) {
	public, err := p.ExtractPublicKey()
	if err != nil {
		return keys.ID{}, errKeyType
	}
	raw, err := public.Raw()
	if err != nil || public.Type() != pb.KeyType_Ed25519 || len(raw) != keys.IDSize {
		return keys.ID{}, errKeyType
	}
	return keys.ID(raw), nil
}

// secretKey hands the member's key to libp2p for its TLS handshakes.
func secretKey(k *keys.PrivateKey) (crypto.PrivKey, error) {
	return crypto.UnmarshalEd25519PrivateKey(k.Ed25519())
}
