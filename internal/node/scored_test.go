package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// scores runs a sealed prediction of a table and returns the report at the proposer.
func (l *testNetwork) scores(model keys.Hash, table, openTo, more string) (*jobs.Report, keys.Hash, error) {
	head := fmt.Sprintf("model = %q\ntable = %q\nopen_to = %q\nprivacy = \"sealed\"\nrecord = \"full\"\n%s", model, table,
		openTo, more)
	return l.propose(l.job("predict", head, ""))
}

// mustScore is scores for a prediction that must come to its end; it returns the scores file at the receiver.
func (l *testNetwork) mustScore(model keys.Hash, table, openTo, more string) (*jobs.Report, map[string]string) {
	l.t.Helper()
	r, h, err := l.scores(model, table, openTo, more)
	if err != nil {
		l.t.Fatal(err)
	}
	return r, scoresByID(l.t, l.scoresOf(openTo, h))
}

// mustRefuse wants a prediction to be refused, for so many rows that were scored so often.
func (l *testNetwork) mustRefuse(model keys.Hash, table, openTo, more string, rows, times int) {
	l.t.Helper()
	_, h, err := l.scores(model, table, openTo, more)
	want := fmt.Sprintf("%d of the rows asked for were scored before with this model, as often as the job lets a row be "+
		"scored (%d)", rows, times)
	if err == nil || !strings.Contains(err.Error(), want) {
		l.t.Errorf("the prediction ends with %v, want %s", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "r000") {
		l.t.Errorf("the refusal names rows: %v", err)
	}
	if _, err := os.Stat(l.scoresOf(openTo, h)); !errors.Is(err, os.ErrNotExist) {
		l.t.Errorf("%s has scores of a refused job: %v", openTo, err)
	}
}

// wantTimes wants every party that has counted to have counted so many rows, each so often.
func (l *testNetwork) wantTimes(model keys.Hash, rows int, times uint32) {
	l.t.Helper()
	for i, n := range l.nodes {
		if m, err := ReadModel(registry.Program(), n.jobFolder(model)); err != nil || m.Model().Normaliser == nil {
			if err != nil {
				l.t.Fatal(err)
			}
			continue
		}
		counted := l.counted(i, model)
		if len(counted) != rows {
			l.t.Errorf("%s has counted %d rows, want %d", l.names[i], len(counted), rows)
		}
		for _, got := range counted {
			if got != times {
				l.t.Errorf("%s has counted a row %d times, want %d", l.names[i], got, times)
				break
			}
		}
	}
}

// forgets removes files of a job from a party's disk as if they had never been, while its node is stopped.
func (l *testNetwork) forgets(i int, h keys.Hash, files ...string) {
	l.t.Helper()
	l.restart(i, h, func(dir string) {
		v, err := vault.Open(dir, vault.Options{Owner: h})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, name := range files {
			if err := v.Remove(name); err != nil {
				l.t.Fatal(err)
			}
		}
	})
}

// TestARowAskedSixTimesHasOneScore: the receiver answers from its own file, and nothing opens but once.
func TestARowAskedSixTimesHasOneScore(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	if data, _, err := l.nodes[0].columns.KnownScores(
		&contract.Job{Model: model.String(), Table: "test", ScoresPerRow: 1}); err != nil || data != nil {
		t.Errorf("before the first prediction the receiver has %q, %v", data, err)
	}
	var first map[string]string
	for i := range 6 {
		r, scores := l.mustScore(model, "test", "bank", "")
		learned := int64(0)
		for _, o := range r.Openings {
			if o.Kind == "scores" {
				learned += o.Count
			}
		}
		want := []int64{0, 40}
		if i > 0 {
			want = []int64{40, 0}
		} else {
			first = scores
		}
		if r.Known != want[0] || learned != want[1] {
			t.Errorf("prediction %d: %d scores were known and %d opened, want %v", i+1, r.Known, learned, want)
		}
		if fmt.Sprint(scores) != fmt.Sprint(first) {
			t.Errorf("prediction %d: scores are %v, and first %v", i+1, scores, first)
		}
		var h keys.Hash
		must(t, h.UnmarshalText([]byte(r.Contract)))
		for n := range l.nodes { // what a policy adds up
			s, _ := l.nodes[n].job(h)
			if o := asOpened(s).Openings[0]; o.Kind != "scores" || o.Count != want[1] {
				t.Errorf("prediction %d counts at %s as %+v, want %d scores", i+1, l.names[n], o, want[1])
			}
		}
	}
	l.wantTimes(model, 40, 1)
	data, _, err := l.nodes[0].columns.KnownScores(
		&contract.Job{Model: model.String(), Table: "test", ScoresPerRow: 1})
	if err != nil || len(first) != 40 {
		t.Fatal(err, len(first))
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		id, _, _ := strings.Cut(line, ",")
		if first[id] != line {
			t.Errorf("the receiver's file has %s, the scores were %s", line, first[id])
		}
	}
	if data, _, err := l.nodes[0].columns.KnownScores(
		&contract.Job{Model: model.String(), Table: "test", ScoresPerRow: 2}); err != nil || data != nil {
		t.Errorf("of scores that opened twice the receiver has %d bytes, %v", len(data), err)
	}
}

// TestRowsAreNotScoredAgain for a receiver that forgets or denies what it has, or for another one, until all agree to
// it.
func TestRowsAreNotScoredAgain(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	l.mustScore(model, "test", "bank", "")

	l.mustRefuse(model, "test", "insurer", "", 40, 1)
	l.mustRefuse(model, "test", "retailer", "", 40, 1)
	l.forgets(0, model, columns.ScoredRowsFile, columns.KnownScoresFile) // says that it knows nothing
	l.mustRefuse(model, "test", "bank", "", 40, 1)
	l.wantTimesOf(model, 0, 0)

	r, second := l.mustScore(model, "test", "bank", "scores_per_row = 2")
	if r.Known != 0 {
		t.Errorf("%d scores were known to who had lost them", r.Known)
	}
	l.mustRefuse(model, "test", "insurer", "scores_per_row = 2", 40, 2)
	if r, third := l.mustScore(model, "test", "bank", ""); r.Known != 40 || fmt.Sprint(third) != fmt.Sprint(second) {
		t.Errorf("%d scores were known, %v, want the latest, %v", r.Known, third, second)
	}

	// A file that is gone though its folder lists it counts as lost, too.
	l.restart(0, model, func(dir string) {
		must(t, os.Remove(filepath.Join(dir, columns.KnownScoresFile)))
	})
	l.mustRefuse(model, "test", "bank", "", 40, 1)
}

// wantTimesOf wants one party to have counted so many rows.
func (l *testNetwork) wantTimesOf(model keys.Hash, party, rows int) {
	l.t.Helper()
	if counted := l.counted(party, model); len(counted) != rows {
		l.t.Errorf("%s has counted %d rows, want %d", l.names[party], len(counted), rows)
	}
}

// counted returns how often each row was scored with a model, as a party's disk says: after the head of a record come
// the rows, of 16 bytes each.
func (l *testNetwork) counted(party int, model keys.Hash) map[string]uint32 {
	l.t.Helper()
	s, _ := l.nodes[party].job(model)
	times := make(map[string]uint32)
	_, err := s.vault.Records(columns.ScoredRowsFile, -1, func(record []byte) error {
		for rows := record[37:]; len(rows) > 0; rows = rows[16:] {
			times[string(rows[:16])]++
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return times
}

// TestARowIsItsID: in another table, at another place, among new rows.
func TestARowIsItsID(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	_, first := l.mustScore(model, "test", "bank", "")
	for i := range l.names { // ten of the rows, in another order, and five new ones before and between them
		text, err := os.ReadFile(l.tablePath(i, "test"))
		must(t, err)
		head, rest, _ := strings.Cut(string(text), "\n")
		old := strings.Split(strings.TrimSpace(rest), "\n")
		fresh := []string{head}
		for k := range 10 {
			if k%2 == 0 {
				_, cells, _ := strings.Cut(old[k], ",")
				fresh = append(fresh, fmt.Sprintf("r0000%dnew,%s", k, cells))
			}
			fresh = append(fresh, old[30-k])
		}
		l.writeTable(i, "test", strings.Join(fresh, "\n")+"\n")
	}
	l.mustRefuse(model, "test", "insurer", "", 10, 1)
	r, scores := l.mustScore(model, "test", "bank", "")
	if r.Rows != 15 || r.Known != 10 || len(scores) != 15 {
		t.Errorf("of %d rows %d were known, and %d lines came, want 15, 10 and 15", r.Rows, r.Known, len(scores))
	}
	var h keys.Hash
	must(t, h.UnmarshalText([]byte(r.Contract)))
	l.wantVerdict(h, audit.Partial) // 15 rows are too few for a regression
	for id, line := range scores {
		if before, ok := first[id]; ok && before != line {
			t.Errorf("row %s has %s, and first %s", id, line, before)
		}
	}
	l.wantTimes(model, 45, 1)
}

// TestRequestsOfScoredRows are answered by the receiver's file, and without it by nobody.
func TestRequestsOfScoredRows(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ask := func(h keys.Hash, id string) string {
		t.Helper()
		row, err := l.nodes[0].ScoreRow(ctx, h, id)
		must(t, err)
		return strings.Join(row, ",")
	}
	serve := func() keys.Hash {
		h := l.prepare(ctx, model, "sealed", "bank", "requests = 2")
		go l.nodes[0].Launch(l.lives[0], h, nil)
		return h
	}
	h := serve()
	one, two := ask(h, "r00001"), ask(h, "r00002")
	l.awaitDone(ctx, h)
	h = serve()
	if again := ask(h, "r00001"); again != one { // takes none of the two requests
		t.Errorf("asked again r00001 has %s, and had %s", again, one)
	}
	ask(h, "r00003")
	if again := ask(h, "r00002"); again != two {
		t.Errorf("asked again r00002 has %s, and had %s", again, two)
	}
	ask(h, "r00004")
	l.awaitDone(ctx, h)
	l.wantTimes(model, 4, 1)
	if r, all := l.mustScore(model, "test", "bank", ""); r.Known != 4 || !strings.HasPrefix(all["r00001"], one) {
		t.Errorf("of all rows %d were known, and r00001 has %s", r.Known, all["r00001"])
	}

	l.forgets(0, model, columns.ScoredRowsFile, columns.KnownScoresFile)
	h = serve()
	_, err := l.nodes[0].ScoreRow(ctx, h, "r00001")
	if err == nil || !strings.Contains(err.Error(), "1 of the rows asked for were scored before") {
		t.Errorf("a row whose score the receiver has lost gives %v", err)
	}
}

// TestKilledBetweenTheRecordAndTheWords: a party that dies when it has counted an opening's rows, or would have, counts
// them once when the job goes on, and one score opens of each.
func TestKilledBetweenTheRecordAndTheWords(t *testing.T) {
	for _, c := range []struct {
		victim int
		stored bool
	}{{0, true}, {1, true}, {1, false}, {2, true}, {3, false}} {
		t.Run(fmt.Sprintf("party %d, stored %v", c.victim, c.stored), func(t *testing.T) {
			l, model := sealedNetwork(t, 40)
			killed := make(chan struct{})
			die := sync.OnceFunc(func() { l.net.Kill(l.keys[c.victim].ID()); close(killed) })
			l.faults[c.victim] = func(path string) (bool, error) {
				select {
				case <-killed:
					return true, nil
				default:
				}
				if filepath.Base(path) != columns.ScoredRowsFile {
					return true, nil
				}
				die()
				return c.stored, errors.New("killed")
			}
			l.startAll()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			h := l.prepare(ctx, model, "sealed", "bank", "")
			go l.nodes[0].Launch(l.lives[0], h, nil)
			l.awaitKill(ctx, killed)
			l.restart(c.victim, h, nil)
			l.awaitDone(ctx, h)
			l.wantTimes(model, 40, 1)
			l.wantScores(h, audit.Partial, 40)
		})
	}
}

// TestAReceiverSaysTheSameInAllSessions of what it knows: an opening is of the same rows in all of them.
func TestAReceiverSaysTheSameInAllSessions(t *testing.T) {
	l, model := sealedNetwork(t, joint.ScoreRows+76) // two batches
	l.startAll()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := l.prepare(ctx, model, "sealed", "bank", "")
	killed := l.killAtReady(1, 11)
	go l.nodes[0].Launch(l.lives[0], h, nil)
	l.awaitKill(ctx, killed)
	l.stops[1]()
	l.forgets(0, h, "known-rows") // it knows the first batch by now
	s, _ := l.nodes[0].job(model)
	if !s.vault.Has(columns.KnownScoresFile) {
		t.Fatal("the kill came too early")
	}
	l.start(1)
	l.awaitReason(ctx, 1, h, "known of bank")
}
