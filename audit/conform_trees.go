package audit

import (
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// pairing is the sum along T1 that was last: the one along T2 that follows has the same root, the same
// excluded party and the same size.
type pairing struct {
	operation uint64
	size      uint64
	fits      []script // what the first sum may have been
}

// note keeps an operation that is whole, if it went along T1.
func (p *pairing) note(o *operation) {
	if o.rule.second {
		return
	}
	p.fits = p.fits[:0]
	for _, l := range o.live {
		if l.tree == 1 && l.whole {
			p.fits = append(p.fits, *l.script)
		}
	}
	p.operation, p.size = o.number, o.size
}

// restrict leaves of a sum along T2 the scripts that pair with the sum along T1 before it.
func (c *conformer) restrict(r *transcript.Record) {
	p, o := &c.pairs, &c.current
	if len(p.fits) == 0 || p.operation+1 != r.Operation || p.size != r.Size {
		o.off = true
		c.found.fail(checkOperations, "record %d: operation %d (%s) goes along the second tree, but no sum of the same size along the first comes before it",
			r.Number, r.Operation, r.Kind)
		return
	}
	o.live = slices.DeleteFunc(o.live, func(l progress) bool {
		return !slices.ContainsFunc(p.fits, func(s script) bool { return s.root == l.root && s.excluded == l.excluded })
	})
}

// alongSecond notices when the records of a sum fit T1 only, where the contract says T2.
func (c *conformer) alongSecond(r *transcript.Record) {
	o := &c.current
	if !o.rule.second || o.leaked || slices.ContainsFunc(o.live, func(p progress) bool { return !p.shadow }) {
		return
	}
	c.sameTree(r.Number)
}

// sameTree notes that the phases went along the tree of the angles.
func (c *conformer) sameTree(record uint64) {
	o := &c.current
	o.leaked = true
	c.found.leak(checkTrees, "record %d: T1 = T2: operation %d (%s) went along the tree of operation %d before it, so that every party that adds others' vectors in both subtracts one sum from the other and has their angles without phases",
		record, o.number, o.rule.kind, c.pairs.operation)
}

// checkTreesOf checks that the trees of a contract's paired sums are totally different.
func checkTreesOf(c *protocol.Contract, f *findings) {
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Tree != 2 {
			continue
		}
		t1, t2, err := protocol.PublishedTrees(len(c.Parties), c.Job.Index(o.Root), c.Job.Index(o.Excluded))
		if err == nil {
			err = protocol.Different(t1, t2)
		}
		if err != nil {
			f.fail(checkTrees, "%s without %s: %v", o.Kind, o.Excluded, err)
		}
	}
}
