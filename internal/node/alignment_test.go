package node

import (
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
)

// customers are tables of people of whom each party has some, in an order of its own: person n is at party i unless n
// modulo 10 is i. Everybody has a telephone, which each party writes in its own way; columns are those of trainings.
type customers struct{ people, parties int }

// common reports whether all parties have a person.
func (c customers) common(person int) bool { return person%10 >= c.parties }

// write writes "train" and "test" at every party, with the id column that ids names.
func (c customers) write(l *testNetwork, ids func(party, person int) string) {
	for _, name := range []string{"train", "test"} {
		for i := range l.names {
			var b strings.Builder
			b.WriteString("id,phone,a")
			if i == 0 {
				b.WriteString(",y")
			}
			b.WriteString("\n")
			rng := rand.New(rand.NewPCG(uint64(i), 9))
			for _, person := range rng.Perm(c.people) {
				if person%10 == i {
					continue
				}
				own := rand.New(rand.NewPCG(uint64(person), uint64(i)))
				digits := fmt.Sprintf("6%08d", person)
				phone := []string{"0" + digits, "+31 " + digits, "0031-" + digits[:1] + "-" + digits[1:]}[i%3]
				a := own.NormFloat64()
				fmt.Fprintf(&b, "%s,%s,%.4f", ids(i, person), phone, a)
				if i == 0 {
					label := 0
					if a > 0 {
						label = 1
					}
					fmt.Fprintf(&b, ",%d", label)
				}
				b.WriteString("\n")
			}
			l.writeTable(i, name, b.String())
		}
	}
}

// same is the id column of a federation whose members number people alike.
func same(_, person int) string { return fmt.Sprintf("P%05d", person) }

// ownNumbers is the id column where each member has numbers of its own.
func ownNumbers(party, person int) string {
	return fmt.Sprintf("%c%05d", 'a'+party, (person*7919+party)%100003)
}

// align is the job of an alignment of all parties.
func (l *testNetwork) align(name, table, parameters string) []byte {
	var parties []string
	for _, n := range l.names {
		parties = append(parties, fmt.Sprintf("%q", n))
	}
	return fmt.Appendf(nil, "format = \"hanse-job-v1\"\nname = %q\nalgorithm = \"psi\"\ntask = \"align\"\nparties = [%s]\n"+
		"table = %q\n[parameters]\n%s\n", name, strings.Join(parties, ", "), table, parameters)
}

// withPhones puts an identifier by telephone into the charter.
func (l *testNetwork) withPhones() {
	l.t.Helper()
	l.identify(keys.Identifier{Name: "phone", Columns: []keys.IDColumn{{Name: "phone", Trim: true, E164: "+31"}}})
}

// identify puts one more identifier into the charter.
func (l *testNetwork) identify(id keys.Identifier) {
	l.t.Helper()
	l.chartered(func(c *keys.Charter) { c.Identifiers = append(c.Identifiers, id) })
}

// ignorePhones leaves phones that identify nobody out of all tables: they are no features either.
func (l *testNetwork) ignorePhones() {
	for i, n := range l.nodes {
		for name, spec := range n.tables.Specs {
			if spec.Options.Ignore = []string{"phone"}; l.tablePath(i, name) == spec.Path {
				n.tables.Specs[name] = spec
			}
		}
	}
}

// TestAlignThenTrainThenScore goes the whole way from tables of different people in different orders: who is common,
// a training on those, and scores of the asker's rows, of which those that somebody lacks come back without one.
func TestAlignThenTrainThenScore(t *testing.T) {
	for name, test := range map[string]struct {
		parties    int
		ids        func(party, person int) string
		phones     bool
		privacy    string
		parameters string
	}{
		"by points, by id":         {3, same, false, "masked", "min_rows = 20"},
		"by points, by phone":      {4, ownNumbers, true, "masked", "keys = [\"phone\"]"},
		"by a helper, sealed":      {3, same, false, "sealed", "mode = \"helper\"\nhelper = \"telco\""},
		"by a helper without rows": {4, ownNumbers, true, "sealed", "keys = [\"phone\"]\nmode = \"helper\"\nhelper = \"retailer\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, test.parties, 1)
			people := customers{100, test.parties}
			people.write(l, test.ids)
			if test.phones {
				l.withPhones()
			}
			if strings.Contains(name, "without rows") {
				l.idle = 3
				people.parties = 3
			}
			l.startAll()
			if !test.phones {
				l.ignorePhones()
			}
			r, h, err := l.propose(l.align("customers", "train", test.parameters))
			must(t, err)
			want := 0
			for person := range people.people {
				if people.common(person) {
					want++
				}
			}
			if r.Aligned == nil || r.Aligned.Common != want {
				t.Fatalf("report is %+v, want %d common rows", r.Aligned, want)
			}
			l.awaitDone(t.Context(), h)
			for i := range l.names {
				folder := filepath.Join(l.dirs[i], "node", "jobs", h.String())
				waitErased(t, folder, "alignment-root", "alignment-received")
			}
			if _, _, err := l.propose(l.align("batch", "test", test.parameters)); err != nil {
				t.Fatal(err)
			}
			active := activeBank + "features = 16\niterations = 20"
			if test.privacy == "sealed" && test.parties == 4 {
				active += "\nhelper = \"retailer\""
			}
			r, h, err = l.propose(l.job("train", "rows = \"customers\"\nprivacy = \""+test.privacy+"\"", active))
			must(t, err)
			if r.Rows != want {
				t.Errorf("the training had %d rows, want %d", r.Rows, want)
			}
			r, _, err = l.propose(l.job("predict", fmt.Sprintf("table = \"test\"\nrows = \"batch\"\nprivacy = %q\nmodel = %q\n"+
				"open_to = \"bank\"", test.privacy, h), ""))
			must(t, err)
			checkNoMatch(t, r, people, test.ids)
		})
	}
}

// waitErased waits until a job's folder has none of the files: they are erased once the end is stored.
func waitErased(t *testing.T, folder string, files ...string) {
	t.Helper()
	for _, name := range files {
		_, err := os.Stat(filepath.Join(folder, name))
		for tries := 0; err == nil && tries < 2000; tries++ {
			must(t, pause(t.Context(), retryEvery/30))
			_, err = os.Stat(filepath.Join(folder, name))
		}
		if !os.IsNotExist(err) {
			t.Errorf("%s keeps %s: %v", folder, name, err)
		}
	}
}

// checkNoMatch wants a scores file with a row for each of the first party's people: a score for those whom all have.
func checkNoMatch(t *testing.T, r *jobs.Report, people customers, ids func(party, person int) string) {
	t.Helper()
	f, err := os.Open(r.Scores)
	must(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	must(t, err)
	got := make(map[string]string)
	for _, row := range rows[1:] {
		got[row[0]] = row[1]
	}
	want := 0
	for person := range people.people {
		if person%10 == 0 {
			continue
		}
		want++
		if score := got[ids(0, person)]; score == "" || (score == "no match") == people.common(person) {
			t.Fatalf("person %d has score %q", person, score)
		}
	}
	if len(got) != want {
		t.Errorf("%d rows, want %d", len(got), want)
	}
}

// TestTooFewCommonRowsEndTheJobWithNothing ends an alignment at all parties, and none of them has a list.
func TestTooFewCommonRowsEndTheJobWithNothing(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	customers{50, 3}.write(l, same)
	l.startAll()
	_, h, err := l.propose(l.align("customers", "train", "min_rows = 36"))
	if err == nil || !strings.Contains(err.Error(), "too few") && !strings.Contains(err.Error(), "fewer rows are common") {
		t.Fatalf("error is %v", err)
	}
	for i, n := range l.nodes {
		s, _ := n.job(h)
		if err := waitFinal(t, s); err != nil {
			t.Errorf("%s: %v", l.names[i], err)
		}
		waitErased(t, filepath.Join(l.dirs[i], "node", "jobs", h.String()), "alignment.hanse", "model-1", "alignment-root",
			"alignment-received")
	}
	text := l.job("train", "rows = \"customers\"", activeBank)
	if _, err := l.nodes[0].Prepare(context.Background(), text, nil); err == nil ||
		!strings.Contains(err.Error(), "hanse align --name customers") {
		t.Errorf("a training on no alignment: %v", err)
	}
}

// TestANameIsOneAlignments: of two that are proposed under one name at the same time the first to begin has it, until
// no job may use it.
func TestANameIsOneAlignments(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	var later atomic.Int64 // days
	l.now = func() time.Time { return time.Now().AddDate(0, 0, int(later.Load())) }
	customers{50, 3}.write(l, same)
	l.startAll()
	text := l.align("customers", "train", "min_rows = 20\nkeep_days = 3")
	first, err := l.nodes[0].Prepare(t.Context(), text, nil)
	must(t, err)
	second, err := l.nodes[0].Prepare(t.Context(), text, nil)
	must(t, err)
	if _, err := l.nodes[0].Launch(t.Context(), first.Hash(), func(jobs.Event) {}); err != nil {
		t.Fatal(err)
	}
	want := `this node has an alignment "customers", contract ` + first.Hash().Short() + `, which is done`
	_, err = l.nodes[0].Launch(t.Context(), second.Hash(), func(jobs.Event) {})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the second one of the name: %v", err)
	}
	if _, err := l.nodes[0].Prepare(t.Context(), text, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a third one: %v", err)
	}
	later.Store(4)
	if _, _, err := l.propose(text); err != nil {
		t.Errorf("after its days: %v", err)
	}
}

// TestAnAlignmentOutlivesItsStatus: a bit flips in the status of an alignment that is done, at each party in turn. The
// alignment stays done, with its time, and a training on it runs; it expires when it would have.
func TestAnAlignmentOutlivesItsStatus(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	var later atomic.Int64 // days
	l.now = func() time.Time { return time.Now().AddDate(0, 0, int(later.Load())) }
	customers{50, 3}.write(l, same)
	l.startAll()
	_, h, err := l.propose(l.align("customers", "train", "min_rows = 2\nkeep_days = 10"))
	must(t, err)
	for i := range l.nodes {
		s, _ := l.nodes[i].job(h)
		<-s.Final()
		ended := s.Record().Ended
		l.restart(i, h, func(dir string) {
			must(t, flipBit(filepath.Join(dir, job.RecordFile), 20))
		})
		s, _ = l.nodes[i].job(h)
		if r := s.Record(); !r.Damaged || r.State != job.Done || r.Ended.Sub(ended).Abs() > time.Minute {
			t.Errorf("%s has the alignment as %s, ended %s, want done at %s", l.names[i], r.State, r.Ended, ended)
		}
	}
	l.ignorePhones()
	if _, _, err := l.propose(l.job("train", "rows = \"customers\"", activeBank+"features = 32")); err != nil {
		t.Errorf("a training on it: %v", err)
	}
	later.Store(11)
	text := l.job("train", "rows = \"customers\"", activeBank+"features = 32")
	_, err = l.nodes[0].Prepare(t.Context(), text, nil)
	if err == nil || !strings.Contains(err.Error(), "expired on 20") {
		t.Errorf("eleven days later: %v", err)
	}
}
