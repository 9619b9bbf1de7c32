package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

var allKinds = []Kind{Gaussian, Laplace, Matern32, Matern52}

// TestDrawGolden pins frequencies to the bit: models of every earlier release depend on them.
func TestDrawGolden(t *testing.T) {
	golden := map[Kind][4]uint64{
		Gaussian: {0xbfa7f15f573eb9e5, 0x3f7a80c3df882579, 0xbf96301b17a46309, 0x3f713338ac326029},
		Laplace:  {0xbfbcec322d1fa262, 0x3f726659d73b982f, 0x3fdac966519fdafe, 0xbfeb201972be41a8},
		Matern32: {0xbfa3040b61f6fa07, 0x3f92bf3fbe8257a2, 0xbf964b24d969acce, 0x3f720dfbf652e291},
		Matern52: {0xbfa54f8a04f1dd50, 0x3f849849c75b97e9, 0xbf9360f7bd9f4133, 0x3f763b45f816ffa6},
	}
	for _, kind := range allKinds {
		var out [4]float64
		Kernel{kind, 2.5}.Draw(Seed{1, 2, 3}, keys.ID{7}, "age", 1000, 4, out[:])
		var bits [4]uint64
		for i, v := range out {
			bits[i] = math.Float64bits(v)
		}
		if bits != golden[kind] {
			t.Errorf("%s: %#x, want %#x (%v)", kind, bits, golden[kind], out)
		}
	}
}

func TestDrawIsRandomAccess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kernel{rapid.SampledFrom(allKinds).Draw(t, "kind"), 1.5}
		first, n := rapid.IntRange(0, 2000).Draw(t, "first"), rapid.IntRange(1, 600).Draw(t, "n")
		skip := rapid.IntRange(0, n-1).Draw(t, "skip")
		whole, part := make([]float64, n), make([]float64, n-skip)
		k.Draw(Seed{5}, keys.ID{6}, "x", first, n, whole)
		k.Draw(Seed{5}, keys.ID{6}, "x", first+skip, n-skip, part)
		if !slices.Equal(whole[skip:], part) {
			t.Fatalf("features from %d on differ when drawn apart", first+skip)
		}
	})
}

func TestDrawDependsOnEverything(t *testing.T) {
	draw := func(seed Seed, party keys.ID, column string) float64 {
		var out [1]float64
		Kernel{Gaussian, 1}.Draw(seed, party, column, 3, 1, out[:])
		return out[0]
	}
	seen := map[float64]bool{}
	for _, v := range []float64{
		draw(Seed{}, keys.ID{}, "a"), draw(Seed{1}, keys.ID{}, "a"),
		draw(Seed{}, keys.ID{1}, "a"), draw(Seed{}, keys.ID{}, "b"),
	} {
		if seen[v] {
			t.Errorf("frequency %v occurs twice", v)
		}
		seen[v] = true
	}
}

// TestDrawLaw compares 20,000 draws of one column with the marginal distribution, by the
// statistic of Kolmogorov and Smirnov; 1.95 is passed by one honest sample in a thousand.
func TestDrawLaw(t *testing.T) {
	const n, sigma = 20000, 0.7
	laws := map[Kind]func(z float64) float64{
		Gaussian: func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) },
		Laplace:  func(z float64) float64 { return 0.5 + math.Atan(z)/math.Pi },
		Matern32: studentThree,
		Matern52: studentFive,
	}
	for kind, law := range laws {
		out := make([]float64, n)
		Kernel{kind, sigma}.Draw(Seed{11}, keys.ID{12}, "income", 0, n, out)
		slices.Sort(out)
		worst := 0.0
		for i, w := range out {
			p := law(w * 2 * math.Pi * sigma)
			worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
		}
		if d := worst * math.Sqrt(n); d > 1.95 {
			t.Errorf("%s: the distribution is off by %.2f / sqrt(n)", kind, d)
		}
	}
}

// studentThree and studentFive are Student's distribution functions for 3 and 5 degrees of
// freedom.
func studentThree(z float64) float64 {
	x := z / math.Sqrt(3)
	return 0.5 + (x/(1+x*x)+math.Atan(x))/math.Pi
}

func studentFive(z float64) float64 {
	x := z / math.Sqrt(5)
	return 0.5 + (x/(1+x*x)*(1+2/(3*(1+x*x)))+math.Atan(x))/math.Pi
}

func TestDrawMoments(t *testing.T) {
	const n = 1 << 16
	a, b := make([]float64, n), make([]float64, n)
	k := Kernel{Gaussian, 1 / (2 * math.Pi)} // turns per unit are standard normals
	k.Draw(Seed{1}, keys.ID{1}, "a", 0, n, a)
	k.Draw(Seed{1}, keys.ID{1}, "b", 0, n, b)
	var mean, square, fourth, cross, lag float64
	for i, v := range a {
		mean += v / n
		square += v * v / n
		fourth += v * v * v * v / n
		cross += v * b[i] / n
		lag += v * a[(i+1)%n] / n
	}
	tests := []struct {
		name            string
		got, want, unit float64 // unit: standard deviation times sqrt(n)
	}{
		{"mean", mean, 0, 1}, {"variance", square, 1, math.Sqrt2}, {"fourth moment", fourth, 3, math.Sqrt(96)},
		{"correlation of columns", cross, 0, 1}, {"correlation of neighbours", lag, 0, 1},
	}
	for _, test := range tests {
		if math.Abs(test.got-test.want)*math.Sqrt(n) > 4.5*test.unit {
			t.Errorf("%s is %v, want %v", test.name, test.got, test.want)
		}
	}
}

// TestFeaturesApproximateKernel is Bochner's theorem: over many features, with the columns split
// between two parties, the mean of phi phi' is the kernel.
func TestFeaturesApproximateKernel(t *testing.T) {
	const n = 1 << 15
	x, y := []float64{0.2, 0.9, 0.4}, []float64{0.7, 0.1, 0.5}
	party, column := []keys.ID{{1}, {1}, {2}}, []string{"a", "b", "a"}
	for _, kind := range allKinds {
		k := Kernel{kind, 0.8}
		difference, w := make([]float64, n), make([]float64, n)
		for c := range x {
			k.Draw(Seed{9}, party[c], column[c], 0, n, w)
			for i, v := range w {
				difference[i] += v * (x[c] - y[c])
			}
		}
		mean := 0.0 // over a uniform phase, the mean of 2 cos(u+b) cos(v+b) is cos(u-v)
		for _, turn := range difference {
			mean += math.Cos(2*math.Pi*turn) / n
		}
		if want := k.Value(x, y); math.Abs(mean-want) > 4.5/math.Sqrt(2*n) {
			t.Errorf("%s: mean %v, kernel %v", kind, mean, want)
		}
	}
}
