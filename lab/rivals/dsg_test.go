package rivals

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// TestDSGIsFDSKLWithoutParties: with a constant step and FDSKL's features and rows, DSG comes to the coefficients of
// FDSKL's masked training in one process, up to the rounding of its angles to 2^-16 turns.
func TestDSGIsFDSKLWithoutParties(t *testing.T) {
	for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic, kernel.SmoothHinge} {
		t.Run(loss.String(), func(t *testing.T) {
			parts, labels := world(150, 1)
			p := fdskl.Params{Active: []string{"pooled"}, Label: "y", Schedule: fdskl.DoublyStochastic,
				Loss:   loss.String(),
				Sigma:  1.5,
				Lambda: 1e-3, Seed: "s", Batch: 8, BlockFeatures: 4, Iterations: 60, Step: 0.4}.WithDefaults()
			v, err := vault.Open(t.TempDir(), vault.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			party := &fdskl.Party{Names: p.Active, Params: p, Privacy: fdskl.Masked, Rows: len(labels),
				Labels: &joint.Labels{Values: labels, Classes: []string{"-1", "1"}}, Network: fdskl.Solo{}, Vault: v}
			for i, m := range parts {
				normaliser := &kernel.Normaliser{}
				for _, name := range m.Dense {
					normaliser.Columns = append(normaliser.Columns, kernel.Scale{Column: name, Scaling: "minmax",
						Divisor: 1})
				}
				party.Parts = append(party.Parts, fdskl.Part{Owner: keys.ID{byte(i + 1)}, Normaliser: normaliser,
					Rows:  m,
					Phase: fdskl.PhaseSeed{byte(i + 7)}})
			}
			model, err := fdskl.Train(t.Context(), party)
			if err != nil {
				t.Fatal(err)
			}
			d := &DSG{Loss: loss, Lambda: float64(p.Lambda), Step: Constant(p.Step), Block: p.BlockFeatures,
				Pick: func(n int) []int { return fdsklBatch(p, len(labels), n) },
				Draw: func(first, n int, omega [][]float64) []float64 {
					return fdsklFeatures(party, first, n,
						omega)
				}}
			d.Start(Stack(parts...), labels)
			for n := range p.Iterations {
				d.Iterate(n)
			}
			for i, want := range model.Alpha {
				if got := d.Alpha()[i]; !(math.Abs(got-want) < 1e-4) {
					t.Fatalf("coefficient %d is %v, FDSKL has %v", i, got, want)
				}
			}
			scores := d.Scores(Stack(parts...))
			if e := Errors(scores, labels); e > 0.35 {
				t.Errorf("error on the training rows %v", e)
			}
		})
	}
}

// fdsklBatch draws the rows of an iteration as FDSKL does, from the job's public seed.
func fdsklBatch(p fdskl.Params, rows, n int) []int {
	order := make([]int, rows)
	for i := range order {
		order[i] = i
	}
	h := keys.HashOf("hanse batch v1", []byte(p.Seed), binary.BigEndian.AppendUint32(nil, uint32(n)))
	rng := rand.New(rand.NewChaCha8(h))
	for i := range p.Batch {
		k := i + rng.IntN(rows-i)
		order[i], order[k] = order[k], order[i]
	}
	return order[:p.Batch]
}

// fdsklFeatures draws FDSKL's frequencies and adds up its parties' phases.
func fdsklFeatures(party *fdskl.Party, first, n int, omega [][]float64) []float64 {
	k := kernel.Kernel{Kind: kernel.Gaussian, Sigma: party.Params.Sigma}
	turns, column := make([]uint16, n), 0
	for _, part := range party.Parts {
		for i, w := range part.Phase.Turns(first, n) {
			turns[i] += w
		}
		for _, name := range part.Rows.Dense {
			draw := make([]float64, n)
			k.Draw(party.Params.PublicSeed(), part.Owner, name, first, n, draw)
			for _, w := range draw {
				omega[column] = append(omega[column], 2*math.Pi*w)
			}
			column++
		}
	}
	phases := make([]float64, n)
	for i, w := range turns {
		phases[i] = 2 * math.Pi * float64(w) / 65536
	}
	return phases
}

func TestSteps(t *testing.T) {
	d := Diminishing(2, 10)
	if d(0) != 2 || d(10) != 1 || math.Abs(d(1990)-0.01) > 1e-12 || Constant(3)(99) != 3 {
		t.Errorf("steps %v %v %v %v, want 2, 1, 0.01 and 3", d(0), d(10), d(1990), Constant(3)(99))
	}
}
