package ofmsft

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
)

// choices are the command's choices, the same for all cases.
type choices struct {
	rounds, perUpload, window, warmUp, seeds int
	maxImportance, bandwidth                 float64
	regret                                   bool // of fine-tuned networks, which costs the losses of all of them
	hindsight                                int  // epochs; above 0, regrets are held against the theorems' bounds
	times                                    bool // one run after another, none in the frozen world
	paper                                    bool // the set-up is the paper's
}

// bench runs the experiments of one set.
type bench struct {
	set       *Set
	options   choices
	frozen    *world
	best      [][]float64 // [N][T], summed losses of the best unchanged network so far
	scanning  bool        // a run that diverges is a result
	workers   int
	logLock   sync.Mutex
	log       io.Writer
	completed int
}

// say writes a line of progress.
func (l *bench) say(format string, args ...any) {
	l.logLock.Lock()
	defer l.logLock.Unlock()
	fmt.Fprintf(l.log, format+"\n", args...)
}

// prepare freezes the networks and finds the best of them in hindsight.
func (l *bench) prepare(ctx context.Context) (err error) {
	if l.frozen, err = l.set.freeze(ctx, l.workers, l.say); err != nil {
		return err
	}
	p, err := l.params(setting{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: float64(len(l.set.Names))},
		l.frozen)
	if err != nil {
		return err
	}
	runners, x := ofmsft.NewRunners(l.frozen.Networks), make([]float32, p.Inputs)
	for i, own := range l.frozen.Rows {
		sums := make([]float64, len(runners))
		l.best = append(l.best, nil)
		for t, row := range own[:l.options.rounds] {
			if err := p.ScaleRow(x, t+1, row); err != nil {
				return err
			}
			y, err := p.ScaleLabel(t+1, l.set.Labels[i][t])
			if err != nil {
				return err
			}
			least := math.Inf(1)
			for k, r := range runners {
				sums[k] += r.Loss(x, y)
				least = min(least, sums[k])
			}
			l.best[i] = append(l.best[i], least)
		}
	}
	return nil
}

// course is one case's course with one seed.
type course struct {
	clients []float64 // [N], mean score over rounds
	scores  []float64 // [T], mean over clients of the mean score so far
	rounds  []float64 // [T], mean score over clients in the round
	regrets []float64 // [T], mean over clients, against the networks as they were in each round; nil if not counted
	first   []float64 // [T], mean over clients, against the networks as they were at first

	expected []float64   // [T], mean over clients, equation 1; nil if not counted
	tuned    [][]float64 // [T][K], first term of equation 3; nil if not counted
	groups   int         // the most of a round, alpha

	uploaded, downloaded float64 // bytes by the paper's model; OFMS-FT alone
	clipped              int
	diverged             string  // how the run ended early
	seconds, cpu         float64 // cpu is the whole process's: it means something if runs do not overlap
}

// follow runs a federation over all rounds.
func (l *bench) follow(ctx context.Context, c setting, with selector) (*course, error) {
	w, n := l.world(c), len(l.set.Labels)
	rows, labels, predictions := make([][]float64, n), make([]float64, n), make([]float64, n)
	run, start, cpu := &course{clients: make([]float64, n)}, time.Now(), lab.CPU()
	for t := range l.options.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range n {
			rows[i], labels[i] = w.Rows[i][t], l.set.Labels[i][t]
		}
		if err := with.Round(rows, labels, predictions); err != nil {
			if !l.scanning {
				return nil, fmt.Errorf("round %d: %w", t+1, err)
			}
			run.diverged = fmt.Sprintf("round %d: %v", t+1, err)
			break
		}
		run.add(l, with, t, labels, predictions)
	}
	run.seconds, run.cpu = time.Since(start).Seconds(), lab.CPU()-cpu
	if f, ok := with.(ownSelector); ok {
		unit := 4 * float64(l.set.largest()) // bytes
		run.clipped, run.uploaded, run.downloaded = f.Clipped, unit*f.Traffic.Uploaded, unit*f.Traffic.Downloaded
		run.groups = f.Groups
	}
	return run, nil
}

// add takes in round t, from 0.
func (r *course) add(l *bench, with selector, t int, labels, predictions []float64) {
	n, score, first, tuned, expected := float64(len(labels)), 0.0, 0.0, 0.0, 0.0
	f, own := with.(ownSelector)
	for i, y := range predictions {
		s := l.set.score(y, labels[i])
		score += s / n
		r.clients[i] += (s - r.clients[i]) / float64(t+1)
		first += (with.Loss(i) - l.best[i][t]) / n
		if own {
			tuned += f.Regret(i) / n
			expected += f.ExpectedRegret(i) / n
		}
	}
	r.rounds = append(r.rounds, score)
	r.scores = append(r.scores, lab.Mean(r.clients))
	r.first = append(r.first, first)
	if own && l.options.regret {
		r.regrets, r.expected = append(r.regrets, tuned), append(r.expected, expected)
	}
	if own && l.options.hindsight > 0 {
		losses := make([]float64, len(l.set.Names))
		for k := range losses {
			losses[k] = f.TunedLoss(k)
		}
		r.tuned = append(r.tuned, losses)
	}
}

// runAll runs all cases with all seeds, several at a time; the answer is [case][seed].
func (l *bench) runAll(ctx context.Context, cases []setting) ([][]*course, error) {
	runs := make([][]*course, len(cases))
	for i := range cases {
		runs[i] = make([]*course, l.options.seeds)
	}
	n := len(cases) * l.options.seeds
	return runs, lab.Share(ctx, l.workers, n, func(ctx context.Context, i int) error {
		c, seed := cases[i/l.options.seeds], i%l.options.seeds
		with, err := l.start(c, seed+1)
		if err == nil {
			runs[i/l.options.seeds][seed], err = l.follow(ctx, c, with)
		}
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.name(), seed+1, err)
		}
		l.report(c, seed+1, runs[i/l.options.seeds][seed], n)
		return nil
	})
}

// report writes a line about a run.
func (l *bench) report(c setting, seed int, r *course, of int) {
	end := fmt.Sprintf("%.2f", lab.Mean(r.clients))
	if r.diverged != "" {
		end = "diverged, " + r.diverged
	}
	l.logLock.Lock()
	l.completed++
	done := l.completed
	l.logLock.Unlock()
	l.say("%d of %d: %s, seed %d: %s, %.1f s, %.1f s of a processor", done, of, c.name(), seed, end, r.seconds, r.cpu)
}
