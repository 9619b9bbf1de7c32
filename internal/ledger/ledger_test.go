package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// federation makes contracts of jobs among bank, insurer and telco, whose ledger is the telco's.
type federation struct {
	t     rapid.TB
	ids   map[string]keys.ID
	nonce int
}

func newFederation(t rapid.TB) *federation {
	f := &federation{t: t, ids: make(map[string]keys.ID)}
	for _, name := range []string{"bank", "insurer", "telco"} {
		f.ids[name] = idOf(t)
	}
	return f
}

// idOf draws the id of a key.
func idOf(t rapid.TB) keys.ID {
	key, err := keys.GenerateKey()
	must(t, err)
	return key.ID()
}

// job makes a contract over rows, of which something opens to one party.
func (f *federation) job(task, model, to string, rows int, bits int64, labels string) *contract.Contract {
	f.nonce++
	j := &contract.Job{Format: "hanse-job-v1", Name: fmt.Sprintf("job-%d", f.nonce), Algorithm: contract.FDSKL, Task: task,
		Proposer: "bank", Parties: []string{"bank", "insurer", "telco"}, Privacy: keys.PrivacySealed, Topology: "tree",
		Table: "train", Model: model, Nonce: fmt.Sprintf("%032x", f.nonce)}
	var parties []contract.Facts
	for _, name := range j.Parties {
		parties = append(parties, contract.Facts{Name: name, ID: f.ids[name], Role: "passive", Rows: rows, Columns: 1})
	}
	if task == contract.TaskTrain {
		parties[0].Labels = keys.HashOf("test", []byte(labels)).String()
	}
	var openings []contract.Opening
	var operations []contract.Operation
	if bits > 0 {
		openings = []contract.Opening{{To: to, Kind: "scores", Count: int64(rows)}}
		operations = []contract.Operation{{Kind: "scores", Collective: contract.CollectiveSum, Root: to,
			Class: contract.ClassMasked.String(), Encoding: contract.Packed(int(bits)).String(), Count: int64(rows)}}
	}
	c, err := contract.NewContract(j, parties, openings, operations)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// idsOf lists ids of rows from one number to before another.
func idsOf(from, to int) []string {
	var ids []string
	for i := from; i < to; i++ {
		ids = append(ids, fmt.Sprintf("r%05d", i))
	}
	return ids
}

// opened opens a ledger in a folder.
func opened(t rapid.TB, dir string) *Ledger {
	l, err := Open(dir, vault.Options{})
	must(t, err)
	return l
}

// day is a time of which days are counted.
func day(n int) time.Time { return time.Date(2026, 11, 1+n, 12, 0, 0, 0, time.UTC) }

// TestBitsOfJobsAddUp: of jobs whose sums can be written down, with rows that overlap in part.
func TestBitsOfJobsAddUp(t *testing.T) {
	f, dir := newFederation(t), t.TempDir()
	l := opened(t, dir)
	enter := func(c *contract.Contract, from, to, on int) {
		t.Helper()
		must(t, l.Enter(c, "telco", Holding{Rows: RowsOf(l.Key(), idsOf(from, to)), Entropy: 30}, day(on)))
	}
	first := f.job(contract.TaskTrain, "", "bank", 100, 36, "y")
	enter(first, 0, 100, 1)
	scoring := f.job(contract.TaskPredict, first.Hash().String(), "bank", 50, 11, "")
	enter(scoring, 80, 130, 2) // 20 of the first's rows, which have 47 bits now
	again := f.job(contract.TaskPredict, first.Hash().String(), "bank", 50, 11, "")
	enter(again, 80, 130, 3) // the same rows with the same model: nothing more
	other := f.job(contract.TaskTrain, "", "insurer", 100, 9, "other")
	enter(other, 90, 190, 4) // ten rows have 56 bits
	for name, want := range map[string]struct {
		question         Question
		before, with     int64
		models, told     int
		nearest          int
		bank, insurer    int64
		trainings, total int
	}{
		"a model that is new": {Question{Contract: f.job(contract.TaskTrain, "", "bank", 10, 8, "y"), Rows: RowsOf(l.Key(),
			idsOf(85, 105))}, 56, 64, 2, 20, 90, 47, 9, 2, 0},
		"the first model again": {Question{Contract: f.job(contract.TaskPredict, first.Hash().String(), "bank", 10, 11, ""),
			Rows: RowsOf(l.Key(), idsOf(85, 105))}, 56, 56, 1, 20, 0, 47, 9, 2, 0},
		"its training rows": {Question{Contract: f.job(contract.TaskPredict, first.Hash().String(), "bank", 10, 11, ""),
			Rows: RowsOf(l.Key(), idsOf(0, 10))}, 36, 47, 0, 10, 0, 36, 0, 2, 0},
		"rows that nobody asked about": {Question{Contract: f.job(contract.TaskTrain, "", "bank", 10, 8, "y"),
			Rows: RowsOf(l.Key(), idsOf(500, 510))}, 0, 8, 0, 0, 110, 0, 0, 2, 0},
		"one row fewer": {Question{Contract: f.job(contract.TaskTrain, "", "bank", 99, 0, "y"),
			Rows: RowsOf(l.Key(), idsOf(1, 100))}, 56, 56, 2, 99, 1, 47, 9, 2, 0},
		"as of the second day": {Question{Contract: f.job(contract.TaskTrain, "", "bank", 10, 8, "y"), Before: day(2),
			Rows: RowsOf(l.Key(), idsOf(85, 105))}, 36, 44, 1, 15, 90, 36, 0, 1, 0},
	} {
		q := want.question
		q.Self, q.At = "telco", func(e *Entry) time.Time { return e.At }
		got, err := l.Told(q)
		must(t, err)
		if got.Before != want.before || got.With != want.with || got.Models != want.models || got.RowsTold != want.told ||
			got.Trainings != want.trainings || got.Nearest != want.nearest {
			t.Errorf("%s: told %+v, want %+v", name, got, want)
		}
		for member, bits := range map[string]int64{"bank": want.bank, "insurer": want.insurer} {
			if s := got.To(f.ids[member]); bits == 0 != (s == nil) || s != nil && s.Bits != bits {
				t.Errorf("%s: %s was told %+v, want %d bits", name, member, s, bits)
			}
		}
	}

	// It is the same when it is read again; a job that told nothing is struck, and one whose rows are lost counts for all.
	must(t, l.Close())
	l = opened(t, dir)
	q := Question{Contract: f.job(contract.TaskTrain, "", "bank", 10, 8, "y"), Self: "telco",
		Rows: RowsOf(l.Key(), idsOf(85, 105)), At: func(e *Entry) time.Time { return e.At }}
	if got, err := l.Told(q); err != nil || got.Before != 56 {
		t.Errorf("read again: %+v, %v", got, err)
	}
	must(t, l.Strike(other.Hash()))
	if got, err := l.Told(q); err != nil || got.Before != 47 || got.Trainings != 1 {
		t.Errorf("struck: %+v, %v", got, err)
	}
	enter(other, 90, 190, 5)
	if got, err := l.Told(q); err != nil || got.Before != 56 {
		t.Errorf("booked after it was struck: %+v, %v", got, err)
	}
	lost := filepath.Join(dir, rowsPrefix+RowsOf(l.Key(), idsOf(90, 190)).Digest().String())
	must(t, os.Truncate(lost, 100))
	q.Rows = RowsOf(l.Key(), idsOf(500, 510))
	if got, err := l.Told(q); err != nil || got.Before != 9 {
		t.Errorf("with rows that are lost: %+v, %v", got, err)
	}
	lines, err := l.Lines()
	if err != nil || len(lines) != 2 || lines[0].Name != "bank" || lines[0].Bits != 47 || lines[0].Rows != 130 ||
		lines[0].Jobs != 3 || lines[1].Name != "insurer" || !lines[1].Unknown {
		t.Errorf("lines %+v, %v", lines, err)
	}
	must(t, l.Strike(other.Hash()))
	if struck, err := l.Lines(); err != nil || len(struck) != 1 || struck[0] != lines[0] {
		t.Errorf("struck, lines are %+v, %v", struck, err)
	}
}

// TestNewBitsOfAnyRowCount: a person has consented to four models of one row. Each of them may then not have all other
// rows because nothing is added to that one.
func TestNewBitsOfAnyRowCount(t *testing.T) {
	f := newFederation(t)
	l := opened(t, t.TempDir())
	var models []string
	enter := func(c *contract.Contract, from, to int) {
		t.Helper()
		must(t, l.Enter(c, "telco", Holding{Rows: RowsOf(l.Key(), idsOf(from, to)), Entropy: 30}, day(1)))
	}
	for range 4 {
		c := f.job(contract.TaskTrain, "", "bank", 100, 0, "y")
		models = append(models, c.Hash().String())
		enter(f.job(contract.TaskPredict, c.Hash().String(), "bank", 1, 10, ""), 0, 1)
	}
	for i, want := range []int64{10, 20, 30, 40} {
		all := f.job(contract.TaskPredict, models[i], "bank", 100, 10, "")
		got, err := l.Told(Question{Contract: all, Self: "telco", Rows: RowsOf(l.Key(), idsOf(0, 100)),
			At: func(e *Entry) time.Time { return e.At }})
		if err != nil || got.Before != 40 || got.With != want || got.Adds != 10 {
			t.Errorf("model %d of all rows: %+v, %v; want %d bits with it", i+1, got, err, want)
		}
		enter(all, 0, 100)
	}
}

// TestJobsWithoutOwnRows: a job to which this node brought no rows tells nothing of those that it brings later, and
// holds back no training; one of which nobody knows the rows does both.
func TestJobsWithoutOwnRows(t *testing.T) {
	for unknown, want := range map[bool]int64{false: 0, true: 9} {
		f := newFederation(t)
		l := opened(t, t.TempDir())
		first := f.job(contract.TaskTrain, "", "bank", 100, 9, "y")
		must(t, l.Enter(first, "telco", Holding{Unknown: unknown}, day(1)))
		got, err := l.Told(Question{Contract: f.job(contract.TaskTrain, "", "bank", 100, 8, "y"), Self: "telco",
			Rows: RowsOf(l.Key(), idsOf(0, 100)), At: func(e *Entry) time.Time { return e.At }})
		if err != nil || got.Before != want || got.Unknown != unknown || got.Trainings != 1 {
			t.Errorf("unknown %t: %+v, %v", unknown, got, err)
		}
	}
}

// TestALostKeyForgetsNothing: under another key the rows of earlier jobs are not known any more, at each start, and
// they count for every row.
func TestALostKeyForgetsNothing(t *testing.T) {
	f, dir := newFederation(t), t.TempDir()
	l := opened(t, dir)
	first := f.job(contract.TaskTrain, "", "bank", 100, 9, "y")
	must(t, l.Enter(first, "telco", Holding{Rows: RowsOf(l.Key(), idsOf(0, 100)), Entropy: 30}, day(1)))
	must(t, os.Truncate(filepath.Join(dir, keyFile), 40))
	for start := range 3 {
		must(t, l.Close())
		l = opened(t, dir)
		got, err := l.Told(Question{Contract: f.job(contract.TaskTrain, "", "bank", 99, 8, "y"), Self: "telco",
			Rows: RowsOf(l.Key(), idsOf(1, 100)), At: func(e *Entry) time.Time { return e.At }})
		if err != nil || got.Before != 9 || got.With != 17 || got.Models != 1 || !got.Unknown {
			t.Errorf("start %d: %+v, %v", start+1, got, err)
		}
	}
}

// TestLabelsAreToldApart: the same labels on the same rows, other ones, and rows of which most are others.
func TestLabelsAreToldApart(t *testing.T) {
	f := newFederation(t)
	l := opened(t, t.TempDir())
	must(t, l.Enter(f.job(contract.TaskTrain, "", "bank", 100, 0, "y"), "telco",
		Holding{Rows: RowsOf(l.Key(), idsOf(0, 100)), Entropy: 30}, day(1)))
	for _, c := range []struct {
		labels   string
		from, to int
		want     string
	}{{"y", 0, 100, "same"}, {"z", 0, 100, "others"}, {"z", 10, 110, "others"}, {"z", 60, 160, ""}} {
		got, err := l.Told(Question{Contract: f.job(contract.TaskTrain, "", "bank", 100, 0, c.labels), Self: "telco",
			Rows: RowsOf(l.Key(), idsOf(c.from, c.to)), At: func(e *Entry) time.Time { return e.At }})
		if err != nil || string(got.Again) != c.want {
			t.Errorf("labels %s of rows %d to %d are %q (%v), want %q", c.labels, c.from, c.to, got.Again, err, c.want)
		}
	}
}

// TestSetsOfRows against sets made of maps.
func TestSetsOfRows(t *testing.T) {
	key := keys.HashOf("test")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) ([]string, map[string]bool) {
			ids := rapid.SliceOfN(rapid.StringMatching(`[a-e]{1,2}`), 0, 20).Draw(t, label)
			set := make(map[string]bool)
			for _, id := range ids {
				set[id] = true
			}
			return ids, set
		}
		a, inA := draw("a")
		b, inB := draw("b")
		want := 0
		for id := range inA {
			if !inB[id] {
				want++
			}
		}
		for id := range inB {
			if !inA[id] {
				want++
			}
		}
		rows := RowsOf(key, a)
		if got := rows.Difference(RowsOf(key, b)); got != want {
			t.Fatalf("the difference of %v and %v is %d, want %d", a, b, got, want)
		}
		back, err := decodeRows(rows.encode())
		if err != nil || back.Digest() != rows.Digest() || len(back) != len(inA) {
			t.Fatalf("%v comes back as %v, %v", rows, back, err)
		}
	})
}

// FuzzRows: what is no set of rows is refused.
func FuzzRows(f *testing.F) {
	f.Add(RowsOf(keys.HashOf("test"), idsOf(0, 3)).encode())
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := decodeRows(b)
		if err == nil && string(rows.encode()) != string(b) {
			t.Errorf("%x is read as %v", b, rows)
		}
	})
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
