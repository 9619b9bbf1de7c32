package optimum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Table is a table of which every column of numbers is cut into bins.
type Table struct {
	Name string
	X    *mat.Dense // rows x bins: 1 where the row is in the bin, else 0
	Y    []float64  // labels 0 and 1, one for each row
	// Columns is how many columns were cut: as many bins of a row are 1.
	Columns int
}

// Of the made tables.
const (
	madeColumns = 6
	madeBins    = 5 // of a column
)

// Tables returns made tables whose optimum is hard to reach: of few positive labels, of labels that the bins tell
// apart, with a bin of positives only, and with a column that is there twice. They are the same every time.
func Tables() []Table {
	var list []Table
	for _, share := range []float64{.002, .02, .07, .22, .5} {
		rows := 4000
		if share < .01 {
			rows = 12_000
		}
		list = append(list, made(fmt.Sprintf("%.3g %% positive", 100*share), rows, share, 1))
	}
	apart := made("separable", 2000, .2, 0)
	pure := made("a bin of positives only", 4000, .05, 1)
	for i, label := range pure.Y { // those that were there go to the next bin
		if pure.X.At(i, 0) == 1 && label == 0 {
			pure.X.Set(i, 0, 0)
			pure.X.Set(i, 1, 1)
		}
	}
	doubled := made("a doubled column", 4000, .1, 1)
	for i := range doubled.Y {
		for b := range madeBins {
			doubled.X.Set(i, madeBins+b, doubled.X.At(i, b))
		}
	}
	return append(list, apart, pure, doubled)
}

// made makes a table of which a share of the labels is 1: those rows whose bins add up to most, with as much noise.
func made(name string, rows int, share, noise float64) Table {
	rng := rand.New(rand.NewPCG(uint64(rows), math.Float64bits(share)))
	t := Table{Name: name, X: mat.NewDense(rows, madeColumns*madeBins, nil), Y: make([]float64, rows),
		Columns: madeColumns}
	effects := make([]float64, madeColumns*madeBins)
	for j := range effects {
		effects[j] = 1.2 * rng.NormFloat64()
	}
	for i := range rows {
		u := rng.Float64()
		f := noise * math.Log(u/(1-u)) // of the logistic distribution
		for c := range madeColumns {
			at := c*madeBins + min(int(madeBins*rng.Float64()), madeBins-1)
			t.X.Set(i, at, 1)
			f += effects[at]
		}
		t.Y[i] = f
	}
	// The threshold that leaves the share above it, by halving.
	low, high := -100.0, 100.0
	for range 100 {
		middle, above := (low+high)/2, 0
		for _, f := range t.Y {
			if f > middle {
				above++
			}
		}
		if float64(above) > share*float64(rows) {
			low = middle
		} else {
			high = middle
		}
	}
	for i, f := range t.Y {
		t.Y[i] = 0
		if f > high {
			t.Y[i] = 1
		}
	}
	return t
}
