package rss

import (
	"context"
	"fmt"
)

// Owner is who has the words that Share shares.
type Owner struct {
	Role  Role   // among the three, or Outside
	Party int    // outside: its index in the session
	Pads  Source // outside: what Keys of it has returned
}

// Input shares n words that the label holder has, and returns the party's share. The label holder's
// message to the keeper is under a pad; the helper gets none.
func (p *Party) Input(ctx context.Context, kind string, bits, n int, words []uint64) (Share, error) {
	return p.Share(ctx, kind, Owner{Role: LabelHolder}, bits, n, words)
}

// Share shares n words modulo 2^bits that their owner has, nil elsewhere, and returns the party's share.
//
// One of the three has two components of whatever is shared, and may know the third: that is zero, the next one is a
// pad which it shares with one of the others, and the words less the pad go to the other: one word each.
//
// A party outside knows no pad of the three's. It has given keys for components 1 and 2 to those who hold them. The
// words less both pads, which are component 0, go to the keeper, who lacks the first pad; the words less the second pad
// go to the helper, who lacks that one and takes off the first: two words each. The two messages differ by a pad, so
// that not even both together tell anything. The label holder hears nothing.
func (p *Party) Share(ctx context.Context, kind string, o Owner, bits, n int, words []uint64) (Share, error) {
	about := fmt.Sprintf("input|%q|%d|%d", kind, bits, n)
	if o.Role != LabelHolder {
		about += fmt.Sprintf("|%d|%d", o.Role, o.Party)
	}
	step := p.Begin(about)
	if o.Role == Outside {
		return p.shareOutside(ctx, step, kind, o, bits, n, words)
	}
	if p.role == o.Role && len(words) != n {
		return Share{}, fmt.Errorf("%s: %d words to share, want %d", kind, len(words), n)
	}
	to, other := (o.Role+1)%Roles, (o.Role+2)%Roles
	pad, err := step.Words(to, useInput, bits, n)
	if err != nil {
		return Share{}, err
	}
	var c [Roles][]uint64
	c[to] = pad
	if p.role != Outside {
		c[other] = make([]uint64, n)
	}
	if p.role == o.Role {
		for i := range c[other] {
			c[other][i] = words[i] - pad[i]
		}
	} else if p.role != Outside {
		c[o.Role] = make([]uint64, n)
	}
	if err := p.Pass(ctx, kind, o.Role, to, bits, n, c[other]); err != nil {
		return Share{}, err
	}
	return Components(p.role, c), nil
}

// shareOutside is Share of a party outside the three.
func (p *Party) shareOutside(
	ctx context.Context, step Step, kind string, o Owner, bits, n int, words []uint64,
) (Share, error) {
	if words != nil && (p.role != Outside || o.Pads == nil || len(words) != n) {
		return Share{}, fmt.Errorf("%s: %d words to share with pads %t, want %d, of a party outside", kind, len(words),
			o.Pads != nil, n)
	}
	var c [Roles][]uint64
	for _, j := range []Role{Keeper, Helper} { // components 1 and 2
		if o.Pads == nil || p.role == j {
			continue
		}
		pad, err := o.Pads.Pad(j, step.at, useInput)
		if err != nil {
			return Share{}, err
		}
		c[j] = drawn(pad, bits, n)
	}
	for _, to := range []Role{Keeper, Helper} {
		var message []uint64
		switch {
		case words != nil:
			message = make([]uint64, n)
			for i, w := range words {
				message[i] = w - c[2][i]
				if to == Keeper {
					message[i] -= c[1][i]
				}
			}
			reduce(message, bits)
		case p.role == to:
			message = make([]uint64, n)
		}
		if err := p.wire.Give(ctx, kind, o.Party, to, bits, n, message); err != nil {
			return Share{}, err
		}
		if p.role == to {
			c[0] = message
		}
	}
	if p.role == Helper {
		for i := range c[0] {
			c[0][i] -= c[1][i]
		}
	}
	return Components(p.role, c), nil
}

// Keys has a party outside the three give them the keys of the pads under which it shares its words; see Owner.
func (p *Party) Keys(ctx context.Context, kind string, from int) (Owner, error) {
	pads, err := p.wire.Keys(ctx, kind, from)
	return Owner{Role: Outside, Party: from, Pads: pads}, err
}
