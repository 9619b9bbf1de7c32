package fdskl

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// TestSeveralActivesSolveThePooledProblem has the coefficients, and the labels, spread over active
// parties: they find the minimum that one party with everything finds.
func TestSeveralActivesSolveThePooledProblem(t *testing.T) {
	for _, loss := range []string{"logistic", "smooth-hinge", "square"} {
		for _, active := range []int{2, 3} {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d active, split labels: %v", loss, active, split), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, 4, 80, active, Params{Loss: loss, Features: 30, Lambda: 1e-2, Sigma: 1, Seed: "j"})
					if split {
						f.splitLabels()
					}
					compareJoint(t, f)
				})
			}
		}
	}
}

// TestSeveralActivesRegress does the same for numbers. The leader's labels, which standardise all,
// are far from the other's; in the target's own units nothing of that is left.
func TestSeveralActivesRegress(t *testing.T) {
	f := newFixture(t, 3, 90, 2, Params{Target: joint.Regression, Features: 24, Lambda: 1e-2, Sigma: 1, Seed: "j"})
	f.splitLabels()
	for j := range f.labels[1].Values {
		f.labels[1].Values[j] = 2*f.labels[1].Values[j] + 50
	}
	compareJoint(t, f)
}

// compareJoint compares what the active parties find together with the pooled solution: in
// closed form for the square loss, else by L-BFGS.
func compareJoint(t *testing.T, f *fixture) {
	t.Helper()
	models := f.train(t)
	alone := f.pooled()
	alone.newtonSide = 1 // newton goes another way
	pooled, err := Train(t.Context(), alone)
	mustDo(t, err)
	turns := pooledTurns(t, f)
	cosine := kernel.Cosines()
	for j := range f.rows {
		row := turns[j*f.params.Angles() : (j+1)*f.params.Angles()]
		got := models[0].Intercept
		for _, m := range models {
			for _, r := range m.Held {
				got += cosine.DotPairs(row[r.First/2:(r.First+r.Count)/2], m.Alpha)
			}
			if !reflect.DeepEqual(m.target(), models[0].target()) {
				t.Fatalf("%s knows another target than the leader", m.Names[0])
			}
		}
		got, want := models[0].Model().Unit(got), pooled.Model().Unit(pooled.Intercept+cosine.DotPairs(row, pooled.Alpha))
		if !(math.Abs(got-want) <= 1e-3*pooled.Scale) {
			t.Fatalf("row %d: score %v, want %v", j, got, want)
		}
	}
	if f.params.Target != joint.Regression && !(math.Abs(models[0].Objective-pooled.Objective) <= 1e-6) {
		t.Errorf("objective %v, want %v", models[0].Objective, pooled.Objective)
	}
}

// pooledTurns returns the angles of all rows.
func pooledTurns(t *testing.T, f *fixture) []uint16 {
	t.Helper()
	tr, err := newTrainer(f.pooled())
	mustDo(t, err)
	o, err := tr.newOpener()
	mustDo(t, err)
	turns, err := o.openAngles(t.Context(), 0, tr.matrices(), 0, f.rows)
	mustDo(t, err)
	return turns
}

// TestLabelsThatDoNotFit has active parties whose labels cannot be learned from together.
func TestLabelsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(f *fixture)
		active int
		party  int // whose error it is
		want   string
	}{
		{"rows labelled by none", func(f *fixture) {
			f.splitLabels()
			f.labels[0].Values[2], f.labels[1].Values[7] = math.NaN(), math.NaN()
		}, 2, 2, "2 of 20 rows have no label at any active party"},
		{"other classes", func(f *fixture) { f.labels[1].Classes = []string{"good", "awful"} }, 2, 1,
			`the classes of label "y" are ["good" "awful"] at p1, but ["good" "bad"] at p0`},
		{"a long class", func(f *fixture) { f.labels[0].Classes[1] = string(make([]byte, 2000)) }, 1, 0,
			"the names of the classes take 2004 bytes together, at most about 988 fit: shorten the label's values"},
		{"no label at all", func(f *fixture) { f.labels[1].Values = []float64{} }, 2, 1,
			"p1 is active and has no labels for its 20 rows"},
		{"only absent labels", func(f *fixture) {
			for j := range f.labels[1].Values {
				f.labels[1].Values[j] = math.NaN()
			}
		}, 2, 1, "p1 is active and has no label for any row"},
		{"a missing label", func(f *fixture) { f.labels[0].Values[3] = math.NaN() }, 1, 0,
			"p0 has no label for 1 of 20 rows, and no other party is active"},
		{"a third class", func(f *fixture) { f.labels[0].Values[3] = 0 }, 1, 0,
			"p0: the label of row 4 is 0, want -1 or 1 for classes and a finite number for a regression"},
		{"missing columns", func(f *fixture) { f.parts[2].Rows.Rows-- }, 1, 2, "p2 has columns of 19 rows, want 20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, 3, 20, c.active, Params{Features: 4, Iterations: 5})
			c.spoil(f)
			errs := f.federation(t).run(func(ctx context.Context, i int, n joint.Network) error {
				_, err := Train(ctx, f.party(i, n, newVault()))
				return err
			})
			wantError(t, errs[c.party], c.want)
		})
	}
}

// TestRowsLabelledByBoth lets the first active party's label count.
func TestRowsLabelledByBoth(t *testing.T) {
	f := newFixture(t, 3, 60, 2, Params{Features: 12, Iterations: 20})
	want := f.train(t)
	for j := range f.labels[1].Values {
		f.labels[1].Values[j] *= -1
	}
	compareParts(t, want, f.train(t))
}

// liar is a leader that says something else than it should.
type liar struct {
	joint.Network
	kind string
	data []byte
}

func (l *liar) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == l.kind {
		data = l.data
	}
	return l.Network.Broadcast(ctx, kind, root, data, limit)
}

// TestLiesOfTheLeader are refused by everybody else.
func TestLiesOfTheLeader(t *testing.T) {
	describe := func(d description) []byte {
		data, _ := d.encode(1024)
		return data
	}
	number := func(v ...float64) []byte {
		digits := make([]byte, 0)
		for _, x := range v {
			digits = appendReal(digits, x)
		}
		return digits
	}
	for _, c := range []struct {
		kind string
		data []byte
		want string
	}{
		{"target", nil, "p0's description of the target: EOF"},
		{"target", describe(description{Scale: math.NaN()}), "p0's description of the target: scale is NaN, want a " +
			"positive number"},
		{"target", describe(description{Mean: math.Inf(1), Scale: 1}),
			"p0's description of the target: mean is +Inf, want a finite number"},
		{"target", describe(description{Scale: 2}), "p0's description of the target: mean 0 and scale 2 of classes, want " +
			"0 and 1"},
		{"target", describe(description{Scale: 1, Classes: []string{"a\x1b[2J", "b"}}), `p0's description of the target: the class "a\x1b[2J" holds a control character`},
		{"target", describe(description{Scale: 1, Classes: []string{"a", "b", "c"}}),
			"p0's description of the target: names of 3 classes, want 2"},
		{"target", describe(description{Scale: 1}), "p0's description of the target: names of 0 classes, want 2"},
		{"target", describe(description{Scale: 1, Classes: []string{"a", "a"}}),
			`p0's description of the target: two classes are called "a"`},
		{"width", number(math.NaN()), "width: number 0 is NaN"},
		{"width", number(-1), "p0's width: kernel width sigma is -1: it must lie in [1e-06, 1e+09]"},
		{"width", number(1)[:4], "width: 4 bytes came, want 8"},
		{"width-known", number(1e300), "p0's width: kernel width sigma is 1e+300: it must lie in [1e-06, 1e+09]"},
		{"resume-point", number(0.5, 0), "p0 says its saved work reaches 0.5 of 5"},
		{"resume-point", number(6, 0), "p0 says its saved work reaches 6 of 5"},
		{"resume-point", number(-1, 0), "p0 says its saved work reaches -1 of 5"},
		{"batch", nil, "iteration 1: p0 picked no rows"},
		{"batch", []byte{20, 0, 0, 0}, "iteration 1: p0 picked row 20 of 20, or picked it twice"},
		{"batch", []byte{1, 0, 0, 0, 1, 0, 0, 0}, "iteration 1: p0 picked row 1 of 20, or picked it twice"},
		{"batch", []byte{1, 0, 0}, "iteration 1: p0 sent 3 bytes of row numbers, want 4 for each"},
	} {
		t.Run(fmt.Sprintf("%s %.10x", c.kind, c.data), func(t *testing.T) {
			f := newFixture(t, 3, 20, 1, Params{Schedule: DoublyStochastic, Iterations: 5, Batch: 3, BlockFeatures: 2})
			errs := f.federation(t).run(func(ctx context.Context, i int, n joint.Network) error {
				if i == 0 {
					n = &liar{n, c.kind, c.data}
				}
				_, err := Train(ctx, f.party(i, n, newVault()))
				return err
			})
			wantError(t, errs[1], c.want)
		})
	}
}
