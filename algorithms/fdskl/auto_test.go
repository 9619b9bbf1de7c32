package fdskl

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// autoOracle solves with every candidate without the rows that are kept out, on a dense matrix of features in one
// place, and returns the mean loss on those rows.
func autoOracle(t *testing.T, f *fixture, sigma float64) []float64 {
	t.Helper()
	f.params.Sigma = sigma
	turns := pooledTurns(t, f)
	d, table := f.params.Features, kernel.Cosines()
	phi := make([]float64, 2*len(turns))
	table.Pairs64(phi, turns)
	y := describe(f.params.Target, f.labels[0]).standardised(f.labels[0].Values)
	out, err := f.params.HeldOut(f.rows)
	mustDo(t, err)
	loss, _ := kernel.ParseLoss(f.params.Loss)
	score := func(j int, x []float64) float64 {
		s := x[d]
		for i := range d {
			s += phi[j*d+i] * x[i]
		}
		return s
	}
	mean := func(x []float64, kept bool) float64 {
		sum, n := 0.0, 0.0
		for j := range f.rows {
			if out[j] == kept {
				sum, n = sum+loss.Value(score(j, x), y[j]), n+1
			}
		}
		return sum / n
	}
	var losses []float64
	for _, lambda := range Candidates() {
		penalty := lambda / 2 * float64(d)
		problem := optimize.Problem{
			Func: func(x []float64) float64 { return mean(x, false) + penalty*floats.Dot(x[:d], x[:d]) },
			Grad: func(g, x []float64) {
				clear(g)
				n := 0.0
				for j := range f.rows {
					if !out[j] {
						n++
					}
				}
				for j := range f.rows {
					if out[j] {
						continue
					}
					slope := loss.Derivative(score(j, x), y[j]) / n
					for i := range d {
						g[i] += slope * phi[j*d+i]
					}
					g[d] += slope
				}
				for i := range d {
					g[i] += 2 * penalty * x[i]
				}
			},
		}
		r, err := optimize.Minimize(problem, make([]float64, d+1), &optimize.Settings{GradientThreshold: 1e-7,
			MajorIterations: 3000}, &optimize.LBFGS{})
		if r == nil {
			t.Fatal(err)
		}
		losses = append(losses, mean(r.X, true))
	}
	return losses
}

// TestAutoTakesTheCandidateOfTheOracle: the chosen regulariser is the one with the smallest loss on the rows kept out,
// and the model is bit for bit the one of a job that names it.
func TestAutoTakesTheCandidateOfTheOracle(t *testing.T) {
	seen := make(map[float64]bool)
	for name, c := range map[string]struct {
		rows  int
		noise float64 // share of labels that are turned over, or noise of a regression in deviations
		p     Params
	}{
		"square":           {240, 0, Params{Loss: "square", Features: 20}},
		"square, noise":    {240, 0.4, Params{Loss: "square", Features: 60}},
		"logistic":         {480, 0, Params{Loss: "logistic", Features: 48}},
		"logistic, noise":  {120, 0.4, Params{Loss: "logistic", Features: 30}},
		"smooth hinge":     {240, 0.1, Params{Loss: "smooth-hinge", Features: 16}},
		"regression":       {600, 0, Params{Target: joint.Regression, Features: 60}},
		"regression, wild": {200, 3, Params{Target: joint.Regression, Features: 30}},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.Seed = name
			f := newFixture(t, 3, c.rows, 1, c.p)
			for j := range f.labels[0].Values {
				u := float64(j*7919%1000) / 1000
				switch {
				case c.p.Target == joint.Regression:
					f.labels[0].Values[j] += 7 * c.noise * (u - 0.5) * 3.46
				case u < c.noise:
					f.labels[0].Values[j] *= -1
				}
			}
			models := f.train(t)
			got := models[0].Lambda
			losses := autoOracle(t, f, models[0].Sigma)
			best := Choose(losses, Many(f.rows-f.rows/HeldOutShare, c.p.Features))
			smallest := best == len(losses)-1 && losses[best] > slices.Min(losses) // of many rows
			at := slices.Index(Candidates(), got)
			if at < 0 || losses[at] > losses[best]*1.002 || smallest && at != best {
				t.Errorf("lambda is %v, the oracle's losses of %v are %.4v", got, Candidates(), losses)
			}
			t.Logf("lambda %v of %.4v", got, losses)
			seen[got] = true
			for i, m := range models[1:] {
				if m.Lambda != 0 {
					t.Errorf("%s knows a lambda of %v", f.names[i+1], m.Lambda)
				}
			}
			f.params.Sigma, f.params.Lambda = 0, Lambda(got)
			want := f.train(t)[0]
			if !slices.Equal(models[0].Alpha, want.Alpha) || models[0].Intercept != want.Intercept ||
				models[0].Objective != want.Objective {
				t.Errorf("the model is another one than that of lambda = %v", got)
			}
			if _, err := models[0].Encode(); err != nil {
				t.Error(err)
			}
		})
	}
	if len(seen) < 3 {
		t.Errorf("all jobs together choose %v: the test tells little", seen)
	}
}

// TestHeldOutRows: one in five, the same at everybody, others with another seed, none where lambda is a number.
func TestHeldOutRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{Seed: rapid.String().Draw(t, "seed")}
		rows := rapid.IntRange(0, 3000).Draw(t, "rows")
		out, err := p.HeldOut(rows)
		if rows < LeastHeldOut {
			if err == nil {
				t.Fatalf("of %d rows some are kept out", rows)
			}
			return
		}
		n := 0
		for _, kept := range out {
			if kept {
				n++
			}
		}
		if err != nil || len(out) != rows || n != rows/HeldOutShare {
			t.Fatalf("of %d rows %d are kept out, error %v", rows, n, err)
		}
		if again, _ := p.HeldOut(rows); !slices.Equal(again, out) {
			t.Fatal("drawn again, other rows are kept out")
		}
		other := Params{Seed: p.Seed + "x"}
		if again, _ := other.HeldOut(rows); rows >= 100 && slices.Equal(again, out) {
			t.Fatal("another seed keeps out the same rows")
		}
		p.Lambda = 1e-3
		if out, err := p.HeldOut(rows); out != nil || err != nil {
			t.Fatalf("with a lambda of its own a job keeps out %v, error %v", out, err)
		}
	})
}

// TestTiesGoToTheLargerLambda, and Candidates falls.
func TestTiesGoToTheLargerLambda(t *testing.T) {
	for _, c := range []struct {
		losses []float64
		want   int
		many   int
	}{
		{[]float64{1, 1, 1}, 0, 2}, {[]float64{2, 1, 1}, 1, 2}, {[]float64{3, 2, 1}, 2, 2}, {[]float64{1, 2, 1}, 0, 2},
		{[]float64{1, 2, 1 + 1.0/256}, 0, 2}, {[]float64{1, 2, 1 + 2.0/256}, 0, 0}, {[]float64{2, 1, 1.5}, 1, 1},
	} {
		if got := Choose(c.losses, false); got != c.want {
			t.Errorf("of %v number %d is chosen, want %d", c.losses, got, c.want)
		}
		if got := Choose(c.losses, true); got != c.many {
			t.Errorf("of %v and many rows number %d is chosen, want %d", c.losses, got, c.many)
		}
	}
	if Many(799, 100) || !Many(800, 100) {
		t.Error("many rows are not eight for each feature")
	}
	list := Candidates()
	falling := slices.IsSortedFunc(list, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	if !falling || list[5] != DefaultLambda {
		t.Errorf("candidates are %v", list)
	}
}

// TestLambdaIsWritten as a number or as "auto"; jobs that cannot choose keep the old default.
func TestLambdaIsWritten(t *testing.T) {
	for text, want := range map[string]Lambda{
		"":                               0,
		"lambda = 'auto'":                0,
		"lambda = 0.5":                   0.5,
		"lambda = 2":                     2,
		"lambda = 1e-6":                  1e-6,
		"features = 1024 ":               0,
		"schedule = 'doubly-stochastic'": DefaultLambda,
		"schedule = 'doubly-stochastic'\nlambda = 'auto'":   DefaultLambda,
		"schedule = 'doubly-stochastic'\nlambda = 0.001":    1e-3,
		"schedule = 'doubly-stochastic'\niterations = 1000": DefaultLambda,
	} {
		p, err := ParseParams([]byte("active = [\"a\"]\nlabel = \"y\"\n"+text), []string{"a", "b"})
		if err != nil || p.Lambda != want {
			t.Errorf("%q: lambda %v, want %v; error %v", text, p.Lambda, want, err)
		}
	}
	p, err := ParseParams([]byte("active = [\"a\", \"b\"]\nlabel = \"y\"\n"), []string{"a", "b"})
	if err != nil || p.Lambda != DefaultLambda {
		t.Errorf("two active parties: lambda %v, error %v", p.Lambda, err)
	}
	_, err = ParseParams([]byte("active = [\"a\"]\nlabel = \"y\"\nlambda = \"best\"\n"), []string{"a"})
	wantError(t, err, `parameters: line 3: lambda is "best", want a positive number or "auto"`)
}

// TestTooFewRowsToKeepOut says so before anybody consents.
func TestTooFewRowsToKeepOut(t *testing.T) {
	p := Params{Active: []string{"a"}, Label: "y"}.WithDefaults()
	_, err := Disclose(Outline{Params: p, Privacy: Masked, Parties: []string{"a", "b"}, Columns: []int{1, 1}, Rows: 9})
	wantError(t, err, `count what is sent: lambda is "auto" and the job has 9 rows, want at least 10 to choose by rows `+
		`that are kept out: give lambda as a number`)
}
