package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// formerly is a node's folder whose federation had a member "ex" in version 1 of its charter, and has not in version 2.
// Jobs were agreed under either.
type formerly struct {
	t        *testing.T
	dir      string
	keys     map[string]*keys.PrivateKey
	charters []*keys.SignedCharter
}

// newFormerly makes the folder.
func newFormerly(t *testing.T) *formerly {
	f := &formerly{t: t, dir: t.TempDir(), keys: make(map[string]*keys.PrivateKey)}
	names := []string{"bank", "telco", "ex"}
	for _, name := range names {
		key, err := keys.GenerateKey()
		f.must(err)
		f.keys[name] = key
	}
	first := keys.Charter{Name: "test", Version: 1, Created: time.Unix(1_700_000_000, 0).UTC(), Rules: keys.Rules{
		MinPrivacy: keys.PrivacyPublished, MinContributors: 2, Transports: []string{"tcp"}, Discovery: []string{"addresses"}}}
	for _, name := range names {
		first.Members = append(first.Members, keys.Member{Name: name, ID: f.keys[name].ID()})
	}
	second, err := f.charter(first).WithoutMember("ex", "left")
	f.must(err)
	second.Created = first.Created.Add(time.Hour)
	f.charter(second)
	return f
}

// must ends the test on an error.
func (f *formerly) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// charter has all sign a charter and keeps it in the folder.
func (f *formerly) charter(c keys.Charter) *keys.SignedCharter {
	f.t.Helper()
	s, err := keys.NewCharter(c)
	f.must(err)
	for _, m := range c.Members {
		for _, key := range f.keys {
			if key.ID() == m.ID {
				f.must(s.Sign(key))
			}
		}
	}
	f.charters = append(f.charters, s)
	f.write(s.Text(), "charters", s.Digest().String()+".toml")
	return s
}

// write writes a file into the folder.
func (f *formerly) write(text []byte, path ...string) string {
	f.t.Helper()
	file := filepath.Join(append([]string{f.dir}, path...)...)
	f.must(os.MkdirAll(filepath.Dir(file), 0o700))
	f.must(os.WriteFile(file, text, 0o600))
	return file
}

// job makes the contract of a job under a version of the charter, in the folder.
func (f *formerly) job(version int, parties ...string) *contract.Contract {
	f.t.Helper()
	job := contract.Job{Format: "hanse-job-v1", Name: "credit", Algorithm: "fdskl", Task: contract.TaskTrain,
		Table: "train", Privacy: "masked", Parties: parties, Topology: "tree",
		Charter: f.charters[version-1].Digest().String()}
	var facts []contract.Facts
	roles := []string{"active", "passive", "passive"}
	for i, name := range parties {
		facts = append(facts, contract.Facts{Name: name, ID: f.keys[name].ID(), Role: roles[i], Rows: 40, Columns: 3})
	}
	c, err := contract.NewContract(&job, facts, nil, contract.SessionOperations(len(parties), nil))
	f.must(err)
	for _, name := range parties {
		c.Sign(f.keys[name])
	}
	f.write(c.Text(), "jobs", c.Hash().String(), "contract.toml")
	return c
}

// transcript writes the header of a party's transcript of a job.
func (f *formerly) transcript(c *contract.Contract, party int, path ...string) string {
	var block [transcript.BlockSize]byte
	transcript.Header{Self: party, Contract: c.Hash(), Party: c.Parties[party].ID}.Encode(&block)
	return f.write(block[:], path...)
}

// report writes a report that ex signs about a job, with one file as the transcript of each of the parties.
func (f *formerly) report(c *contract.Contract, change func(*audit.Report), files map[string]string) string {
	f.t.Helper()
	r := &audit.Report{Verdict: audit.Clean}
	r.Job.Name, r.Job.Contract, r.Job.Charter = c.Job.Name, c.Hash().String(), c.Job.Charter
	r.Origin = audit.Origin{ID: f.keys["ex"].ID().String(), Program: "hanse", At: "2026-11-23T00:00:00Z"}
	if i := c.Job.Index("ex"); i >= 0 {
		r.Origin.Member = "ex"
	}
	for party, file := range files {
		text, err := os.ReadFile(file)
		f.must(err)
		sum := sha256.Sum256(text)
		r.Transcripts = append(r.Transcripts, audit.Transcript{Party: party, SHA256: hex.EncodeToString(sum[:])})
	}
	if change != nil {
		change(r)
	}
	f.must(render.Sign(r, f.keys["ex"]))
	var text bytes.Buffer
	f.must(render.JSON(&text, r))
	return f.write(text.Bytes(), "audit.json")
}

// verify runs hanse audit verify on a report, with the folder and files.
func (f *formerly) verify(args ...string) (code int, said string) {
	var out, errOut bytes.Buffer
	code = run(f.t.Context(), append([]string{"hanse", "audit", "verify"}, args...), &out, &errOut)
	return code, strings.Join(strings.Fields(out.String()+errOut.String()), " ")
}

// TestExMemberSignsReports: ex, who has left the federation, signs reports about jobs, with files that it chooses. None
// of them is taken for a member's report about the job.
func TestExMemberSignsReports(t *testing.T) {
	f := newFormerly(t)
	before, after := f.job(1, "bank", "telco", "ex"), f.job(2, "bank", "telco")
	mine := f.transcript(before, 2, "ex.transcript")
	bank := f.transcript(before, 0, "bank.transcript")
	afterBank := f.transcript(after, 0, "jobs", after.Hash().String(), "transcript")
	afterTelco := f.transcript(after, 1, "telco.transcript")
	any := f.write([]byte("this is no transcript at all\n"), "any")
	oldCharter := func(r *audit.Report) { r.Job.Charter = f.charters[0].Digest().String() }
	for _, c := range []struct {
		name     string
		contract *contract.Contract
		change   func(*audit.Report)
		files    map[string]string
		given    []string
		code     int
		want     string
	}{
		{"under the charter that it was in", after, oldCharter, map[string]string{"bank": afterBank, "telco": afterTelco},
			[]string{afterTelco}, 1, "and its contract says " + f.charters[1].Digest().String()[:8]},
		{"under the right one", after, nil, map[string]string{"bank": afterBank, "telco": afterTelco},
			[]string{afterTelco}, 1, `which signed the report, is no member's in charter "test", version 2`},
		{"on a job of its time", before, nil, map[string]string{"bank": bank, "ex": mine}, []string{mine, bank}, 4,
			`version 2 of charter "test" in ` + f.dir + " has revoked it, as that of ex: left"},
		{"in another's name", before, func(r *audit.Report) { r.Origin.Member = "telco" }, map[string]string{"ex": mine},
			[]string{mine}, 1, "the report says that telco signed it, and by the job's contract its key is that of ex"},
		{"on another job of that contract", before, func(r *audit.Report) { r.Job.Name = "debit" },
			map[string]string{"ex": mine}, []string{mine}, 1, `the report calls the job "debit", and its contract "credit"`},
		{"on any file", before, nil, map[string]string{"bank": any}, []string{any}, 1,
			"which the report names as the transcript of bank, cannot be read: it is not a transcript"},
		{"on another job's transcript", before, nil, map[string]string{"bank": afterBank}, []string{afterBank}, 1,
			"is of the job with contract " + after.Hash().Short()},
		{"on its own as another's", before, nil, map[string]string{"bank": mine}, []string{mine}, 1,
			"which the report names as the transcript of bank, is that of ex"},
		{"on one file for two", before, nil, map[string]string{"bank": bank, "telco": bank}, []string{bank}, 1,
			"the report names one file as the transcripts of two parties"},
		{"on one party twice", before, func(r *audit.Report) {
			r.Transcripts = append(r.Transcripts, audit.Transcript{Party: "bank", SHA256: strings.Repeat("0", 64)})
		}, map[string]string{"bank": bank}, []string{bank}, 1, "the report names two transcripts of bank"},
		{"on a stranger", before, nil, map[string]string{"butcher": bank}, []string{bank}, 1,
			"the report names a transcript of butcher, who is no party of the job"},
		{"on nothing", before, nil, nil, nil, 1, "the report names no transcript: it is about nothing"},
		{"on nobody", before, nil, map[string]string{"": any}, []string{any}, 1, "the report names a transcript of nobody"},
	} {
		path := f.report(c.contract, c.change, c.files)
		code, said := f.verify(append([]string{"--dir", f.dir, path}, c.given...)...)
		if said := strings.ReplaceAll(said, "- ", "-"); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("a report %s: exit code %d, want %d and %q in:\n%s", c.name, code, c.code, c.want, said)
		}
	}
}

// TestExMembersReportsOnceWereGood: the same reports verify where no newer charter is known.
func TestExMembersReportsOnceWereGood(t *testing.T) {
	f := newFormerly(t)
	f.must(os.Remove(filepath.Join(f.dir, "charters", f.charters[1].Digest().String()+".toml")))
	job := f.job(1, "bank", "telco", "ex")
	mine, bank := f.transcript(job, 2, "ex.transcript"), f.transcript(job, 0, "bank.transcript")
	path := f.report(job, nil, map[string]string{"bank": bank, "ex": mine})
	code, said := f.verify("--dir", f.dir, path, mine, bank)
	if code != 4 || !strings.Contains(said, "has the job and no transcript") {
		t.Errorf("exit code %d, want 4, since the folder's own transcript is gone: %s", code, said)
	}
	f.transcript(job, 0, "jobs", job.Hash().String(), "transcript")
	if code, said := f.verify("--dir", f.dir, path, mine, bank); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, said)
	}
}

// TestHostileWordsDoNotReachTheTerminal: what others wrote into files cannot do anything to a terminal by way of an
// error, whichever command prints it.
func TestHostileWordsDoNotReachTheTerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"charter.toml": "format = \"\\u001B]0;owned\\u0007\\u001B[2J\"\n[signatures]\n",
		"audit.json":   `{"signed":"\u001b[2J"}` + "\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	hostile := "\x1b]0;owned\x07\x1b[2J"
	for _, args := range [][]string{
		{"charter", "show", filepath.Join(dir, "charter.toml")}, {"audit", "verify", filepath.Join(dir, "audit.json")},
		{"audit", hostile, "--dir", dir}, {"audit", "verify", filepath.Join(dir, hostile)}, {hostile},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), append([]string{"hanse"}, args...), &out, &errOut)
		if code == 0 || errOut.Len() == 0 || strings.ContainsAny(out.String()+errOut.String(), "\x1b\x07") {
			t.Errorf("%q: exit code %d, %q", args, code, errOut.String())
		}
	}
}
