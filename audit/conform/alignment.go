package conform

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
)

// alignment holds a party's transcript against the intersection that its contract is about: which messages, each once
// in a session, in which order, and how long. Digests are enough for that: of a number of common rows and of a vote
// there are so few that the digest tells them.
type alignment struct {
	found *finding.Set
	spec  *psi.Spec
	names []string
	own   []psi.Message // that this party sends or receives, in order
	at    map[string]int
	pass  []int // by own message

	begun map[alignedPlace]keys.Hash // what went and came in any session
	again bool                       // some of it in two
	lists map[listPart]keys.Hash     // of common rows, the same to all
	// by pass
	common  []int  // rows; -1 until told
	refused []bool // a party that counts has said that they are too few
	voted   []bool // a party that counts has said whether they are enough
	opened  []bool // a message behind that has come or gone, but for their number

	next      int    // of own, in the session under way
	operation uint64 // of the message under way
}

// alignedPlace is where a part of a message stands in every session.
type alignedPlace struct {
	kind  string
	event transcript.Type
	peer  int
	piece int
	chunk uint32
}

// listPart is a chunk of a pass's list of common rows.
type listPart struct {
	kind  string
	chunk uint32
}

// newAlignment returns nothing for a job that aligns nothing.
func newAlignment(c *contract.Contract, self int, f *finding.Set) *alignment {
	if c.Job.Task != contract.TaskAlign {
		return nil
	}
	spec, err := psi.SpecOf(c.Job, c.Parties)
	if err != nil {
		f.Fail(finding.CheckAlignment, "the contract is about no alignment that can be run: %v", err)
		return nil
	}
	a := &alignment{found: f, spec: spec, names: c.Job.Parties, at: make(map[string]int),
		begun: make(map[alignedPlace]keys.Hash), lists: make(map[listPart]keys.Hash),
		refused: make([]bool, spec.Passes()), voted: make([]bool, spec.Passes()), opened: make([]bool, spec.Passes())}
	openings, operations := spec.Disclose(c.Job.Parties)
	same := slices.EqualFunc(c.Operations, contract.SessionOperations(len(c.Parties), operations),
		func(x, y contract.Operation) bool { return fmt.Sprint(x) == fmt.Sprint(y) })
	if !same || !slices.Equal(c.Openings, openings) {
		f.Fail(finding.CheckAlignment, "the contract lists other messages or openings than an alignment of these parties has")
	}
	for pass := range spec.Passes() {
		a.common = append(a.common, -1)
		for _, m := range spec.Messages(pass) {
			if m.From == psi.All || m.From == self || m.To == self {
				a.own, a.pass = append(a.own, m), append(a.pass, pass)
			}
		}
	}
	for i := range a.own {
		if _, ok := a.at[a.own[i].Kind]; !ok {
			a.at[a.own[i].Kind] = i
		}
	}
	return a
}

// begin starts a session.
func (a *alignment) begin() {
	if a != nil {
		a.next, a.operation = 0, 0
	}
}

// end ends a session that came to the job's end: every message was there.
func (a *alignment) end() {
	if a == nil {
		return
	}
	if a.skipEmpty(); a.next < len(a.own) {
		a.fail("the session is sealed as done, and %s has neither come nor gone", a.named(a.next))
	}
}

// fail notes what is wrong.
func (a *alignment) fail(format string, args ...any) {
	a.found.Fail(finding.CheckAlignment, format, args...)
}

// named says what a message is called, and between whom it goes.
func (a *alignment) named(i int) string {
	m := &a.own[i]
	if m.From == psi.All {
		return fmt.Sprintf("%q of each to each", m.Kind)
	}
	piece := ""
	if m.Piece > 0 {
		piece = fmt.Sprintf(", piece %d,", m.Piece+1)
	}
	return fmt.Sprintf("%q%s from %s to %s", m.Kind, piece, a.names[m.From], a.names[m.To])
}

// size is how long a message must be; of a list of common rows only once their number is known.
func (a *alignment) size(i int) (bytes int, known bool) {
	n := a.common[a.pass[i]]
	if n < 0 && a.spec.SizeOf(a.own[i], 0) != a.own[i].Size {
		return 0, false
	}
	return a.spec.SizeOf(a.own[i], max(n, 0)), true
}

// skipEmpty passes over messages of no bytes, which leave no frame.
func (a *alignment) skipEmpty() {
	for a.next < len(a.own) {
		if n, known := a.size(a.next); !known || n > 0 {
			return
		}
		a.next++
	}
}

// find returns which of the own messages a record is of, -1 where it is of none. Of several pieces it is the one under
// way, or else the first that has not yet come; where all have, the last.
func (a *alignment) find(r *transcript.Record) int {
	first, ok := a.at[r.Kind]
	if !ok {
		return -1
	}
	last := -1
	for i := first; i < len(a.own); i++ {
		m := &a.own[i]
		from := m.From == r.Peer
		if r.Type == transcript.TypeSent {
			from = m.To == r.Peer
		}
		if m.Kind != r.Kind || !from && m.From != psi.All {
			continue
		}
		n, known := a.size(i)
		empty := known && n == 0 // it leaves no frame
		if last < 0 || !empty {
			last = i
		}
		if !empty && (i >= a.next || i == a.next-1 && r.Operation == a.operation) {
			return i
		}
	}
	return last
}

// take takes in a record.
func (a *alignment) take(r *transcript.Record) {
	if a == nil || !r.Type.Frame() {
		return
	}
	i := a.find(r)
	if i < 0 {
		return // what is none of the contract's kinds, or goes elsewhere, is found in the operations
	}
	what := fmt.Sprintf("record %d (operation %d of session %d, %q, %s)", r.Number, r.Operation, r.Session, r.Kind,
		rules.Happened(r.Type, a.names[r.Peer]))
	place := alignedPlace{r.Kind, r.Type, r.Peer, a.own[i].Piece, r.Chunk}
	switch before, ok := a.begun[place]; {
	case ok && before != r.Sum():
		a.fail("%s has other bytes than the same message had before: under one contract a party sends the same bytes or "+
			"none, and refuses others", what)
	case !ok:
		a.begun[place] = r.Sum()
	default:
		a.again = true
	}
	if _, _, list := psi.Words(r.Kind); list {
		part := listPart{r.Kind, r.Chunk}
		if before, ok := a.lists[part]; ok && before != r.Sum() {
			a.fail("%s is another list of common rows than another party was sent", what)
		}
		a.lists[part] = r.Sum()
	}
	if r.Operation != a.operation {
		a.operation = r.Operation
		if a.skipEmpty(); i != a.next {
			next := "nothing more"
			if a.next < len(a.own) {
				next = a.named(a.next)
			}
			a.fail("%s came where %s was next", what, next)
		}
		a.next = i + 1
	}
	a.count(r, i, what)
	if n, known := a.size(i); known && r.Size != uint64(n) {
		a.fail("%s has %d bytes, want %d", what, r.Size, n)
	}
}

// count reads from digests what they tell: how many rows are common, and who said that they are enough to open.
func (a *alignment) count(r *transcript.Record, i int, what string) {
	pass := a.pass[i]
	if a.own[i].Opens() && slices.Contains(a.refused[:pass+1], true) {
		says := "tells which rows are common"
		if a.own[i].Counts() {
			says = "tells how many rows are common"
		}
		a.found.Leak(finding.CheckAlignment, "%s %s, and a party that counts had said that they are too few", what, says)
	}
	switch {
	case a.own[i].Counts():
		n := 0
		for n <= a.spec.Most(pass) && keys.Hash(sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))) != r.Sum() {
			n++
		}
		switch {
		case n > a.spec.Most(pass):
			a.fail("%s tells no number of common rows that there can be", what)
		case a.common[pass] >= 0 && a.common[pass] != n:
			a.fail("%s tells of %d common rows, and of %d was told before", what, n, a.common[pass])
		default:
			a.common[pass] = n
			total := 0
			for _, n := range a.common[:pass+1] {
				total += max(n, 0)
			}
			if total < a.spec.MinRows {
				a.found.Leak(finding.CheckAlignment, "%s tells how many rows are common, and they are fewer than the contract's "+
					"min_rows: min_rows is %d", what, a.spec.MinRows)
			}
		}
	case a.own[i].Votes():
		a.voted[pass] = true
		yes, no := keys.Hash(sha256.Sum256([]byte{1})), keys.Hash(sha256.Sum256([]byte{0}))
		switch r.Sum() {
		case yes:
		case no:
			a.refused[pass] = true
		default:
			a.fail("%s is neither yes nor no", what)
		}
	case a.own[i].Opens():
		a.opened[pass] = true
	}
}

// sameLists holds the lists of common rows in several transcripts against each other.
func sameLists(exams []*Examination) (finding.Check, bool) {
	check := finding.Check{Name: finding.CheckAlignment, Verdict: finding.Passed}
	first := make(map[listPart]keys.Hash)
	names := make(map[listPart]string)
	told := make(map[string]bool)
	for _, e := range exams {
		for part, sum := range e.lists {
			told[e.Transcript.Party] = true
			if before, ok := first[part]; ok && before != sum {
				check.Verdict = finding.Failed
				check.Detail = fmt.Sprintf("%q is another list of common rows in the transcript of %s than in that of %s",
					part.kind, e.Transcript.Party, names[part])
			}
			first[part], names[part] = sum, e.Transcript.Party
		}
	}
	if check.Verdict == finding.Passed {
		check.Detail = fmt.Sprintf("the lists of common rows in %s are the same",
			wording.Count(len(told), "transcript"))
	}
	return check, len(told) > 1
}

// passed says what the check has shown.
func (a *alignment) passed() finding.Check {
	text := "every message of the alignment was there once in a session, in its order and of its size"
	if a.again {
		text += "; those that came in several sessions had the same bytes"
	}
	return finding.Check{Name: finding.CheckAlignment, Detail: text}
}

// learned is what opened to the party: how many rows are common, by pass, and which of its own these are. Who counts
// has learned how many there are also where they were too few for anybody to be told.
func (a *alignment) learned(self int) []rules.Learning {
	sizes, rows := int64(0), int64(0)
	for pass, n := range a.common {
		if n >= 0 || a.voted[pass] && a.spec.Learns(self) {
			sizes++
		}
		if a.opened[pass] && len(a.spec.Counts[self]) > 0 {
			rows += int64(n)
		}
	}
	return []rules.Learning{{Kind: psi.OpensSize, Words: sizes}, {Kind: psi.OpensRows, Words: rows}}
}
