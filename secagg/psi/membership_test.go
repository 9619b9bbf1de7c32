package psi

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// membership is what somebody wants to know of one person: whether it is in the others' tables. The attackers below
// list the person in an alignment, and look at what they are told.
type membership struct {
	helper bool // a fourth party without rows counts
	who    int  // the attacker: asker, keeper, or the third party with rows
	true   int  // rows of the attacker's that all others have
	noise  int  // rows of the attacker's that nobody else has
	least  int  // min_rows
	absent bool // the attacker does not list the person
}

// guess is the row of the person.
const guess = 7_000_000

// run aligns, with the person in the others' tables or not. It returns what the attacker was told before anything
// opened, which of its rows it then learned to be common, and all that was sent.
func (m membership) run(t *testing.T, there bool) (told []string, rows []int, w *wire, errs []error) {
	t.Helper()
	others := max(40, m.least)
	lists := overlapping(3, others, m.true)
	for i := range lists {
		switch {
		case i == m.who:
			lists[i][0] = lists[i][0][:m.true:m.true]
			for n := range m.noise {
				lists[i][0] = append(lists[i][0], idOf(0, 2*guess+n))
			}
			if !m.absent {
				lists[i][0] = append(lists[i][0], idOf(0, guess))
			}
		case there:
			lists[i][0][others-1] = idOf(0, guess)
		}
	}
	helper := None
	if m.helper {
		lists, helper = append(lists, nil), len(lists)
	}
	f := newFederation(lists, helper)
	f.spec.MinRows = m.least
	results, errs, w := f.run(t)
	for _, s := range w.sent {
		if s.To == m.who && (s.Counts() || s.Votes()) {
			told = append(told, fmt.Sprintf("%s from %d: %x", s.Kind, s.From, s.data))
		}
	}
	if r := results[m.who]; r != nil {
		for _, c := range r.Rows {
			rows = append(rows, c.Row)
		}
	}
	return told, rows, w, errs
}

// everywhere runs a test for each place that an attacker may have, in both modes.
func everywhere(t *testing.T, m membership, test func(t *testing.T, m membership)) {
	for _, helper := range []bool{false, true} {
		for who, place := range []string{"asker", "keeper", "outside"} {
			name := place + " in dh"
			if helper {
				name = place + " beside a helper"
			}
			t.Run(name, func(t *testing.T) {
				m.helper, m.who = helper, who
				test(t, m)
			})
		}
	}
}

// TestProberIsRefusedByAll lists one person and nothing else, and no party sends anything. The control is a min_rows of
// one: then the alignment opens, and says whether all others have the person.
func TestProberIsRefusedByAll(t *testing.T) {
	everywhere(t, membership{least: 1}, func(t *testing.T, m membership) {
		if _, rows, _, errs := m.run(t, true); !slices.Equal(rows, []int{0}) {
			t.Errorf("the control: rows %v, errors %v", rows, errs)
		}
		if _, rows, _, _ := m.run(t, false); len(rows) != 0 {
			t.Errorf("the control, and the person is not there: rows %v", rows)
		}
		m.least = 2
		_, _, w, errs := m.run(t, true)
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "1 ids under the first key and min_rows is 2") {
				t.Errorf("party %d ended with %v", i, err)
			}
		}
		if len(w.sent) > 0 {
			t.Errorf("%d messages were sent", len(w.sent))
		}
	})
}

// TestPadderIsToldTooFewAndNoNumber hides one person in a table of noise, under a min_rows that nobody reaches, and
// hears the same whether all others have the person or not. The control is a min_rows that the one person reaches: then
// what is told differs.
func TestPadderIsToldTooFewAndNoNumber(t *testing.T) {
	everywhere(t, membership{noise: 199, least: 200}, func(t *testing.T, m membership) {
		there, rows, _, errs := m.run(t, true)
		away, more, _, _ := m.run(t, false)
		if len(rows)+len(more) > 0 {
			t.Errorf("rows %v and %v opened", rows, more)
		}
		if len(there) == 0 || !slices.Equal(there, away) {
			t.Errorf("the padder was told %v, and %v where the person is not there; errors %v", there, away, errs)
		}
		m.least = 1
		there, _, _, _ = m.run(t, true)
		if away, _, _, _ = m.run(t, false); slices.Equal(there, away) {
			t.Errorf("the control was told %v, whether the person is there or not", there)
		}
	})
}

// TestRiderLearnsOfOnePerson brings as many true rows as an alignment opens, and the person beside them. It succeeds,
// and goes on to: an alignment that opens tells which of a table's rows are common. What bounds it is the number of ids
// that each party states in the contract, and what is said of it before consent.
func TestRiderLearnsOfOnePerson(t *testing.T) {
	everywhere(t, membership{true: 10, noise: 5, least: 10}, func(t *testing.T, m membership) {
		if _, rows, _, errs := m.run(t, true); !slices.Contains(rows, m.true+m.noise) || len(rows) != 11 {
			t.Errorf("the person is there: rows %v, errors %v", rows, errs)
		}
		if _, rows, _, errs := m.run(t, false); slices.Contains(rows, m.true+m.noise) || len(rows) != 10 {
			t.Errorf("the person is not there: rows %v, errors %v", rows, errs)
		}
	})
}

// TestDifferLearnsOfOnePerson brings last month's list, and then the same list and one more. It succeeds, and goes on
// to: the two numbers of common rows differ by the person, or not at all. What bounds it is how many alignments a
// member takes part in.
func TestDifferLearnsOfOnePerson(t *testing.T) {
	everywhere(t, membership{true: 10, least: 10}, func(t *testing.T, m membership) {
		for want, there := range []bool{false, true} {
			var common [2]int
			for month := range common {
				m.absent = month == 0
				_, rows, _, errs := m.run(t, there)
				if common[month] = len(rows); len(rows) < 10 {
					t.Fatalf("rows %v, errors %v", rows, errs)
				}
			}
			if common[1]-common[0] != want {
				t.Errorf("the person is there: %t: %d rows are common, and then %d", there, common[0], common[1])
			}
		}
	})
}

// counted is how many rows asker and keeper find to be common in mode dh, from what both of them have.
func counted(w *wire) int {
	var back [][]byte
	n := 0
	for _, s := range w.sent {
		switch s.Kind {
		case stepDoubledBack.kind():
			back = append(back, slices.Collect(slices.Chunk(s.data, wordSize))...)
		case stepDoubled.kind():
			for word := range slices.Chunk(s.data, wordSize) {
				if slices.ContainsFunc(back, func(b []byte) bool { return bytes.Equal(b, word) }) {
					n++
				}
			}
		}
	}
	return n
}

// TestAskerAndKeeperCouldCountWhatTheySayToNobody documents what no protection of mode dh takes from the two: the words
// that they exchange say how many rows are common, to whoever changes its program to look.
func TestAskerAndKeeperCouldCountWhatTheySayToNobody(t *testing.T) {
	m := membership{noise: 99, least: 100}
	for want, there := range []bool{false, true} {
		if _, _, w, _ := m.run(t, there); counted(w) != want {
			t.Errorf("the person is there: %t: %d common words, want %d", there, counted(w), want)
		}
	}
}
