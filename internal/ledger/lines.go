package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Line is what one member was told of one table, over all jobs.
type Line struct {
	Table      string    `json:"table"`
	To         keys.ID   `json:"to"`
	Name       string    `json:"name"`
	Jobs       int       `json:"jobs"`
	Models     int       `json:"models"`
	Alignments int       `json:"alignments"`
	Rows       int       `json:"rows"`              // of how many rows something was told
	Bits       int64     `json:"bits"`              // of one row, at most
	Entropy    float64   `json:"entropy"`           // of one row: about how many bits the columns have; 0: nobody knows
	Numbers    int64     `json:"numbers"`           // of the rows as a whole
	Unknown    bool      `json:"unknown,omitempty"` // of some jobs nobody knows the rows, and they count for all
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
}

// Lines adds up what was told, by table and member. It reads all sets of rows, once after each change of the ledger.
func (l *Ledger) Lines() ([]Line, error) {
	l.counting.Lock()
	defer l.counting.Unlock()
	changes := l.Changes()
	if l.lines == nil || l.counted != changes {
		lines, err := l.count()
		if err != nil {
			return nil, err
		}
		l.lines, l.counted = lines, changes
	}
	return slices.Clone(l.lines), nil
}

// count works out what Lines returns.
func (l *Ledger) count() ([]Line, error) {
	entries := l.Entries()
	lines := []Line{}
	of := make(map[string][]Entry)
	for _, e := range entries {
		of[e.Table] = append(of[e.Table], e)
		for _, r := range e.Told {
			at := slices.IndexFunc(lines, func(x Line) bool { return x.Table == e.Table && x.To == r.ID })
			if at < 0 {
				at = len(lines)
				lines = append(lines, Line{Table: e.Table, To: r.ID, First: e.At})
			}
			x := &lines[at]
			x.Name, x.Last, x.Numbers = r.Name, e.At, plus(x.Numbers, r.Numbers)
			x.Jobs++
			if e.Task == contract.TaskAlign {
				x.Alignments++
			}
			x.Entropy = max(x.Entropy, e.Entropy)
		}
	}
	for table, its := range of {
		tally, unknown, err := l.tallyOf(its)
		if err != nil {
			return nil, err
		}
		for i := range lines {
			if x := &lines[i]; x.Table == table {
				its := tally.sums(&x.To)
				x.Bits, x.Rows, x.Models = its.most, its.rows, its.models
				x.Unknown = unknown[x.To]
			}
		}
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Name, b.Name))
	})
	return lines, nil
}

// tallyOf adds up jobs over all their rows, and says to whom something was told of rows that nobody knows.
func (l *Ledger) tallyOf(entries []Entry) (*tally, map[keys.ID]bool, error) {
	sets := make([]Rows, len(entries))
	unknown := make(map[keys.ID]bool)
	var all Rows
	for i := range entries {
		e := &entries[i]
		if e.rowBits(nil) == 0 {
			continue
		}
		its, known, err := l.rows(e)
		if err != nil {
			return nil, nil, err
		}
		if known {
			sets[i], all = its, append(all, its...)
			continue
		}
		for _, r := range e.Told {
			unknown[r.ID] = unknown[r.ID] || r.RowBits > 0
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 && len(unknown) > 0 {
		all = Rows{0} // any row
	}
	t := newTally(all)
	for i := range entries {
		if e := &entries[i]; e.rowBits(nil) > 0 {
			t.add(e, placesOf(all, sets[i]))
		}
	}
	return t, unknown, nil
}

// placesOf returns where the rows of a set are among all; nil for a set that nobody knows.
func placesOf(all, set Rows) []int32 {
	if set == nil {
		return nil
	}
	places := []int32{}
	all.meet(set, func(i int) { places = append(places, int32(i)) })
	return places
}
