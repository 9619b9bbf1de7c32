package main

import (
	"bytes"
	"io"
	"math"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
)

// TestSealed measures a tiny set, once on fast and once on slowed links: the sealed scores are those of the same steps in
// floating point, and bytes are those of the formulas.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	p, err := findProgram(t.Context(), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	writeTinySet(t, filepath.Join(dir, "phishing.gz"))
	for name, c := range map[string]struct {
		args   []string
		within float64
		slow   bool
	}{
		"square":       {[]string{"--ring", "64", "--steps", "20", "--repeat", "2"}, 0.02, false},
		"smooth hinge": {[]string{"--ring", "48", "--steps", "20", "--loss", "smooth-hinge", "--outer", "2"}, 0.5, false},
		"slow links":   {[]string{"--ring", "64", "--steps", "20", "--mbit", "100", "--delay", "1ms"}, 0.02, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r sealedReport
			lab(t, &r, slices.Concat([]string{"sealed", "--data", dir, "--sets", "phishing", "--features", "32", "--hanse", p.path, "--json"}, c.args)...)
			if len(r.Runs) != 1 {
				t.Fatalf("%d runs, want 1", len(r.Runs))
			}
			s := r.Runs[0]
			if s.Rows != 90 || s.Tested != 30 || !(s.RMS < c.within) || s.Seconds <= 0 || s.MaskedSeconds <= 0 || s.ClearSeconds <= 0 {
				t.Errorf("got %+v", s)
			}
			if s.Payload != s.Formula || s.ScorePayload != s.ScoreFormula || s.Bytes <= s.Payload {
				t.Errorf("%d bytes under masks of %d in training and %d in scoring, want %d and %d", s.Payload, s.Bytes, s.ScorePayload, s.Formula, s.ScoreFormula)
			}
			if c.slow != (s.Proxied >= s.Bytes) {
				t.Errorf("%d bytes went over slowed links, of %d", s.Proxied, s.Bytes)
			}
		})
	}
}

// TestSealedFormulasAreTheContracts counts other sizes than a run would.
func TestSealedFormulasAreTheContracts(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic} {
		for _, ring := range []int{48, 64} {
			p := fdskl.Params{Active: names[:1], Loss: loss.String(), Features: 33, Iterations: 7, Ring: ring, Sigma: 1, Lambda: 1e-4, Keeper: "b", Helper: "c"}
			p = sealed.WithDefaults(p.WithDefaults())
			training, err := sealed.DiscloseTraining(p, names, 5000)
			if err != nil {
				t.Fatal(err)
			}
			scoring, err := sealed.DisclosePrediction(p, names, 2500, fdskl.ScoreRows, "a")
			if err != nil {
				t.Fatal(err)
			}
			for want, d := range map[int64]fdskl.Disclosure{trainingBytes(p, 5000): training, scoringBytes(p, 2500): scoring} {
				var got int64
				for _, o := range d.Operations {
					if o.Class != "masked" {
						continue
					}
					if o.Collective == "sum" {
						got += o.Bytes * (benchmarkParties - 1)
					} else {
						got += o.Bytes
					}
				}
				if got != want {
					t.Errorf("%s, ring %d: operations of %d bytes, the formula says %d", p.Loss, ring, got, want)
				}
			}
		}
	}
}

// TestOpenModelStepsReachTheExactSolution of a small system.
func TestOpenModelStepsReachTheExactSolution(t *testing.T) {
	steps, err := sealed.Steps(sealed.WithDefaults(fdskl.Params{
		Iterations: 200, Features: 2, Loss: kernel.Square.String(), Lambda: 2e-3 / 0.75,
	}), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &openModel{
		factors: steps, loss: kernel.Square, kappa: 1, s0: 1, reach: 1, lambda: 1e-3, y: []float64{1, -1, 1},
		z:    mat.NewDense(3, 2, []float64{1, 0, -0.5, 1, -0.5, -1}),
		gram: mat.NewSymDense(2, []float64{0.5, 0.1, 0.1, 0.4}),
	}
	got, _, err := m.fit(false)
	if err != nil {
		t.Fatal(err)
	}
	exact, mean, err := m.fit(true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if d := math.Abs(got.AtVec(i) - exact.AtVec(i)); d > 1e-4 {
			t.Errorf("coefficient %d is %v after the steps, %v exactly", i, got.AtVec(i), exact.AtVec(i))
		}
	}
	if math.Abs(mean-1.0/3) > 1e-12 {
		t.Errorf("the mean is %v, want 1/3", mean)
	}
}

// TestSlowPipesKeepRateAndDelay sends a message over slowed lines.
func TestSlowPipesKeepRateAndDelay(t *testing.T) {
	n := &slowNet{slowness: slowness{rate: 1e6, delay: 30 * time.Millisecond}}
	near, src := net.Pipe()
	dst, far := net.Pipe()
	go n.pipe(dst, src, &slowLine{rate: n.rate}, &slowLine{rate: n.rate})
	sent := bytes.Repeat([]byte("hanse"), 20_000)
	begun := time.Now()
	go func() {
		near.Write(sent)
		near.Close()
	}()
	got, err := io.ReadAll(far)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes came, want %d (%v)", len(got), len(sent), err)
	}
	least := n.delay + time.Duration(float64(len(sent))/n.rate*float64(time.Second)) - 2*slowBurst
	if took := time.Since(begun); took < least {
		t.Errorf("%d bytes took %s, want at least %s", len(sent), took, least)
	}
	if n.carried.Load() != int64(len(sent)) {
		t.Errorf("%d bytes counted, want %d", n.carried.Load(), len(sent))
	}
}
