package rss

import (
	"context"
	"fmt"
)

// Reshare makes shares modulo 2^bits of x, the sum of the three parties' terms modulo 2^bits, such as products. Each
// party adds to its term a pad that it shares with one of the others, takes off the pad that it shares with the other
// one, and sends the result to one of them: the three results add up to x, and are the components. Who receives one
// lacks one of its two pads.
//
// A value takes 3 bits/8 bytes, one message of each party. All are sent at once.
func (p *Party) Reshare(ctx context.Context, kind string, bits int, term []uint64, n int) (Share, error) {
	if p.role != Outside && len(term) != n {
		return Share{}, fmt.Errorf("%s: %d terms to share, want %d", kind, len(term), n)
	}
	step := p.Begin(fmt.Sprintf("reshare|%q|%d|%d", kind, bits, n))
	var pads [Roles][]uint64 // by the party that lacks it
	for j := range Role(Roles) {
		var err error
		if pads[j], err = step.Words(j, useReshare, bits, n); err != nil {
			return Share{}, err
		}
	}
	var c [Roles][]uint64
	var ends [Roles]func(context.Context) error
	for from := range Role(Roles) {
		to, other := (from+1)%Roles, (from+2)%Roles // both hold component other: the sender, and who receives it
		switch p.role {
		case from:
			c[other] = make([]uint64, n)
			for i := range c[other] {
				c[other][i] = term[i] + pads[other][i] - pads[to][i]
			}
		case to:
			c[other] = make([]uint64, n)
		}
		var err error
		if ends[from], err = p.BeginPass(ctx, kind, from, to, bits, n, c[other]); err != nil {
			return Share{}, err
		}
	}
	for _, end := range ends {
		if err := end(ctx); err != nil {
			return Share{}, err
		}
	}
	return Components(p.role, c), nil
}
