package rss

import (
	"context"
	"fmt"
)

// Shift says by how many bits the next Count values of a truncation are shifted.
type Shift struct{ Count, Bits int }

// The suffixes of the kinds of a truncation's messages.
const (
	SuffixIn    = " in"    // from the first two to the last, modulo 2^bits
	SuffixCarry = " carry" // between the first two, modulo 2^64
	SuffixOut   = " out"   // from the last to the second: two words a value, modulo 2^64
)

// partWords is how many values of a truncation are under way at once: the messages of one part pass while those of the
// next are made.
const partWords = 1 << 16

// Truncate makes shares modulo 2^64 of floor(x / 2^f), or of one more, with mean x / 2^f, where x is the sum
// of the three parties' terms modulo 2^bits and -2^(bits-2) <= x < 2^(bits-2). shifts give f for runs of
// values, 1 <= f <= bits-2. It cannot fail in that range: x + 2^(bits-2) + rho passes 2^bits if and only
// if rho's highest bit is set and that of the opened sum is not, and each of the two bits is known
// to somebody. The sum opens to the last party of the order under rho, a pad that it lacks.
//
// A value takes 2 bits/8 + 32 bytes. The last party has its share after one message, the second after
// two, the first after three; of many values each of partWords by themselves.
func (p *Party) Truncate(
	ctx context.Context, kind string, bits int, term []uint64, order Order, shifts ...Shift,
) (Share, error) {
	about := fmt.Sprintf("truncate|%q|%d|%d|%v", kind, bits, order, shifts)
	t := &truncation{Party: p, step: p.Begin(about), kind: kind, bits: bits, order: order, shifts: shifts, term: term}
	if err := t.check(); err != nil {
		return Share{}, err
	}
	if err := t.draw(); err != nil {
		return Share{}, err
	}
	var parts []*part
	for lo := 0; lo < max(t.n, 1); lo += partWords {
		parts = append(parts, &part{lo: lo, hi: min(lo+partWords, t.n)})
	}
	stages := []func(context.Context, *part) error{t.open, t.conclude, t.answer, t.end}
	for i := range len(parts) + len(stages) - 1 {
		for behind, stage := range stages {
			if at := i - behind; at >= 0 && at < len(parts) {
				if err := stage(ctx, parts[at]); err != nil {
					return Share{}, err
				}
			}
		}
	}
	return t.result(), nil
}

// truncation is a Truncate under way.
type truncation struct {
	*Party
	step   Step
	kind   string
	bits   int
	order  Order
	shifts []Shift
	n      int
	term   []uint64

	rho, v     []uint64 // of the first two
	t1, m1, n1 []uint64 // of the first and the last
	m0         []uint64 // of the second and the last

	one, two []uint64 // what the first two tell each other
	out      []uint64 // of each part the last's bits less t1, then its part of the result
}

// part is some values of a truncation.
type part struct {
	lo, hi int
	in     [2][]uint64 // terms under pads
	came   [2]func(context.Context) error
	carry  func(context.Context) error
	out    func(context.Context) error
	answer func(context.Context) error
}

// of returns a part of a vector that not everybody has, each of whose values has so many words.
func (p *part) of(w []uint64, each int) []uint64 {
	if w == nil {
		return nil
	}
	return w[each*p.lo : each*p.hi]
}

// check refuses terms and shifts that do not go together.
func (t *truncation) check() error {
	for _, s := range t.shifts {
		if s.Count < 0 || s.Bits < 1 || s.Bits > t.bits-2 {
			return fmt.Errorf("%s: %d values shifted by %d bits, want 1 to %d", t.kind, s.Count, s.Bits, t.bits-2)
		}
		t.n += s.Count
	}
	if t.role != Outside && len(t.term) != t.n {
		return fmt.Errorf("%s: %d terms, want %d", t.kind, len(t.term), t.n)
	}
	return nil
}

// draw draws this party's pads.
func (t *truncation) draw() error {
	for _, d := range []struct {
		to      *[]uint64
		unknown Role
		use     Use
		bits    int
	}{
		{&t.rho, t.order[2], useRho, t.bits}, {&t.v, t.order[2], useV, t.bits},
		{&t.t1, t.order[1], useT, 64}, {&t.m1, t.order[1], useM, 64}, {&t.n1, t.order[1], useN, 64},
		{&t.m0, t.order[0], useM0, 64},
	} {
		var err error
		if *d.to, err = t.step.Words(d.unknown, d.use, d.bits, t.n); err != nil {
			return fmt.Errorf("%s: %w", t.kind, err)
		}
	}
	if t.role != Outside {
		t.one, t.two, t.out = make([]uint64, t.n), make([]uint64, t.n), make([]uint64, 2*t.n)
	}
	return nil
}

// open opens the sum of the terms and rho to the last party, and tells the second what it lacks of the product of the
// two bits that say whether the sum has passed 2^bits.
func (t *truncation) open(ctx context.Context, p *part) error {
	first, second, last := t.order[0], t.order[1], t.order[2]
	for k, from := range t.order[:2] {
		if t.role != from && t.role != last {
			continue
		}
		p.in[k] = make([]uint64, p.hi-p.lo)
		for i := range p.in[k] {
			switch at := p.lo + i; t.role {
			case first:
				p.in[k][i] = t.term[at] + t.v[at]
			case second:
				p.in[k][i] = t.term[at] + t.rho[at] - t.v[at]
			}
		}
	}
	var err error
	for k, from := range t.order[:2] {
		if p.came[k], err = t.BeginPass(ctx, t.kind+SuffixIn, from, last, t.bits, p.hi-p.lo, p.in[k]); err != nil {
			return err
		}
	}
	if t.role == first {
		t.lift(p, t.one, t.m1, p.of(t.t1, 1))
	}
	p.carry, err = t.BeginPass(ctx, t.kind+SuffixCarry, first, second, 64, p.hi-p.lo, p.of(t.one, 1))
	return err
}

// conclude has the last party tell the second its bit, and its part of the result.
func (t *truncation) conclude(ctx context.Context, p *part) (err error) {
	second, last := t.order[1], t.order[2]
	for _, end := range p.came {
		if err := end(ctx); err != nil {
			return err
		}
	}
	out := p.of(t.out, 2)
	if t.role == last {
		bit, d := out[:p.hi-p.lo], out[p.hi-p.lo:]
		opened := p.in[0] // x + 2^(bits-2) + rho
		for i := range opened {
			opened[i] += t.term[p.lo+i] + p.in[1][i] + 1<<(t.bits-2)
		}
		reduce(opened, t.bits)
		t.each(p, func(i, f int) {
			at := i - p.lo
			bit[at] = 1 - opened[at]>>(t.bits-1) - t.t1[i]
			d[at] = opened[at]>>f - 1<<(t.bits-2-f) - t.n1[i] + t.m1[i]
		})
	}
	p.in = [2][]uint64{}
	p.out, err = t.BeginPass(ctx, t.kind+SuffixOut, last, second, 64, 2*(p.hi-p.lo), out)
	return err
}

// answer has the second party tell the first its share of the product of the two bits.
func (t *truncation) answer(ctx context.Context, p *part) (err error) {
	first, second := t.order[0], t.order[1]
	if err := p.out(ctx); err != nil {
		return err
	}
	if t.role == second {
		t.lift(p, t.two, t.m0, p.of(t.out, 2))
	}
	p.answer, err = t.BeginPass(ctx, t.kind+SuffixCarry, second, first, 64, p.hi-p.lo, p.of(t.two, 1))
	return err
}

// end waits for what a part's messages bring.
func (t *truncation) end(ctx context.Context, p *part) error {
	if err := p.carry(ctx); err != nil {
		return err
	}
	if err := p.answer(ctx); err != nil || t.role == Outside {
		return err
	}
	copy(p.of(t.out, 1), p.of(t.out, 2)[p.hi-p.lo:]) // the results of all parts, one behind the other
	return nil
}

// lift writes a part of 2^(bits-f) times rho's highest bit times a share of the other bit, less a pad.
func (t *truncation) lift(p *part, dst, pad, bit []uint64) {
	t.each(p, func(i, f int) {
		dst[i] = t.rho[i]>>(t.bits-1)<<(t.bits-f)*bit[i-p.lo] - pad[i]
	})
}

// result puts the components together.
func (t *truncation) result() Share {
	if t.role == Outside {
		return Share{}
	}
	d := t.out[:t.n]
	var c [Roles][]uint64
	c[t.order[1]] = t.n1
	if t.role != t.order[0] {
		for i := range d {
			d[i] += t.m0[i]
		}
		c[t.order[0]] = d
	}
	if t.role != t.order[2] {
		t.each(&part{hi: t.n}, func(i, f int) { t.one[i] += t.two[i] - t.rho[i]>>f })
		c[t.order[2]] = t.one
	}
	return Components(t.role, c)
}

// each calls f for every value of a part with its shift.
func (t *truncation) each(p *part, f func(i, shift int)) {
	end := 0
	for i, s := p.lo, 0; i < p.hi; s++ {
		for end += t.shifts[s].Count; i < min(end, p.hi); i++ {
			f(i, t.shifts[s].Bits)
		}
	}
}
