package kernel

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
	"github.com/hanse-project/hanse/keys"
)

// readLIBSVM reads "label index:value ..." lines of a compressed file as dense columns.
func readLIBSVM(t testing.TB, columns int, names ...string) ([]Column, []float64) {
	t.Helper()
	table, labels := make([]Column, columns), []float64{}
	for c := range table {
		table[c].Name = strconv.Itoa(c + 1)
	}
	for _, name := range names {
		f, err := os.Open(needs.Data(t, name))
		must(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		must(t, err)
		for lines := bufio.NewScanner(z); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			labels = append(labels, number(t, fields[0]))
			for c := range table {
				table[c].Values = append(table[c].Values, 0)
			}
			for _, cell := range fields[1:] {
				index, value, _ := strings.Cut(cell, ":")
				table[int(number(t, index))-1].Values[len(labels)-1] = number(t, value)
			}
		}
	}
	return table, labels
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	must(t, err)
	return v
}

// ridgeError trains on three quarters of a data set and returns the test error.
func ridgeError(t testing.TB, columns []Column, labels []float64, k Kernel, lambda float64, d int, seed byte) float64 {
	t.Helper()
	order := rand.New(rand.NewPCG(uint64(seed), 5)).Perm(len(labels))
	train, test := order[:len(order)*3/4], order[len(order)*3/4:]
	n, err := Fit(columns, train, FitOptions{Numeric: MinMax, DropConstant: true})
	must(t, err)
	x := mustApply(t, n, columns...)
	m, err := NewMap(k, Seed{seed}, keys.ID{seed}, x.Dense, x.Binary, 0, d/2)
	must(t, err)
	turns := make([]uint16, x.Rows*d/2)
	must(t, m.Turns(x, 0, x.Rows, randomTurns(d/2), turns, 2))
	table, g := Cosines(), mustGram(t, d)
	for _, r := range train {
		must(t, g.Add(turns[r*d/2:(r+1)*d/2], labels[r:r+1], 2))
	}
	f, err := g.Solve(lambda, 2)
	must(t, err)
	wrong := 0.0
	for _, r := range test {
		if (table.DotPairs(turns[r*d/2:(r+1)*d/2], f.Alpha)+f.Intercept > 0) != (labels[r] > 0) {
			wrong++
		}
	}
	return wrong / float64(len(test))
}

// TestRidgeOnPhishing reaches the error of the same method in plain floating point, .0420.
func TestRidgeOnPhishing(t *testing.T) {
	columns, labels := readLIBSVM(t, 68, "phishing.gz")
	for i := range labels {
		labels[i] = 2*labels[i] - 1
	}
	const seeds = 2
	mean := 0.0
	for seed := byte(1); seed <= seeds; seed++ {
		e := ridgeError(t, columns, labels, Kernel{Gaussian, 6.633}, 1e-8, 1024, seed)
		t.Logf("seed %d: test error %.4f", seed, e)
		mean += e / seeds
	}
	if math.Abs(mean-0.042) > 0.006 {
		t.Errorf("mean test error is %.4f, want about .0420", mean)
	}
}
