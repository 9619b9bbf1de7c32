// Package features measures how many random features a table of few rows bears.
package features

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// testRows is how many rows a model is tested on at most.
const testRows = 4000

// Options are the choices of Run.
type Options struct {
	Data     string
	Sets     []string
	Rows     []int // to train on
	Features []int
	Loss     string
	Seeds    int
}

// Report is what the command prints with --json.
type Report struct {
	Loss string   `json:"loss"`
	Runs []Result `json:"runs"`
}

// Result is a set with so many rows to train on and so many features, over all seeds. Error is the mean share of wrong
// test rows, Deviation the error of its difference to the largest number of features, which seeds have in common.
type Result struct {
	Set       string  `json:"set"`
	Rows      int     `json:"rows"`
	Features  int     `json:"features"`
	Error     float64 `json:"error"`
	Worse     float64 `json:"worse"` // than the largest number of features, on average
	Deviation float64 `json:"deviation"`
	AUC       float64 `json:"auc"` // mean; 0 of more than two classes
	Seconds   float64 `json:"seconds"`
}

// Print implements lab.Report.
func (r *Report) Print(w io.Writer) error {
	t := table.New("set", "rows", "D", "error", "worse", "+-", "AUC", "s")
	for _, x := range r.Runs {
		t.Addf("%s|%d|%d|%.4f|%+.4f|%.4f|%.4f|%.2f", x.Set, x.Rows, x.Features, x.Error, x.Worse, x.Deviation, x.AUC,
			x.Seconds)
	}
	return t.Write(w)
}

// Run trains in the clear, with lambda chosen, on some rows of each split of each set, and tests on some of the split's
// test rows.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if err := lab.AtLeast(1, lab.Number("seeds", o.Seeds)); err != nil {
		return err
	}
	report := &Report{Loss: o.Loss}
	all, err := readers(o)
	if err != nil {
		return err
	}
	features := slices.Sorted(slices.Values(o.Features))
	for _, s := range all {
		errs, results := make([][][]float64, len(o.Rows)), make([][]Result, len(o.Rows))
		for k := range o.Rows {
			errs[k], results[k] = make([][]float64, len(features)), make([]Result, len(features))
		}
		for seed := uint64(1); seed <= uint64(o.Seeds); seed++ {
			data, err := s.read(seed)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			for k, rows := range o.Rows {
				few := some(data, rows, seed)
				for i, d := range features {
					x, err := try(ctx, few, s.scale, d, o.Loss, seed)
					if err != nil {
						return fmt.Errorf("%s: %w", s.name, err)
					}
					errs[k][i] = append(errs[k][i], x.Error)
					results[k][i].AUC += x.AUC / float64(o.Seeds)
					results[k][i].Seconds += x.Seconds / float64(o.Seeds)
				}
			}
			fmt.Fprintf(run.Log, "%s, seed %d\n", s.name, seed)
		}
		for k, rows := range o.Rows {
			for i, d := range features {
				r := &results[k][i]
				r.Set, r.Rows, r.Features = s.name, rows, d
				r.Error, _ = mean(errs[k][i])
				worse := slices.Clone(errs[k][i])
				for j := range worse {
					worse[j] -= errs[k][len(features)-1][j]
				}
				r.Worse, r.Deviation = mean(worse)
			}
			report.Runs = append(report.Runs, results[k]...)
		}
	}
	return run.Report(report)
}

// set is a set that can be cut in several ways.
type set struct {
	name, scale string
	read        func(seed uint64) (*trial.Data, error)
}

// readers returns the named sets, and two that are made.
func readers(o Options) ([]set, error) {
	all := []set{{"six classes", "auto", sixClasses}, {"a ring", "auto", ring}}
	if len(o.Sets) == 0 {
		return all, nil
	}
	chosen, err := sets.Choose(o.Sets, o.Data)
	for _, s := range chosen {
		all = append(all, set{s.Name, s.Scale, func(seed uint64) (*trial.Data, error) {
			return trial.Files(s.Files, s.Options(), sets.Parties, seed)
		}})
	}
	return all, err
}

// some returns some of the rows to train on, and some to test on, drawn by a seed: files may be in an order.
func some(d *trial.Data, rows int, seed uint64) *trial.Data {
	rng := rand.New(rand.NewPCG(seed, 7))
	train, test := rng.Perm(d.Train[0].Rows()), rng.Perm(d.Test[0].Rows())
	few := &trial.Data{Names: d.Names, Label: d.Label}
	for i := range d.Train {
		few.Train = append(few.Train, d.Train[i].Select(train[:min(rows, len(train))]))
		few.Test = append(few.Test, d.Test[i].Select(test[:min(testRows, len(test))]))
	}
	return few
}

// try trains and tests once.
func try(ctx context.Context, d *trial.Data, scale string, features int, loss string, seed uint64) (Result, error) {
	_, classes, err := d.Target(joint.Classification)
	if err != nil {
		return Result{}, err
	}
	p := fdskl.Params{Active: d.Names[:1], Label: d.Label, Classes: classes, Features: features, Scale: scale,
		Seed: strconv.FormatUint(seed, 10)}
	if classes == 2 {
		p.Loss = loss
	}
	p = p.WithDefaults()
	owners := make([]keys.ID, len(d.Names))
	for i := range owners {
		owners[i] = keys.ID{byte(i + 1)}
	}
	var r Result
	pooled := vertical.NewPooled(p, d.Train, owners)
	err = lab.InFolder(func(dir string) error {
		begun := time.Now()
		m, err := pooled.Train(ctx, dir, 0)
		if err != nil {
			return err
		}
		r.Seconds = time.Since(begun).Seconds()
		scores, err := pooled.Score(ctx, d.Test, 0)
		if err != nil {
			return err
		}
		labels, err := d.Test[0].LabelsOf(d.Label, m.Classes)
		if err != nil {
			return err
		}
		r.Error = fdskl.TestError(scores, labels.Values, m)
		if classes == 2 {
			r.AUC = under(scores, labels.Values)
		}
		return nil
	})
	return r, err
}

// under is the share of pairs of rows of both classes that scores put in order.
func under(scores, labels []float64) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return scores[order[a]] < scores[order[b]] })
	var ranks, positive float64
	for lo := 0; lo < len(order); {
		hi := lo
		for ; hi < len(order) && scores[order[hi]] == scores[order[lo]]; hi++ {
			if labels[order[hi]] > 0 {
				positive++
			}
		}
		for _, row := range order[lo:hi] {
			if labels[row] > 0 {
				ranks += float64(lo+hi+1) / 2
			}
		}
		lo = hi
	}
	return (ranks - positive*(positive+1)/2) / (positive * (float64(len(scores)) - positive))
}

// mean returns a mean and the error of it.
func mean(values []float64) (m, off float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	for _, v := range values {
		off += (v - m) * (v - m)
	}
	if n := float64(len(values)); n > 1 {
		off = math.Sqrt(off / (n - 1) / n)
	}
	return m, off
}

// sixClasses makes rows of six classes, whose means of four columns are apart, with two columns of noise.
func sixClasses(seed uint64) (*trial.Data, error) {
	return made(seed, 6, func(x []float64, rng *rand.Rand) string {
		k := rng.IntN(6)
		for i := range 4 {
			x[i] += 1.2 * math.Cos(float64(k)*math.Pi/3+float64(i)*math.Pi/4)
		}
		return fmt.Sprint("kind-", k)
	})
}

// ring makes rows of two classes, one around the other, with noise.
func ring(seed uint64) (*trial.Data, error) {
	return made(seed, 6, func(x []float64, rng *rand.Rand) string {
		if math.Hypot(x[0], x[1])-1.2+0.2*rng.NormFloat64() > 0 {
			return "out"
		}
		return "in"
	})
}

// made makes a table of random columns for two parties, and the label that a row has, which may change the columns.
func made(seed uint64, columns int, label func(x []float64, rng *rand.Rand) string) (*trial.Data, error) {
	rng := rand.New(rand.NewPCG(seed, 31))
	const rows = 2 * testRows
	x, y, names := make([][]float64, columns), make([]string, rows), map[string]int{}
	ids := make([]string, rows)
	for j := range rows {
		row := make([]float64, columns)
		for i := range row {
			row[i] = rng.NormFloat64()
		}
		ids[j], y[j] = fmt.Sprintf("row-%05d", j), label(row, rng)
		names[y[j]] = 0
		for i := range row {
			x[i] = append(x[i], row[i])
		}
	}
	levels, codes := []string{}, make([]int32, rows)
	for name := range names {
		levels = append(levels, name)
	}
	slices.Sort(levels)
	for j := range y {
		codes[j] = int32(slices.Index(levels, y[j]))
	}
	d := &trial.Data{Names: trial.PartyNames(2), Label: "y"}
	for party := range 2 {
		t := &dataset.Table{Path: "made", IDName: "id", IDs: ids}
		if party == 0 {
			t.Columns = append(t.Columns, dataset.Column{Name: "y", Kind: dataset.Categorical, Codes: codes, Levels: levels})
		}
		for i := party; i < columns; i += 2 {
			t.Columns = append(t.Columns, dataset.Column{Name: fmt.Sprint("x", i), Values: x[i]})
		}
		d.Train, d.Test = append(d.Train, t.Slice(0, rows-testRows)), append(d.Test, t.Slice(rows-testRows, rows))
	}
	return d, nil
}
