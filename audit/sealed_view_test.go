package audit

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The parties of the sealed training below: the three, and one outside.
const (
	viewedLabel = iota
	viewedKeeper
	viewedHelper
	viewedOutside
	viewedAll
)

// viewed is a sealed training of four parties in one process, and what each of the three had in its hands: what no
// transcript holds, the pads, among it. Sums are added in the clear at their roots, where they open.
type viewed struct {
	*federation
	queues [viewedAll][viewedAll]chan []uint64

	mu       sync.Mutex
	own      [viewedAll][]uint16 // a party's addends of all angles, without the pad
	angles   []uint16            // A0, at the label holder
	rotation []uint16            // r, at the keeper
	features [viewedAll][]uint64 // words of features that a party received
	targets  []uint64            // words of labels that the keeper received
	cover    []uint64            // the helper's pad that covers them
}

func newViewed(t testing.TB, rows int) *viewed {
	t.Helper()
	v := &viewed{federation: newFederation(t, rows, 1, fdskl.Masked, contract.Tree,
		fdskl.Params{Features: 64, Iterations: 10, Loss: "square", Sigma: 1})}
	v.params.Keeper, v.params.Helper = v.names[viewedKeeper], v.names[viewedHelper]
	v.params = sealed.WithDefaults(v.params)
	for i := range v.queues {
		for j := range v.queues[i] {
			v.queues[i][j] = make(chan []uint64, 1<<10)
		}
	}
	var all sync.WaitGroup
	errs := make([]error, viewedAll)
	for i := range viewedAll {
		all.Go(func() { errs[i] = v.train(t.Context(), i) })
	}
	all.Wait()
	must(t, errs)
	return v
}

func (v *viewed) train(ctx context.Context, i int) error {
	p := &sealed.Party{Party: &fdskl.Party{Self: i, Names: v.names, Params: v.params, Privacy: fdskl.Sealed,
		Parts: []fdskl.Part{v.parts[i]}, Rows: v.rows, Vault: joint.NewMemory(), Workers: 1},
		Network: &viewedNetwork{v, i}, Session: 1, Owner: v.members[i].ID}
	if i == viewedLabel {
		p.Labels = v.labels
	}
	_, err := sealed.Train(ctx, p)
	return err
}

// aim is the difference attack on turns of all angles by a coalition, who take off their own addends.
func (v *viewed) aim(t testing.TB, turn func(at int) uint16, coalition ...int) *attack.Recovery {
	t.Helper()
	d := v.params.Angles()
	var parts []fdskl.Part
	var columns [][]float64
	for i, p := range v.parts {
		if slices.Contains(coalition, i) {
			continue
		}
		parts = append(parts, p)
		for _, name := range append(slices.Clone(p.Rows.Dense), p.Rows.Binary...) {
			draws := make([]float64, d)
			kernel.Kernel{Sigma: 1}.Draw(v.params.PublicSeed(), p.Owner, name, 0, d, draws)
			columns = append(columns, draws)
		}
	}
	design := mat.NewDense(d, len(columns), nil)
	for c, draws := range columns {
		design.SetCol(c, draws)
	}
	r, err := attack.Difference(t.Context(),
		attack.System{Design: design, Rows: v.rows, Wrapped: true, Noise: 1.0 / 65536, Row: func(j int, values []float64) {
			for e := range values {
				w := turn(j*d + e)
				for _, i := range coalition {
					w -= v.own[i][j*d+e]
				}
				values[e] = float64(w) / 65536
			}
		}}, attack.Options{Truth: func(j int, x []float64) {
			clear(x)
			at := 0
			for _, p := range parts {
				p.Rows.EachInRow(j, func(c int, value float64) { x[at+c] = value })
				at += len(p.Rows.Dense) + len(p.Rows.Binary)
			}
		}})
	mustDo(t, err)
	return r
}

// TestOneOfTheThreeRebuildsNothingAndTwoRebuildAll runs the difference attack on the padded angles and on words of
// features, as each of the three has them, and with the label holder's and the keeper's knowledge together.
func TestOneOfTheThreeRebuildsNothingAndTwoRebuildAll(t *testing.T) {
	t.Parallel()
	v := newViewed(t, 400)
	padded := func(at int) uint16 { return v.angles[at] }
	word := func(i int) func(at int) uint16 {
		return func(at int) uint16 { return uint16(v.features[i][2*at] >> (v.params.Ring - 16)) } // of the cosine
	}
	for _, c := range []struct {
		name      string
		turn      func(at int) uint16
		coalition []int
		all       bool
	}{
		{"the label holder", padded, []int{viewedLabel}, false},
		{"the label holder and one outside", padded, []int{viewedLabel, viewedOutside}, false},
		{"the keeper", word(viewedKeeper), []int{viewedKeeper}, false},
		{"the helper", word(viewedHelper), []int{viewedHelper}, false},
		{"the label holder and the keeper", func(at int) uint16 { return v.angles[at] - v.rotation[at] },
			[]int{viewedLabel, viewedKeeper}, true},
	} {
		r := v.aim(t, c.turn, c.coalition...)
		switch {
		case c.all && (r.RecoveredShare < 1 || r.RMS > 1e-3):
			t.Errorf("%s rebuilt %.1f %% with an error of %.2g, want all", c.name, 100*r.RecoveredShare, r.RMS)
		case !c.all && (r.Solved > 0 || r.RecoveredShare > 0 || r.RMS < 0.8*r.ControlRMS):
			t.Errorf("%s rebuilt %.1f %% with an error of %.2g, a guess has %.2g", c.name,
				100*r.RecoveredShare, r.RMS, r.ControlRMS)
		}
	}
}

// TestReceivedWordsExplainNoColumns fits what each of the three received, and the angles without their pad, to the
// others' columns on a fifth of the rows.
func TestReceivedWordsExplainNoColumns(t *testing.T) {
	t.Parallel()
	v := newViewed(t, 1000)
	fit := func(who, d int, turn func(at int) uint16) *attack.KnownRowsResult {
		other := (who + 1) % viewedAll
		r, err := attack.KnownRows(t.Context(), attack.Coalition{Rows: v.rows, Width: d, Angles: true, Columns: 3, Known: 0.5,
			Row: func(j int, values []float64) {
				for e := range values {
					values[e] = float64(turn(j*d+e)) / 65536
				}
			},
			Truth: func(j int, x []float64) {
				clear(x)
				v.parts[other].Rows.EachInRow(j, func(c int, value float64) { x[c] = value })
			}})
		mustDo(t, err)
		return r
	}
	word := func(i int) func(at int) uint16 {
		return func(at int) uint16 { return uint16(v.features[i][at] >> (v.params.Ring - 16)) }
	}
	for name, r := range map[string]*attack.KnownRowsResult{
		"label holder": fit(viewedLabel, v.params.Angles(), func(at int) uint16 { return v.angles[at] }),
		"keeper":       fit(viewedKeeper, v.params.Features, word(viewedKeeper)),
		"helper":       fit(viewedHelper, v.params.Features, word(viewedHelper)),
	} {
		if r.Best > 0.05 || r.Best > r.Control+0.05 {
			t.Errorf("the %s's words explain %.2f of a column, shuffled rows %.2f", name, r.Best, r.Control)
		}
	}
	bare := func(at int) uint16 { return v.angles[at] - v.rotation[at] }
	if r := fit(viewedLabel, v.params.Angles(), bare); r.Best < 0.5 {
		t.Errorf("angles without their pad explain %.2f of a column, want more", r.Best)
	}
}

// TestReceivedWordsDiscloseNoLabels correlates the words of labels that the keeper received with the labels, alone and
// with the helper's pad.
func TestReceivedWordsDiscloseNoLabels(t *testing.T) {
	t.Parallel()
	v := newViewed(t, 400)
	leak := func(word func(j int) uint64) attack.LabelSignal {
		signal := make([]float64, v.rows)
		for j := range signal {
			unused := 64 - v.params.Ring
			signal[j] = float64(int64(word(j)<<unused) >> unused)
		}
		r, err := attack.Labels(t.Context(), map[string][]float64{"word": signal}, v.labels.Values, 1)
		mustDo(t, err)
		return r.Signals[0]
	}
	if s := leak(func(j int) uint64 { return v.targets[j] }); s.P < 0.01 {
		t.Errorf("the keeper's words tell the labels: AUC %.2f, p = %.2g", s.AUC, s.P)
	}
	if s := leak(func(j int) uint64 { return v.targets[j] + v.cover[j] }); math.Abs(s.AUC-0.5) < 0.499 {
		t.Errorf("the keeper and the helper together do not tell the labels: AUC %.2f", s.AUC)
	}
}
