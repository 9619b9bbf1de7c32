package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
)

// floats is the id column of a federation of which the insurer's program wrote the ids as floats.
func floats(party, person int) string {
	if party == 1 {
		return fmt.Sprintf("%d.0", person+1)
	}
	return strconv.Itoa(person + 1)
}

// withoutPhones leaves the column out of all tables: it is no feature.
func (l *testNetwork) withoutPhones() {
	for i, n := range l.nodes {
		for name, spec := range n.tables.Specs {
			if spec.Options.Ignore = []string{"phone"}; l.tablePath(i, name) == spec.Path {
				n.tables.Specs[name] = spec
			}
		}
	}
}

// What the insurer's node says of its own table, and of no other's.
const writtenAsFloats = `ids in "id": all 207 ids are whole numbers with ".0"`

// TestEachOwnerIsToldWhatItsOwnIDsLookLike where too few rows are common, or not all of them: in its own events and
// its own list of jobs. What the insurer's ids look like is in no frame, and in nothing that another party is told or
// keeps.
func TestEachOwnerIsToldWhatItsOwnIDsLookLike(t *testing.T) {
	for name, job := range map[string]func(l *testNetwork) []byte{
		"align":  func(l *testNetwork) []byte { return l.align("customers", "train", "min_rows = 100") },
		"train":  func(l *testNetwork) []byte { return l.job("train", "", activeBank+"features = 16") },
		"sealed": func(l *testNetwork) []byte { return l.job("train", "privacy = \"sealed\"", activeBank+"features = 16") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 3, 1)
			customers{230, 3}.write(l, floats)
			heard := make([]spoken, 3)
			for i := range l.names {
				l.told[i] = func(e jobs.Event) {
					text, err := json.Marshal(e)
					fmt.Fprintf(&heard[i], "%s %v\n", text, err)
				}
			}
			l.startAll()
			l.withoutPhones()
			var taps []*testnet.Tap
			for _, k := range l.keys {
				taps = append(taps, l.net.Tap(k.ID()))
			}
			_, h, err := l.propose(job(l))
			if err == nil {
				t.Fatal("no row is common, and the job goes on")
			}
			for i, n := range l.names {
				s, ok := l.nodes[i].job(h)
				if !ok {
					t.Fatalf("%s does not have the job", n)
				}
				if err := waitFinal(t, s); err != nil {
					t.Errorf("%s: %v", n, err)
				}
				want := `ids in "id": 207 ids, whole numbers of 1 to 3 digits`
				if i == 1 {
					want = writtenAsFloats
				}
				info := l.infoAt(i, h)
				quoted, _ := json.Marshal(want)
				if !strings.Contains(heard[i].String(), strings.Trim(string(quoted), `"`)) ||
					!strings.Contains(info.Reason, want) {
					t.Errorf("%s is told %s, and its list of jobs %q; want %q", n, heard[i].String(), info.Reason, want)
				}
				l.stops[i]()
				if told := heard[i].String() + info.Reason; i != 1 && strings.Contains(told, "whole numbers with") {
					t.Errorf("%s is told of the insurer's ids: %s", n, told)
				}
				for _, f := range taps[i].Frames() {
					if strings.Contains(string(f.Data), "whole numbers") {
						t.Errorf("a frame of kind %s says what ids look like", f.Kind())
					}
				}
			}
		})
	}
}

// TestEveryPartyReadsOfTheChartersIDs of an alignment that compares the id column although the charter has ids: each
// before it consents, in its events and in its list of jobs. The failure is one line of an error in each log, and one
// event, whatever the other parties say of the same end.
func TestEveryPartyReadsOfTheChartersIDs(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	customers{230, 3}.write(l, floats)
	l.identify(keys.Identifier{Name: "person", Columns: []keys.IDColumn{{Name: "id", Number: true}}})
	logged := make([]bytes.Buffer, 3)
	heard := make([]strings.Builder, 3)
	ends := make([]int, 3)
	var mu sync.Mutex
	l.logs = make(map[int]*slog.Logger)
	for i := range l.names {
		l.logs[i] = slog.New(slog.NewTextHandler(&logged[i], &slog.HandlerOptions{Level: slog.LevelError}))
		l.told[i] = func(e jobs.Event) {
			mu.Lock()
			defer mu.Unlock()
			heard[i].WriteString(e.Text + "\n")
			if e.Kind == jobs.EventError {
				ends[i]++
			}
		}
	}
	l.startAll()
	l.withoutPhones()
	_, h, err := l.propose(l.align("customers", "train", "min_rows = 100"))
	if err == nil {
		t.Fatal("no row is common, and the job goes on")
	}
	for i, name := range l.names {
		s, ok := l.nodes[i].job(h)
		if !ok {
			t.Fatalf("%s does not have the job", name)
		}
		if err := waitFinal(t, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := "not by the charter's ids: bank, who proposes it, would add --keys person"
		if i == 0 {
			want = "not by the charter's ids: hanse align --keys person compares by those"
		}
		info := l.infoAt(i, h)
		if summary := strings.Join(strings.Fields(info.Summary), " "); !strings.Contains(summary, want+".") {
			t.Errorf("%s reads before it consents\n%s", name, info.Summary)
		}
		if !strings.HasSuffix(info.Reason, want) {
			t.Errorf("%s has in its list of jobs %q", name, info.Reason)
		}
	}
	for i, name := range l.names {
		l.stops[i]()
		if !strings.Contains(heard[i].String(), "not by the charter's ids") || ends[i] != 1 {
			t.Errorf("%s has %d events of the end among\n%s", name, ends[i], heard[i].String())
		}
		if lines := strings.Count(logged[i].String(), "\n"); lines > 1 { // none where another told it first
			t.Errorf("%s logs %d errors:\n%s", name, lines, logged[i].String())
		}
	}
}

// TestAProposerIsToldWhatItsOwnIDsLookLike where the tables do not have as many rows: there is no contract then, and
// the others were asked for no more than their numbers.
func TestAProposerIsToldWhatItsOwnIDsLookLike(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	customers{230, 3}.write(l, floats)
	text, err := os.ReadFile(l.tablePath(2, "train"))
	must(t, err)
	l.writeTable(2, "train", string(text)+"9999,0612345678,1\n")
	l.startAll()
	l.withoutPhones()
	var heard []string
	_, err = l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 16"), func(e jobs.Event) {
		heard = append(heard, e.Kind+": "+e.Text)
	})
	want := `warning: of your own table "train", and told to nobody else: ids in "id": 207 ids, whole numbers of 1 to 3 digits`
	if err == nil || len(heard) == 0 || heard[len(heard)-1] != want {
		t.Errorf("error %v, told %q; want %q", err, heard, want)
	}
}

// TestAnOwnerReadsWhatItsIDsLookLikeBeforeConsent to an alignment: nothing where the recipe makes them alike.
func TestAnOwnerReadsWhatItsIDsLookLikeBeforeConsent(t *testing.T) {
	for number, want := range map[bool]bool{false: true, true: false} {
		l := newTestNetwork(t, 3, 1)
		customers{230, 3}.write(l, floats)
		if number {
			l.identify(keys.Identifier{Name: "person", Columns: []keys.IDColumn{{Name: "id", Number: true}}})
		}
		l.startAll()
		parameters := "min_rows = 100"
		if number {
			parameters += "\nkeys = [\"person\"]"
		}
		report, h, err := l.propose(l.align("customers", "train", parameters))
		if (err == nil) != number {
			t.Fatalf("number %t: %v", number, err)
		}
		if number && report.Aligned.Common != 161 {
			t.Errorf("%d common rows, want 161", report.Aligned.Common)
		}
		s, _ := l.nodes[1].job(h)
		summary := strings.Join(strings.Fields(l.nodes[1].summaryOf(s.Contract()).text), " ")
		if got := strings.Contains(summary, writtenAsFloats); got != want {
			t.Errorf("number %t: the summary says it: %t", number, got)
		}
	}
}
