package ledger

import (
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Question asks what was told of a job's rows before it.
type Question struct {
	Contract *contract.Contract // of the job; its own entry does not count
	Self     string             // this node's name in it
	Rows     Rows               // of the job; none: only counts of jobs are asked for
	Before   time.Time          // entries of later consents do not count; zero: all do
	// At says as of when an entry counts in a span of time: now while its job goes on, else its end.
	At func(*Entry) time.Time
	// Since is the beginning of that span.
	Since time.Time
}

// Told answers a question. A set that cannot be had counts for every row.
func (l *Ledger) Told(q Question) (consent.Told, error) {
	own := entryOf(q.Contract, q.Self, q.Before)
	var t consent.Told
	var counted []Entry // of which something of a row opens
	for _, e := range l.Entries() {
		if e.Contract == own.Contract || !q.Before.IsZero() && !e.At.Before(q.Before) {
			continue
		}
		if e.Proposer == own.Proposer && e.Table == own.Table && q.At(&e).After(q.Since) {
			switch e.Task {
			case contract.TaskTrain:
				t.Trainings++
			case contract.TaskAlign:
				t.Alignments++
				t.Listed += e.Count
			}
		}
		counted = append(counted, e)
	}
	if t.Rows = len(q.Rows); t.Rows == 0 {
		return t, nil
	}
	tally := newTally(q.Rows)
	for i := range counted {
		if err := l.compare(&t, &counted[i], &own, q.Rows, tally); err != nil {
			return t, err
		}
	}
	before := tally.sums(nil)
	t.Before, t.RowsTold, t.Models = before.most, before.rows, before.models
	if _, ok := tally.models[own.Model]; ok {
		t.Models--
	}
	for i := range counted {
		for _, r := range counted[i].Told {
			if r.RowBits == 0 || t.To(r.ID) != nil {
				continue
			}
			s := consent.Share{ID: r.ID, Name: r.Name}
			if its := tally.sums(&r.ID); its.most > 0 {
				s.Bits, s.Rows, s.Models = its.most, its.rows, its.models
				t.By = append(t.By, s)
			}
		}
	}
	tally.add(&own, nil)
	t.With = t.Before
	for i, bits := range tally.sums(nil).bits {
		if adds := bits - before.bits[i]; adds > 0 {
			if t.Adds == 0 {
				t.With = 0
			}
			t.Adds, t.With = max(t.Adds, adds), max(t.With, bits)
		}
	}
	return t, nil
}

// compare takes one earlier job into account.
func (l *Ledger) compare(t *consent.Told, e, own *Entry, rows Rows, tally *tally) error {
	training := e.Task == contract.TaskTrain && own.Task == contract.TaskTrain
	if !training && e.rowBits(nil) == 0 {
		return nil
	}
	its, known, err := l.rows(e)
	if err != nil {
		return err
	}
	if e.rowBits(nil) > 0 {
		if !known {
			its = nil
		}
		tally.add(e, placesOf(rows, its))
	}
	if training && !known && !e.Idle && e.Table == own.Table {
		t.Unknown = true
	}
	if !training || !known {
		return nil
	}
	if n := rows.Difference(its); n > 0 && (t.Nearest == 0 || n < t.Nearest) {
		t.Nearest = n
	}
	if common := 0; e.Labels != "" && own.Labels != "" {
		rows.meet(its, func(int) { common++ })
		switch {
		case 2*common < len(rows):
		case e.Labels == own.Labels:
			t.Again = consent.SameLabels
		default:
			t.Again = consent.OtherLabels
		}
	}
	return nil
}

// tally adds up the bits of each of a job's rows, by model.
type tally struct {
	rows   int
	models map[keys.Hash][]tallied
}

// tallied is one job's part of a tally; places are the job's rows that it is of, nil for all.
type tallied struct {
	entry  *Entry
	places []int32
}

// newTally starts with nothing told.
func newTally(rows Rows) *tally {
	return &tally{rows: len(rows), models: make(map[keys.Hash][]tallied)}
}

// add counts a job.
func (t *tally) add(e *Entry, places []int32) {
	if places == nil || len(places) > 0 {
		t.models[e.Model] = append(t.models[e.Model], tallied{e, places})
	}
}

// sums is what was told of each of a job's rows.
type sums struct {
	bits   []int64 // [rows]
	most   int64   // of one row
	rows   int     // of how many something was told
	models int     // by how many
}

// sums adds up what was told a member or, for nil, all together.
func (t *tally) sums(to *keys.ID) (s sums) {
	scored := make([]int32, t.rows)
	s.bits = make([]int64, t.rows)
	for _, parts := range t.models {
		told := false
		for _, p := range parts {
			each := p.entry.rowBits(to)
			if each == 0 {
				continue
			}
			told = true
			p.each(t.rows, func(i int32) {
				if p.entry.Task == contract.TaskPredict && p.entry.Times > 0 {
					if scored[i] >= int32(p.entry.Times) {
						return
					}
					scored[i]++
				}
				s.bits[i] = plus(s.bits[i], each)
			})
		}
		clear(scored)
		if told {
			s.models++
		}
	}
	for _, n := range s.bits {
		s.most = max(s.most, n)
		if n > 0 {
			s.rows++
		}
	}
	return s
}

// each calls do with every row that the job is of.
func (p *tallied) each(rows int, do func(i int32)) {
	if p.places == nil {
		for i := range rows {
			do(int32(i))
		}
		return
	}
	for _, i := range p.places {
		do(i)
	}
}
