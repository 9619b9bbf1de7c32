package fdskl

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// ring writes a set of two classes, one inside the other, which no line parts, and says how it is measured.
func ring(t *testing.T, count int) sets.Benchmark {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range count {
		sum, row := 0.0, ""
		for c := range 6 {
			x := rng.Float64()
			row += fmt.Sprintf(" %d:%.4f", c+1, x)
			sum += (x - 0.5) * (x - 0.5)
		}
		label := -1
		if sum > 0.48 {
			label = 1
		}
		fmt.Fprintf(w, "%+d%s\n", label, row)
	}
	must(t, w.Close())
	path := filepath.Join(t.TempDir(), "ring.gz")
	must(t, os.WriteFile(path, b.Bytes(), 0o600))
	return sets.Benchmark{Name: "ring", Files: []string{path}, Scale: "minmax", Loss: "smooth-hinge",
		Features: 256, Sigma: 0.7,
		Lambda: 1e-5}
}

// small is a lab whose experiments take moments.
func small(t *testing.T) *Lab {
	t.Helper()
	ticks := 0.0
	return &Lab{Iterations: 256, Batch: 32, Block: 8, Rows: 1000, Memory: 4 << 20, Trees: 60,
		SVM: rivals.CheckLIBSVM() == nil,
		CPU: func() float64 { ticks++; return ticks }, Log: io.Discard, Work: t.TempDir()}
}

// TestFigures3And6 on rows that a kernel parts and a line does not: everybody learns but FD-SVRG.
func TestFigures3And6(t *testing.T) {
	s, l := ring(t, 600), small(t)
	steps, err := l.Tune(t.Context(), s)
	must(t, err)
	f, err := l.Figure6(t.Context(), s, steps, 2)
	must(t, err)
	if f.Rows != 450 || len(f.Trials) != 7 || f.Steps.Constant == 0 || f.Steps.Gamma == 0 {
		t.Fatalf("got %+v", f)
	}
	for _, trial := range f.Trials {
		if trial.Missing != "" {
			if trial.Method != NameLIBSVM || l.SVM {
				t.Errorf("%s is missing: %s", trial.Method, trial.Missing)
			}
			continue
		}
		if len(trial.Errors) != 2 || len(trial.Seconds) != 2 {
			t.Fatalf("%s: %+v", trial.Method, trial)
		}
		mean := (trial.Errors[0] + trial.Errors[1]) / 2
		if learned := mean < 0.3; learned != (trial.Method != NameLinear) {
			t.Errorf("%s: test errors %v", trial.Method, trial.Errors)
		}
	}
	curves, err := l.Figure3(t.Context(), s, steps)
	must(t, err)
	for _, c := range curves.Curves {
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		if !(last.Error < 0.3) || first.Size >= last.Size || !(last.CPUSeconds > 0) {
			t.Errorf("%s: %+v", c.Method, c.Points)
		}
	}
}

// TestFigure5StopsAtTheMemory: PP-SVMV has no point beyond its limit, and its machine is LIBSVM's.
func TestFigure5StopsAtTheMemory(t *testing.T) {
	s, l := ring(t, 600), small(t)
	l.Memory = rivals.MatrixBytes(300)
	g, err := l.Figure5(t.Context(), s, []int{100, 300, 5000}, Steps{Width: 1, Constant: 1})
	must(t, err)
	var sizes [3][]int
	for k, c := range g.Curves {
		for _, at := range c.Points {
			sizes[k] = append(sizes[k], at.Size)
		}
	}
	if all := []int{100, 300, 450}; !slices.Equal(sizes[0], all) || !slices.Equal(sizes[1], all) ||
		!slices.Equal(sizes[2], all[:2]) {
		t.Errorf("rows %v", sizes)
	}
	if g.Most != 300 || g.Refused != "the kernel matrix of 450 rows would take 0.0 GB" || len(g.Kernel) != 2 {
		t.Errorf("got %+v", g)
	}
	if !l.SVM {
		return
	}
	r, err := readRows(s, 1000, 1)
	must(t, err)
	few, err := r.head(300, 1)
	must(t, err)
	ours, _, err := l.ppsvmv(t.Context(), few)
	must(t, err)
	theirs, err := l.libsvm(t.Context(), few)
	must(t, err)
	if math.Abs(ours.Error-theirs.Error) > 0.01 {
		t.Errorf("PP-SVMV's error is %v, LIBSVM's %v", ours.Error, theirs.Error)
	}
}

// TestMaskedSumsAreTheSums of the parties' vectors.
func TestMaskedSumsAreTheSums(t *testing.T) {
	n, err := openMemory(3, Wire{})
	must(t, err)
	defer n.close()
	for range 2 { // the second sum is of the same session
		total, err := n.masked(t.Context(), [][]float64{{1, -2.5}, {3, 0.25}, {-7, 1}})
		must(t, err)
		if !slices.Equal(total, []float64{-3, -1.25}) {
			t.Errorf("the total is %v", total)
		}
	}
}

// TestShapesOnLines holds the times of Figure 4 on fake time, where nothing but the lines takes any. Vectors that
// travel whole: a star takes a vector's time for each of the others, a ring too, a tree for each of its rounds. In
// short frames a ring takes little more than one vector's time.
func TestShapesOnLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const words, q, speed = 1 << 14, 8, 1 << 20 // a vector takes an eighth of a second
		n, err := openMemory(q, Wire{BytesPerSecond: speed})
		must(t, err)
		defer n.close()
		addends := make([][]float64, q)
		for i := range addends {
			addends[i] = slices.Repeat([]float64{float64(i)}, words)
		}
		for chunk, want := range map[int][3]float64{8 * words: {3, 7, 7}, words / 8: {3, 7, 1.1}} {
			got, err := n.shapes(t.Context(), addends, Shape{Chunk: chunk}, 1)
			must(t, err)
			for k, name := range []string{"tree", "star", "ring"} {
				if vectors := got[k] * speed / (8 * words); math.Abs(vectors-want[k]) > 0.15*want[k] {
					t.Errorf("frames of %d bytes, %s: %.2f vectors' time, want about %v", chunk, name, vectors,
						want[k])
				}
			}
		}
	})
}

// TestLinesDelay: what two send at once to a third waits for the third's line, and everything is under way for the
// delay besides.
func TestLinesDelay(t *testing.T) {
	a, b, c := keys.ID{1}, keys.ID{2}, keys.ID{3}
	l := newLines(Wire{BytesPerSecond: 100, Delay: time.Second}, []keys.ID{a, b, c})
	start := time.Unix(1000, 0)
	l.send(a, c, 100, start)
	l.send(b, c, 100, start)
	l.send(a, b, 50, start)
	for _, w := range []struct {
		from, to keys.ID
		after    time.Duration
	}{{a, c, 2 * time.Second}, {b, c, 3 * time.Second}, {a, b, 2500 * time.Millisecond}} {
		if got := l.received(w.from, w.to).Sub(start); got != w.after {
			t.Errorf("a frame is due after %v, want %v", got, w.after)
		}
	}
}

// TestFigure4 sums over TLS and over lines; every total is checked as it is made.
func TestFigure4(t *testing.T) {
	f, err := small(t).Figure4(t.Context(), ring(t, 200), 60, []int{3, 5}, 1)
	must(t, err)
	if f.Bytes != 8*60*61/2 || len(f.Shapes) != 3 {
		t.Fatalf("got %+v", f)
	}
	for _, s := range f.Shapes {
		if !slices.Equal(s.Nodes, []int{3, 5}) || len(s.Tree) != 2 || len(s.Star) != 2 || len(s.Ring) != 2 ||
			!(s.Tree[0] > 0) {
			t.Errorf("got %+v", s)
		}
	}
	l := small(t)
	l.Rows = 2000
	want := "figure 4: the products of 1024 rows take 4198400 bytes, want at most 4194304, one frame: use at most 1023 " +
		"rows"
	if _, err := l.Figure4(t.Context(), ring(t, 2000), 1024, []int{4}, 1); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestTheTheoremHolds: no mean over runs is above Theorem 4's bound.
func TestTheTheoremHolds(t *testing.T) {
	b, err := small(t).Theorem4(t.Context(), ring(t, 100), 60, 5, 128)
	must(t, err)
	for _, run := range b.All {
		for _, at := range run.Points {
			if !(at.Measured > 0 && at.Measured <= at.Bound) {
				t.Errorf("lambda %v, step %v, %d iterations: %v, and the bound is %v", run.Lambda, run.Gamma,
					at.Iterations,
					at.Measured, at.Bound)
			}
		}
	}
}

// TestMinimum: f* is where the loss pulls as much as lambda does, f*(x_i) = -sum_j K(x_i, x_j) L'(f*(x_j), y_j) / (n
// lambda), and its norm follows from the same.
func TestMinimum(t *testing.T) {
	const lambda = 0.02
	r, err := readRows(ring(t, 80), 1000, 1)
	must(t, err)
	labels := r.split.TrainLabels
	best, norm, err := minimum(t.Context(), r.train, labels, 0.7, lambda)
	must(t, err)
	only := func(_ context.Context, addends [][]float64) ([]float64, error) { return addends[0], nil }
	k, err := rivals.PPSVMV(t.Context(), []*rivals.Rows{r.train}, 0.7, 1<<20, only)
	must(t, err)
	pull := make([]float64, len(labels))
	for j, y := range labels {
		pull[j] = y / (1 + math.Exp(y*best[j])) / (float64(len(labels)) * lambda)
	}
	square := 0.0
	for i, f := range best {
		want := 0.0
		for j, v := range k.Row(i) {
			want += float64(v) * pull[j]
		}
		if math.Abs(f-want) > 1e-4 {
			t.Errorf("f*(%d) is %v, want %v", i, f, want)
		}
		square += f * pull[i]
	}
	if math.Abs(norm-square) > 1e-3*square {
		t.Errorf("|f*|^2 is %v, want %v", norm, square)
	}
}

// TestTable4: four parties over TLS learn what one process does. A guess errs on half of the 150 test rows.
func TestTable4(t *testing.T) {
	s, l := ring(t, 600), small(t)
	table, err := l.Table4(t.Context(), s, Steps{Width: 1, Constant: 10})
	must(t, err)
	r, err := readRows(s, 1000, 1)
	must(t, err)
	fixed, err := l.fixed(t.Context(), r, s.Features, 1)
	must(t, err)
	if !(table.Fixed.Error < 0.25) || !(fixed.Error < 0.25) || !(table.Own.Error < 0.35) ||
		!(table.Trees.Error < 0.3) {
		t.Errorf("got %+v; one process has %v", table, fixed.Error)
	}
	// Each of the 450 rows has 128 angles of 2 bytes, and each party but the first sends them once.
	if least := int64(450 * 128 * 2 * 3); table.Fixed.Bytes < least || !(table.Own.Seconds > 0) {
		t.Errorf("%d bytes, want at least %d", table.Fixed.Bytes, least)
	}
}

// TestCancel: an experiment ends with its context.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := small(t).Tune(ctx, ring(t, 200)); err == nil {
		t.Error("it went on")
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
