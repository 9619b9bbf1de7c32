package testnet

import (
	"encoding/binary"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// Where a session frame's header has the length of its kind, the size of the whole vector, and the kind itself; see
// protocol/frame.go.
const (
	kindLengthAt = 2
	sizeAt       = 24
	kindAt       = 68
)

// Kind returns the kind of a session's frame, nothing for any other.
func (f *Frame) Kind() string {
	if len(f.Data) < kindAt || len(f.Data) < f.payloadAt() {
		return ""
	}
	return string(f.Data[kindAt:f.payloadAt()])
}

// Payload returns the payload of a session's frame that has a kind.
func (f *Frame) Payload() []byte { return f.Data[f.payloadAt():] }

// payloadAt is where the payload begins.
func (f *Frame) payloadAt() int { return kindAt + int(f.Data[kindLengthAt]) }

// Forger is a party that passes on other values than it received: it changes what it sends of one kind.
type Forger struct {
	Party  keys.ID
	Kind   string
	Change func(payload []byte) []byte // owns the payload
}

// Deviate is a hook for OnFrame.
func (g Forger) Deviate(f Frame) []Frame {
	if f.From == g.Party && f.Kind() == g.Kind {
		f = changed(f, g.Change)
	}
	return []Frame{f}
}

// Equivocator is the root of a broadcast that tells one party something else than all others.
type Equivocator struct {
	Root, Victim keys.ID
	Kind         string
	Change       func(payload []byte) []byte // owns the payload
}

// Deviate is a hook for OnFrame.
func (e Equivocator) Deviate(f Frame) []Frame {
	if f.From == e.Root && f.To == e.Victim && f.Kind() == e.Kind {
		f = changed(f, e.Change)
	}
	return []Frame{f}
}

// changed returns a frame of one chunk with another payload.
func changed(f Frame, change func([]byte) []byte) Frame {
	payload := change(slices.Clone(f.Payload()))
	f.Data = append(slices.Clone(f.Data[:f.payloadAt()]), payload...)
	binary.BigEndian.PutUint64(f.Data[sizeAt:], uint64(len(payload)))
	return f
}
