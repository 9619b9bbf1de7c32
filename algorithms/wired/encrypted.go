package wired

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/he"
)

// packings say how the sums of a job travel under homomorphic encryption.
type packings struct {
	scheme *he.Scheme
	turns  *he.Packing
	reals  *he.Packing
}

// newPackings returns the packings of sums of so many parties, who all hold the key.
func newPackings(parties int) (*packings, error) {
	p := new(packings)
	var err error
	if p.scheme, err = he.NewScheme(); err != nil {
		return nil, err
	}
	if p.turns, err = p.scheme.NewPacking(secagg.Turns16, parties, parties); err != nil {
		return nil, err
	}
	f := realSums()
	p.reals, err = p.scheme.NewSigned(uint64(math.Ldexp(f.Bound, f.Bits)), parties, parties)
	return p, err
}

// Encrypted lists what sums by homomorphic encryption send in place of masked ones, with the making of
// the key before them; other operations stay as they are.
func Encrypted(operations []contract.Operation, parties []string) ([]contract.Operation, error) {
	p, err := newPackings(len(parties))
	if err != nil {
		return nil, err
	}
	list := listed(he.KeyCost(), contract.Operation{Root: parties[0]})
	for i := range operations {
		o := &operations[i]
		if o.Class != contract.ClassMasked.String() {
			list = append(list, *o)
			continue
		}
		packing, words := p.turns, o.Bytes/int64(contract.Turns16.WordSize())
		switch o.Encoding {
		case contract.Turns16.String():
		case contract.Fixed64.String():
			packing, words = p.reals, o.Bytes/int64(contract.Fixed64.WordSize())
		default:
			return nil, fmt.Errorf("%s: there are no encrypted sums of %s", o.Kind, o.Encoding)
		}
		list = append(list, listed(costOf(packing, o.Kind, words, o.Count), *o)...)
	}
	return list, nil
}

// costOf bounds what so many sums of some sizes send that have so many words together. A word of each takes a
// ciphertext of its own, and the others fill ciphertexts.
func costOf(p *he.Packing, kind string, words, sums int64) []he.Line {
	if sums == 1 {
		return p.Cost(kind, int(words), 1)
	}
	full := max(words-sums, 0) / he.Degree * he.Degree
	cost := p.Cost(kind, int(full), 1)
	for i, one := range p.Cost(kind, 1, int(min(words, sums))) {
		cost[i].Count += one.Count
		cost[i].Bytes += one.Bytes
	}
	return cost
}

// listed turns a cost into operations with the stage and root of the sum that it is for. The first has its
// shape: what the sum is about.
func listed(cost []he.Line, sum contract.Operation) []contract.Operation {
	var list []contract.Operation
	for i, l := range cost {
		o := contract.Operation{
			Kind: l.Kind, Stage: sum.Stage, Collective: l.Collective, Root: sum.Root, Class: l.Class.String(),
			Encoding: l.Encoding.String(),
			Count:    l.Count, Bytes: l.Bytes,
		}
		if i == 0 {
			o.Shape = sum.Shape
		}
		list = append(list, o)
	}
	return list
}

// EncryptionText says for people how sums of so many parties are encrypted, and what that takes: a heading, and a
// sentence or two of each matter.
func EncryptionText(parties int) (heading string, matters []string, err error) {
	p, err := newPackings(parties)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("sums by homomorphic encryption (BGV, log N %d)", bits.Len(he.Degree)-1), []string{
		"key: made anew in every session and held by all parties together: nothing opens without each of them, and only at " +
			"the party that the sum is for",
		"security: " + p.scheme.Level(),
		fmt.Sprintf("flooding: the noise of a decryption share is 2^%.0f times what it hides of the key, or more",
			math.Floor(min(p.turns.Margin(), p.reals.Margin()))),
		fmt.Sprintf("traffic: an angle takes %d bytes as a ciphertext and %d as a share, a real number %d and %d; a mask "+
			"would take 2, and 8", perNumber(p.turns), perNumber(p.turns)/2, perNumber(p.reals), perNumber(p.reals)/2),
	}, nil
}

// perNumber is how many bytes one number of a full ciphertext takes.
func perNumber(p *he.Packing) int { return p.Residues() * he.CiphertextSize / he.Degree }
