package pofmkl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab"
)

// learner is a federation of clients that learn online.
type learner interface {
	Round(rows [][]float64, labels, predictions []float64) error
}

// regretful is a learner that knows its clients' regrets.
type regretful interface {
	Regret(client int) float64
}

// bench runs learners on one set.
type bench struct {
	set     *Set
	rounds  int
	workers int
	logLock sync.Mutex
	log     io.Writer
}

// say writes a line of progress.
func (l *bench) say(format string, args ...any) {
	l.logLock.Lock()
	defer l.logLock.Unlock()
	fmt.Fprintf(l.log, format+"\n", args...)
}

// course is one learner's course with one draw.
type course struct {
	errors  []float64 // [T], mean squared error over clients
	regrets []float64 // [T], mean over clients; nil for a learner without kernels
	final   []float64 // [K], the clients' regrets at the end
	seconds float64
}

// follow runs a learner over all rounds.
func (l *bench) follow(ctx context.Context, with learner) (*course, error) {
	clients := len(l.set.Rows)
	rows, labels, predictions := make([][]float64, clients), make([]float64, clients), make([]float64, clients)
	run, start := &course{}, time.Now()
	for t := range l.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := range clients {
			rows[k], labels[k] = l.set.Rows[k][t], l.set.Labels[k][t]
		}
		if err := with.Round(rows, labels, predictions); err != nil {
			return nil, fmt.Errorf("round %d: %w", t+1, err)
		}
		run.errors = append(run.errors, meanSquaredError(predictions, labels))
		if with, ok := with.(regretful); ok {
			run.final = run.final[:0]
			sum := 0.0
			for k := range clients {
				run.final = append(run.final, with.Regret(k))
				sum += run.final[k]
			}
			run.regrets = append(run.regrets, sum/float64(clients))
		}
	}
	run.seconds = time.Since(start).Seconds()
	return run, nil
}

// meanSquaredError compares predictions and labels.
func meanSquaredError(predictions, labels []float64) float64 {
	sum := 0.0
	for k, y := range predictions {
		sum += (y - labels[k]) * (y - labels[k])
	}
	return sum / float64(len(labels))
}

// measure runs groups of plans, all beside one another, and sums them up, a row for each plan.
func (l *bench) measure(ctx context.Context, groups ...[]plan) ([][]Row, error) {
	runs, err := l.runAll(ctx, slices.Concat(groups...))
	if err != nil {
		return nil, err
	}
	rows := make([][]Row, len(groups))
	for g, plans := range groups {
		for i, plan := range plans {
			row := plan.Row
			row.sumUp(runs[i], l.rounds)
			rows[g] = append(rows[g], row)
		}
		runs = runs[len(plans):]
	}
	return rows, nil
}

// timeRows measures the processor time of every row's algorithm, one after the other with nothing beside: the first
// draw, as often as it takes for so many seconds in all. Rows whose weights are carried over take what the others do.
func (l *bench) timeRows(ctx context.Context, rows []Row, least float64) error {
	if lab.CPU() == 0 {
		l.say("this system does not tell processor times")
		return nil
	}
	for i := range rows {
		if rows[i].Carried {
			continue
		}
		spent, runs := 0.0, 0
		for ; spent < least; runs++ {
			with, err := plan{Row: rows[i]}.start(l.set, l.rounds, 0)
			if err != nil {
				return err
			}
			runtime.GC() // of what was there before
			start := lab.CPU()
			if _, err := l.follow(ctx, with); err != nil {
				return fmt.Errorf("%s: %w", rows[i].Name(), err)
			}
			spent += lab.CPU() - start
		}
		rows[i].RunSeconds = spent / float64(runs*len(l.set.Rows))
		l.say("%s: %.2g s a client", rows[i].Name(), rows[i].RunSeconds)
	}
	return nil
}

// task is a piece of work: a plan's draws from first on, one after the other.
type task struct{ plan, first, count int }

// runAll runs all plans' draws, several at a time; the answer is [plan][draw]. Draws whose weights are
// carried over are one piece of work, and come first because they take longest.
func (l *bench) runAll(ctx context.Context, plans []plan) ([][]*course, error) {
	runs := make([][]*course, len(plans))
	var chains, singles []task
	for i, p := range plans {
		runs[i] = make([]*course, p.draws)
		if p.Row.Carried {
			chains = append(chains, task{i, 0, p.draws})
			continue
		}
		for d := range p.draws {
			singles = append(singles, task{i, d, 1})
		}
	}
	work := append(chains, singles...)
	return runs, lab.Share(ctx, l.workers, len(work), func(ctx context.Context, i int) error {
		t := work[i]
		return l.run(ctx, plans[t.plan], t.first, runs[t.plan][t.first:t.first+t.count])
	})
}

// run runs consecutive draws of a plan into runs.
func (l *bench) run(ctx context.Context, plan plan, first int, runs []*course) error {
	var before *pofmkl.Federation
	for i := range runs {
		with, err := plan.start(l.set, l.rounds, first+i)
		if err == nil && plan.Row.Carried {
			before, err = carryOver(before, with)
		}
		if err == nil {
			runs[i], err = l.follow(ctx, with)
		}
		if err != nil {
			return fmt.Errorf("%s, draw %d: %w", plan.Row.Name(), first+i+1, err)
		}
		l.say("%s, draw %d: %.2fe-3, %.1f s", plan.Row.Name(), first+i+1, 1e3*lab.Mean(runs[i].errors),
			runs[i].seconds)
	}
	return nil
}

// carryOver gives the clients of a fresh federation the weights of the one before, if there is one.
func carryOver(before *pofmkl.Federation, with learner) (*pofmkl.Federation, error) {
	fresh, ok := with.(*pofmkl.Federation)
	if !ok {
		return nil, errors.New("only POF-MKL's clients have weights to carry over")
	}
	if before == nil {
		return fresh, nil
	}
	for k, c := range before.Clients {
		state, err := c.State()
		if err != nil {
			return nil, err
		}
		if err := fresh.Clients[k].WarmStart(state); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// sumUp fills in a row from its runs.
func (r *Row) sumUp(runs []*course, rounds int) {
	total := lab.Spread(lab.Each(runs, func(run *course) float64 { return 1e3 * lab.Mean(run.errors) }))
	r.Mean, r.Deviation = total.Mean, total.Deviation
	r.errors = make([]float64, rounds)
	for _, run := range runs {
		sum := 0.0
		for t, e := range run.errors {
			sum += e
			r.errors[t] += 1e3 * sum / float64((t+1)*len(runs))
		}
	}
	r.Verdict = r.judge(rounds, len(runs))
	if len(runs[0].regrets) == 0 || r.Algorithm == ofskl {
		return // with one kernel there is nothing to regret
	}
	r.regrets = make([]float64, rounds)
	r.Regret = &lab.Measured{}
	for _, run := range runs {
		for t, v := range run.regrets {
			r.regrets[t] += v / float64(len(runs))
		}
		over := lab.Spread(run.final)
		r.Regret.Mean += over.Mean / float64(len(runs))
		r.Regret.Deviation += over.Deviation / float64(len(runs))
	}
}

// judge compares a row with the specification's figure, by three of the deviations that one draw has.
// Weights that are carried over get better from draw to draw: their figure is of the paper's 20.
func (r *Row) judge(rounds, draws int) string {
	if r.Spec == nil || rounds != Rounds {
		return "none expected"
	}
	if r.Carried && draws != Draws {
		return fmt.Sprintf("none: it is of %d draws", Draws)
	}
	off := math.Abs(r.Mean-r.Spec.Value) / r.Spec.Deviation
	if off <= 3 {
		return fmt.Sprintf("within 3 sd (%.1f)", off)
	}
	return fmt.Sprintf("outside 3 sd (%.1f)", off)
}

// theoremOne is the bound on a client's regret after t rounds: ln N / eta_k + eta_k t / 2.
func theoremOne(p pofmkl.Params, t int) float64 {
	return math.Log(float64(p.Kernels()))/p.WeightStep + p.WeightStep*float64(t)/2
}
