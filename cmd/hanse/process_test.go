package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol/contract"
)

// testNetwork is a federation of real node processes.
type testNetwork struct {
	*localnet.Federation
	t       *testing.T
	data    *trial.Data
	program string
	args    func(name string) []string // of a member's process
}

// newColumns writes data, key files and a charter; the nodes are not started.
func newColumns(t *testing.T, people int) *testNetwork {
	t.Helper()
	dir := t.TempDir()
	d := trial.Credit(people, 1)
	must(t, d.Write(dir))
	w := newNetwork(t, dir, d.Names)
	w.data, w.args = d, func(name string) []string { return w.NodeArgs(name, 1) }
	return w
}

// newNetwork founds a federation in a folder; nodes that are started end with the test.
func newNetwork(t *testing.T, dir string, names []string) *testNetwork {
	t.Helper()
	l, err := localnet.Found(dir, names, "masked")
	must(t, err)
	w := &testNetwork{Federation: l, t: t, program: program(t)}
	t.Cleanup(w.stopAll)
	return w
}

// program returns a path under which the test binary is the hanse program, and is found there by the processes that it
// starts: no symbolic link, which would be followed to the binary's own name.
func program(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	path := filepath.Join(t.TempDir(), "hanse")
	if os.Link(exe, path) == nil {
		return path
	}
	binary, err := os.ReadFile(exe) // the folders are on two disks
	if err == nil {
		err = os.WriteFile(path, binary, 0o700)
	}
	must(t, err)
	return path
}

// start starts a member's process and waits until its node answers its owner.
func (w *testNetwork) start(name string) {
	w.t.Helper()
	if _, err := w.Launch(localnet.Launch{Name: name, Program: w.program, Args: w.args(name)}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Await(w.t.Context(), name); err != nil {
		w.t.Fatalf("%v\n%s", err, w.log(name))
	}
}

// kill ends a node with a signal and waits for its end.
func (w *testNetwork) kill(name string, signal syscall.Signal) error {
	return w.Node(name).End(signal, time.Minute)
}

func (w *testNetwork) stopAll() {
	if err := w.Stop(); err != nil {
		for _, p := range w.Nodes() {
			err = fmt.Errorf("%w\n%s:\n%s", err, p.Name, w.log(p.Name))
		}
		w.t.Error(err)
	}
}

func (w *testNetwork) log(name string) string {
	text, err := os.ReadFile(w.Log(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *testNetwork) client(name string) *node.Client {
	client, err := w.Client(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// prepare proposes a training at the bank and returns its contract.
func (w *testNetwork) prepare(p fdskl.Params, privacy, record string) string {
	w.t.Helper()
	return w.prepareShards(p, privacy, record, 0)
}

// prepareShards is prepare for a job in so many shards, 0 for none.
func (w *testNetwork) prepareShards(p fdskl.Params, privacy, record string, shards int) string {
	w.t.Helper()
	p.Active, p.Label = []string{"bank"}, w.data.Label
	job := contract.Job{Format: "hanse-job-v1", Name: "trial", Algorithm: "fdskl", Task: contract.TaskTrain,
		Parties: w.Names, Privacy: privacy, Record: record, Shards: shards}
	if err := job.SetParameters(p.WithDefaults()); err != nil {
		w.t.Fatal(err)
	}
	contract, _, err := w.Propose(w.t.Context(), &job, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return contract
}

// models returns every member's model part.
func (w *testNetwork) models(contract string) map[string][]byte {
	w.t.Helper()
	all := make(map[string][]byte)
	for _, name := range w.Names {
		if _, err := w.client(name).Report(w.t.Context(), contract); err != nil {
			w.t.Fatalf("%s: %v\n%s", name, err, w.log(name))
		}
		data, err := os.ReadFile(w.jobFile(name, contract, "model.hanse"))
		if err != nil {
			w.t.Fatal(err)
		}
		all[name] = data
	}
	return all
}

func (w *testNetwork) jobFile(name, contract, file string) string {
	return w.JobFile(name, contract, file)
}

// TestSIGKILL kills a party mid-sum. The others name it and pause; started again with the same
// command, it ends in the model that the same contract gives without a kill, bit for bit.
func TestSIGKILL(t *testing.T) {
	drawn.Turn(t, 0, 3)
	t.Parallel()
	for victim, record := range map[string]string{"telco": contract.RecordFull, "bank": contract.RecordDigests} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			testSIGKILL(t, victim, record)
		})
	}
}

func testSIGKILL(t *testing.T, victim, record string) {
	w := newColumns(t, 3500)
	for _, name := range w.Names {
		w.start(name)
	}
	contract := w.prepare(fdskl.Params{Loss: "square", Features: 1024, Lambda: 1e-4}, fdskl.Masked, record)
	mid := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.client("bank").Launch(t.Context(), contract, func(e jobs.Event) {
			if e.Kind == jobs.EventProgress && e.Step == "angles" && e.Done < e.Total {
				select {
				case mid <- struct{}{}:
				default:
				}
			}
		})
	}()
	select {
	case <-mid:
	case <-ended:
		t.Fatalf("the job ended before it could be killed\n%s", w.log("bank"))
	}
	w.kill(victim, syscall.SIGKILL)
	awaitLog(t, w, "insurer", "disconnected", "member="+victim)
	w.start(victim)
	interrupted := w.models(contract)
	<-ended
	w.audit(contract, record)
	w.runAgain(contract)
	for name, again := range w.models(contract) {
		if !bytes.Equal(again, interrupted[name]) {
			t.Errorf("%s: the resumed model part differs from the uninterrupted one", name)
		}
	}
}

// audit runs hanse audit over all members' transcripts of a job: every check passes over the killed
// session and the next, and the angles are rebuilt as announced.
func (w *testNetwork) audit(job, record string) {
	w.t.Helper()
	args := []string{"audit", "--json", "--rows", "500", "--charter", w.CharterFile()}
	for _, name := range w.Names {
		args = append(args, filepath.Dir(w.jobFile(name, job, "transcript")), "--data", name+"="+w.Path(name, "train.csv"))
	}
	out, err := exec.Command(w.program, args...).Output()
	var exit *exec.ExitError
	if partial := errors.As(err, &exit) && exit.ExitCode() == audit.ExitPartial; !partial {
		w.t.Fatalf("audit: %v\n%s", err, out)
	}
	var r audit.Report
	if err := json.Unmarshal(out, &r); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range r.Checks {
		if few := c.Name == "rows" && c.Verdict == audit.Skipped; c.Verdict != audit.Passed && !few {
			w.t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
		}
	}
	for _, f := range r.Transcripts {
		if f.Sessions < 2 {
			w.t.Errorf("%s's transcript has %d sessions", f.Party, f.Sessions)
		}
	}
	if record == contract.RecordFull && (len(r.NotLookedAt) != 1 || !strings.HasPrefix(r.NotLookedAt[0], "Rows: ")) {
		w.t.Errorf("not looked at: %q, want the rows that were left out alone", r.NotLookedAt)
	}
	rebuilt := r.Attacks[0].RecoveredShare
	if r.Verdict != audit.Disclosed || record == contract.RecordFull && (rebuilt == nil || *rebuilt < 0.99) {
		w.t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

// awaitLog returns when a member's log has a line with all the words.
func awaitLog(t *testing.T, w *testNetwork, name string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		for line := range strings.Lines(w.log(name)) {
			found := 0
			for _, word := range words {
				if strings.Contains(line, word) {
					found++
				}
			}
			if found == len(words) {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s's log has no line with %q:\n%s", name, words, w.log(name))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// runAgain puts a finished job back to before its first session, keeping contract and phases, and
// starts all nodes again.
func (w *testNetwork) runAgain(contract string) {
	w.t.Helper()
	w.stopAll()
	for _, name := range w.Names {
		if err := node.RunAgain(filepath.Dir(w.jobFile(name, contract, jobs.ModelFile))); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range w.Names {
		w.start(name)
	}
}

// TestCancelAndResult ends a proposal and hands out what a finished job left, by the commands of the owners.
func TestCancelAndResult(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 300)
	for _, name := range w.Names {
		w.start(name)
	}
	hanse := func(name string, args ...string) (string, int) {
		cmd := exec.Command(w.program, append(args, "--dir", w.Path(name, "node"))...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	w.prepare(fdskl.Params{Features: 16}, fdskl.Masked, "")
	if out, code := hanse("bank", "result", "trial"); code != exitFailed || !strings.Contains(out,
		`job "trial" is proposed`) {
		t.Errorf("the result of a proposal: %d, %s", code, out)
	}
	if out, code := hanse("bank", "cancel", "trial", "--reason", "another table"); code != 0 {
		t.Errorf("cancel: %d, %s", code, out)
	}
	if out, _ := hanse("bank", "jobs", "--all"); !strings.Contains(out, "cancelled\n    another table\n") {
		t.Errorf("the job is listed as\n%s", out)
	}
	if out, code := hanse("bank", "cancel", "trial"); code != exitFailed || !strings.Contains(out,
		"nothing is left to cancel") {
		t.Errorf("cancelled twice: %d, %s", code, out)
	}
	contract := w.prepare(fdskl.Params{Features: 16}, fdskl.Masked, "")
	if _, err := w.client("bank").Launch(t.Context(), contract, func(jobs.Event) {}); err != nil {
		t.Fatal(err)
	}
	for _, name := range w.Names {
		if out, code := hanse(name, "result", contract[:8]); code != 0 || !strings.Contains(out, "against the contract") {
			t.Errorf("%s's result: %d, %s", name, code, out)
		}
	}
	if out, code := hanse("telco", "cancel", contract[:8]); code != exitFailed || !strings.Contains(out,
		"is done already") {
		t.Errorf("a job that is done is cancelled: %d, %s", code, out)
	}
}

// TestMemberThatNeverComes leaves one node out: the proposer says who is awaited, and an interrupt
// ends it cleanly.
func TestMemberThatNeverComes(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 200)
	for _, name := range w.Names[:3] {
		w.start(name)
	}
	job := w.Path("bank", "job.toml")
	text := fmt.Sprintf("format = \"hanse-job-v1\"\nname = \"j\"\nalgorithm = \"fdskl\"\ntask = \"train\"\nparties = "+
		"[\"bank\", \"insurer\", \"telco\", \"retailer\"]\n[parameters]\nactive = [\"bank\"]\nlabel = %q\n", w.data.Label)
	must(t, os.WriteFile(job, []byte(text), 0o600))
	cmd := exec.Command(w.program, "train", "--yes", "--dir", w.Path("bank", "node"), job)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	var said strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(said.String(), "waiting for retailer") {
		n, err := stderr.Read(buf)
		if err != nil {
			t.Fatalf("train ended and said %q", said.String())
		}
		said.Write(buf[:n])
	}
	cmd.Process.Signal(os.Interrupt)
	rest := new(bytes.Buffer)
	rest.ReadFrom(stderr)
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(rest.String(),
		"hanse: interrupted") {
		t.Errorf("interrupted train ended with %v and said %q", err, rest)
	}
	for _, name := range w.Names[:3] {
		if err := w.kill(name, syscall.SIGINT); err != nil {
			t.Errorf("%s's node, interrupted, ended with %v", name, err)
		}
	}
}

// TestPortInUse starts a node twice.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 100)
	w.start("bank")
	args := append(w.NodeArgs("bank", 1), "--dir", filepath.Join(t.TempDir(), "node"))
	out, err := exec.Command(w.program, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("the second node ended with %v and said %q", err, out)
	}
	out, err = exec.Command(w.program, w.NodeArgs("bank", 1)...).CombinedOutput()
	if err == nil {
		t.Errorf("a second node in the same folder ran; it said %q", out)
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
