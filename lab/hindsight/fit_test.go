package hindsight

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// line returns a network that is y = a x1 + b x2 + c, and rows of one such line with some noise.
func line(t *testing.T) (*nn.Network, Rows) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	n, err := nn.New([]int{2}, []nn.Layer{{Kind: nn.Dense, Units: 1, Activation: nn.Linear}}, rng)
	if err != nil {
		t.Fatal(err)
	}
	var rows Rows
	for range 300 {
		x1, x2 := rng.Float64(), rng.Float64()
		rows.X = append(rows.X, float32(x1), float32(x2))
		rows.Y = append(rows.Y, 0.3*x1-0.2*x2+0.4+0.01*rng.NormFloat64())
	}
	return n, rows
}

// leastSquares solves the normal equations of the line by elimination and returns the mean square error.
func leastSquares(rows Rows) float64 {
	var m [3][4]float64
	for i, y := range rows.Y {
		v := [4]float64{float64(rows.X[2*i]), float64(rows.X[2*i+1]), 1, y}
		for r := range 3 {
			for c := range v {
				m[r][c] += v[r] * v[c]
			}
		}
	}
	for p := range 3 {
		for r := range 3 {
			if r != p {
				factor := m[r][p] / m[p][p]
				for c := range m[r] {
					m[r][c] -= factor * m[p][c]
				}
			}
		}
	}
	sum := 0.0
	for i, y := range rows.Y {
		d := m[0][3]/m[0][0]*float64(rows.X[2*i]) + m[1][3]/m[1][1]*float64(rows.X[2*i+1]) + m[2][3]/m[2][2] - y
		sum += d * d
	}
	return sum / float64(len(rows.Y))
}

// TestFitFindsTheLine where the loss is convex and the best is known.
func TestFitFindsTheLine(t *testing.T) {
	n, rows := line(t)
	given := slices.Clone(n.Parameters())
	best, loss, err := Fit(context.Background(), n, rows, Options{Epochs: 80, Batch: 10, Step: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	want := leastSquares(rows)
	if !(loss >= want*(1-1e-6) && loss < want*1.02) || math.Abs(meanLoss(best.NewWorkspace(), rows)-loss) > 1e-12 {
		t.Errorf("loss %v of a network with %v, want %v", loss, meanLoss(best.NewWorkspace(), rows), want)
	}
	if !slices.Equal(given, n.Parameters()) {
		t.Error("the network that was given has changed")
	}
}

// TestStepsThatDivergeAreUndone starts with one that does.
func TestStepsThatDivergeAreUndone(t *testing.T) {
	n, rows := line(t)
	start := meanLoss(n.NewWorkspace(), rows)
	best, loss, err := Fit(context.Background(), n, rows, Options{Epochs: 1, Batch: 10, Step: 1e6})
	if err != nil || loss != start || !slices.Equal(best.Parameters(), n.Parameters()) {
		t.Errorf("loss %v, %v, want %v as before", loss, err, start)
	}
	if _, loss, err = Fit(context.Background(), n, rows, Options{Epochs: 60, Batch: 10, Step: 1e6}); err != nil ||
		!(loss < start/2) {
		t.Errorf("loss %v, %v, want less than half of %v once the step is small", loss, err, start)
	}
}

// TestBadFitsAreRefused by what is wrong.
func TestBadFitsAreRefused(t *testing.T) {
	n, rows := line(t)
	for _, c := range []struct {
		rows Rows
		o    Options
		want string
	}{
		{Rows{}, Options{Epochs: 1, Batch: 1, Step: 1}, "there are 0 labels and 0 inputs, want rows of 2 inputs"},
		{Rows{rows.X[1:], rows.Y}, Options{Epochs: 1, Batch: 1, Step: 1}, "there are 300 labels and 599 inputs"},
		{rows, Options{Epochs: 1, Batch: 0, Step: 1}, "batches of 0 rows"},
		{rows, Options{Epochs: 1, Batch: 1, Step: math.NaN()}, "with step NaN"},
	} {
		if _, _, err := Fit(context.Background(), n, c.rows, c.o); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	done, stop := context.WithCancel(context.Background())
	stop()
	if _, _, err := Fit(done, n, rows, Options{Epochs: 1, Batch: 1, Step: 1}); err != context.Canceled {
		t.Errorf("error %v, want that of the end", err)
	}
}

// TestGradientIsTheLargest of the line's, 2 (f - y) (x1, x2, 1).
func TestGradientIsTheLargest(t *testing.T) {
	n, rows := line(t)
	largest, p := 0.0, n.Parameters()
	for i, y := range rows.Y {
		x1, x2 := float64(rows.X[2*i]), float64(rows.X[2*i+1])
		d := 2 * (float64(p[0])*x1 + float64(p[1])*x2 + float64(p[2]) - y)
		largest = math.Max(largest, math.Abs(d)*math.Sqrt(x1*x1+x2*x2+1))
	}
	if got := Gradient(n, rows, 1); math.Abs(got-largest) > 1e-5*largest {
		t.Errorf("got %v, want %v", got, largest)
	}
	if got := Gradient(n, rows, 7); got > largest*(1+1e-5) || got <= 0 {
		t.Errorf("of some rows %v, of all %v", got, largest)
	}
}
