package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// checkRun checks what holds for every run in which a number of clients drops out.
func checkRun(t *testing.T, r *sumRun, dropped int) {
	t.Helper()
	lost := 0
	for _, n := range r.LostSteps {
		lost += n
	}
	if !r.Exact || r.Dropped != dropped || lost != dropped || r.Unplanned != 0 || r.Survivors > r.Clients || r.Survivors < r.Clients-dropped {
		t.Errorf("%s, %s: exact %t, %d stayed, %d dropped out, at %v, %d unplanned; want all exact and %d dropped out",
			r.Backend, r.Topology, r.Exact, r.Survivors, r.Dropped, r.LostSteps, r.Unplanned, dropped)
	}
	if r.Seconds <= 0 || r.FirstSeconds <= 0 || r.BareSeconds <= 0 || r.SetupSeconds <= 0 || r.BareRatio <= 0 || r.ServerCPU <= 0 || r.ClientCPU <= 0 {
		t.Errorf("got %+v, want positive times", r)
	}
	vector := float64(r.Words*r.Bits) / 8
	if r.SentStaying < vector {
		t.Errorf("%s: a client that stays has sent %v bytes, want more than its vector of %v", r.Backend, r.SentStaying, vector)
	}
	if r.Sent < vector/2 || r.Received <= 0 || r.Bytes < r.Sent {
		t.Errorf("%s: %v bytes sent, %v received, %v in all: want most of a vector of %v bytes", r.Backend, r.Sent, r.Received, r.Bytes, vector)
	}
}

func TestSumsSurviveDropOuts(t *testing.T) {
	t.Run("star", func(t *testing.T) {
		var r sumReport
		lab(t, &r, "sum", "--clients", "20", "--processes", "2", "--words", "500", "--bits", "26", "--dropout", "0.25", "--sums", "1", "--backend", "plain,masked", "--json")
		if len(r.Runs) != 2 || len(r.Growth) != 0 || r.Machine == "" {
			t.Fatalf("%d runs and %d growths, want 2 and none", len(r.Runs), len(r.Growth))
		}
		for _, run := range r.Runs {
			checkRun(t, run, 5)
			if run.PlainRatio <= 0 || run.Expansion16 <= 26.0/16 {
				t.Errorf("ratio to plain %v, expansion %v, want one above 0, one above 26/16", run.PlainRatio, run.Expansion16)
			}
		}
	})
	t.Run("tree", func(t *testing.T) {
		var r sumRun
		lab(t, &r, "sum", "--clients", "8", "--processes", "2", "--words", "300", "--dropout", "0.25", "--sums", "2", "--topology", "tree", "--json")
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
	if err := allowFiles(math.MaxInt); err == nil || !strings.Contains(err.Error(), "raise the hard limit") {
		t.Errorf("got %v, want the limit and what to do about it", err)
	}
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"hanselab", "sum", "--clients", "40", "--corrupt", "0.9", "--words", "10"}, nil, &out, &said)
	if want := "pick a graph"; code != 1 || !strings.Contains(said.String(), want) {
		t.Errorf("code %d, says %q, want %q", code, said.String(), want)
	}
}

func TestAWrongTotalIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sumCase{Words: rapid.IntRange(1, 50).Draw(t, "words"), Bits: rapid.IntRange(1, 64).Draw(t, "bits")}
		total := &cohort.Total{Survivors: []int{1, 3, 4}, Words: make([]uint64, s.Words)}
		for _, i := range total.Survivors {
			for j, w := range sumVector(s, i, 7) {
				total.Words[j] = (total.Words[j] + w) & (1<<s.Bits - 1)
			}
		}
		if n := wrongWords(total, s, 7); n != 0 {
			t.Fatalf("%d words of a right total are wrong", n)
		}
		at := rapid.IntRange(0, s.Words-1).Draw(t, "at")
		total.Words[at] ^= 1 << rapid.IntRange(0, s.Bits-1).Draw(t, "bit")
		if n := wrongWords(total, s, 7); n != 1 {
			t.Fatalf("%d words are wrong, want 1", n)
		}
		total.Words = total.Words[:s.Words-1]
		if n := wrongWords(total, s, 7); n < 1 {
			t.Fatal("a total that is too short passes")
		}
	})
}

// quietMesh takes all frames, and returns one.
type quietMesh struct {
	protocol.Mesh
	sent  int
	frame []byte
}

func (m *quietMesh) Send(context.Context, keys.ID, ...[]byte) error { m.sent++; return nil }

func (m *quietMesh) Receive(context.Context, keys.ID, []byte) ([]byte, error) { return m.frame, nil }

// frameOf is the head of a frame of a kind.
func frameOf(kind string) []byte {
	head := make([]byte, kindAt)
	head[kindLengthAt] = byte(len(kind))
	return append(head, kind...)
}

func TestAClientLeavesAtItsStep(t *testing.T) {
	for _, step := range append(leavingSteps(cohort.Masked), leavingSteps(cohort.Plain)...) {
		under := &quietMesh{frame: frameOf(cohort.KindSurvivors)}
		closed := 0
		m := &watchedMesh{Mesh: under, leaveAt: step, leave: func() error { closed++; return nil }, sent: make(map[keys.ID][]int)}
		if err := m.Send(t.Context(), keys.ID{}, frameOf("other"), make([]byte, 5)); err != nil || m.left {
			t.Fatalf("%s: left at another kind: %v", step, err)
		}
		if got, want := fmt.Sprint(m.sent[keys.ID{}]), fmt.Sprint([]int{kindAt + 5 + 5}); got != want {
			t.Errorf("frames of %s bytes are noted, want %s", got, want)
		}
		var err error
		if step == cohort.KindSurvivors {
			_, err = m.Receive(t.Context(), keys.ID{}, nil)
		} else {
			err = m.Send(t.Context(), keys.ID{}, frameOf(step))
		}
		if err == nil || !m.left || closed != 1 || under.sent != 1 {
			t.Errorf("%s: error %v, left %t, closed %d times, %d frames sent; want it to leave and send nothing", step, err, m.left, closed, under.sent)
		}
	}
	for _, short := range [][]byte{nil, make([]byte, kindAt-1), frameOf("sum")[:kindAt+2]} {
		if kind := kindOf(short); kind != "" {
			t.Errorf("a frame of %d bytes is of kind %q", len(short), kind)
		}
	}
}

func TestGrowthIsFittedForEachSeries(t *testing.T) {
	var runs []*sumRun
	for _, n := range []int{100, 300, 1000} {
		for _, b := range []cohort.Backend{cohort.Plain, cohort.Masked} {
			x := float64(n)
			r := &sumRun{Clients: n, Words: 10, Backend: b, Topology: "star", Seconds: 3 * x, Bytes: 5, ServerCPU: x * x, ClientCPU: x * math.Sqrt(x)}
			runs = append(runs, r)
		}
	}
	runs = append(runs, &sumRun{Clients: 5, Words: 11, Backend: cohort.Plain, Topology: "star"}) // alone
	all := sumGrowths(runs)
	if len(all) != 2 {
		t.Fatalf("%d series, want 2", len(all))
	}
	for _, g := range all {
		for i, want := range []float64{1, 0, 2, 0.5} {
			if got := g.Rows[i].Exponent; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: exponent of %s is %v, want %v", g.Backend, g.Rows[i].Figure, got, want)
			}
		}
		b := g.Rows[2].Bonawitz
		if (b != nil) != (g.Backend == cohort.Masked) {
			t.Errorf("%s is set beside %v, want a theory of masked sums alone", g.Backend, b)
		}
		if b != nil && math.Abs(b.Exponent-2) > 1e-9 {
			t.Errorf("%s has exponent %v, want 2", b.Formula, b.Exponent)
		}
		if err := g.table().write(io.Discard); err != nil {
			t.Error(err)
		}
	}
}
