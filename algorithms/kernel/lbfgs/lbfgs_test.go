package lbfgs

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
	"pgregory.net/rapid"
)

// problem is a convex function with its gradient.
type problem struct {
	name string
	f    Func
	dim  int
}

// quadratic is (1/2) sum_i c_i (x_i - i - 1)^2 with curvatures from 1 to condition.
func quadratic(dim int, condition float64) problem {
	return problem{"quadratic", func(x, g []float64) float64 {
		value := 0.0
		for i := range x {
			c := math.Pow(condition, float64(i)/float64(dim))
			r := x[i] - float64(i+1)
			value += c * r * r / 2
			g[i] = c * r
		}
		return value
	}, dim}
}

// logistic is regularised logistic regression on random rows.
func logistic(dim, rows int, lambda float64) problem {
	r := rand.New(rand.NewPCG(1, 2))
	a := make([]float64, rows*dim)
	for i := range a {
		a[i] = r.NormFloat64() * math.Pow(10, -2*float64(i%dim)/float64(dim))
	}
	y := make([]float64, rows)
	for i := range y {
		y[i] = math.Copysign(1, a[i*dim]+0.5*r.NormFloat64())
	}
	return problem{"logistic", func(x, g []float64) float64 {
		value := lambda / 2 * floats.Dot(x, x)
		floats.ScaleTo(g, lambda, x)
		for i := range y {
			row := a[i*dim : (i+1)*dim]
			z := -y[i] * floats.Dot(row, x)
			value += (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))) / float64(rows)
			floats.AddScaled(g, -y[i]/(1+math.Exp(-z))/float64(rows), row)
		}
		return value
	}, dim}
}

// steep grows like an exponential: long steps are not finite.
func steep(dim int) problem {
	return problem{"steep", func(x, g []float64) float64 {
		value := 0.0
		for i := range x {
			e := math.Exp(3 * x[i])
			value += e - 60*x[i]
			g[i] = 3*e - 60
		}
		return value
	}, dim}
}

// wall is -log(1 - x) - 5 x: the first step lands on the wall, where it is infinite.
func wall() problem {
	return problem{"wall", func(x, g []float64) float64 {
		g[0] = 1/(1-x[0]) - 5
		return -math.Log(1-x[0]) - 5*x[0]
	}, 1}
}

func problems() []problem {
	return []problem{quadratic(1, 1), quadratic(30, 10), quadratic(40, 1e4), logistic(25, 200, 1e-4), steep(5)}
}

func mustMinimise(t testing.TB, o Oracle, start []float64, set Settings) (*State, Reason) {
	t.Helper()
	s, reason, err := Minimise(context.Background(), o, start, nil, set, nil)
	must(t, err)
	return s, reason
}

var tight = Settings{Iterations: 2000, Gradient: 1e-9, Decrease: 1e-300}

// TestMatchesGonum holds the minimum, and what it cost, against gonum's L-BFGS.
func TestMatchesGonum(t *testing.T) {
	for _, p := range problems() {
		start := make([]float64, p.dim)
		got, reason := mustMinimise(t, p.f, start, tight)
		scratch := make([]float64, p.dim)
		want, err := optimize.Minimize(optimize.Problem{
			Func: func(x []float64) float64 { return p.f(x, scratch) },
			Grad: func(g, x []float64) { p.f(x, g) },
		}, start, &optimize.Settings{GradientThreshold: 1e-9 * got.StartGradient}, &optimize.LBFGS{Store: 10})
		if want == nil { // an error beside a result says that gonum got no further at the limit of precision
			t.Fatal(err)
		}
		if gap := got.Value - want.F; gap > 1e-9*(1+math.Abs(want.F)) {
			t.Errorf("%s: %s at %v, %v above gonum", p.name, reason, got.Value, gap)
		}
		if got.Evaluations > 2*want.FuncEvaluations+10 {
			t.Errorf("%s: %d evaluations, gonum needs %d", p.name, got.Evaluations, want.FuncEvaluations)
		}
		t.Logf("%s (%d): %d iterations, %d evaluations (gonum %d, %d), %s", p.name, p.dim, got.Iteration, got.Evaluations,
			want.MajorIterations, want.FuncEvaluations, reason)
	}
}

func TestStepsBackFromInfinity(t *testing.T) {
	got, reason := mustMinimise(t, wall().f, []float64{0}, tight)
	if math.Abs(got.Alpha[0]-0.8) > 1e-8 {
		t.Errorf("%s at %v, want 0.8", reason, got.Alpha)
	}
}

// TestDirectionIsTwoLoop holds the recursion on coefficients against the one on vectors.
func TestDirectionIsTwoLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, dim := rapid.IntRange(0, 6).Draw(t, "pairs"), rapid.IntRange(1, 9).Draw(t, "dim")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		vector := func() []float64 {
			v := make([]float64, dim)
			for i := range v {
				v[i] = r.NormFloat64()
			}
			return v
		}
		s := &State{Alpha: vector(), Gradient: vector()}
		for range k {
			step, change := vector(), vector()
			for i := range step {
				change[i] = step[i]*(0.5+r.Float64()) + 0.01*change[i]
			}
			s.Steps, s.Changes = append(s.Steps, step), append(s.Changes, change)
		}
		basis := s.basis()
		p := newProducts(len(basis))
		for i := range basis {
			for j := range basis {
				p.set(i, j, floats.Dot(basis[i], basis[j]))
			}
		}
		got, want := combine(p.direction(), basis), twoLoop(s)
		if floats.Distance(got, want, 2) > 1e-9*floats.Norm(want, 2) {
			t.Fatalf("direction is %v, want %v", got, want)
		}
	})
}

// TestScalarsGolden pins the arithmetic behind decisions to the bit: parties on different
// machines must come to the same.
func TestScalarsGolden(t *testing.T) {
	p := newProducts(7)
	for i := range p.n {
		for j := range i + 1 {
			p.set(i, j, 1/float64(3+i+2*j))
		}
		p.set(i, i, 1+p.at(i, i))
	}
	s := newSearch(trial{0, 0.1, -0.7}, 1e-15)
	s.accepts(trial{0.3, 0.0123, -0.69})
	grown := s.next()
	s.accepts(trial{1.1, 0.3, 0.77})
	bits := []uint64{math.Float64bits(grown), math.Float64bits(s.next())}
	for _, v := range p.direction() {
		bits = append(bits, math.Float64bits(v))
	}
	want := []uint64{0x4008000000000000, 0x3fdf46b5293532d8, 0x3f97d666b1530e90, 0xbf795798c2687170, 0xbffd270eff5f6e18,
		0xbf5335ded9a41c39, 0xbf50480f87184a5b, 0x3fb2a7e720212a7e, 0xbfb435e50d79435e}
	if !slices.Equal(bits, want) {
		t.Errorf("scalars are %#x, want %#x", bits, want)
	}
}

func TestMaxDots(t *testing.T) {
	most := 0
	counted := counter{quadratic(30, 100).f, &most}
	mustMinimise(t, counted, make([]float64, 30), Settings{History: 5})
	if most != MaxDots(5) {
		t.Errorf("at most %d inner products at once, want %d", most, MaxDots(5))
	}
}

// counter is an Oracle that notes the largest request.
type counter struct {
	Func
	most *int
}

func (c counter) Dots(ctx context.Context, pairs []Pair) ([]float64, error) {
	*c.most = max(*c.most, len(pairs))
	return c.Func.Dots(ctx, pairs)
}

// twoLoop is Algorithm 7.4 of Nocedal and Wright, on whole vectors.
func twoLoop(s *State) []float64 {
	q, a := slices.Clone(s.Gradient), make([]float64, len(s.Steps))
	for i := len(s.Steps) - 1; i >= 0; i-- {
		a[i] = floats.Dot(s.Steps[i], q) / floats.Dot(s.Steps[i], s.Changes[i])
		floats.AddScaled(q, -a[i], s.Changes[i])
	}
	if k := len(s.Steps); k > 0 {
		floats.Scale(floats.Dot(s.Steps[k-1], s.Changes[k-1])/floats.Dot(s.Changes[k-1], s.Changes[k-1]), q)
	}
	for i := range s.Steps {
		b := floats.Dot(s.Changes[i], q) / floats.Dot(s.Steps[i], s.Changes[i])
		floats.AddScaled(q, a[i]-b, s.Steps[i])
	}
	floats.Scale(-1, q)
	return q
}

// TestProductsStayTrue checks after every iteration that the stored products are those of the
// stored vectors: a mistake in which of them carry over would hide in slow convergence.
func TestProductsStayTrue(t *testing.T) {
	p := logistic(25, 200, 1e-4)
	_, _, err := Minimise(context.Background(), p.f, make([]float64, p.dim), nil, Settings{History: 3, Iterations: 30},
		func(s *State) error {
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			for i, a := range s.basis() {
				for j, b := range s.basis() {
					if got, want := s.products().at(i, j), floats.Dot(a, b); got != want {
						t.Errorf("iteration %d: product %d, %d is %v, want %v", s.Iteration, i, j, got, want)
					}
				}
			}
			return nil
		})
	must(t, err)
}
