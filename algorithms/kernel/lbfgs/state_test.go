package lbfgs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// stored encodes and decodes a state, as a checkpoint does.
func stored(t testing.TB, s *State) *State {
	t.Helper()
	b, err := json.Marshal(s) // floats survive JSON to the bit
	must(t, err)
	out := new(State)
	must(t, json.Unmarshal(b, out))
	return out
}

// TestResumeIsExact goes on from the checkpoint of every iteration, and ends in the same bits.
func TestResumeIsExact(t *testing.T) {
	p, ctx := logistic(25, 200, 1e-4), context.Background()
	set := Settings{History: 4, Iterations: 40}
	var kept []*State
	want, reason, err := Minimise(ctx, p.f, make([]float64, p.dim), nil, set, func(s *State) error {
		kept = append(kept, stored(t, s))
		return nil
	})
	must(t, err)
	for _, from := range kept {
		got, again, err := Minimise(ctx, p.f, nil, from, set, nil)
		must(t, err)
		if again != reason || got.Value != want.Value || got.Evaluations != want.Evaluations ||
			!slices.Equal(got.Alpha, want.Alpha) {
			t.Fatalf("resumed at %d: %v after %d evaluations, want %v after %d", from.Iteration, got.Value, got.Evaluations,
				want.Value, want.Evaluations)
		}
	}
}

func TestStopReasons(t *testing.T) {
	p := quadratic(30, 1e3)
	start := make([]float64, p.dim)
	optimum := make([]float64, p.dim)
	for i := range optimum {
		optimum[i] = float64(i + 1)
	}
	tests := []struct {
		f     Func
		start []float64
		set   Settings
		want  Reason
	}{
		{p.f, start, Settings{Gradient: 1e-3}, SmallGradient},
		{p.f, optimum, Settings{}, SmallGradient},
		{steep(5).f, start[:5], Settings{Gradient: 1e-30, Decrease: 0.01}, SmallDecrease},
		{p.f, start, Settings{Iterations: 3}, IterationLimit},
		// a gradient that lies
		{func(x, g []float64) float64 { g[0] = 1; return 0 }, []float64{1}, Settings{Noise: 1e-300}, NoProgress},
	}
	for _, test := range tests {
		s, reason := mustMinimise(t, test.f, test.start, test.set)
		if reason != test.want {
			t.Errorf("stopped at iteration %d because %s, want %s", s.Iteration, reason, test.want)
		}
	}
}

// noisy is an Oracle whose sums are rounded, as fixed-point sums are.
type noisy struct {
	Func
	unit float64
}

func (n noisy) Evaluate(ctx context.Context, x, g []float64) (float64, error) {
	v, err := n.Func.Evaluate(ctx, x, g)
	return math.Round(v/n.unit) * n.unit, err
}

func (n noisy) Dots(ctx context.Context, pairs []Pair) ([]float64, error) {
	sums, err := n.Func.Dots(ctx, pairs)
	for i := range sums {
		sums[i] = math.Round(sums[i]/n.unit) * n.unit
	}
	return sums, err
}

// TestRoundedSums: with values and products rounded to 2^-40, the run ends near the optimum.
func TestRoundedSums(t *testing.T) {
	p := logistic(25, 200, 1e-2)
	start := make([]float64, p.dim)
	want, _ := mustMinimise(t, p.f, start, tight)
	got, reason := mustMinimise(t, noisy{p.f, 0x1p-40}, start, Settings{Noise: 1e-11})
	if gap := got.Value - want.Value; gap > 1e-7 {
		t.Errorf("%s after %d evaluations, %v above the optimum", reason, got.Evaluations, gap)
	}
}

// broken fails at a given call.
type broken struct {
	Func
	left int
}

func (b *broken) Dots(ctx context.Context, pairs []Pair) ([]float64, error) {
	if b.left--; b.left < 0 {
		return nil, errors.New("bank is gone")
	}
	return b.Func.Dots(ctx, pairs)
}

func TestMinimiseRefuses(t *testing.T) {
	p, ctx := quadratic(4, 10), context.Background()
	run := func(o Oracle, from *State, set Settings, checkpoint func(*State) error) error {
		s, _, err := Minimise(ctx, o, make([]float64, 4), from, set, checkpoint)
		if err != nil && s != nil {
			t.Error("a partial result is kept")
		}
		return err
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, stopped := Minimise(cancelled, p.f, make([]float64, 4), nil, Settings{}, nil)
	nan := Func(func(x, g []float64) float64 { return math.NaN() })
	tests := []struct {
		err  error
		want string
	}{
		{run(p.f, nil, Settings{History: 65}, nil), `optimiser history is 65: want 1 to 64`},
		{run(p.f, nil, Settings{Iterations: -1}, nil), `optimiser iteration limit is -1: want at least 1`},
		{run(p.f, nil, Settings{Gradient: 2}, nil), `optimiser tolerances are 2, 1e-09 and 1e-14: want numbers between 0 and 1`},
		{run(nan, nil, Settings{}, nil), `the function is not finite at the start: value NaN, gradient norm 0`},
		{run(&broken{p.f, 3}, nil, Settings{}, nil), `iteration 3: bank is gone`},
		{run(p.f, nil, Settings{}, func(s *State) error { return fmt.Errorf("disk full at %d", s.Iteration) }),
			`disk full at 1`},
		{stopped, `context canceled`},
	}
	for _, test := range tests {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("error\n  %v\nwant\n  %s", test.err, test.want)
		}
	}
}

func TestStateValidateRefuses(t *testing.T) {
	p := quadratic(4, 10)
	good, _ := mustMinimise(t, p.f, make([]float64, 4), Settings{Iterations: 2})
	tests := []struct {
		spoil func(s *State)
		want  string
	}{
		{func(s *State) { s.Iteration = -1 }, `optimiser state has counts -1 and 3: want none below 0`},
		{func(s *State) { s.Changes = nil }, `optimiser state has 2 steps and 0 changes: want as many of each, up to 64`},
		{func(s *State) { s.Gradient = nil }, `optimiser state has 4 coordinates and a gradient of 0`},
		{func(s *State) { s.Products = s.Products[1:] }, `optimiser state has 24 inner products for 2 steps: want 25`},
		{func(s *State) { s.Value = math.Inf(1) }, `optimiser state holds a number that is not finite`},
		{func(s *State) { s.Steps[1] = nil }, `optimiser state: step 1 has 0 and 4 coordinates, want 4`},
		{func(s *State) { s.Changes[0][2] = math.NaN() }, `optimiser state: step 0 holds a number that is not finite`},
		{func(s *State) { s.Products[2] = 0 }, `optimiser state: step 0 has no positive curvature`},
	}
	for _, test := range tests {
		s := stored(t, good)
		test.spoil(s)
		if err := s.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("error\n  %v\nwant\n  %s", err, test.want)
		}
	}
}

// FuzzState feeds spoilt checkpoints to a run: it refuses them or goes on, but never panics.
func FuzzState(f *testing.F) {
	p := quadratic(4, 10)
	good, _ := mustMinimise(f, p.f, make([]float64, 4), Settings{Iterations: 3})
	b, err := json.Marshal(good)
	must(f, err)
	f.Add(b)
	f.Add([]byte(`{"Alpha":[1,2,3,4],"Gradient":[1,0,0,0],"Products":[1]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := new(State)
		if json.Unmarshal(b, s) != nil || s.Validate() != nil || len(s.Alpha) != p.dim {
			return
		}
		if _, _, err := Minimise(context.Background(), p.f, nil, s, Settings{Iterations: 20}, nil); err != nil {
			t.Logf("refused on the way: %v", err)
		}
	})
}

// TestToGoIsTheRateOfTheLastSteps: of a quadratic, whose values it finds from inner products alone, and never less than
// what the quasi-Newton direction promises.
func TestToGoIsTheRateOfTheLastSteps(t *testing.T) {
	p := quadratic(40, 1e4)
	values := []float64{}
	checked := 0
	if _, _, err := Minimise(context.Background(), p.f, make([]float64, p.dim), nil, Settings{Iterations: 60, History: 10},
		func(s *State) error {
			values = append(values, s.Value)
			if len(s.Steps) < 10 || s.Iteration < 12 {
				return nil
			}
			n := len(values)
			rate := (values[n-6] - values[n-1]) / 5 * float64(s.Iteration)
			c := s.products().direction()
			promise := -s.products().with(c, len(c)-1)
			if got, want := s.ToGo(), max(rate, promise); math.Abs(got-want) > 1e-6*want {
				t.Errorf("iteration %d: %v to go, want %v", s.Iteration, got, want)
			}
			checked++
			return nil
		}); err != nil || checked < 20 {
		t.Errorf("%d states are held against their values, error %v", checked, err)
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
