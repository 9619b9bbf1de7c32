package main

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestSIGKILLOfASealedTraining kills the keeper while rows become shares, and the helper while steps are taken.
// Started again with the same commands they go on under fresh keys, and the model's scores agree, but for what the
// roundings of steps taken anew make of them, with those of the same contract run without a kill.
func TestSIGKILLOfASealedTraining(t *testing.T) {
	drawn.Turn(t, 1, 3)
	t.Parallel()
	w := newColumns(t, 2800)
	for _, name := range w.Names {
		w.start(name)
	}
	contract := w.prepare(fdskl.Params{Loss: "square", Features: 256, Lambda: 1e-4, Iterations: 400}, fdskl.Sealed,
		contract.RecordDigests)
	mid := map[string]chan struct{}{"columns": make(chan struct{}, 1), "steps": make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		_, err := w.client("bank").Launch(t.Context(), contract, func(e jobs.Event) {
			if e.Kind != jobs.EventProgress || e.Done == e.Total || e.Step == "steps" && e.Done < 40 {
				return
			}
			select {
			case mid[e.Step] <- struct{}{}:
			default:
			}
		})
		ended <- err
	}()
	for _, c := range []struct{ step, victim string }{{"columns", "insurer"}, {"steps", "telco"}} {
		select {
		case <-mid[c.step]:
		case err := <-ended:
			t.Fatalf("the job ended before %s could be killed: %v\n%s", c.victim, err, w.log("bank"))
		}
		w.kill(c.victim, syscall.SIGKILL)
		awaitLog(t, w, "retailer", "disconnected", "member="+c.victim)
		w.start(c.victim)
	}
	w.models(contract)
	must(t, <-ended)
	interrupted := w.scores(contract)
	w.runAgain(contract)
	w.models(contract)
	again := w.scores(contract)
	for id, f := range again {
		if d := math.Abs(f - interrupted[id]); !(d <= 1.0/32) {
			t.Errorf("%s: score %v with kills, %v without", id, interrupted[id], f)
		}
	}
	if len(again) != w.data.Test[0].Rows() || len(interrupted) != len(again) {
		t.Errorf("%d and %d scores", len(interrupted), len(again))
	}
}

// TestSIGKILLLeavesNoFeatures kills the helper while a logistic job takes its steps: the file of features stays on the
// disk, nobody can read it, and it is gone when the job is done, which goes on with another.
func TestSIGKILLLeavesNoFeatures(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 2800)
	for _, name := range w.Names {
		w.start(name)
	}
	c := w.prepare(fdskl.Params{Loss: "logistic", Features: 64, Lambda: 1e-2, Sigma: 2, Iterations: 400, Outer: 24},
		fdskl.Sealed, contract.RecordDigests)
	mid := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := w.client("bank").Launch(t.Context(), c, func(e jobs.Event) {
			if e.Kind == jobs.EventProgress && e.Step == "steps" && e.Done < 800 {
				select {
				case mid <- struct{}{}:
				default:
				}
			}
		})
		ended <- err
	}()
	select {
	case <-mid:
	case err := <-ended:
		t.Fatalf("the job ended before telco could be killed: %v\n%s", err, w.log("bank"))
	}
	w.kill("telco", syscall.SIGKILL)
	file := w.jobFile("telco", c, "sealed-features.tmp")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatalf("the killed process leaves no file: the test kills too early or too late: %v", err)
	}
	want := int64(w.data.Train[0].Rows() * 64 * 4)
	if info.Size() < want || info.Size() > want+1000 || info.Mode() != 0o600 {
		t.Errorf("it has %d bytes and mode %v, want %d and 0600", info.Size(), info.Mode(), want)
	}
	w.start("telco")
	must(t, <-ended)
	w.models(c)
	for _, name := range w.Names {
		if _, err := os.Stat(w.jobFile(name, c, "sealed-features.tmp")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file of features: %v", name, err)
		}
	}
}

// scores predicts the test rows at the bank with a sealed model, by row id.
func (w *testNetwork) scores(trained string) map[string]float64 {
	w.t.Helper()
	job := contract.Job{
		Format: "hanse-job-v1", Name: "scores", Algorithm: "fdskl", Task: contract.TaskPredict, Parties: w.Names,
		Privacy: fdskl.Sealed, Table: "test", Model: trained, OpenTo: "bank",
	}
	text, err := job.Text()
	if err != nil {
		w.t.Fatal(err)
	}
	predicted, err := w.client("bank").Prepare(w.t.Context(), text, func(jobs.Event) {})
	if err != nil {
		w.t.Fatal(err)
	}
	report, err := w.client("bank").Launch(w.t.Context(), predicted.Contract, func(jobs.Event) {})
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := os.Open(report.Scores)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, l := range lines[1:] {
		if all[l[0]], err = strconv.ParseFloat(l[1], 64); err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}
