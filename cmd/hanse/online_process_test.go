package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/protocol"
)

// harbour is a league of real processes over clients' streams, one process each.
type harbour struct {
	*town
	parks *online.Parks
}

// newHarbour starts a server and clients of POF-MKL.
func newHarbour(t *testing.T, o online.Options) *harbour {
	t.Helper()
	parks, err := online.NewParks(o)
	if err != nil {
		t.Fatal(err)
	}
	league, err := trial.Found(t.TempDir(), parks.Parties(), "masked")
	if err != nil {
		t.Fatal(err)
	}
	h := &harbour{town: &town{League: league, t: t, program: program(t), nodes: make(map[string]*exec.Cmd)}, parks: parks}
	t.Cleanup(h.stopAll)
	for name, stream := range parks.Streams {
		if err := stream.Write(h.Path(name, "train.csv")); err != nil {
			t.Fatal(err)
		}
		if err := h.Offer(name, "train", stream.Label); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range parks.Parties() {
		h.launch(name)
	}
	return h
}

// launch starts a party's process and waits until it answers its owner.
func (h *harbour) launch(name string) {
	h.t.Helper()
	args := clientArgs(h.League, h.parks.Servers[0], "4s", []string{name})
	if name == h.parks.Servers[0] {
		args = serverArgs(h.League, h.parks.Federation, 0, 1)
	}
	log, err := os.OpenFile(h.Path(name, "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(h.program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.nodes[name] = cmd
	if err := awaitNode(h.t.Context(), h.Path(name, "node"), startTime(1)); err != nil {
		h.t.Fatalf("%s: %v\n%s", name, err, h.log(name))
	}
}

// propose prepares the job at the server and returns its contract.
func (h *harbour) propose() string {
	h.t.Helper()
	job := protocol.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: "pofmkl", Task: protocol.TaskTrain, Parties: h.parks.Parties(), Servers: h.parks.Servers,
		Privacy: "masked", Topology: protocol.Star.String(), Parameters: h.parks.Parameters(),
	}
	text, err := job.Text()
	if err != nil {
		h.t.Fatal(err)
	}
	contract, _, err := h.client(h.parks.Servers[0]).Prepare(h.t.Context(), text, func(node.Event) {})
	if err != nil {
		h.t.Fatal(err)
	}
	return contract
}

// TestSIGKILLOfAClient kills a client in the middle of a job: the job goes on without it. Started again
// with the same command, it comes back into the next session, and has every row's prediction once.
func TestSIGKILLOfAClient(t *testing.T) {
	h := newHarbour(t, online.Options{Servers: 1, Clients: 5, Rounds: 2000, Seed: 1})
	contract, victim := h.propose(), "park-03"
	mid, without, ended := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := h.client("server").Launch(t.Context(), contract, func(e node.Event) {
			switch {
			case e.Kind == node.EventProgress && e.Done >= 50:
				signalOnce(mid)
			case strings.Contains(e.Text, "goes on without "+victim):
				signalOnce(without)
			}
		})
		ended <- err
	}()
	await := func(c chan struct{}, what string) {
		t.Helper()
		select {
		case <-c:
		case err := <-ended:
			t.Fatalf("the job ended before %s: %v\n%s", what, err, h.log("server"))
		}
	}
	await(mid, "its client could be killed")
	h.kill(victim, syscall.SIGKILL)
	await(without, "it went on without its client")
	h.launch(victim)
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, h.log("server"))
	}
	h.checkAll(contract, victim)

	h.kill(victim, syscall.SIGKILL) // what it learned it has without its node, too
	var out, says bytes.Buffer
	rows := h.Path(victim, "train.csv")
	predict := []string{"hanse", "predict", "--model", contract, "--data", rows, "--dir", h.Path(victim, "node")}
	if code := run(t.Context(), predict, &out, &says); code != 0 {
		t.Fatalf("hanse predict ended with %d: %s", code, says.String())
	}
	if strings.Contains(says.String(), "it has seen") || strings.Count(out.String(), "\n") < 2000 {
		t.Errorf("%d lines of predictions, and %q", strings.Count(out.String(), "\n"), says.String())
	}
}

// TestSIGKILLOfAServer kills the server in the middle of a job: started again with the same command, it
// goes on from its last checkpoint with the clients that wait for it.
func TestSIGKILLOfAServer(t *testing.T) {
	h := newHarbour(t, online.Options{Servers: 1, Clients: 5, Rounds: 300, Seed: 1})
	contract := h.propose()
	mid, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		h.client("server").Launch(t.Context(), contract, func(e node.Event) {
			if e.Kind == node.EventProgress && e.Done >= 50 {
				signalOnce(mid)
			}
		})
	}()
	select {
	case <-mid:
	case <-ended:
		t.Fatalf("the job ended before its server could be killed\n%s", h.log("server"))
	}
	h.kill("server", syscall.SIGKILL)
	<-ended
	h.launch("server")
	h.checkAll(contract, "")
}

// signalOnce fills a channel of one.
func signalOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// checkAll checks what every party says of a job during which a client was gone for a while.
func (h *harbour) checkAll(contract, victim string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	for _, name := range h.parks.Parties() {
		r, err := h.client(name).Report(ctx, contract)
		if err != nil {
			h.t.Fatalf("%s: %v\n%s", name, err, h.log(name))
		}
		if r.Sessions < 2 || r.Online == nil || r.Online.Rounds != h.parks.Rounds() {
			h.t.Errorf("%s: %d sessions, report %+v, want 2 sessions or more and %d rounds", name, r.Sessions, r.Online, h.parks.Rounds())
		}
		if name == "server" && r.Online.Clients != 5 {
			h.t.Errorf("the last total is of %d clients, want 5", r.Online.Clients)
		}
	}
	for _, name := range h.parks.AllClients() {
		predictions, err := readPredictions(h.jobFile(name, contract, predictionsFile))
		if err != nil {
			h.t.Error(err)
		}
		n := len(predictions)
		if name != victim && n != h.parks.Rounds() || n < 50 || n > h.parks.Rounds() {
			h.t.Errorf("%s has %d predictions of %d rows", name, n, h.parks.Rounds())
		}
	}
}
