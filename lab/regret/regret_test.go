package regret

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rows draws rows of features on the unit sphere, and labels from 0 to 1.
func rows(n, features int) (z [][]float64, y []float64) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range n {
		row, norm := make([]float64, features), 0.0
		for i := range row {
			row[i] = rng.NormFloat64()
			norm += row[i] * row[i]
		}
		for i := range row {
			row[i] /= math.Sqrt(norm)
		}
		z, y = append(z, row), append(y, rng.Float64())
	}
	return z, y
}

// lossOf adds squared errors up row by row.
func lossOf(theta []float64, z [][]float64, y []float64) float64 {
	sum := 0.0
	for r, row := range z {
		e := -y[r]
		for i, v := range row {
			e += theta[i] * v
		}
		sum += e * e
	}
	return sum
}

// descend is the oracle: projected gradient descent, straight from the definition.
func descend(z [][]float64, y []float64, limit float64) []float64 {
	theta := make([]float64, len(z[0]))
	for range 200000 {
		gradient := make([]float64, len(theta))
		for r, row := range z {
			e := -y[r]
			for i, v := range row {
				e += theta[i] * v
			}
			for i, v := range row {
				gradient[i] += 2 * e * v
			}
		}
		norm := 0.0
		for i := range theta {
			theta[i] -= gradient[i] / float64(2*len(z))
			norm += theta[i] * theta[i]
		}
		if norm = math.Sqrt(norm); norm > limit {
			for i := range theta {
				theta[i] *= limit / norm
			}
		}
	}
	return theta
}

// TestTheBestFitIsWhereDescentEnds, with a ball that binds, one that hardly does, and none.
func TestTheBestFitIsWhereDescentEnds(t *testing.T) {
	z, y := rows(30, 4)
	g := NewGram(4)
	for r := range z {
		g.Add(z[r], y[r])
	}
	limits := []float64{0.05, 0.2, math.Inf(1)}
	fits, err := g.Best(limits...)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fits {
		want := descend(z, y, limits[i])
		for c := range want {
			if math.Abs(f.Theta[c]-want[c]) > 1e-9 {
				t.Errorf("radius %v: coefficients %v, want %v", limits[i], f.Theta, want)
				break
			}
		}
		if own := lossOf(f.Theta, z, y); math.Abs(own-f.Loss) > 1e-9 || f.Norm() > limits[i]*(1+1e-9) {
			t.Errorf("radius %v: loss %v, row by row %v, length %v", limits[i], f.Loss, own, f.Norm())
		}
	}
}

// TestFewRowsAreFittedExactly: with fewer rows than features the loss is 0, and no coefficient explodes.
func TestFewRowsAreFittedExactly(t *testing.T) {
	z, y := rows(3, 8)
	g := NewGram(8)
	for r := range z {
		g.Add(z[r], y[r])
	}
	fits, err := g.Best(math.Inf(1))
	if err != nil || fits[0].Loss > 1e-12 || fits[0].Norm() > 10 {
		t.Errorf("error %v, fit %+v", err, fits)
	}
	if _, err := g.Best(0); err == nil || err.Error() != "the ball's radius is 0, want a positive number" {
		t.Errorf("error %v", err)
	}
}

// TestTheBoundIsAddedUpTermByTerm against loops over rounds and clients.
func TestTheBoundIsAddedUpTermByTerm(t *testing.T) {
	b := Bound{Clients: 7, Kernels: 51, Bins: 3, Step: 0.04, WeightStep: 0.05, Explore: 0.5, Gradient: 2, Norm: 1.5}
	const rounds = 90
	want := 0.0
	for range b.Clients {
		want += 1.5 * 1.5 / (2 * 0.04)
		want += math.Log(51) / 0.05
		for range rounds {
			p := 0.5 / 3
			want += 0.04 / 2 * 2 * 2 / p
			want += 0.05 / 2
		}
	}
	if got := b.At(rounds); math.Abs(got-want) > 1e-9 {
		t.Errorf("the bound is %v, want %v", got, want)
	}
	least := math.Inf(1)
	for i := range 400 {
		for j := range 400 {
			c := b
			c.Step, c.WeightStep = 1e-3*math.Pow(1.03, float64(i)), 1e-3*math.Pow(1.03, float64(j))
			least = math.Min(least, c.At(rounds))
		}
	}
	if got := b.Tuned(rounds); got > least || got < 0.999*least {
		t.Errorf("the tuned bound is %v, a search finds %v", got, least)
	}
	if n := b.RoundsToMatter(0.02); math.Abs(b.Tuned(int(n))/(7*n)-0.02) > 1e-4 {
		t.Errorf("after %v rounds the bound is %v a client and round", n, b.Tuned(int(n))/(7*n))
	}
	d := FeaturesToHold(500, 14, 0.3)
	if p := 1 - 256*500*14/0.3*math.Exp(-d/500/(4*16)); math.Abs(p-0.5) > 1e-9 {
		t.Errorf("with %v features the probability is %v", d, p)
	}
}
