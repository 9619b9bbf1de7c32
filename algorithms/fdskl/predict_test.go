package fdskl

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// newRows draws rows for prediction and normalises them as the fixture's parties do; one holds a
// third value in a column of two.
func (f *fixture) newRows(t *testing.T, n int) []*kernel.Matrix {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	var rows []*kernel.Matrix
	for _, part := range f.parts {
		columns := testColumns(rng, n, make([]float64, n))
		columns[1].Values[n/2] = 0.5
		m, err := part.Normaliser.Apply(columns)
		mustDo(t, err)
		rows = append(rows, m)
	}
	return rows
}

// predict scores rows together and returns the receiver's scores, and what all learned.
func (f *fixture) predict(t *testing.T, links *federation, models []*Model, rows []*kernel.Matrix,
	receiver int) ([]float64, openings) {
	t.Helper()
	var scores []float64
	learned := make(openings, len(f.names))
	must(t, links.run(func(ctx context.Context, i int, n joint.Network) error {
		s, err := NewScorer(Scoring{Self: i, Receiver: receiver, Models: models[i : i+1], Network: n, Workers: 2,
			Opened: learned.opened(i)})
		if err != nil {
			return err
		}
		got, err := s.Score(ctx, rows[i:i+1])
		if err == nil && (i == receiver) != (got != nil) {
			return fmt.Errorf("party %d got %d scores, the receiver is %d", i, len(got), receiver)
		}
		if i == receiver {
			scores = got
		}
		return err
	}))
	return scores, learned
}

// TestJointPredictionIsThePooledOne scores new rows together, for every receiver, and compares with
// one process that has all model parts' features and coefficients.
func TestJointPredictionIsThePooledOne(t *testing.T) {
	for name, p := range jobs() {
		for _, privacy := range []string{Masked, Published} {
			for _, active := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %s, %d active", name, privacy, active), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 4, 40, active, p)
					f.privacy = privacy
					links := f.federation(t)
					models, rows := f.trainIn(t, links), f.newRows(t, 19)
					want := exactScores(f, models, rows)
					for _, receiver := range []int{0, len(f.names) - 1} { // the leader and a passive party
						d, err := Disclose(f.scoring(rows[0].Rows, rows[0].Rows, receiver))
						mustDo(t, err)
						links.declare(t, d, active)
						got, learned := f.predict(t, links, models, rows, receiver)
						checkOpenings(t, f, d, learned, func(kind string) bool { return kind == "angles" || kind == "scores" })
						compareScores(t, models, got, want)
					}
				})
			}
		}
	}
}

// compareScores allows for the rounding of angles: features are off by as much as
// stochastic_angles.go derives, here with 3 binary cells at most at each of 4 parties.
func compareScores(t *testing.T, models []*Model, got, want []float64) {
	t.Helper()
	bound := 4 * 0x1p-36
	for _, m := range models {
		for _, a := range m.Alpha {
			bound += math.Abs(a) * (math.Sqrt2*2*math.Pi*4*(3.0/2+1)*0x1p-16 + 0x1p-24)
		}
	}
	for j := range want {
		if !(math.Abs(got[j]-want[j]) <= bound) {
			t.Fatalf("row %d: score %v, want %v within %v", j, got[j], want[j], bound)
		}
	}
}

// exactScores computes the models' function in float64, from the definition.
func exactScores(f *fixture, models []*Model, rows []*kernel.Matrix) []float64 {
	g := *f
	g.params.Sigma = models[0].Sigma
	o := &oracle{f: &g}
	for _, m := range rows {
		o.rows = append(o.rows, withStrays(m))
	}
	scores := make([]float64, rows[0].Rows)
	for k, m := range models {
		at := 0
		for _, r := range m.Held {
			for i := r.First; i < r.First+r.Count; i++ {
				o.addFeature(scores, i, k, m.Alpha[at])
				at++
			}
		}
		for j := range scores {
			scores[j] += m.Intercept
		}
	}
	return scores
}

// addFeature adds alpha phi_i of all rows to scores; the feature belongs to party k. Two of the fixed schedule are
// cosine and sine of one angle.
func (o *oracle) addFeature(scores []float64, i, k int, alpha float64) {
	kind, _ := kernel.ParseKind(o.f.params.Kernel)
	draw := kernel.Kernel{Kind: kind, Sigma: o.f.params.Sigma}
	angles, phi := make([]float64, len(scores)), math.Cos
	if o.f.params.Schedule == Fixed {
		if i%2 == 1 {
			phi = math.Sin
		}
		i /= 2
	}
	for p, part := range o.f.parts {
		dense, binary := part.Normaliser.Names()
		for c, name := range append(dense, binary...) {
			var omega [1]float64
			draw.Draw(o.f.params.PublicSeed(), part.Owner, name, i, 1, omega[:])
			for j := range angles {
				angles[j] += omega[0] * o.rows[p][j][c]
			}
		}
	}
	for j, a := range angles {
		scores[j] += alpha * math.Sqrt2 * phi(2*math.Pi*a+o.phaseAt(i, k))
	}
}

// withStrays is dense with the cells of binary columns that hold neither of their two values.
func withStrays(m *kernel.Matrix) [][]float64 {
	rows := dense(m)
	for _, s := range m.Strays {
		rows[s.Row][len(m.Dense)+int(s.Binary)] = s.Value
	}
	return rows
}

// TestPooledScorer has all model parts in one process, as the pooled computation has.
func TestPooledScorer(t *testing.T) {
	for name, p := range jobs() {
		f := newFixture(t, 3, 40, 1, p)
		models, rows := f.train(t), f.newRows(t, 11)
		joint, _ := f.predict(t, f.federation(t), models, rows, 0)
		s, err := NewScorer(Scoring{Models: models, Network: Solo{}})
		mustDo(t, err)
		pooled, err := s.Score(t.Context(), rows)
		mustDo(t, err)
		for j := range joint {
			if joint[j] != pooled[j] {
				t.Errorf("%s, row %d: %v jointly, %v pooled", name, j, joint[j], pooled[j])
			}
		}
	}
}

// TestScorerWantsItsCoefficients refuses a part whose coefficients are not those of its features.
func TestScorerWantsItsCoefficients(t *testing.T) {
	f := newFixture(t, 3, 40, 1, jobs()["fixed, square"])
	m := f.train(t)[0]
	m.Alpha = m.Alpha[1:]
	_, err := NewScorer(Scoring{Models: []*Model{m}, Network: Solo{}})
	wantError(t, err, "the model part of p0 has 29 coefficients, its features are 30")
}

// TestUnits has scores in the target's units, and errors in them.
func TestUnits(t *testing.T) {
	m := &Model{Params: Params{Target: joint.Regression}, Mean: 100, Scale: 5}
	if got := m.Model().Unit(-2); got != 90 {
		t.Errorf("a score of -2 is %v", got)
	}
	if got := TestError([]float64{0, 1, 7}, []float64{103, 109, math.NaN()}, m); got != math.Sqrt((9+16)/2.0) {
		t.Errorf("root mean square error %v", got)
	}
	m.Params.Target = joint.Classification
	if got := TestError([]float64{0.5, -1, 3, 0}, []float64{1, 1, math.NaN(), -1}, m); got != 1.0/3 {
		t.Errorf("test error %v", got)
	}
}
