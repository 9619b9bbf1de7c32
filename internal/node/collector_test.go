package node

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// collector is a label holder that follows every protocol. It trains scorecards on labels that it draws at random, has
// the same rows scored with each, and looks up which cells of the others' columns fit all the scores of a row. Some
// rows it knows anyhow: staff who are customers of all.
type collector struct {
	*testNetwork
	bins   [][]int // [columns][rows] the others' cells, of five levels each
	own    []int   // [rows] the bank's own column
	scores [][]float64
}

// levels is how many levels each column has.
const levels = 5

// newCollector gives three partners four columns whose cells are drawn at random, and the bank one.
func newCollector(t *testing.T, rows int) *collector {
	c := &collector{testNetwork: newTestNetwork(t, 4, rows)}
	rng := rand.New(rand.NewPCG(3, 5))
	draw := func() []int {
		cells := make([]int, rows)
		for i := range cells {
			cells[i] = rng.IntN(levels)
		}
		return cells
	}
	c.own = draw()
	for range 4 {
		c.bins = append(c.bins, draw())
	}
	for party, columns := range [][]int{nil, {0, 1}, {2}, {3}} {
		if party == 0 {
			continue
		}
		var b strings.Builder
		b.WriteString("id")
		for _, k := range columns {
			fmt.Fprintf(&b, ",c%d", k)
		}
		for i := range rows {
			fmt.Fprintf(&b, "\nr%05d", i)
			for _, k := range columns {
				fmt.Fprintf(&b, ",%d", c.bins[k][i])
			}
		}
		c.writeTable(party, "train", b.String()+"\n")
	}
	return c
}

// train proposes a scorecard with a loss on labels that are drawn anew.
func (c *collector) train(ctx context.Context, draw uint64, loss string) (keys.Hash, <-chan error) {
	rng := rand.New(rand.NewPCG(draw, 1))
	var b strings.Builder
	b.WriteString("id,a,y\n")
	for i, a := range c.own {
		fmt.Fprintf(&b, "r%05d,%d,%d\n", i, a, rng.IntN(2))
	}
	c.writeTable(0, "train", b.String())
	return c.ask(ctx, "train", "privacy = \"sealed\"",
		fmt.Sprintf("active = [\"bank\"]\nlabel = \"y\"\nloss = %q\nbins = 5\niterations = 60", loss))
}

// ask proposes a job.
func (c *collector) ask(ctx context.Context, task, head, parameters string) (keys.Hash, <-chan error) {
	c.t.Helper()
	contract, err := c.nodes[0].Prepare(ctx, asGLM(c.job(task, head, parameters)), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return contract.Hash(), c.launched(ctx, 0, contract.Hash())
}

// score has all rows scored with a model, and keeps the scores.
func (c *collector) score(ctx context.Context, model keys.Hash) (keys.Hash, <-chan error) {
	return c.ask(ctx, "predict", fmt.Sprintf("model = %q\ntable = \"train\"\nopen_to = \"bank\"\nprivacy = \"sealed\"\n",
		model), "")
}

// read keeps the scores of a prediction.
func (c *collector) read(scored keys.Hash) {
	var f []float64
	for _, line := range lines(c.t, c.scoresOf("bank", scored)) {
		v, err := strconv.ParseFloat(strings.Split(line, ",")[1], 64)
		if err != nil {
			c.t.Fatal(err)
		}
		f = append(f, v)
	}
	c.scores = append(c.scores, f)
}

// right returns which share of the cells that the collector does not know it reads: it solves each model's numbers from
// the rows that it knows, by least squares, and takes of every other row the cells that fit its scores best.
func (c *collector) right(known int) float64 {
	columns := len(c.bins)
	width := (columns + 1) * levels
	row := func(i int, cells []int) []float64 {
		x := make([]float64, width)
		x[c.own[i]] = 1
		for k, cell := range cells {
			x[(k+1)*levels+cell] = 1
		}
		return x
	}
	cellsOf := func(i int) []int {
		cells := make([]int, columns)
		for k := range cells {
			cells[k] = c.bins[k][i]
		}
		return cells
	}
	var numbers []*mat.VecDense
	for _, f := range c.scores {
		a, b := mat.NewDense(known+width, width, nil), mat.NewVecDense(known+width, nil)
		for i := range known {
			a.SetRow(i, row(i, cellsOf(i)))
			b.SetVec(i, f[i])
		}
		for j := range width { // a little of a ridge: the columns' sums are the same
			a.Set(known+j, j, 1e-2)
		}
		x := mat.NewVecDense(width, nil)
		if err := x.SolveVec(a, b); err != nil {
			c.t.Fatal(err)
		}
		numbers = append(numbers, x)
	}
	hits := 0
	for i := known; i < len(c.own); i++ {
		best, least := make([]int, columns), math.Inf(1)
		cells := make([]int, columns)
		for code := range int(math.Pow(levels, float64(columns))) {
			for k, rest := 0, code; k < columns; k, rest = k+1, rest/levels {
				cells[k] = rest % levels
			}
			x, off := mat.NewVecDense(width, row(i, cells)), 0.0
			for m, v := range numbers {
				d := c.scores[m][i] - mat.Dot(v, x)
				off += d * d
			}
			if off < least {
				least = off
				copy(best, cells)
			}
		}
		for k := range best {
			if best[k] == c.bins[k][i] {
				hits++
			}
		}
	}
	return float64(hits) / float64(columns*(len(c.own)-known))
}

// TestCollectorReadsCells: where a rule bounds nothing, four models tell the label holder nearly all cells of the
// others, though every job keeps to its contract. It is the control of TestCollectorIsStopped.
func TestCollectorReadsCells(t *testing.T) {
	c := newCollector(t, 200)
	c.startAll()
	ctx := minute(t)
	for i := range 4 {
		model, ended := c.train(ctx, uint64(i), "square")
		must(t, <-ended)
		scored, ended := c.score(ctx, model)
		must(t, <-ended)
		c.read(scored)
		t.Logf("%d models: %.0f %% of the cells are right", i+1, 100*c.right(50))
	}
	if got := c.right(50); got < .9 {
		t.Errorf("with four models %.0f %% of the cells are right, want 90 or more: the control fails", 100*got)
	}
}

// TestCollectorIsStopped: under the shortest of rules the collector's second model waits for a person at everybody who
// brings columns, and the person reads what was told before. What it has reads few cells.
func TestCollectorIsStopped(t *testing.T) {
	c := newCollector(t, 200)
	c.policy = rulesOf(t, "[[accept]]\nproposers = [\"bank\"]\nprivacy = [\"sealed\"]\n")
	waits := make(chan string, 100)
	c.watch(1, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "no rule of the policy accepts it") {
			waits <- e.Text
		}
	})
	c.startAll()
	ctx, cancel := context.WithCancel(minute(t))
	defer cancel()
	var models []keys.Hash
	for i := range 2 { // trainings with the square loss tell nothing of a row
		model, ended := c.train(ctx, uint64(i), "square")
		must(t, <-ended)
		models = append(models, model)
	}
	scored, ended := c.score(ctx, models[0])
	must(t, <-ended)
	c.read(scored)
	second, ended := c.score(ctx, models[1])
	if got, want := <-waits, "row_bits: the job has 20 bits of a row, with the jobs before it, the rule wants at most 2, "+
		"half of what your columns have"; !strings.Contains(got, want) {
		t.Errorf("the owner is told\n%s, want\n%s", got, want)
	}
	text := strings.Join(strings.Fields(c.infoAt(1, second).Summary), " ")
	if want := "bank has been told 10 bits of a row, of 200 of these 200 rows, in 1 model; your columns have about 5; " +
		"this job adds 10."; !strings.HasPrefix(text, "bank will learn 10 bits of each of 200 people, enough for all cells "+
		"(numbers to an eighth): your columns have about 5; any two of bank, insurer and telco together could rebuild your 2 columns of "+
		"200 people. "+want) {
		t.Errorf("the person reads\n%.300s, want\n%s", text, want)
	}
	cancel()
	<-ended
	if got := c.right(50); got > .5 {
		t.Errorf("with one model %.0f %% of the cells are right, want few", 100*got)
	}
}

// TestCollectorOfTrainingsIsStopped: trainings tell the collector nothing of a row, whatever labels it draws; and the
// fifth of them waits for a person under the shortest of rules. See algorithms/sealed
// TestCollectorReadsNothingOfATraining.
func TestCollectorOfTrainingsIsStopped(t *testing.T) {
	c := newCollector(t, 200)
	c.policy = rulesOf(t, "[[accept]]\nproposers = [\"bank\"]\nprivacy = [\"sealed\"]\n")
	waits := make(chan string, 100)
	c.watch(1, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "no rule of the policy accepts it") {
			waits <- e.Text
		}
	})
	c.startAll()
	ctx, cancel := context.WithCancel(minute(t))
	defer cancel()
	const trainings = consent.StandardTrainings
	for draw := range uint64(trainings) {
		_, ended := c.train(ctx, draw, "logistic")
		must(t, <-ended)
	}
	last, ended := c.train(ctx, trainings, "logistic")
	if got, want := <-waits, "trainings_30_days: the job has 5"; !strings.Contains(got, want) {
		t.Errorf("the owner is told\n%s, want\n%s", got, want)
	}
	text := strings.Join(strings.Fields(c.infoAt(1, last).Summary), " ")
	if strings.Contains(text, "bits of a row, of 200") {
		t.Errorf("the person reads of bits of a row\n%.600s", text)
	}
	cancel()
	<-ended
}
