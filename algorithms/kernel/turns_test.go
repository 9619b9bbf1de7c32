package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// mixedMatrix has dense and binary columns, rows with few and with many set cells, and strays.
func mixedMatrix(seed uint64, rows, dense, binary int, scale float64) *Matrix {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &Matrix{Rows: rows, Dense: names("d", dense), Binary: names("b", binary), Starts: make([]uint32, rows+1)}
	for row := range rows {
		for range dense {
			m.Values = append(m.Values, scale*r.NormFloat64())
		}
		share := r.Float64()
		for c := range binary {
			switch {
			case r.Float64() < share:
				m.Set = append(m.Set, uint16(c))
			case r.Float64() < 0.01:
				m.Strays = append(m.Strays, Stray{uint32(row), uint16(c), r.NormFloat64()})
			}
		}
		m.Starts[row+1] = uint32(len(m.Set))
	}
	return m
}

// cells returns a row as numbers, dense columns first, and its number of binary cells that are not 0.
func cells(m *Matrix, row int) (x []float64, set int) {
	x = append(x, m.Values[row*len(m.Dense):(row+1)*len(m.Dense)]...)
	binary := make([]float64, len(m.Binary))
	for _, c := range m.Set[m.Starts[row]:m.Starts[row+1]] {
		binary[c] = 1
		set++
	}
	for _, s := range m.Strays {
		if int(s.Row) == row {
			binary[s.Binary] = s.Value
			set++
		}
	}
	return append(x, binary...), set
}

// exactTurns is the oracle: omega^T x / 2 pi modulo one, in units of 2^-16 turn, in big floats.
func exactTurns(k Kernel, seed Seed, party keys.ID, m *Matrix, row, feature int) float64 {
	x, _ := cells(m, row)
	sum := new(big.Float).SetPrec(400)
	for c, name := range slices.Concat(m.Dense, m.Binary) {
		var w [1]float64
		k.Draw(seed, party, name, feature, 1, w[:])
		product := new(big.Float).SetPrec(400).Mul(big.NewFloat(w[0]), big.NewFloat(x[c]))
		sum.Add(sum, product)
	}
	sum.Mul(sum, big.NewFloat(circle))
	whole, _ := new(big.Float).Quo(sum, big.NewFloat(circle)).Int(nil)
	sum.Sub(sum, new(big.Float).SetPrec(400).SetInt(whole.Mul(whole, big.NewInt(circle))))
	f, _ := sum.Float64()
	return f
}

// distance returns how far an angle is from the exact one, in units of 2^-16 turn, round the circle.
func distance(got uint16, want float64) float64 {
	d := math.Mod(math.Abs(float64(got)-want), circle)
	return min(d, circle-d)
}

func TestTurnsWithinBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kernel{rapid.SampledFrom(allKinds).Draw(t, "kind"), 1.3}
		dense, binary := rapid.IntRange(0, 9).Draw(t, "dense"), rapid.IntRange(0, 90).Draw(t, "binary")
		first, count := rapid.IntRange(0, 500).Draw(t, "first"), rapid.IntRange(1, 60).Draw(t, "count")
		scale := rapid.SampledFrom([]float64{0.1, 4, 1e6}).Draw(t, "scale")
		x := mixedMatrix(rapid.Uint64().Draw(t, "data"), 3, dense, binary, scale)
		m, err := NewMap(k, Seed{3}, keys.ID{4}, x.Dense, x.Binary, first, count)
		must(t, err)
		phases, out := randomTurns(count), make([]uint16, 3*count)
		must(t, m.Turns(x, 0, 3, phases, out, 1))
		for row := range 3 {
			_, set := cells(x, row)
			i := rapid.IntRange(0, count-1).Draw(t, "feature")
			want := exactTurns(k, Seed{3}, keys.ID{4}, x, row, first+i)
			if d := distance(out[row*count+i]-phases[i], want); d > float64(set)/2+1 {
				t.Fatalf("row %d with %d set cells, feature %d: off by %v units", row, set, first+i, d)
			}
		}
	})
}

// TestTurnsDoNotDependOnBlocks computes the same rows in one go, in parallel, piece by piece,
// and with other features beside them.
func TestTurnsDoNotDependOnBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, count := rapid.IntRange(1, 300).Draw(t, "rows"), rapid.IntRange(1, 130).Draw(t, "count")
		dense, binary := rapid.IntRange(0, 40).Draw(t, "dense"), rapid.IntRange(0, 70).Draw(t, "binary")
		cut, skip := rapid.IntRange(0, rows).Draw(t, "cut"), rapid.IntRange(0, count-1).Draw(t, "skip")
		x := mixedMatrix(7, rows, dense, binary, 1)
		turns := func(first, count, lo, hi, workers int) []uint16 {
			m, err := NewMap(Kernel{Matern32, 2}, Seed{3}, keys.ID{4}, x.Dense, x.Binary, first, count)
			must(t, err)
			out := make([]uint16, (hi-lo)*count)
			must(t, m.Turns(x, lo, hi, nil, out, workers))
			return out
		}
		whole := turns(5, count, 0, rows, 1)
		if !slices.Equal(whole, turns(5, count, 0, rows, 3)) {
			t.Fatal("three workers give other angles than one")
		}
		if !slices.Equal(whole, append(turns(5, count, 0, cut, 2), turns(5, count, cut, rows, 2)...)) {
			t.Fatalf("rows cut at %d give other angles", cut)
		}
		for r, part := 0, turns(5+skip, count-skip, 0, rows, 1); r < rows; r++ {
			if !slices.Equal(whole[r*count+skip:(r+1)*count], part[r*(count-skip):(r+1)*(count-skip)]) {
				t.Fatalf("row %d has other angles when features start at %d", r, 5+skip)
			}
		}
	})
}

// TestPartiesAddUp splits columns between parties: the sum of their angles is a joint angle, and
// random features of the joined rows approximate the kernel.
func TestPartiesAddUp(t *testing.T) {
	const d = 1 << 13
	table := Cosines()
	for _, kind := range allKinds {
		k := Kernel{kind, 1.1}
		joint := make([]uint16, 2*d)
		var rows [2][]float64
		phases := randomTurns(d)
		for p := range 3 {
			x := mixedMatrix(uint64(p), 2, 2, 3, 0.4)
			m, err := NewMap(k, Seed{1}, keys.ID{byte(p)}, x.Dense, x.Binary, 0, d)
			must(t, err)
			out := make([]uint16, 2*d)
			must(t, m.Turns(x, 0, 2, phases, out, 2))
			for i, v := range out {
				joint[i] += v
			}
			for r := range rows {
				row, _ := cells(x, r)
				rows[r] = append(rows[r], row...)
			}
		}
		features := make([]float64, 2*d)
		table.Features64(features, joint)
		mean := 0.0
		for i := range d {
			mean += features[i] * features[d+i] / d
		}
		if want := k.Value(rows[0], rows[1]); math.Abs(mean-want) > 4.5/math.Sqrt(d) {
			t.Errorf("%s: mean product %v, kernel %v", kind, mean, want)
		}
	}
}

func TestQuantiseRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.IntRange(-3, 90).Draw(t, "exponent")
		units := math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "mantissa"), e)
		want, _ := new(big.Float).SetFloat64(math.RoundToEven(units)).Int(nil)
		want.Mod(want, big.NewInt(circle))
		added := []uint16{7}
		addQuantised(added, []float64{units})
		if got := quantise(units); uint64(got) != want.Uint64() || added[0]-7 != got {
			t.Fatalf("quantise(%g) = %d and %d, want %d", units, got, added[0]-7, want)
		}
	})
}

func TestTurnsRefuses(t *testing.T) {
	x := mixedMatrix(1, 4, 2, 2, 1)
	k := Kernel{Gaussian, 1}
	m, err := NewMap(k, Seed{}, keys.ID{}, x.Dense, x.Binary, 0, 5)
	must(t, err)
	other := mixedMatrix(1, 4, 3, 2, 1)
	newMap := func(k Kernel, dense []string, first, count int) error {
		_, err := NewMap(k, Seed{}, keys.ID{}, dense, nil, first, count)
		return err
	}
	tests := []struct {
		err  error
		want string
	}{
		{m.Turns(other, 0, 4, nil, make([]uint16, 20), 1), `the matrix has other columns than the feature map`},
		{m.Turns(x, 3, 5, nil, make([]uint16, 10), 1), `rows 3 to 5 are out of range: the matrix has 4`},
		{m.Turns(x, 0, 4, make([]uint16, 4), make([]uint16, 20), 1), `there are 4 phases for 5 features`},
		{m.Turns(x, 0, 4, nil, make([]uint16, 19), 1), `the buffer holds 19 angles: want 4 rows of 5`},
		{newMap(Kernel{Gaussian, math.NaN()}, x.Dense, 0, 1), `kernel width sigma is NaN: it must lie in [1e-06, 1e+09]`},
		{newMap(k, x.Dense, -1, 1), `features -1 to 0 are out of range: want a count of at least 1 and numbers up to 16777216`},
		{newMap(k, []string{"a", "a"}, 0, 1), `name "a" is empty or occurs twice`},
		{newMap(k, names("c", 17), 0, MaxFeatures), fmt.Sprintf(`17 dense and 0 binary columns with 16777216 features are too many: at most 65535 columns of each kind fit, and %d frequencies`, maxWeights)},
	}
	for _, test := range tests {
		wantError(t, test.err, test.want)
	}
}
