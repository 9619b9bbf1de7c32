package rss

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/internal/raced"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/ring"
)

// Join starts the arithmetic of a session among three of its parties. The pads come from the session's pair
// secrets, so that no two sessions have one in common; it is called once in a session.
func Join(s *protocol.Session, parties [Roles]int, workers int) (*Party, error) {
	w := NewWire(s, parties)
	role := Outside
	var with [Roles]Derive
	for r, i := range parties {
		if i == s.Self() {
			role = Role(r)
		} else {
			with[r] = s.Pair(i).Derive
		}
	}
	if role == Outside {
		return New(Outside, w, nil, workers), nil
	}
	return New(role, w, NewPads(role, with, s.Shared), workers), nil
}

// NewWire returns the Wire of a session between the parties of the three roles.
func NewWire(s *protocol.Session, parties [Roles]int) Wire {
	return &sessionWire{session: s, parties: parties}
}

// sessionWire is the Wire of a session.
type sessionWire struct {
	session *protocol.Session
	parties [Roles]int
	keyed   map[int]bool // parties outside that have given keys
}

// BeginPass implements Wire.
func (w *sessionWire) BeginPass(
	ctx context.Context, kind string, from, to Role, bits, n int, words []uint64,
) (end func(context.Context) error, err error) {
	return w.session.BeginPass(ctx, ofWords(kind, w.parties[from], w.parties[to], bits, n, words))
}

// EncodingOf is the encoding of words of a ring of so many bits: 16, 32, 48 or 64.
func EncodingOf(bits int) contract.Encoding {
	switch bits {
	case 16:
		return contract.Turns16
	case 32:
		return contract.Ring32
	case 48:
		return contract.Ring48
	}
	return contract.Fixed64
}

// give carries masked words from one party to another.
func (w *sessionWire) give(ctx context.Context, kind string, from, to, bits, n int, words []uint64) error {
	return w.session.Pass(ctx, ofWords(kind, from, to, bits, n, words))
}

// ofWords is a message of masked words.
func ofWords(kind string, from, to, bits, n int, words []uint64) protocol.Direct {
	encoding, size := EncodingOf(bits), bits/8
	return protocol.Direct{
		Kind: kind, Class: contract.ClassMasked, Encoding: encoding, From: from, To: to, Size: n * size,
		Load: func(offset int, chunk []byte) error {
			Pack(chunk, words[offset/size:], size)
			return nil
		},
		Store: func(offset int, chunk []byte) error {
			Unpack(words[offset/size:], chunk, size)
			return nil
		},
	}
}

// Show implements Wire.
func (w *sessionWire) Show(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	encoding := contract.Packed(bits)
	part := func(offset int, chunk []byte) []uint64 {
		first := int(encoding.Count(int64(offset)))
		return words[first : first+int(encoding.Count(int64(len(chunk))))]
	}
	return w.session.Pass(ctx, protocol.Direct{
		Kind: kind, Class: contract.ClassOpening, Encoding: encoding, From: w.parties[from],
		To: w.parties[to], Size: encoding.Size(n),
		Load: func(offset int, chunk []byte) error {
			encoding.Pack(chunk, part(offset, chunk))
			return nil
		},
		Store: func(offset int, chunk []byte) error {
			encoding.Unpack(part(offset, chunk), chunk)
			return nil
		},
	})
}

// Vouch implements Wire.
func (w *sessionWire) Vouch(ctx context.Context, kind string, from, to Role, digest *keys.Hash) error {
	return w.session.Pass(ctx, protocol.Direct{
		Kind: kind, Class: contract.ClassControl, Encoding: contract.Bytes, From: w.parties[from],
		To: w.parties[to], Size: len(digest),
		Load: func(offset int, chunk []byte) error {
			copy(chunk, digest[offset:])
			return nil
		},
		Store: func(offset int, chunk []byte) error {
			copy(digest[offset:], chunk)
			return nil
		},
	})
}

// KeyWords is how many words of 64 bits a key of pads has, of a party outside the three.
const KeyWords = 4

// Keys implements Wire. A key travels under a pad of the two at the ends, besides the link's own encryption: who has
// the transcript of the one has no key.
func (w *sessionWire) Keys(ctx context.Context, kind string, from int) (Source, error) {
	if w.keyed == nil {
		w.keyed = make(map[int]bool)
	}
	if w.keyed[from] {
		return nil, fmt.Errorf("%s: party %d has given its keys in this session, and their pads are used once", kind, from)
	}
	w.keyed[from] = true
	var with [Roles]Derive
	has := false
	for _, unknown := range []Role{Keeper, Helper} {
		var key []byte
		if w.session.Self() == from {
			key = make([]byte, 8*KeyWords)
			rand.Read(key)
		}
		for to, i := range w.parties {
			if Role(to) == unknown {
				continue
			}
			words := make([]uint64, KeyWords)
			var pad []byte
			if self := w.session.Self(); self == from || self == i {
				peer := from + i - self
				var err error
				if pad, err = w.session.Pair(peer).Derive(fmt.Sprintf("share key|%q|%d|%d", kind, from, unknown),
					8*KeyWords); err != nil {
					return nil, err
				}
				if self == from {
					Unpack(words, xored(key, pad), 8)
				}
			}
			if err := w.give(ctx, kind, from, i, 64, len(words), words); err != nil {
				return nil, err
			}
			if w.session.Self() == i {
				key = make([]byte, 8*KeyWords)
				Pack(key, words, 8)
				key = xored(key, pad)
			}
		}
		if key != nil {
			has = true
			with[unknown] = func(label string, n int) ([]byte, error) {
				return hkdf.Expand(sha256.New, key, label, n)
			}
		}
	}
	if !has {
		return nil, nil
	}
	return KeyedPads(with, w.session.Shared), nil
}

// xored returns the exclusive or of two keys.
func xored(a, b []byte) []byte {
	out := make([]byte, len(a))
	subtle.XORBytes(out, a, b)
	return out
}

// Give implements Wire.
func (w *sessionWire) Give(ctx context.Context, kind string, from int, to Role, bits, n int, words []uint64) error {
	return w.give(ctx, kind, from, w.parties[to], bits, n, words)
}

// Pack fills dst with words as little-endian numbers of size bytes, 4, 6 or 8.
func Pack(dst []byte, words []uint64, size int) {
	words = ring.First(words, len(dst)/size)
	switch size {
	case 8:
		ring.PutBytes(dst, words)
	case 4:
		ring.PutShort(dst, words)
	case 2:
		for i, w := range words {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(w))
		}
	default:
		pack48(dst, words)
	}
}

// pack48 is Pack for 6 bytes.
//
//go:norace
func pack48(dst []byte, words []uint64) {
	raced.Write(dst)
	raced.Read(words)
	for ; len(words) > 1; dst, words = dst[6:], words[1:] { // the last two of eight bytes are the next word's
		binary.LittleEndian.PutUint64(dst, words[0])
	}
	for _, w := range words {
		binary.LittleEndian.PutUint32(dst, uint32(w))
		binary.LittleEndian.PutUint16(dst[4:], uint16(w>>32))
	}
}

// Unpack reads what Pack wrote.
func Unpack(words []uint64, src []byte, size int) {
	words = ring.First(words, len(src)/size)
	switch size {
	case 8:
		ring.GetBytes(words, src)
	case 4:
		ring.GetShort(words, src)
	case 2:
		for i := range words {
			words[i] = uint64(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		unpack48(words, src)
	}
}

// unpack48 is Unpack for 6 bytes.
//
//go:norace
func unpack48(words []uint64, src []byte) {
	raced.Write(words)
	raced.Read(src)
	for ; len(words) > 1; words, src = words[1:], src[6:] {
		words[0] = binary.LittleEndian.Uint64(src) & (1<<48 - 1)
	}
	for i := range words {
		words[i] = uint64(binary.LittleEndian.Uint32(src)) | uint64(binary.LittleEndian.Uint16(src[4:]))<<32
	}
}
