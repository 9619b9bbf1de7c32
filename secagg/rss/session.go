package rss

import (
	"context"
	"encoding/binary"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Join starts the arithmetic of a session among three of its parties. The pads come from the session's pair
// secrets, so that no two sessions have one in common; it is called once in a session.
func Join(s *protocol.Session, parties [Roles]int, workers int) (*Party, error) {
	w := NewWire(s, parties)
	role := Outside
	var with [Roles]Deriver
	for r, i := range parties {
		if i == s.Self() {
			role = Role(r)
		} else {
			with[r] = s.Pair(i)
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
}

// Pass implements Wire.
func (w *sessionWire) Pass(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	encoding := protocol.Fixed64
	if bits == 48 {
		encoding = protocol.Ring48
	}
	size := bits / 8
	return w.session.Pass(ctx, protocol.Direct{
		Kind: kind, Class: protocol.ClassMasked, Encoding: encoding, From: w.parties[from], To: w.parties[to], Size: n * size,
		Load: func(offset int, chunk []byte) error {
			pack(chunk, words[offset/size:], size)
			return nil
		},
		Store: func(offset int, chunk []byte) error {
			unpack(words[offset/size:], chunk, size)
			return nil
		},
	})
}

// Show implements Wire.
func (w *sessionWire) Show(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	encoding := protocol.Packed(bits)
	part := func(offset int, chunk []byte) []uint64 {
		first := int(encoding.Count(int64(offset)))
		return words[first : first+int(encoding.Count(int64(len(chunk))))]
	}
	return w.session.Pass(ctx, protocol.Direct{
		Kind: kind, Class: protocol.ClassOpening, Encoding: encoding, From: w.parties[from], To: w.parties[to], Size: encoding.Size(n),
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
		Kind: kind, Class: protocol.ClassControl, Encoding: protocol.Bytes, From: w.parties[from], To: w.parties[to], Size: len(digest),
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

// pack fills dst with words as little-endian numbers of size bytes, 6 or 8.
func pack(dst []byte, words []uint64, size int) {
	if size == 8 {
		for i := range len(dst) / 8 {
			binary.LittleEndian.PutUint64(dst[8*i:], words[i])
		}
		return
	}
	for i := range len(dst) / size {
		b := dst[size*i : size*i+size]
		binary.LittleEndian.PutUint32(b, uint32(words[i]))
		binary.LittleEndian.PutUint16(b[4:], uint16(words[i]>>32))
	}
}

// unpack reads what pack wrote.
func unpack(words []uint64, src []byte, size int) {
	if size == 8 {
		for i := range len(src) / 8 {
			words[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
		return
	}
	for i := range len(src) / size {
		b := src[size*i : size*i+size]
		words[i] = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
	}
}
