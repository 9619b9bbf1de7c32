package audit

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// masks makes a party's masks of a sum, in 16-bit words. The last party's are left out: it takes what
// makes all cancel, so that totals are right whatever the masks are.
type masks func(operation uint64, party int, words []uint16)

// faultyNetwork is a session as FDSKL sees it, whose sums of angles have other masks than they should.
type faultyNetwork struct {
	*network
	session  *protocol.Session
	topology contract.Topology
	masks    masks
}

// realBits is what sums of reals keep behind the point.
const realBits = 36

// SumTurns implements joint.Network.
func (n *faultyNetwork) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	if n.masks == nil {
		return n.network.SumTurns(ctx, kind, root, v)
	}
	if err := n.step(); err != nil {
		return err
	}
	mask := n.own(n.session.Operations()+1, len(v), secagg.Turns16)
	return n.session.Reduce(ctx, protocol.Reduction{
		Kind: kind, Class: contract.ClassMasked, Encoding: contract.Turns16,
		Plan: contract.PlanFor(n.topology, n.session.Parties(), root), Size: 2 * len(v),
		Load: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 2 {
				binary.LittleEndian.PutUint16(chunk[2*i:], v[offset/2+i])
			}
			secagg.Turns16.Add(chunk, mask[offset:][:len(chunk)])
			return nil
		},
		Add: secagg.Turns16.Add,
		Store: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 2 {
				v[offset/2+i] = binary.LittleEndian.Uint16(chunk[2*i:])
			}
			return nil
		},
	})
}

// SumReals implements joint.Network.
func (n *faultyNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	if n.masks == nil {
		return n.network.SumReals(ctx, kind, root, v)
	}
	if err := n.step(); err != nil {
		return err
	}
	mask := n.own(n.session.Operations()+1, 4*len(v), secagg.Fixed64)
	return n.session.Reduce(ctx, protocol.Reduction{
		Kind: kind, Class: contract.ClassMasked, Encoding: contract.Fixed64,
		Plan: contract.PlanFor(n.topology, n.session.Parties(), root), Size: 8 * len(v),
		Load: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 8 {
				binary.LittleEndian.PutUint64(chunk[8*i:], uint64(int64(math.Ldexp(v[offset/8+i], realBits))))
			}
			secagg.Fixed64.Add(chunk, mask[offset:][:len(chunk)])
			return nil
		},
		Add: secagg.Fixed64.Add,
		Store: func(offset int, chunk []byte) error {
			for i := range len(chunk) / 8 {
				v[offset/8+i] = math.Ldexp(float64(int64(binary.LittleEndian.Uint64(chunk[8*i:]))), -realBits)
			}
			return nil
		},
	})
}

// own returns this party's masks of a sum.
func (n *faultyNetwork) own(operation uint64, words int, ring secagg.Ring) []byte {
	last := n.session.Parties() - 1
	if n.session.Self() != last {
		return n.made(operation, n.session.Self(), words)
	}
	mask := make([]byte, 2*words)
	for i := range last {
		ring.Sub(mask, n.made(operation, i, words))
	}
	return mask
}

// made returns a party's masks of a sum as bytes.
func (n *faultyNetwork) made(operation uint64, party, words int) []byte {
	list := make([]uint16, words)
	n.masks(operation, party, list)
	var mask []byte
	for _, w := range list {
		mask = binary.LittleEndian.AppendUint16(mask, w)
	}
	return mask
}

// fill writes the words of a seed.
func fill(words []uint16, seed ...uint64) {
	var text []byte
	for _, s := range seed {
		text = binary.BigEndian.AppendUint64(text, s)
	}
	source := rand.NewChaCha8(keys.HashOf("test masks", text))
	for i := range words {
		words[i] = uint16(source.Uint64())
	}
}

// fresh masks are as they should be.
func fresh(operation uint64, party int, words []uint16) { fill(words, operation, uint64(party)) }

// reused masks are those of every other sum in the next.
func reused(operation uint64, party int, words []uint16) { fill(words, operation/4, uint64(party)) }

// narrow masks have 16 bits of entropy.
func narrow(operation uint64, party int, words []uint16) {
	var seed [1]uint16
	fill(seed[:], operation, uint64(party))
	fill(words, uint64(seed[0]))
}

// periodic masks come again after 300 words.
func periodic(operation uint64, party int, words []uint16) {
	fill(words[:min(300, len(words))], operation, uint64(party))
	for i := 300; i < len(words); i++ {
		words[i] = words[i-300]
	}
}

// bare masks leave out the second eighth of party 1's words.
func bare(operation uint64, party int, words []uint16) {
	fresh(operation, party, words)
	if n := len(words) / 8; party == 1 {
		clear(words[n : 2*n])
	}
}

// naked masks leave out all of party 1's words.
func naked(operation uint64, party int, words []uint16) {
	fresh(operation, party, words)
	if party == 1 {
		clear(words)
	}
}
