//go:build long

package vertical

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/testnet/needs"
	"github.com/hanse-project/hanse/internal/testnet/optimum"
	"github.com/hanse-project/hanse/keys"
)

// realSet is a public data set.
type realSet struct {
	files  []string
	label  string
	scale  string
	ignore []string
}

// realSets are the sets of the figures in docs/performance.md.
func realSets() map[string]realSet {
	return map[string]realSet{
		"a9a":           {files: []string{"a9a.gz", "a9a.t.gz"}, label: "label", scale: "minmax"},
		"defaultcredit": {files: []string{"defaultcredit.csv.gz"}, label: "default.payment.next.month", scale: "rank"},
		"phishing":      {files: []string{"phishing.gz"}, label: "label", scale: "minmax"},
		"ijcnn1":        {files: []string{"ijcnn1.gz"}, label: "label", scale: "minmax"},
		"w8a":           {files: []string{"w8a.gz"}, label: "label", scale: "minmax"},
	}
}

// TestRealErrors trains on three quarters of the real sets, three splits each, and compares the mean
// test error with that of the same method in plain floating point.
func TestRealErrors(t *testing.T) {
	for _, c := range []struct {
		set           string
		loss          string
		features      int
		sigma, lambda float64
		want          float64
	}{
		{"a9a", "square", 1024, 5.657, 1e-6, .1493},
		{"a9a", "smooth-hinge", 1024, 5.657, 1e-5, .1485},
		{"a9a", "smooth-hinge", 2048, 5.657, 1e-5, .1489},
		{"defaultcredit", "square", 1024, 2.790, 1e-6, .1834},
		{"defaultcredit", "smooth-hinge", 1024, 2.790, 1e-7, .1837},
		{"defaultcredit", "smooth-hinge", 2048, 2.790, 1e-7, .1822},
		{"phishing", "square", 1024, 6.633, 1e-8, .0420},
		{"phishing", "smooth-hinge", 1024, 6.633, 1e-6, .0369},
		{"phishing", "smooth-hinge", 2048, 4.643, 1e-6, .0301},
		{"ijcnn1", "square", 1024, 0.752, 1e-8, .0261},
		{"ijcnn1", "smooth-hinge", 1024, 0.752, 1e-7, .0181},
		{"ijcnn1", "smooth-hinge", 2048, 0.376, 1e-6, .0155},
		{"w8a", "square", 1024, 9.0, 1e-8, .0149},
		{"w8a", "smooth-hinge", 1024, 9.0, 1e-7, .0124},
		{"w8a", "smooth-hinge", 2048, 9.0, 1e-6, .0118},
	} {
		t.Run(fmt.Sprintf("%s, %s, %d", c.set, c.loss, c.features), func(t *testing.T) {
			s := realSets()[c.set]
			table := s.read(t)
			p := fdskl.Params{Label: s.label, Loss: c.loss, Features: c.features, Sigma: c.sigma, Lambda: fdskl.Lambda(c.lambda),
				Scale: s.scale, Constant: "drop"}
			mean := 0.0
			for seed := uint64(1); seed <= splits; seed++ {
				p.Seed = fmt.Sprint(seed)
				mean += testError(t, table, p.WithDefaults(), seed) / splits
			}
			t.Logf("mean test error %.4f, in plain floating point %.4f", mean, c.want)
			if math.Abs(mean-c.want) > 0.003 {
				t.Errorf("mean test error %.4f, want %.4f", mean, c.want)
			}
		})
	}
}

// splits is how many splits of a set into training and test rows the errors are means of.
const splits = 3

// read reads a set, or skips the test where it is absent.
func (s realSet) read(t *testing.T) *dataset.Table {
	t.Helper()
	var parts []*dataset.Table
	for _, name := range s.files {
		part, err := dataset.Read(needs.Data(t, name), dataset.Options{Label: s.label, Ignore: s.ignore})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	table, err := dataset.Join(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// testError deals the columns to four owners, trains on pooled rows and returns the test error.
func testError(t *testing.T, table *dataset.Table, p fdskl.Params, seed uint64) float64 {
	t.Helper()
	hands, err := dataset.SplitColumns(table, p.Label, 4, seed)
	if err != nil {
		t.Fatal(err)
	}
	train, test := dataset.SplitRows(table.Rows(), 0.75, seed)
	var trainTables, testTables []*dataset.Table
	var owners []keys.ID
	for i, hand := range hands {
		part, err := table.Only(hand...)
		if err != nil {
			t.Fatal(err)
		}
		trainTables, testTables = append(trainTables, part.Select(train)), append(testTables, part.Select(test))
		owners = append(owners, keys.ID{byte(i)})
	}
	pooled := NewPooled(p, trainTables, owners)
	pooled.phase = func(part int) fdskl.PhaseSeed { return fdskl.PhaseSeed{byte(part), byte(seed)} }
	before := cpuSeconds(t)
	m, err := pooled.Train(t.Context(), t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	seconds := cpuSeconds(t) - before
	scores, err := pooled.Score(t.Context(), testTables, 2)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := testTables[0].Labels(p.Label, dataset.Classification)
	if err != nil {
		t.Fatal(err)
	}
	e := fdskl.TestError(scores, labels.Values, m)
	t.Logf("seed %d: test error %.4f, objective %.6g, %d iterations, %.1f CPU seconds", seed, e, m.Objective,
		m.Iterations, seconds)
	return e
}

// cpuSeconds is the processor time that this process has used.
func cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// TestScorecardsOfRealSetsAreAtTheOptimum cuts two public sets into bins and holds their cards as those of made tables.
func TestScorecardsOfRealSetsAreAtTheOptimum(t *testing.T) {
	for _, name := range []string{"defaultcredit", "a9a"} {
		s := realSets()[name]
		p := fdskl.Params{Label: s.label, BinParams: fdskl.BinParams{Bins: fdskl.DefaultBins}}.WithDefaults()
		prepared, err := PrepareTraining(s.read(t), p.Goal(), true)
		if err != nil {
			t.Fatal(err)
		}
		rows := prepared.Rows
		table := optimum.Table{Name: name, X: mat.NewDense(rows.Rows, rows.Columns(), nil),
			Y: make([]float64, rows.Rows), Columns: len(prepared.Columns)}
		for i := range rows.Rows {
			rows.EachInRow(i, func(c int, v float64) { table.X.Set(i, c, v) })
			table.Y[i] = max(0, prepared.Labels.Values[i])
		}
		start := time.Now()
		holdScorecard(t, table, float64(p.LambdaOf(rows.Rows)))
		t.Logf("%d rows, %d bins, both in %v", rows.Rows, rows.Columns(), time.Since(start))
	}
}

// TestKernelsOfRealSetsAreAtTheOptimum trains the logistic loss on public sets and holds the model against the optimum
// over the same features: all rows together have less than an eighth of a nat to fall, and the mean probability is
// right to a hundredth.
func TestKernelsOfRealSetsAreAtTheOptimum(t *testing.T) {
	const features = 256
	for name, sigma := range map[string]float64{"defaultcredit": 2.790, "a9a": 5.657} {
		s := realSets()[name]
		table := s.read(t)
		p := fdskl.Params{Label: s.label, Loss: "logistic", Features: features, Sigma: sigma, Lambda: 1e-6, Scale: s.scale,
			Constant: "drop", Seed: "1"}.WithDefaults()
		pooled := NewPooled(p, []*dataset.Table{table}, []keys.ID{{1}})
		m, err := pooled.Train(t.Context(), t.TempDir(), 0)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := PrepareScoring(table, pooled.models[0].Model())
		if err != nil {
			t.Fatal(err)
		}
		scoring, err := fdskl.BeginScoring(pooled.models[0], 0, pooled.models, 0)
		if err != nil {
			t.Fatal(err)
		}
		turns, err := scoring.Turns([]*kernel.Matrix{rows}, 0, rows.Rows)
		if err != nil {
			t.Fatal(err)
		}
		labels, err := table.Labels(s.label, dataset.Classification)
		if err != nil {
			t.Fatal(err)
		}
		x, y, scores := mat.NewDense(rows.Rows, features, nil), make([]float64, rows.Rows), make([]float64, rows.Rows)
		mean, share := 0.0, 0.0
		for i := range y {
			scores[i] = m.Intercept
			for a, turn := range turns[i*features/2 : (i+1)*features/2] {
				sin, cos := math.Sincos(2 * math.Pi * float64(turn) / 65536)
				x.Set(i, 2*a, cos*math.Sqrt(2.0/features))
				x.Set(i, 2*a+1, sin*math.Sqrt(2.0/features))
				scores[i] += math.Sqrt2 * (m.Alpha[2*a]*cos + m.Alpha[2*a+1]*sin)
			}
			y[i] = max(0, labels.Values[i])
			mean += 1 / (1 + math.Exp(-scores[i])) / float64(len(y))
			share += y[i] / float64(len(y))
		}
		const lambda = 1e-6
		want, err := optimum.Fit(x, y, slices.Repeat([]float64{lambda}, features))
		if err != nil {
			t.Fatal(err)
		}
		best := mat.NewVecDense(len(y), nil)
		best.MulVec(x, mat.NewVecDense(features, want.Weights))
		for i := range y {
			best.SetVec(i, best.AtVec(i)+want.Intercept)
		}
		excess := optimum.Loss(scores, y) - optimum.Loss(best.RawVector().Data, y)
		for j, w := range want.Weights {
			excess += lambda / 2 * (features*m.Alpha[j]*m.Alpha[j] - w*w)
		}
		excess *= float64(len(y))
		t.Logf("%s: %d iterations, %.2g nats to fall, mean probability %.6g for %.6g", name, m.Iterations, excess, mean, share)
		if !(excess < .125) || !(excess > -1e-6) || math.Abs(mean/share-1) > .01 || m.ToGo != 0 {
			t.Errorf("%s: %v nats to fall, mean probability %v, want %v, %v standard errors to go", name, excess, mean, share,
				m.ToGo)
		}
	}
}
