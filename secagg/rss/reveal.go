package rss

import (
	"context"
	"crypto/subtle"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// SuffixVouched ends the kind of the digest that stands beside shown words.
const SuffixVouched = " vouched"

// domainVouched separates the digests of shown words from all other hashes.
const domainVouched = "hanse vouched words v1"

// Reveal opens a shared vector of n words to all three, modulo 2^bits and no bit more, and returns it there as numbers
// of two's complement, nil outside. Each party lacks one component: of its two holders one shows the words, reduced,
// and the other a digest of just these, so that a single party can not give another a wrong one. Words that their
// digest does not fit are a *DeviationError. names are the parties of the three roles.
func (p *Party) Reveal(ctx context.Context, kind string, bits, n int, v Share, names [Roles]string) ([]int64, error) {
	if p.role != Outside && v.Len() != n {
		return nil, fmt.Errorf("%s: %d words to show, want %d", kind, v.Len(), n)
	}
	var lacking []uint64
	for j := range Role(Roles) {
		words, err := p.show(ctx, kind, bits, n, j, v, names)
		if err != nil {
			return nil, err
		}
		if p.role == j {
			lacking = words
		}
	}
	if p.role == Outside {
		return nil, nil
	}
	e, out := contract.Packed(bits), make([]int64, n)
	for i := range out {
		out[i] = e.Signed(v.X[i] + v.Y[i] + lacking[i])
	}
	return out, nil
}

// show brings the component that a party lacks to it; there it returns the words.
func (p *Party) show(
	ctx context.Context, kind string, bits, n int, to Role, v Share, names [Roles]string,
) ([]uint64, error) {
	shows, vouches := (to+1)%Roles, (to+2)%Roles // component to is Y at the one and X at the other
	var words []uint64
	var digest keys.Hash
	switch p.role {
	case shows:
		words = append(words, v.Y...)
	case vouches:
		words = append(words, v.X...)
	case to:
		words = make([]uint64, n)
	}
	reduce(words, bits)
	if p.role == vouches {
		digest = vouched(kind, bits, words)
	}
	if err := p.wire.Show(ctx, kind, shows, to, bits, n, words); err != nil {
		return nil, err
	}
	if err := p.wire.Vouch(ctx, kind+SuffixVouched, vouches, to, &digest); err != nil {
		return nil, err
	}
	if p.role != to {
		return nil, nil
	}
	if own := vouched(kind, bits, words); subtle.ConstantTimeCompare(own[:], digest[:]) != 1 {
		return nil, &DeviationError{
			Parties: []string{names[shows], names[vouches]}, Kind: kind,
			Reason: "they hold the same words and do not show the same: one of the two is wrong",
		}
	}
	return words, nil
}

// vouched is the digest of words of so many bits.
func vouched(kind string, bits int, words []uint64) keys.Hash {
	e := contract.Packed(bits)
	packed := make([]byte, e.Size(len(words)))
	e.Pack(packed, words)
	return keys.HashOf(domainVouched, []byte(kind), []byte{byte(bits)}, packed)
}
