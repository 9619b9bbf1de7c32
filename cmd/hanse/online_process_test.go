package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/demo"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/protocol/contract"
)

// clientNetwork is a federation of real processes over clients' streams, one process each.
type clientNetwork struct {
	*testNetwork
	trial *online.Parks
}

// newClientNetwork starts a server and clients of POF-MKL.
func newClientNetwork(t *testing.T, o online.Options) *clientNetwork {
	t.Helper()
	parks, err := online.NewParks(o)
	must(t, err)
	h := &clientNetwork{testNetwork: newNetwork(t, t.TempDir(), parks.Parties()), trial: parks}
	server := parks.Servers[0]
	h.args = func(name string) []string {
		if name == server {
			return demo.ServerArgs(h.Federation, parks.Federation, 0, 1)
		}
		return demo.ClientArgs(h.Federation, server, 4*time.Second, []string{name})
	}
	for name, stream := range parks.Streams {
		must(t, stream.Write(h.Path(name, "train.csv")))
		must(t, h.Offer(name, "train", stream.Label))
	}
	for _, name := range parks.Parties() {
		h.start(name)
	}
	return h
}

// propose prepares the job at the server and returns its contract.
func (h *clientNetwork) propose() string {
	h.t.Helper()
	job := contract.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: "pofmkl", Task: contract.TaskTrain, Parties: h.trial.Parties(),
		Servers: h.trial.Servers,
		Privacy: "masked", Topology: contract.Star.String(), Parameters: h.trial.Parameters(),
	}
	text, err := job.Text()
	if err != nil {
		h.t.Fatal(err)
	}
	prepared, err := h.client(h.trial.Servers[0]).Prepare(h.t.Context(), text, func(jobs.Event) {})
	if err != nil {
		h.t.Fatal(err)
	}
	return prepared.Contract
}

// TestSIGKILLOfAClient kills a client in the middle of a job: the job goes on without it. Started again
// with the same command, it comes back into the next session, and has every row's prediction once.
func TestSIGKILLOfAClient(t *testing.T) {
	drawn.Turn(t, 0, 3)
	t.Parallel()
	const rounds = 800
	h := newClientNetwork(t, online.Options{Servers: 1, Clients: 5, Rounds: rounds, Seed: 1})
	contract, victim := h.propose(), "park-03"
	mid, without, ended := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := h.client("server").Launch(t.Context(), contract, func(e jobs.Event) {
			switch {
			case e.Kind == jobs.EventProgress && e.Done >= 50:
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
	h.start(victim)
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
	if strings.Contains(says.String(), "it has seen") || strings.Count(out.String(), "\n") < rounds {
		t.Errorf("%d lines of predictions, and %q", strings.Count(out.String(), "\n"), says.String())
	}
}

// TestSIGKILLOfAServer kills the server in the middle of a job: started again with the same command, it
// goes on from its last checkpoint with the clients that wait for it.
func TestSIGKILLOfAServer(t *testing.T) {
	drawn.Turn(t, 2, 3)
	t.Parallel()
	h := newClientNetwork(t, online.Options{Servers: 1, Clients: 5, Rounds: 300, Seed: 1})
	contract := h.propose()
	mid, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		h.client("server").Launch(t.Context(), contract, func(e jobs.Event) {
			if e.Kind == jobs.EventProgress && e.Done >= 50 {
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
	h.start("server")
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
func (h *clientNetwork) checkAll(contract, victim string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	for _, name := range h.trial.Parties() {
		r, err := h.client(name).Report(ctx, contract)
		if err != nil {
			h.t.Fatalf("%s: %v\n%s", name, err, h.log(name))
		}
		if r.Sessions < 2 || r.Online == nil || r.Online.Rounds != h.trial.Rounds() {
			h.t.Errorf("%s: %d sessions, report %+v, want 2 sessions or more and %d rounds", name, r.Sessions, r.Online,
				h.trial.Rounds())
		}
		if name == "server" && r.Online.Clients != 5 {
			h.t.Errorf("the last total is of %d clients, want 5", r.Online.Clients)
		}
	}
	for _, name := range h.trial.AllClients() {
		predictions, err := demo.ReadPredictions(h.jobFile(name, contract, demo.PredictionsFile))
		if err != nil {
			h.t.Error(err)
		}
		n := len(predictions)
		if name != victim && n != h.trial.Rounds() || n < 50 || n > h.trial.Rounds() {
			h.t.Errorf("%s has %d predictions of %d rows", name, n, h.trial.Rounds())
		}
	}
}
