package rss

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/keys"
)

// Wire carries messages between the three. Everybody in the session calls it alike and in the same order,
// also those whom a message does not concern.
type Wire interface {
	// BeginPass moves n words of bits bits, 16, 32, 48 or 64, from one role to another: the sender's words are what
	// goes, and have gone when it returns; the receiver's are overwritten, and there when end has returned. Everybody
	// else's may be nil.
	BeginPass(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) (
		end func(context.Context) error, err error)
	// Show is BeginPass and its end for words of other widths, that tell the receiver something; see contract.Packed.
	Show(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error
	// Vouch moves a digest from one role to another, like Show.
	Vouch(ctx context.Context, kind string, from, to Role, digest *keys.Hash) error
	// Keys has a party outside the three, by its index in the session, give them the keys of pads: of each component but
	// one to the two that hold it. It returns the pads, as this party has them; nil at the others outside.
	Keys(ctx context.Context, kind string, from int) (Source, error)
	// Give is like Show for words of 32, 48 or 64 bits from a party outside.
	Give(ctx context.Context, kind string, from int, to Role, bits, n int, words []uint64) error
}

// Party is one party's end of the arithmetic of a session. The three call the same steps in the same
// order. It is not safe for concurrent use.
type Party struct {
	role    Role
	wire    Wire
	source  Source
	step    uint64
	workers int

	combined   []uint64 // space of AddSquares
	combined32 []uint32 // and of AddSquares32
}

// New starts a session's arithmetic at a party. workers bounds the goroutines of local products. Outside
// the three source may be nil.
func New(r Role, w Wire, s Source, workers int) *Party {
	return &Party{role: r, wire: w, source: s, workers: max(workers, 1)}
}

// Role returns the party's role.
func (p *Party) Role() Role { return p.role }

// Begin begins a step, to which the pads drawn until the next one belong, and returns it. about says what it does: the
// three say the same.
func (p *Party) Begin(about string) Step {
	p.step++
	return Step{party: p, at: Place{Number: p.step, About: about}}
}

// Step is one numbered step of a session's arithmetic.
type Step struct {
	party *Party
	at    Place
}

// Pad returns the pad of this step and use that the named party lacks, nil at that party itself and outside.
func (s Step) Pad(unknown Role, use Use) (Pad, error) {
	if r := s.party.role; r == unknown || r == Outside {
		return nil, nil
	}
	return s.party.source.Pad(unknown, s.at, use)
}

// Words is Pad for n words at once, modulo 2^bits.
func (s Step) Words(unknown Role, use Use, bits, n int) ([]uint64, error) {
	pad, err := s.Pad(unknown, use)
	if err != nil || pad == nil {
		return nil, err
	}
	return drawn(pad, bits, n), nil
}

// drawn returns the first n numbers of a pad, modulo 2^bits.
func drawn(pad Pad, bits, n int) []uint64 {
	w := make([]uint64, n)
	if bits == 32 {
		Narrow(pad, w, 0)
		return w
	}
	pad.Words(w, 0)
	reduce(w, bits)
	return w
}

// Pass moves n words from one role to another. The sender's are reduced modulo 2^bits.
func (p *Party) Pass(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	end, err := p.BeginPass(ctx, kind, from, to, bits, n, words)
	if err != nil {
		return err
	}
	return end(ctx)
}

// BeginPass is Pass at all but the receiver, whose words are there when end has returned; see Wire.
func (p *Party) BeginPass(
	ctx context.Context, kind string, from, to Role, bits, n int, words []uint64,
) (end func(context.Context) error, err error) {
	if (p.role == from || p.role == to) && len(words) != n {
		return nil, fmt.Errorf("%s: %d words from the %s to the %s, want %d", kind, len(words), from, to, n)
	}
	if p.role == from {
		reduce(words, bits)
	}
	return p.wire.BeginPass(ctx, kind, from, to, bits, n, words)
}

// reduce reduces words modulo 2^bits.
func reduce(w []uint64, bits int) {
	if bits >= 64 {
		return
	}
	mask := uint64(1)<<bits - 1
	for i := range w {
		w[i] &= mask
	}
}
