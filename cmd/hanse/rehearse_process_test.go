package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/rehearsal"
)

// Canaries stand in the tables of the federation whose job is rehearsed, and nowhere else: canaryText in names and
// texts, and numbers of too many digits to come up by chance.
const (
	canaryText   = "canary"
	canaryNumber = 7357124.8113579
	canaryStep   = 1e8
	canaries     = 9
)

// canaryJob is a job on them.
const canaryJob = `format = "hanse-job-v1"
name = "credit"
algorithm = "fdskl"
task = "train"
record = "full"
parties = ["bank", "insurer", "telco"]
[parameters]
active = ["bank"]
label = "default"
features = 16
lambda = 1e-3
iterations = 20
`

// newCanaries is a federation of three nodes that run, whose tables hold canaries: ids, names of columns, texts,
// numbers and names of classes.
func newCanaries(t *testing.T) *testNetwork {
	w := newNetwork(t, t.TempDir(), []string{"bank", "insurer", "telco"})
	for i, name := range w.Names {
		text := "id,canary_a,canary_b" + map[bool]string{true: ",default", false: ""}[i == 0] + "\n"
		for row := range 120 {
			text += fmt.Sprintf("canary-%04d,%v,canary-%d", row, canaryNumber+canaryStep*float64(row%canaries), row%3)
			if i == 0 {
				text += fmt.Sprintf(",canary-%d", row*7%5%2)
			}
			text += "\n"
		}
		must(t, os.WriteFile(w.Path(name, "train.csv"), []byte(text), 0o600))
	}
	must(t, w.Offer("bank", "train", "default"))
	w.args = func(name string) []string {
		return w.Args(name, localnet.Node{Workers: 1, Tables: []string{"train=train.csv"}})
	}
	for _, name := range w.Names {
		w.start(name)
	}
	return w
}

// rehearse prepares hanse rehearse of a job at a member's node, with temporary files in a folder of their own.
func (w *testNetwork) rehearse(name, job, temporary string, args ...string) *exec.Cmd {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "job.toml")
	if err := os.WriteFile(path, []byte(job), 0o600); err != nil {
		w.t.Fatal(err)
	}
	args = append([]string{"rehearse", path, "--workers", "1", "--dir", w.Path(name, "node")}, args...)
	c := exec.CommandContext(w.t.Context(), w.program, args...)
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	return c
}

// shortFolder makes a temporary folder in which the path of a socket has no more than the 107 bytes
// that it may have: the name of the test is not in it.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "r")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestARehearsalIsOfTheContractAndReadsNoTable rehearses a job, looks for canaries in all that the rehearsal made, and
// then trains: the contract is the one that was rehearsed, and what each party sent is what was foretold.
func TestARehearsalIsOfTheContractAndReadsNoTable(t *testing.T) {
	t.Parallel()
	w := newCanaries(t)
	temporary, kept := shortFolder(t), filepath.Join(t.TempDir(), "kept")
	c := w.rehearse("bank", canaryJob, temporary, "--json", "--keep", kept)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errOut.String())
	}
	r := new(rehearsal.Result)
	must(t, json.Unmarshal(out.Bytes(), r))
	if !r.Alike() || r.Audit.Verdict != "clean" || r.Rows != 120 || len(r.Parties) != 3 {
		t.Errorf("the rehearsal came to %+v", r)
	}
	refuseLeft(t, temporary)
	refuseCanaries(t, kept)
	for _, other := range []string{"insurer", "telco"} {
		if jobs, err := w.client(other).Jobs(t.Context()); err != nil || len(jobs) > 0 {
			t.Errorf("%s was asked for consent to %v, error %v", other, jobs, err)
		}
	}

	// The real job.
	j, err := w.client("bank").Prepare(t.Context(), []byte(canaryJob), func(jobs.Event) {})
	must(t, err)
	if !strings.Contains(j.Summary, "rehearsed here on ") {
		t.Errorf("the summary says nothing of the rehearsal:\n%s", j.Summary)
	}
	real, err := auditing.ReadContract(w.Path("bank", filepath.Join("node", "jobs", j.Contract, job.ContractCopy)))
	must(t, err)
	if likeness, err := real.Likeness(); err != nil || likeness != r.Likeness {
		t.Errorf("the contract has likeness %s, rehearsed was %s, error %v", likeness, r.Likeness, err)
	}
	if _, err := w.client("bank").Launch(t.Context(), j.Contract, func(jobs.Event) {}); err != nil {
		t.Fatal(err)
	}
	for i, name := range w.Names {
		report, err := w.client(name).Report(t.Context(), j.Contract)
		must(t, err)
		// Names of columns and digits of numbers make a few bytes of difference.
		if p := r.Parties[i]; p.Name != name || far(p.Sent, report.BytesOut) || far(p.Received, report.BytesIn) {
			t.Errorf("%+v was rehearsed, %s sent %d and received %d", p, name, report.BytesOut, report.BytesIn)
		}
	}

	// Another parameter is another contract.
	other := strings.Replace(canaryJob, "features = 16", "features = 18", 1)
	j, err = w.client("bank").Prepare(t.Context(), []byte(other), func(jobs.Event) {})
	must(t, err)
	if strings.Contains(j.Summary, "rehearsed") {
		t.Errorf("the summary of another contract, %s, tells of the rehearsal:\n%s", j.Contract, j.Summary)
	}
}

// far reports whether bytes of a rehearsal are more than one in a hundred away from those of the job.
func far(rehearsed, real int64) bool {
	return math.Abs(float64(rehearsed-real)) > 0.01*float64(real)
}

// refuseCanaries looks for canaries in every file below a folder, numbers in every form that files have.
func refuseCanaries(t *testing.T, dir string) {
	t.Helper()
	forms := [][]byte{[]byte(canaryText)}
	for i := range canaries {
		v := canaryNumber + canaryStep*float64(i)
		bits := math.Float64bits(v)
		forms = append(forms, fmt.Append(nil, v), fmt.Appendf(nil, "%.10g", v), // as texts, one of them rounded
			binary.LittleEndian.AppendUint64(nil, bits), binary.BigEndian.AppendUint64(nil, bits))
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, form := range forms {
			if bytes.Contains(text, form) {
				t.Errorf("%s holds %q", path, form)
			}
		}
		files++
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("looked at %d files, error %v", files, err)
	}
}

// refuseLeft wants nothing among temporary files but the folder in which nodes have their sockets while they run.
func refuseLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"hanse-rehearsal-*", filepath.Join("*", "*")} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("%v are left among temporary files, error %v", left, err)
		}
	}
}

// TestAnInterruptedRehearsalLeavesNothing interrupts a rehearsal while its nodes run.
func TestAnInterruptedRehearsalLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newCanaries(t)
	temporary := shortFolder(t)
	long := strings.Replace(canaryJob, "iterations = 20", "iterations = 4000", 1) // it would go on for minutes
	c := w.rehearse("telco", strings.Replace(long, "features = 16", "features = 1024", 1), temporary)
	var errOut bytes.Buffer
	c.Stderr = &errOut
	must(t, c.Start())
	began := filepath.Join(temporary, "hanse-rehearsal-*", "bank", "node", "jobs", "*", job.ContractCopy)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(began); err != nil {
			t.Fatal(err)
		} else if len(found) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no rehearsal began:\n%s", errOut.String())
		}
	}
	must(t, c.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("it ended with %v:\n%s", err, errOut.String())
	}
	refuseLeft(t, temporary)
	if rehearsal.Any(w.Path("telco", "node")) {
		t.Error("half a rehearsal is kept")
	}
}
