package node

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
)

// alignmentInput is what an audit of an alignment reads at some parties.
func (l *testNetwork) alignmentInput(h keys.Hash, parties ...int) *audit.Input {
	l.t.Helper()
	l.awaitDone(l.t.Context(), h)
	return l.inputOf(h, parties...)
}

// inputOf is what an audit of an alignment that has ended reads at some parties.
func (l *testNetwork) inputOf(h keys.Hash, parties ...int) *audit.Input {
	l.t.Helper()
	text, err := os.ReadFile(l.jobFile(parties[0], h, job.ContractCopy))
	if err != nil {
		l.t.Fatal(err)
	}
	in := &audit.Input{Charter: l.charter, Workers: 2}
	if in.Contract, err = contract.ParseContract(text); err != nil {
		l.t.Fatal(err)
	}
	for _, i := range parties {
		path := l.jobFile(i, h, TranscriptFile)
		s := audit.Source{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
		if _, err := os.Stat(l.jobFile(i, h, PayloadFolder)); err == nil {
			store, err := transcript.OpenStore(l.jobFile(i, h, PayloadFolder), 0)
			if err != nil {
				l.t.Fatal(err)
			}
			s.Payload = store.Get
		}
		in.Sources = append(in.Sources, s)
	}
	return in
}

// auditAlignment audits an alignment at some parties. No check may have found anything.
func (l *testNetwork) auditAlignment(h keys.Hash, parties ...int) *audit.Report {
	l.t.Helper()
	r, err := audit.Run(l.t.Context(), l.alignmentInput(h, parties...))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Verdict != audit.Passed {
			l.t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
		}
	}
	return r
}

// TestAuditOfAnHonestAlignmentFindsNothing audits each party's transcript alone and all of them together, in both
// modes, where digests were kept.
func TestAuditOfAnHonestAlignmentFindsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		parties    int
		parameters string
	}{
		"dh of two":                 {2, "min_rows = 20"},
		"dh":                        {3, "min_rows = 20"},
		"dh, two passes":            {3, "keys = [\"phone\", \"customer\"]"},
		"helper":                    {4, "mode = \"helper\"\nhelper = \"telco\""},
		"dh, two passes in buckets": {3, "keys = [\"phone\", \"customer\"]\nbuckets = 4"},
		"dh of rows one by one":     {2, "buckets = 95"},
		"helper, rows one by one":   {3, "mode = \"helper\"\nhelper = \"telco\"\nbuckets = 160"},
		"helper, in buckets":        {4, "mode = \"helper\"\nhelper = \"telco\"\nbuckets = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, test.parties, 1)
			people := customers{100, test.parties}
			people.write(l, same)
			if strings.Contains(name, "passes") {
				l.identify(keys.Identifier{Name: "customer", Columns: []keys.IDColumn{{Name: "id"}}})
				l.withPhones()
			}
			l.startAll()
			_, h, err := l.propose(l.align("customers", "train", test.parameters))
			must(t, err)
			want := int64(0)
			for person := range people.people {
				if people.common(person) {
					want++
				}
			}
			parties := make([]int, test.parties)
			for i := range parties {
				parties[i] = i
				if r := l.auditAlignment(h, i); r.Verdict != audit.Partial {
					t.Errorf("%s alone: %s: %s", l.names[i], r.Verdict, r.Summary)
				}
			}
			r := l.auditAlignment(h, parties...)
			if r.Verdict != audit.Partial {
				t.Errorf("verdict of digests alone is %s, want partial: %s", r.Verdict, r.Summary)
			}
			opened := make(map[string]int64)
			for _, o := range r.Ledger {
				opened[o.Party+" "+o.Kind] = o.Count
			}
			for _, name := range l.names {
				if got := opened[name+" common rows"]; got != want {
					t.Errorf("%s learned of %d common rows, want %d", name, got, want)
				}
				if got := opened[name+" common size"]; got < 1 || got > 2 {
					t.Errorf("%s learned of %d sizes", name, got)
				}
			}
		})
	}
}

// TestSecretsOfAnAlignmentAreNeverKept runs alignments that keep payloads, and looks for those with which asker's and
// keeper's folders together could test ids.
func TestSecretsOfAnAlignmentAreNeverKept(t *testing.T) {
	for name, parameters := range map[string]string{"dh": "", "helper": "mode = \"helper\"\nhelper = \"telco\"",
		"dh, in buckets": "buckets = 4", "helper, in buckets": "mode = \"helper\"\nhelper = \"telco\"\nbuckets = 4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 3, 1)
			customers{50, 3}.write(l, same)
			l.startAll()
			_, h, err := l.propose(l.kept(l.align("customers", "train", parameters)))
			must(t, err)
			kept, secret := 0, 0
			for i, s := range l.alignmentInput(h, 0, 1, 2).Sources {
				file, err := s.Open()
				must(t, err)
				defer file.Close()
				reader, err := transcript.NewReader(file)
				must(t, err)
				var r transcript.Record
				for reader.Next(&r) == nil {
					if !r.Type.Frame() || r.Bytes == 0 {
						continue
					}
					_, err := s.Payload(r.Sum())
					switch hidden := slices.Contains([]string{"coin", "seed", "store", "half key", "order"}, r.Kind); {
					case hidden == r.Kept || hidden == (err == nil):
						t.Errorf("%s: %q: kept %t, in the store: %v", l.names[i], r.Kind, r.Kept, err)
					case hidden:
						secret++
					default:
						kept++
					}
				}
			}
			if kept == 0 || secret == 0 {
				t.Errorf("%d payloads kept and %d not", kept, secret)
			}
		})
	}
}

// kept makes a job keep its payloads.
func (l *testNetwork) kept(job []byte) []byte {
	return bytes.Replace(job, []byte("\ntable = "), []byte("\nrecord = \"full\"\ntable = "), 1)
}

// withIDs gives an audit the ids of all parties' tables.
func (l *testNetwork) withIDs(in *audit.Input, table string) {
	l.t.Helper()
	for i := range l.names {
		path := l.tablePath(i, table)
		source, err := jobs.NewTables(map[string]jobs.TableSpec{table: {Path: path}}).Source(table)
		if err != nil {
			l.t.Fatal(err)
		}
		lists, err := alignment.Lists(l.charter.Digest(), nil, source)
		if err != nil {
			l.t.Fatal(err)
		}
		agreed, err := job.ReadRecord(filepath.Dir(in.Sources[i].Path))
		in.IDs = append(in.IDs, &evidence.IDs{Lists: [][]psi.ID{lists[0].IDs}, Table: source.Sum(),
			Confirmed: err == nil && agreed.Data == source.Sum()})
	}
}

// TestAuditOfAnHonestAlignmentIsClean audits all transcripts with their payloads and tables: nothing is left to look
// at, and no id is found in any view.
func TestAuditOfAnHonestAlignmentIsClean(t *testing.T) {
	for name, parameters := range map[string]string{"dh": "", "helper": "mode = \"helper\"\nhelper = \"telco\"",
		"dh, in buckets": "buckets = 4", "helper, in buckets": "mode = \"helper\"\nhelper = \"telco\"\nbuckets = 4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestNetwork(t, 3, 1)
			customers{50, 3}.write(l, same)
			l.startAll()
			_, h, err := l.propose(l.kept(l.align("customers", "train", parameters)))
			must(t, err)
			in := l.alignmentInput(h, 0, 1, 2)
			l.withIDs(in, "train")
			for i, k := range l.keys {
				secret := k.Secret(psi.DomainCommitment, []byte(in.Contract.Job.Nonce))
				in.IDs[i].Commitment = psi.Commit(secret, in.IDs[i].Lists, 1).String()
			}
			r, err := audit.Run(t.Context(), in)
			must(t, err)
			for _, c := range r.Checks {
				if c.Verdict != audit.Passed {
					t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
				}
			}
			if r.Verdict != audit.Clean || r.Exit != audit.ExitClean || len(r.Attacks) != 3 {
				t.Errorf("%s, %d attacks: %s %q", r.Verdict, len(r.Attacks), r.Summary, r.NotLookedAt)
			}

			// A party that aligned a list padded with guesses cannot show its table for it.
			padded := append(slices.Clone(in.IDs[1].Lists[0]), keys.HashOf("a guess"))
			secret := l.keys[1].Secret(psi.DomainCommitment, []byte(in.Contract.Job.Nonce))
			in.IDs[1].Commitment = psi.Commit(secret, [][]psi.ID{padded}, 1).String()
			if r, err = audit.Run(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if r.Verdict != audit.Unverifiable || !strings.Contains(r.Summary, "committed to") {
				t.Errorf("another list: %s: %s", r.Verdict, r.Summary)
			}
		})
	}
}
