package sealed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/secagg/rss"
)

// pairKey is the secret of two parties of a benchmark.
type pairKey string

// derive is an rss.Derive.
func (k pairKey) derive(label string, n int) ([]byte, error) {
	h := keys.HashOf(label, []byte(k))
	return h[:n], nil
}

// padsOf are the pads of a role.
func padsOf(r rss.Role) *rss.Pads {
	var with [rss.Roles]rss.Derive
	for other := range with {
		with[other] = pairKey(fmt.Sprint(rss.Role(other) + r)).derive
	}
	return rss.NewPads(r, with, func() keys.Hash { return keys.Hash{} })
}

// BenchmarkPads counts the bytes of key stream that become words.
func BenchmarkPads(b *testing.B) {
	pads, words := padsOf(rss.Keeper), make([]uint64, 1<<20)
	b.SetBytes(int64(8 * len(words)))
	for step := uint64(1); b.Loop(); step++ {
		pad, err := pads.Pad(rss.Helper, rss.Place{Number: step}, rss.FirstFree)
		if err != nil {
			b.Fatal(err)
		}
		pad.Words(words, 0)
	}
}

// benchmarkWire carries words between three parties in this process.
type benchmarkWire struct {
	role   rss.Role
	queues *[rss.Roles][rss.Roles]chan []uint64
}

// BeginPass implements rss.Wire: it ends at once.
func (w benchmarkWire) BeginPass(
	ctx context.Context, kind string, from, to rss.Role, bits, n int, words []uint64,
) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, w.Show(ctx, kind, from, to, bits, n, words)
}

// Vouch implements rss.Wire: nothing of what is measured asks for it.
func (w benchmarkWire) Vouch(context.Context, string, rss.Role, rss.Role, *keys.Hash) error {
	return nil
}

// Keys implements rss.Wire: nobody outside shares anything.
func (w benchmarkWire) Keys(context.Context, string, int) (rss.Source, error) { return nil, nil }

// Give implements rss.Wire: nobody outside shares anything.
func (w benchmarkWire) Give(context.Context, string, int, rss.Role, int, int, []uint64) error {
	return nil
}

// Show implements rss.Wire.
func (w benchmarkWire) Show(_ context.Context, _ string, from, to rss.Role, _, _ int, words []uint64) error {
	switch w.role {
	case from:
		w.queues[from][to] <- append([]uint64(nil), words...)
	case to:
		copy(words, <-w.queues[from][to])
	}
	return nil
}

// BenchmarkTruncate counts the values that three parties truncate, each on a goroutine of its own.
func BenchmarkTruncate(b *testing.B) {
	const n = 1 << 19 // about a Gram matrix of 1,024 features
	var queues [rss.Roles][rss.Roles]chan []uint64
	for i := range queues {
		for j := range queues[i] {
			queues[i][j] = make(chan []uint64, 4)
		}
	}
	var parties [rss.Roles]*rss.Party
	var terms [rss.Roles][]uint64
	for r := range parties {
		parties[r] = rss.New(rss.Role(r), benchmarkWire{rss.Role(r), &queues}, padsOf(rss.Role(r)), 1)
		terms[r] = make([]uint64, n)
		for i := range terms[r] {
			terms[r][i] = rand.Uint64() >> 4
		}
	}
	for b.Loop() {
		var all sync.WaitGroup
		for r, p := range parties {
			all.Go(func() {
				if _, err := p.Truncate(b.Context(), "bench", 64, terms[r], rss.FirstOrder(), rss.Shift{Count: n,
					Bits: 28}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.N)*n/1e6/b.Elapsed().Seconds(), "Mvalues/s")
}

// TestSealedFormulasAreTheContracts counts other sizes than a run would.
func TestSealedFormulasAreTheContracts(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic} {
		for _, ring := range []int{32, 48, 64} {
			p := fdskl.Params{Active: names[:1], Loss: loss.String(), Features: 34, Iterations: 7, Ring: ring,
				Sigma: 1, Lambda: 1e-4, Keeper: "b", Helper: "c"}
			if loss == kernel.Square || ring != 48 {
				formulasHold(t, p, names, 5000)
				p.Features = 514
				formulasHold(t, p, names, 5000)
			}
			if (loss == kernel.Logistic) != (ring == smallRing) {
				continue
			}
			p.BinParams = fdskl.BinParams{Bins: 4, PartyBins: []int{8, 9, 3, 7}, PartyColumns: []int{2, 3, 1, 2}}
			for _, rows := range []int{5000, 90_000} {
				p.ZScores = ""
				formulasHold(t, p, names, rows)
				p.ZScores = "a"
				formulasHold(t, p, names, rows)
			}
		}
	}
}

// formulasHold counts what a job sends.
func formulasHold(t *testing.T, p fdskl.Params, names []string, rows int) {
	t.Helper()
	p = sealed.WithDefaults(p.WithDefaults())
	o := fdskl.Outline{Params: p, Privacy: fdskl.Sealed, Parties: names, Rows: rows}
	training, err := sealed.Disclose(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Rows, o.Receiver = 2500, "a"
	scoring, err := sealed.Disclose(o)
	if err != nil {
		t.Fatal(err)
	}
	for want, d := range map[int64]joint.Disclosure{
		trainingBytes(p, rows, p.Outer): training, scoringBytes(p, 2500): scoring,
	} {
		var got int64
		for _, o := range d.Operations {
			if o.Class != "masked" {
				continue
			}
			if o.Collective == "sum" {
				got += o.Bytes * (sets.Parties - 1)
			} else {
				got += o.Bytes
			}
		}
		if got != want {
			t.Errorf("%s, ring %d, %d rows, %d bins, z-scores to %q: operations of %d bytes, the formula says %d", p.Loss,
				p.Ring, rows, p.Bins, p.ZScores, got, want)
		}
	}
}

// TestOpenModelStepsReachTheExactSolution of a small system.
func TestOpenModelStepsReachTheExactSolution(t *testing.T) {
	steps, err := sealed.Steps(sealed.WithDefaults(fdskl.Params{
		Iterations: 200, Features: 2, Loss: kernel.Square.String(), Lambda: 2e-3 / 0.75,
	}), 3, 2e-3/0.75, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &openModel{
		factors: steps, loss: kernel.Square, kappa: 1, s0: 1, lambda: 1e-3, y: []float64{1, -1, 1},
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
