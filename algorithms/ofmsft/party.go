package ofmsft

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
)

// The kinds of what goes between a server and its clients.
const (
	KindRound   = "round"   // to the clients: a communication round begins, with the networks' hashes
	KindChoice  = "choice"  // the answer: which networks the client stores, and which of them it wants
	KindModel   = "model"   // to a client: one network that it wants
	KindTurn    = "turn"    // to a client: all it wants has come, and whether it fine-tunes
	KindStep    = "step"    // to a client: the steps of one network are added next
	KindUpdates = "updates" // the sum of steps
)

// ServerNetwork is what a server asks of the federation.
type ServerNetwork interface {
	federated.Inquirer
	Clients() int
	Present() []int
	Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error)
}

// ClientNetwork is what a client asks of it.
type ClientNetwork interface {
	federated.Respondent
	Sum(ctx context.Context, s federated.Sum, v []float64) (included bool, err error)
}

// StepSum says how the steps of network k, of up to so many clients, are added: Size reals of magnitude at
// most SumBound, as fine as fits.
func StepSum(p Params, k, clients int) federated.Sum {
	return federated.Finest(KindUpdates, p.Models[k].Size, p.SumBound(), clients)
}

// Sizes of messages, in bytes.
const (
	hashSize  = len(keys.Hash{})
	indexSize = 2
	alphaSize = 4
	// headSize bounds what a network's file has beside its parameters.
	headSize = 1 << 16
)

// fileSize returns the most bytes of a network's file.
func (m Model) fileSize() int { return 4*m.Size + headSize }

// choice is a client's answer.
type choice struct {
	stored, wanted []bool // [K]; wanted are part of stored
}

// choiceSize returns the length of a choice among so many networks, in bytes.
func choiceSize(models int) int { return 2 * ((models + 7) / 8) }

// newChoice returns a choice of nothing.
func newChoice(models int) *choice { return &choice{make([]bool, models), make([]bool, models)} }

// encode writes a choice: a bit for each stored network, and one for each wanted.
func (c *choice) encode() []byte {
	out := make([]byte, choiceSize(len(c.stored)))
	wanted := out[len(out)/2:]
	for k := range c.stored {
		if c.stored[k] {
			out[k/8] |= 1 << (k % 8)
		}
		if c.wanted[k] {
			wanted[k/8] |= 1 << (k % 8)
		}
	}
	return out
}

// decodeChoice reads what encode wrote: bits beyond the networks, and wanted networks that are not stored,
// are refused.
func decodeChoice(b []byte, models int) (*choice, error) {
	if len(b) != choiceSize(models) {
		return nil, fmt.Errorf("a choice of %d bytes, want %d", len(b), choiceSize(models))
	}
	c, half := newChoice(models), len(b)/2
	for i := range 8 * half {
		stored, wanted := b[i/8]>>(i%8)&1 == 1, b[half+i/8]>>(i%8)&1 == 1
		switch {
		case i >= models && (stored || wanted):
			return nil, fmt.Errorf("it chooses model %d of %d", i+1, models)
		case wanted && !stored:
			return nil, fmt.Errorf("it wants model %d, which it does not store", i+1)
		case i < models:
			c.stored[i], c.wanted[i] = stored, wanted
		}
	}
	return c, nil
}

// models lists the networks that are stored.
func (c *choice) models() []int { return chosen(c.stored) }

// chosen lists where a list is true.
func chosen(list []bool) []int {
	var at []int
	for k, is := range list {
		if is {
			at = append(at, k)
		}
	}
	return at
}

// indexed writes a network's number in front of a payload.
func indexed(k int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, indexSize+len(payload)), uint16(k)), payload...)
}

// indexIn reads a network's number and what follows it.
func indexIn(b []byte, models int) (k int, rest []byte, err error) {
	if len(b) < indexSize {
		return 0, nil, fmt.Errorf("%d bytes, want a model's number", len(b))
	}
	if k = int(binary.BigEndian.Uint16(b)); k >= models {
		return 0, nil, fmt.Errorf("model %d of %d", k+1, models)
	}
	return k, b[indexSize:], nil
}
