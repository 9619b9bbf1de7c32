package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/daemon"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/manifest"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
)

// workers are processes of all members' workers of one job.
type workers struct {
	*testNetwork
	contract string
	of       int
	running  map[string]*localnet.Process
}

// work starts the workers of a job's shards at all members.
func (w *testNetwork) work(contract string, of int) *workers {
	l := &workers{testNetwork: w, contract: contract, of: of, running: make(map[string]*localnet.Process)}
	w.t.Cleanup(func() {
		for _, p := range l.running {
			p.End(syscall.SIGKILL, time.Minute)
		}
	})
	for _, name := range w.Names {
		if _, err := os.Stat(w.WorkerKeys(name, contract)); err != nil { // else those of the same job, run before
			w.makeKeys(name, contract)
		}
		for shard := range of {
			l.start(name, shard)
		}
	}
	return l
}

// makeKeys has a member's node make the keys of a job's workers, once it has heard of the job.
func (w *testNetwork) makeKeys(name, contract string) {
	w.t.Helper()
	for {
		out, err := exec.Command(w.program, w.WorkerKeyArgs(name, contract)...).CombinedOutput()
		if err == nil {
			return
		}
		if !bytes.Contains(out, []byte("this node has no job")) {
			w.t.Fatalf("%v\n%s", err, out)
		}
		select {
		case <-w.t.Context().Done():
			w.t.Fatalf("%s never heard of the job: %s", name, out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// start starts one worker.
func (l *workers) start(name string, shard int) {
	l.t.Helper()
	key := fmt.Sprintf("%s-%d", name, shard)
	p, err := localnet.Start(localnet.Launch{Name: key, Program: l.program,
		Args: l.WorkerArgs(name, l.contract, shard, l.of), Log: l.Path(name, key+".log")})
	if err != nil {
		l.t.Fatal(err)
	}
	l.running[key] = p
}

// restart kills a worker and starts it again, as an engine would.
func (l *workers) restart(name string, shard int) {
	l.running[fmt.Sprintf("%s-%d", name, shard)].End(syscall.SIGKILL, time.Minute)
	l.start(name, shard)
}

// wantDone waits for all workers, who end with status 0.
func (l *workers) wantDone() {
	l.t.Helper()
	for key, p := range l.running {
		if err := p.Wait(l.t.Context()); err != nil || p.Code() != 0 {
			name, _, _ := strings.Cut(key, "-")
			text, _ := os.ReadFile(l.Path(name, key+".log"))
			l.t.Errorf("worker %s ended with code %d (%v)\n%s", key, p.Code(), err, text)
		}
		delete(l.running, key)
	}
}

// startInShards starts all nodes and prepares a masked training in shards at the bank.
func startInShards(t *testing.T, shards int) (w *testNetwork, id string) {
	t.Helper()
	w = newColumns(t, 3500)
	for _, name := range w.Names {
		w.start(name)
	}
	return w, w.prepareShards(fdskl.Params{Loss: "square", Features: 1024, Lambda: 1e-4}, fdskl.Masked, "", shards)
}

// TestSIGKILLOfWorkers kills workers, one of them again and again, and a node: the job ends in the model that the same
// contract gives without a kill, bit for bit, and its audit finds nothing but what masked jobs announce.
func TestSIGKILLOfWorkers(t *testing.T) {
	drawn.Turn(t, 2, 3)
	t.Parallel()
	const shards = 2
	w, id := startInShards(t, shards)
	kills := make(chan int, 100)
	ended := make(chan error, 1)
	go func() {
		_, err := w.client("bank").Launch(t.Context(), id, func(e jobs.Event) {
			if e.Kind == jobs.EventProgress && e.Step == "rows" && e.Done < e.Total {
				select {
				case kills <- int(e.Done):
				default:
				}
			}
		})
		ended <- err
	}()
	l := w.work(id, shards)
	for _, victim := range []struct {
		name  string
		shard int
	}{{"telco", 1}, {"telco", 1}, {"bank", 0}} {
		select {
		case <-kills:
			l.restart(victim.name, victim.shard)
		case err := <-ended: // the machine was fast
			ended <- err
		}
	}
	select {
	case <-kills: // a node, too: its workers find it again, and the job goes on with the shards that are done
		if err := w.kill("insurer", syscall.SIGKILL); err == nil {
			t.Error("the node ended well though it was killed")
		}
		w.start("insurer")
	case err := <-ended:
		ended <- err
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, w.log("bank"))
	}
	l.wantDone()
	interrupted := w.models(id)
	w.runAgain(id)
	l = w.work(id, shards)
	again := w.models(id)
	l.wantDone()
	for name, model := range again {
		if !bytes.Equal(model, interrupted[name]) {
			t.Errorf("%s: the model part differs from the uninterrupted one", name)
		}
	}
}

// TestSIGSTOPOfAWorker: a worker that stands still, as on a machine that is frozen, loses its place to the one that is
// started for it, and the job ends. When it goes on it hears that its shard is done.
func TestSIGSTOPOfAWorker(t *testing.T) {
	drawn.Turn(t, 1, 3)
	t.Parallel()
	const shards = 2
	w, id := startInShards(t, shards)
	counting, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := w.client("bank").Launch(t.Context(), id, func(e jobs.Event) {
			if e.Kind == jobs.EventProgress && e.Step == "rows" && e.Done < e.Total {
				select {
				case counting <- struct{}{}:
				default:
				}
			}
		})
		ended <- err
	}()
	l := w.work(id, shards)
	frozen := l.running["telco-1"]
	t.Cleanup(frozen.Kill)
	<-counting
	if err := frozen.Signal(syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	l.start("telco", 1)
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, w.log("bank"))
	}
	l.wantDone()
	if err := frozen.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if err := frozen.Wait(t.Context()); err != nil || frozen.Code() != 0 {
		t.Errorf("the worker that stood still ends with code %d: %v", frozen.Code(), err)
	}
}

// TestBorrowerAfterTheEnd: the door of a real node lets in whoever has a key of a worker while its job has not ended,
// and until the key is revoked. Then it says why, lets nobody in, and cuts who is there.
func TestBorrowerAfterTheEnd(t *testing.T) {
	t.Parallel()
	w, id := startInShards(t, 2)
	w.makeKeys("bank", id)
	made, err := keys.LoadShardKeys(w.WorkerKeys("bank", id))
	must(t, err)
	dial := func(shard int) (worker.Conn, error) {
		return daemon.DialNode(t.Context(), made.Keys[shard], w.Address("bank"), nil)
	}
	wantRefused := func(shard int, why string) {
		t.Helper()
		var refused *worker.RefusedError
		if c, err := dial(shard); err == nil {
			t.Errorf("the borrower is let in, want it refused: %s", why)
			c.Close()
		} else if !errors.As(err, &refused) || !strings.Contains(err.Error(), why) {
			t.Errorf("the borrower hears %v, want %s", err, why)
		}
	}
	var first, second worker.Conn
	if first, err = dial(0); err == nil {
		defer first.Close()
		second, err = dial(1)
	}
	if err != nil {
		t.Fatalf("control: the key is refused while its job waits: %v", err)
	}
	defer second.Close()
	revoke := exec.Command(w.program, "worker", "revoke", "--job", id, "--shards", "0", "--dir", w.Path("bank", "node"))
	if out, err := revoke.CombinedOutput(); err != nil || string(out) != "1 key revoked\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	wantRefused(0, "was revoked")
	select {
	case <-first.(interface{ Over() <-chan struct{} }).Over():
	case <-t.Context().Done():
	}
	for _, line := range []string{"a worker's key is used for the first time", "shard=0  address=/ip4/127.0.0.1"} {
		if text := w.log("bank"); !strings.Contains(text, line) {
			t.Errorf("the node's log has no %q:\n%s", line, text)
		}
	}
	if stream, err := second.Open(t.Context()); err != nil {
		t.Errorf("control: the worker with the key that was not revoked: %v", err)
	} else {
		stream.Close()
	}

	must(t, w.client("bank").Cancel(t.Context(), id, "enough"))
	wantRefused(1, "has ended there, cancelled")
	wantRefused(0, "was revoked")
	if out, err := exec.Command(w.program, w.WorkerKeyArgs("bank", id)...).CombinedOutput(); err == nil {
		t.Errorf("keys are made for a job that has ended:\n%s", out)
	}
}

// TestNodesStartWithoutWorkerKey: a node whose worker.key is empty starts, and says of its job in shards why it waits.
func TestNodesStartWithoutWorkerKey(t *testing.T) {
	t.Parallel()
	w, id := startInShards(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	waits, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		defer close(ended)
		w.client("bank").Launch(ctx, id, func(e jobs.Event) {
			if e.Kind == jobs.EventWaiting && strings.Contains(e.Text, "has no worker") {
				once.Do(func() { close(waits) })
			}
		})
	}()
	defer func() { cancel(); <-ended }()
	<-waits
	w.kill("telco", syscall.SIGKILL)
	must(t, os.Truncate(filepath.Join(w.Path("telco", "node"), "worker.key"), 0))
	w.start("telco")
	for _, line := range []string{"the key from which those of workers follow cannot be used", "there is no key in it"} {
		if text := w.log("telco"); strings.Count(text, line) != 1 {
			t.Errorf("the node's log has not once %q:\n%s", line, text)
		}
	}
	list, err := w.client("telco").Jobs(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Contract != id || !strings.Contains(list[0].Waiting, "jobs in shards wait") {
		t.Errorf("the job is said to be %+v", list[0].Waiting)
	}
	out, err := exec.Command(w.program, w.WorkerKeyArgs("telco", id)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "put the file back from a copy") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManifest writes the files for engines, and refuses what it cannot write one for.
func TestManifest(t *testing.T) {
	t.Parallel()
	w, id := startInShards(t, 2)
	manifest := func(args ...string) (string, error) {
		out, err := exec.Command(w.program, append([]string{"shard", "manifest", "--dir", w.Path("bank", "node"), "--node",
			w.Address("bank")}, args...)...).CombinedOutput()
		return string(out), err
	}
	for flag, want := range map[string]string{"--cpu=2": "completionMode: Indexed", "--slurm": "#SBATCH --array=0-1",
		"--systemd": "hanse worker", "--loop": "hanse"} {
		if out, err := manifest("trial", flag); err != nil || !strings.Contains(out, want) || !strings.Contains(out, id) {
			t.Errorf("%s: %v\n%s", flag, err, out)
		}
	}
	if out, err := manifest("other"); err == nil || !strings.Contains(out, "has no job called other") {
		t.Errorf("a job that is not there: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(w.Path("bank", "node"), "worker.key")); err != nil {
		t.Error(err)
	}
}

// TestManifestsNameRealFlags: the command that each engine runs is hanse worker, with flags that it has.
func TestManifestsNameRealFlags(t *testing.T) {
	s := &manifest.Shards{Job: "credit", Contract: strings.Repeat("c0ffee01", 8), Party: "bank", Of: 16, Parallel: 4,
		Node: "bank.example:4711", Memory: 1 << 30, CPU: 1, Scratch: 1 << 30, Image: "hanse", InitImage: manifest.InitImage,
		Secret: "hanse-worker", Claim: "hanse-parts"}
	app := newApp(io.Discard, io.Discard)
	command := regexp.MustCompile(`(?s)\bworker\s+(- )?"?--node.*?(c0ffee01){8}`)
	for name, render := range map[string]func() (string, error){"kubernetes": s.Kubernetes, "slurm": s.Slurm,
		"systemd": s.Systemd, "loop": s.Loop} {
		text, err := render()
		must(t, err)
		line := command.FindString(text)
		if strings.Count(line, "--") < 4 {
			t.Fatalf("%s runs %q:\n%s", name, line, text)
		}
		var words []string
		for _, m := range flagWord.FindAllStringSubmatch(line, -1) {
			words = append(words, "--"+m[1]+"=1")
		}
		line = "hanse worker " + strings.Join(words, " ")
		checkCommand(t, app, name, line, strings.Fields(line)[1:])
	}
}
