package sealed

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// edge makes rows whose two features are as large as any can be: f and, of the other sign, -f.
type edge struct {
	source
	role rss.Role
	rng  *rand.Rand // the same at all three
}

// dealt shares words by a public coin.
func (e *edge) dealt(words []uint64) rss.Share {
	var c [rss.Roles][]uint64
	for _, w := range words {
		a, b := e.rng.Uint64(), e.rng.Uint64()
		c[0], c[1], c[2] = append(c[0], a), append(c[1], b), append(c[2], w-a-b)
	}
	return rss.Components(e.role, c)
}

// stored implements source.
func (e *edge) stored(z rss.Share) [][]uint64 { return [][]uint64{z.X, z.Y} }

// again implements source.
func (e *edge) again(_ *block, stored []uint64) rss.Share {
	n := len(stored) / 2
	return rss.Share{X: stored[:n], Y: stored[n:]}
}

// release implements source.
func (e *edge) release(*block) {}

// lifted adds rows of an edge up, block by block, all with one label and one derivative, and returns the sums at the
// scale of rows: two entries of the Gram matrix, one of the features times labels, one of the gradient.
func lifted(t *testing.T, p fdskl.Params, rows int, label, derivative int64, spoil func(acc *sums)) [4]int64 {
	t.Helper()
	names := []string{"p0", "p1", "p2"}
	p.Active, p.Label, p.Keeper, p.Helper, p.Ring, p.Features = names[:1], "y", "p1", "p2", ringSmall, 2
	p = WithDefaults(p.WithDefaults())
	tape := newTape("edge")
	tape.rewind()
	var total, gradient [rss.Roles]rss.Share
	must(t, newLab(names, tape.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		tr, err := newTrainer(&Party{Party: &fdskl.Party{Self: i, Names: names, Params: p, Rows: rows}, Network: n,
			BlockRows: 4})
		if err != nil {
			return err
		}
		e := &edge{role: tr.role, rng: rand.New(rand.NewPCG(1, 2))}
		tr.columns = e
		if p.Outer > 0 {
			tr.checkpoints.kept = &kept{source: e, scratch: &scratch{vault: newVault()}, size: 8}
		}
		acc, err := tr.assembler.savedSums(point{})
		if err != nil {
			return err
		}
		if spoil != nil {
			spoil(acc)
			tr.assembler.begin(&acc.parts[0], acc.cuts[0].windows[0])
		}
		labels, slopes := e.dealt(slices.Repeat([]uint64{uint64(label)}, rows)),
			e.dealt(slices.Repeat([]uint64{uint64(derivative)}, rows))
		if !tr.sharesLabels() {
			labels = rss.Share{}
		}
		for lo := 0; lo < rows; lo += tr.BlockRows {
			b := &block{lo: lo, hi: min(lo+tr.BlockRows, rows)}
			f := int64(largestFeature(p))
			z := e.dealt(slices.Repeat([]uint64{uint64(f), uint64(-f)}, b.hi-b.lo))
			if err := tr.checkpoints.kept.add(b, z); err != nil {
				return err
			}
			tr.assembler.addBlock(acc, b, z, labels)
			if err := tr.assembler.liftWindows(ctx, acc, b.hi); err != nil {
				return err
			}
		}
		total[i] = acc.parts[0].total
		if p.Outer > 0 {
			terms, _, err := tr.stepper.derivativeSums(ctx, 1, slopes)
			gradient[i] = rss.Share{X: terms, Y: make([]uint64, len(terms))}
			return err
		}
		return nil
	}))
	all := rss.Reconstruct(total[rss.LabelHolder], total[rss.Keeper])
	sums := [4]int64{int64(all[0]), int64(all[1])}
	if len(all) > 5 {
		sums[2] = int64(all[5])
	}
	for _, g := range gradient {
		if g.X != nil {
			sums[3] += int64(g.X[0])
		}
	}
	sums[3] >>= 20 + 16 - 2*smallBits
	return sums
}

// TestTheStretcherDoesNotWrapASum: features, labels and derivatives that are as large as any can be, with one sign in
// all rows of a window, add up to what they are, in windows that are as full as they get and in those behind them. In
// windows of twice the rows they do not.
func TestTheStretcherDoesNotWrapASum(t *testing.T) {
	var cosines fdskl.Params
	f, all := int64(largestFeature(cosines)), gramRows(cosines)
	for _, c := range []struct {
		name          string
		params        fdskl.Params
		label, slope  int64
		labels, slops int // rows of a window of them
	}{
		{"classes", fdskl.Params{Lambda: 1e-2, Loss: "square"}, 2 << smallBits, 0, 4080, 0},
		{"regression", fdskl.Params{Lambda: 1e-2, Target: joint.Regression}, 17 << smallBits, 0, 480, 0},
		{"regression, the widest", fdskl.Params{Lambda: 1e-2, Target: joint.Regression, ScoreRange: 128},
			129 << smallBits, 0, 63, 0},
		{"logistic", fdskl.Params{Loss: "logistic", Outer: 1, Lambda: 1e-2}, 0, 263, 0, 7942},
	} {
		for _, rows := range []int{all, 2*all + 5} {
			for _, sign := range []int64{1, -1} {
				n := int64(rows)
				got := lifted(t, c.params, rows, sign*c.label, sign*c.slope, nil)
				want := [4]int64{n * f * f, -n * f * f, n * f * sign * c.label, n * f * sign * c.slope}
				if got != want {
					t.Errorf("%s, %d rows: the sums are %v, want %v", c.name, rows, got, want)
				}
			}
		}
	}
	rows := 2 * all
	for i, windows := range map[int]window{0: {labels: []int{4080, 8160, 12_240, rows}}, 2: {labels: []int{rows}}} {
		got := lifted(t, fdskl.Params{Lambda: 1e-2, Loss: "square"}, rows, 2<<smallBits, 0, func(acc *sums) {
			acc.cuts = []cut{{rows, []window{windows}}}
		})
		if n := int64(rows) * f; got[i] == [4]int64{n * f, -n * f, n * (2 << smallBits)}[i] {
			t.Errorf("in one window of %d rows sum %d is right, too: the test says little", rows, i)
		}
	}
}

// TestNoWordPassesItsBound: the words of labels and derivatives are no larger than their windows are made for, with all
// rows but a few of one class and all of them on the wrong side, far out.
func TestNoWordPassesItsBound(t *testing.T) {
	tr := newParts(&setting{scales: &scales{sy: smallBits, k: ringSmall, sums: wide{k: wordBits}}})
	for _, most := range []float64{2, 8} { // twice the largest value
		for _, few := range []int{0, 1, 2, 3, 1000} {
			for _, rows := range []int{2, 3, 2047, 2049, 4097, 20_000} {
				values := slices.Repeat([]float64{-most / 2}, rows)
				for j := range min(few, rows) {
					values[j] = most / 2
				}
				_, words := tr.assembler.labels(values)
				for j, w := range words {
					if v := math.Abs(float64(int64(w))); v > math.Ldexp(most, smallBits) {
						t.Fatalf("%d of %d rows are the others': word %d is %v, want at most %v", few, rows, j, v,
							math.Ldexp(most, smallBits))
					}
				}
			}
		}
	}
}
