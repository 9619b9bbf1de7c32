package lockstep

import (
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// pairing is the sum along T1 that was last: the one along T2 that follows has the same root, the same
// excluded party and the same size.
type pairing struct {
	operation uint64
	size      uint64
	fits      []rules.Script // what the first sum may have been
}

// note keeps an operation that is whole, if it went along T1.
func (p *pairing) note(o *operation) {
	if o.rule.Second {
		return
	}
	p.fits = p.fits[:0]
	for _, l := range o.live {
		if l.Tree == 1 && l.whole {
			p.fits = append(p.fits, *l.Script)
		}
	}
	p.operation, p.size = o.number, o.size
}

// restrict leaves of a sum along T2 the scripts that pair with the sum along T1 before it.
func (c *Conformer) restrict(r *transcript.Record) {
	p, o := &c.pairs, &c.current
	if len(p.fits) == 0 || p.operation+1 != r.Operation || p.size != r.Size {
		o.off = true
		c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s) goes along the second tree, "+
			"but no sum of the same size along the first comes before it",
			r.Number, r.Operation, r.Kind)
		return
	}
	o.live = slices.DeleteFunc(o.live, func(l progress) bool {
		return !slices.ContainsFunc(p.fits, func(s rules.Script) bool { return s.Root == l.Root && s.Excluded == l.Excluded })
	})
}

// alongSecond notices when the records of a sum fit T1 only, where the contract says T2.
func (c *Conformer) alongSecond(r *transcript.Record) {
	o := &c.current
	if !o.rule.Second || o.leaked || slices.ContainsFunc(o.live, func(p progress) bool { return !p.Shadow }) {
		return
	}
	c.sameTree(r.Number)
}

// sameTree notes that the phases went along the tree of the angles.
func (c *Conformer) sameTree(record uint64) {
	o := &c.current
	o.leaked = true
	c.found.Leak(finding.CheckTrees,
		"record %d: T1 = T2: operation %d (%s) went along the tree of operation %d before it, so that every "+
			"party that adds others' vectors in both subtracts one sum from the other and has their angles without phases",
		record, o.number, o.rule.Kind, c.pairs.operation)
}
