// Package dryrun counts what one party's part of an algorithm asks of the others, for the contract that lists it: the
// part itself runs against a network that carries nothing and tells a Tally of every operation.
package dryrun

import "github.com/hanse-project/hanse/protocol/contract"

// Tally collects operations. Operations of one kind between the same ends are one line, in the order in which lines
// first came. It is for one goroutine.
type Tally struct {
	Operations []contract.Operation
	lines      map[line]int
	times      int64 // what is counted now stands for so many, 0: for itself
}

// line is what tells a Tally's operations apart.
type line struct {
	kind, root, to, excluded string
	tree                     int64
}

// Add counts an operation of n numbers of an encoding. Of o it takes kind, stage and the way the data travel; the rest
// it fills in.
func (t *Tally) Add(o contract.Operation, class contract.Class, encoding contract.Encoding, n int) {
	key := line{o.Kind, o.Root, o.To, o.Excluded, o.Tree}
	at, ok := t.lines[key]
	if !ok {
		if t.lines == nil {
			t.lines = make(map[line]int)
		}
		at = len(t.Operations)
		t.lines[key] = at
		o.Class, o.Encoding = class.String(), encoding.String()
		if encoding != contract.Bytes {
			o.Shape = []int64{0}
		}
		t.Operations = append(t.Operations, o)
	}
	times := max(t.times, 1)
	l := &t.Operations[at]
	l.Count += times
	l.Bytes += times * int64(encoding.Size(n))
	if l.Shape != nil {
		l.Shape[0] += times * int64(n)
	}
}

// Times runs f once and counts what it does n times.
func (t *Tally) Times(n int, f func() error) error {
	if n == 0 {
		return nil
	}
	before := t.times
	t.times = max(before, 1) * int64(n)
	err := f()
	t.times = before
	return err
}
