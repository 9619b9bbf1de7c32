package sealed

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// collector is a label holder that keeps to the protocol and writes down A, which is all that it has of a row's score.
type collector struct {
	tape  *tape
	sines [][]uint64 // of each sigmoid, the words that it sent
}

// note writes down the words of the label holder's factors, which are its sines of A less a pad that it has, too.
func (c *collector) note(_ int, m *message) error {
	if m.kind == kindSines {
		c.sines = append(c.sines, slices.Clone(m.words))
	}
	return nil
}

// pads returns those of a use, in their order.
func (c *collector) pads(use rss.Use) (list [][]uint64) {
	var names []padName
	for name := range c.tape.reels {
		if name.use == use {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b padName) int { return int(a.step) - int(b.step) })
	for _, name := range names {
		list = append(list, c.tape.reels[name].words)
	}
	return list
}

// scores takes A for the score, in deviations. As a control the pads come off first, which the other two alone have.
func (c *collector) scores(padded bool) (list [][]float64) {
	ones, twos := c.pads(useTurnOne), c.pads(useTurnTwo)
	for n, early := range c.pads(useSines) {
		var f []float64
		for j := range len(c.sines[n]) / (2 * sines) {
			var factors [2 * sines]float64
			for i := range factors {
				at := j*2*sines + i
				factors[i] = float64(int32(c.sines[n][at] + early[at/2]>>(32*(at%2))))
			}
			a := turnOf(factors)
			if !padded {
				a -= ones[n][j] + twos[n][j]
			}
			f = append(f, math.Ldexp(float64(int16(a)), turnRange-turnBits))
		}
		list = append(list, f)
	}
	return list
}

// turnOf returns the turn whose sines and cosines factors are, rounded, times their weights.
func turnOf(factors [2 * sines]float64) uint64 {
	coarse := int(math.Round(math.Atan2(factors[0], factors[sines]) / (2 * math.Pi) * 65536))
	best, least := coarse, math.Inf(1)
	for a := coarse - 20; a <= coarse+20; a++ {
		off := 0.0
		for i, w := range sigmoidWeights {
			units, _ := unitsOf((&scales{counted: true}).waves(), i)
			cos, sin := pairOf(a&(1<<16-1), i, false)
			off += math.Pow(factors[i]-units*w*sin, 2) + math.Pow(factors[i+sines]-units*w*cos, 2)
		}
		if off < least {
			best, least = a, off
		}
	}
	return uint64(best)
}

// TestCollectorReadsNothingOfATraining: a collector trains logistic scorecards on labels that it draws at random. Each
// training takes two sigmoids of four scores of each row, sums of a number for each bin: from scores it would solve
// these numbers by rows that it knows anyhow, and take of every other row the bins that fit. What it has of a score is
// A, and by A it reads cells as by chance. With r, which it has not, it reads nearly all of them.
func TestCollectorReadsNothingOfATraining(t *testing.T) {
	const rows, known, models, bins = 300, 50, 5, 5
	rng := rand.New(rand.NewPCG(3, 5))
	set := madeSet(rows, 9, "", func(_, noise float64) float64 { return math.Copysign(1, noise) })
	f := set.fixture(t, fdskl.Params{Loss: "logistic", Outer: 5, Iterations: 60, BinParams: fdskl.BinParams{Bins: bins}})
	var x [][]int // [rows][columns] the bins of all, of which the first three columns are the collector's own
	for j := range rows {
		var cells []int
		for _, parts := range f.parts {
			column := 0
			parts[0].Rows.EachInRow(j, func(bin int, _ float64) {
				cells = append(cells, bin-bins*column)
				column++
			})
		}
		x = append(x, cells)
	}
	var seen, taken [][]float64
	for range models {
		for j := range f.labels.Values {
			f.labels.Values[j] = float64(2*rng.IntN(2) - 1)
		}
		f.forget()
		c := &collector{tape: newTape("collector")}
		c.tape.rewind()
		l := newLab(f.names, c.tape.source)
		l.heard = c.note
		must(t, l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, 1))
			return err
		}))
		seen, taken = append(seen, c.scores(true)...), append(taken, c.scores(false)...)
	}
	if len(seen) != 8*models {
		t.Fatalf("the collector has %d numbers of a row, want %d", len(seen), 8*models)
	}
	cells := float64((rows - known) * (len(x[0]) - 3))
	chance, noise := 1.0/bins, math.Sqrt((1-1.0/bins)/bins/cells)
	got, control := collected(t, x, seen, bins, known), collected(t, x, taken, bins, known)
	t.Logf("of %.0f cells %.3f are right, chance is %.3f with a standard error of %.3f; with r %.3f are", cells, got,
		chance, noise, control)
	if math.Abs(got-chance) > 4*noise {
		t.Errorf("%.3f of the cells are right, want %.3f within %.3f", got, chance, 4*noise)
	}
	if control < .9 {
		t.Errorf("with r %.3f of the cells are right, want .9 at least: the test says little", control)
	}
}

// collected is the share of the others' cells that a collector reads of the rows that it does not know.
func collected(t *testing.T, x [][]int, scores [][]float64, bins, known int) float64 {
	t.Helper()
	columns := len(x[0])
	const own = 3
	var numbers [][]float64 // [scores][columns x bins]
	for _, f := range scores {
		width := columns * bins
		a, b := mat.NewDense(known+width, width, nil), mat.NewVecDense(known+width, nil)
		for i := range known {
			for c, cell := range x[i] {
				a.Set(i, c*bins+cell, 1)
			}
			b.SetVec(i, f[i])
		}
		for k := range width { // a little of a ridge: the columns' sums are the same
			a.Set(known+k, k, 3e-2)
		}
		var v mat.VecDense
		must(t, v.SolveVec(a, b))
		numbers = append(numbers, v.RawVector().Data)
	}
	hits, all := 0, 0
	for i := known; i < len(x); i++ {
		rest := make([]float64, len(scores)) // what the others' cells must add up to
		for m, f := range scores {
			rest[m] = f[i]
			for c := range own {
				rest[m] -= numbers[m][c*bins+x[i][c]]
			}
		}
		best, least := make([]int, columns), math.Inf(1)
		cells := make([]int, columns)
		var search func(c int)
		search = func(c int) {
			if c == columns {
				off := 0.0
				for _, r := range rest {
					off += r * r
				}
				if off < least {
					least = off
					copy(best, cells)
				}
				return
			}
			for cell := range bins {
				cells[c] = cell
				for m := range rest {
					rest[m] -= numbers[m][c*bins+cell]
				}
				search(c + 1)
				for m := range rest {
					rest[m] += numbers[m][c*bins+cell]
				}
			}
		}
		search(own)
		for c := own; c < columns; c++ {
			all++
			if best[c] == x[i][c] {
				hits++
			}
		}
	}
	return float64(hits) / float64(all)
}
