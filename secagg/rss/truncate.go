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

// Truncate makes shares modulo 2^64 of floor(x / 2^f), or of one more, with mean x / 2^f, where x is the sum
// of the three parties' terms modulo 2^bits and -2^(bits-2) <= x < 2^(bits-2). shifts give f for runs of
// values, 1 <= f <= bits-2. It cannot fail in that range: x + 2^(bits-2) + rho passes 2^bits if and only
// if rho's highest bit is set and that of the opened sum is not, and each of the two bits is known
// to somebody. The sum opens to the last party of the order under rho, a pad that it lacks.
//
// A value takes 2 bits/8 + 32 bytes. The last party has its share after one message, the second after
// two, the first after three.
func (p *Party) Truncate(
	ctx context.Context, kind string, bits int, term []uint64, order Order, shifts ...Shift,
) (Share, error) {
	about := fmt.Sprintf("truncate|%q|%d|%d|%v", kind, bits, order, shifts)
	t := &truncation{Party: p, step: p.Begin(about), kind: kind, bits: bits, order: order, shifts: shifts}
	if err := t.check(term); err != nil {
		return Share{}, err
	}
	if err := t.draw(); err != nil {
		return Share{}, err
	}
	if err := t.gather(ctx, term); err != nil {
		return Share{}, err
	}
	return t.carry(ctx)
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

	rho, v     []uint64 // of the first two
	t1, m1, n1 []uint64 // of the first and the last
	m0         []uint64 // of the second and the last
	c          []uint64 // the last's: x + 2^(bits-2) + rho
}

// check refuses terms and shifts that do not go together.
func (t *truncation) check(term []uint64) error {
	for _, s := range t.shifts {
		if s.Count < 0 || s.Bits < 1 || s.Bits > t.bits-2 {
			return fmt.Errorf("%s: %d values shifted by %d bits, want 1 to %d", t.kind, s.Count, s.Bits, t.bits-2)
		}
		t.n += s.Count
	}
	if t.role != Outside && len(term) != t.n {
		return fmt.Errorf("%s: %d terms, want %d", t.kind, len(term), t.n)
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
	return nil
}

// space makes room for n words at the three.
func (t *truncation) space(n int) []uint64 {
	if t.role == Outside {
		return nil
	}
	return make([]uint64, n)
}

// gather opens the sum of the terms and rho to the last party.
func (t *truncation) gather(ctx context.Context, term []uint64) error {
	masked := t.space(t.n)
	for i := range masked {
		switch t.role {
		case t.order[0]:
			masked[i] = term[i] + t.v[i]
		case t.order[1]:
			masked[i] = term[i] + t.rho[i] - t.v[i]
		}
	}
	if t.role == t.order[2] {
		t.c = append([]uint64(nil), term...)
	}
	for _, from := range t.order[:2] {
		if err := t.Pass(ctx, t.kind+SuffixIn, from, t.order[2], t.bits, t.n, masked); err != nil {
			return err
		}
		for i := range t.c {
			t.c[i] += masked[i]
		}
	}
	for i := range t.c {
		t.c[i] += 1 << (t.bits - 2)
	}
	reduce(t.c, t.bits)
	return nil
}

// carry shares the product of the two bits that say whether the sum has passed 2^bits, and returns the
// shares of the result.
func (t *truncation) carry(ctx context.Context) (Share, error) {
	first, second, last := t.order[0], t.order[1], t.order[2]
	one := t.space(t.n)
	if t.role == first {
		t.lift(one, t.t1, t.m1)
	}
	if err := t.Pass(ctx, t.kind+SuffixCarry, first, second, 64, t.n, one); err != nil {
		return Share{}, err
	}
	out := t.space(2 * t.n) // the last's bit less t1, then its part of the result
	if t.role == last {
		t.conclude(out[:t.n], out[t.n:])
	}
	if err := t.Pass(ctx, t.kind+SuffixOut, last, second, 64, 2*t.n, out); err != nil {
		return Share{}, err
	}
	two := t.space(t.n)
	if t.role == second {
		t.lift(two, out[:t.n], t.m0)
	}
	if err := t.Pass(ctx, t.kind+SuffixCarry, second, first, 64, t.n, two); err != nil {
		return Share{}, err
	}
	if t.role == Outside {
		return Share{}, nil
	}
	return t.result(one, two, out[t.n:]), nil
}

// lift writes 2^(bits-f) times rho's highest bit times a share of the other bit, less a pad.
func (t *truncation) lift(dst, bit, pad []uint64) {
	t.each(func(i, f int) {
		dst[i] = t.rho[i]>>(t.bits-1)<<(t.bits-f)*bit[i] - pad[i]
	})
}

// conclude writes what the last party tells the second.
func (t *truncation) conclude(bit, d []uint64) {
	t.each(func(i, f int) {
		bit[i] = 1 - t.c[i]>>(t.bits-1) - t.t1[i]
		d[i] = t.c[i]>>f - 1<<(t.bits-2-f) - t.n1[i] + t.m1[i]
	})
}

// result puts the components together.
func (t *truncation) result(one, two, d []uint64) Share {
	var c [Roles][]uint64
	c[t.order[1]] = t.n1
	if t.role != t.order[0] {
		for i := range d {
			d[i] += t.m0[i]
		}
		c[t.order[0]] = d
	}
	if t.role != t.order[2] {
		t.each(func(i, f int) { one[i] += two[i] - t.rho[i]>>f })
		c[t.order[2]] = one
	}
	return Components(t.role, c)
}

// each calls f for every value with its shift.
func (t *truncation) each(f func(i, shift int)) {
	i := 0
	for _, s := range t.shifts {
		for range s.Count {
			f(i, s.Bits)
			i++
		}
	}
}
