package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/perf/sum"
)

// checkRun checks what holds for every run in which a number of clients drops out.
func checkRun(t *testing.T, r *sum.Result, dropped int) {
	t.Helper()
	lost := 0
	for _, n := range r.LostSteps {
		lost += n
	}
	if !r.Exact || r.Dropped != dropped || lost != dropped || r.Unplanned != 0 || r.Survivors > r.Clients ||
		r.Survivors < r.Clients-dropped {
		t.Errorf("%s, %s: exact %t, %d stayed, %d dropped out, at %v, %d unplanned; want all exact and %d dropped out",
			r.Backend, r.Topology, r.Exact, r.Survivors, r.Dropped, r.LostSteps, r.Unplanned, dropped)
	}
	if r.Seconds <= 0 || r.FirstSeconds <= 0 || r.BareSeconds <= 0 || r.SetupSeconds <= 0 || r.BareRatio <= 0 ||
		r.ServerCPU <= 0 || r.ClientCPU <= 0 {
		t.Errorf("got %+v, want positive times", r)
	}
	vector := float64(r.Words*r.Bits) / 8
	if r.SentStaying < vector {
		t.Errorf("%s: a client that stays has sent %v bytes, want more than its vector of %v", r.Backend,
			r.SentStaying, vector)
	}
	if r.Sent < vector/2 || r.Received <= 0 || r.Bytes < r.Sent {
		t.Errorf("%s: %v bytes sent, %v received, %v in all: want most of a vector of %v bytes", r.Backend, r.Sent,
			r.Received, r.Bytes, vector)
	}
}

func TestSumsSurviveDropOuts(t *testing.T) {
	t.Run("star", func(t *testing.T) {
		var r sum.Report
		hanselab(t, &r, "sum", "--clients", "20", "--processes", "2", "--words", "500", "--bits", "26", "--dropout",
			"0.25", "--sums", "1", "--backend", "plain,masked", "--json")
		if len(r.Runs) != 2 || len(r.Growth) != 0 || r.Machine == "" {
			t.Fatalf("%d runs and %d growths, want 2 and none", len(r.Runs), len(r.Growth))
		}
		for _, run := range r.Runs {
			checkRun(t, run, 5)
			if run.PlainRatio <= 0 || run.Expansion16 <= 26.0/16 {
				t.Errorf("ratio to plain %v, expansion %v, want one above 0, one above 26/16", run.PlainRatio,
					run.Expansion16)
			}
		}
	})
	t.Run("tree", func(t *testing.T) {
		var r sum.Result
		hanselab(t, &r, "sum", "--clients", "8", "--processes", "2", "--words", "300", "--dropout", "0.25",
			"--sums", "2", "--topology", "tree", "--json")
		checkRun(t, &r, 2)
		if len(r.Each) != 2 || len(r.BareAll) != 2 {
			t.Errorf("%d sums and %d bare streams, want 2 of each", len(r.Each), len(r.BareAll))
		}
	})
}

func TestSumsRefuseWrongCommandLines(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--clients 2", "--clients is [2], want 3 to 4095 each"},
		{"--clients 100,5000", "--clients is [100 5000], want 3 to 4095 each"},
		{"--words 0", "--words is [0], want 1 to 268435456 each"},
		{"--bits 65", "--bits is 65, want 1 to 64"},
		{"--backend mask", `--backend is "mask", want some of ["masked" "he" "plain"]`},
		{"--topology mesh", `topology is "mesh", want "tree", "star" or "ring"`},
		{"--dropout 1", "--dropout is 1, want at least 0 and below 1"},
		{"--corrupt NaN", "--corrupt is NaN, want at least 0 and below 1"},
		{"--clients 4 --dropout 0.5", "--dropout 0.5 leaves 2 of 4 clients, want at least 3"},
		{"--sums 0", "--sums is 0, want at least 1"},
		{"--warm 0", "--warm is 0, want at least 1"},
		{"--processes 0", "--processes is 0, want at least 1"},
		{"--patience 1ms", "--patience is 1ms, want at least 1s"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab sum "+c.args), nil, &out, &said)
		if code != 1 || said.String() != "hanselab: "+c.want+"\n" {
			t.Errorf("sum %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}

func TestAWorkerThatCannotStartIsQuoted(t *testing.T) {
	if err := lab.AllowFiles(math.MaxInt); err == nil || !strings.Contains(err.Error(), "raise the hard limit") {
		t.Errorf("got %v, want the limit and what to do about it", err)
	}
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"hanselab", "sum", "--clients", "40", "--corrupt", "0.9", "--words", "10"},
		nil, &out, &said)
	if want := "pick a graph"; code != 1 || !strings.Contains(said.String(), want) {
		t.Errorf("code %d, says %q, want %q", code, said.String(), want)
	}
}
