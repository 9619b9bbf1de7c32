package main

import (
	"bytes"
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
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/manifest"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
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
		for shard := range of {
			l.start(name, shard)
		}
	}
	return l
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
	l := w.work(id, shards)
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
	l := w.work(id, shards)
	frozen := l.running["telco-1"]
	t.Cleanup(frozen.Kill)
	var once sync.Once
	if _, err := w.client("bank").Launch(t.Context(), id, func(e jobs.Event) {
		if e.Kind == jobs.EventProgress && e.Step == "rows" && e.Done < e.Total {
			once.Do(func() {
				if err := frozen.Signal(syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
				l.start("telco", 1)
			})
		}
	}); err != nil {
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
	command := regexp.MustCompile(`(?s)\bworker\s+(- )?"?--node.*?c0ffee01`)
	for name, render := range map[string]func() (string, error){"kubernetes": s.Kubernetes, "slurm": s.Slurm,
		"systemd": s.Systemd, "loop": s.Loop} {
		text, err := render()
		if err != nil {
			t.Fatal(err)
		}
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
