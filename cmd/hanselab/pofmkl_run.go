package main

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
)

// learner is a federation of clients that learn online.
type learner interface {
	Round(rows [][]float64, labels, predictions []float64) error
}

// regretful is a learner that knows its clients' regrets.
type regretful interface {
	Regret(client int) float64
}

// pofmklLab runs learners on one set.
type pofmklLab struct {
	set     *pofmklSet
	rounds  int
	workers int
	logLock sync.Mutex
	log     io.Writer
}

// say writes a line of progress.
func (l *pofmklLab) say(format string, args ...any) {
	l.logLock.Lock()
	defer l.logLock.Unlock()
	fmt.Fprintf(l.log, format+"\n", args...)
}

// pofmklRun is one learner's course with one draw.
type pofmklRun struct {
	errors  []float64 // [T], mean squared error over clients
	regrets []float64 // [T], mean over clients; nil for a learner without kernels
	final   []float64 // [K], the clients' regrets at the end
	seconds float64
}

// follow runs a learner over all rounds.
func (l *pofmklLab) follow(ctx context.Context, with learner) (*pofmklRun, error) {
	clients := len(l.set.rows)
	rows, labels, predictions := make([][]float64, clients), make([]float64, clients), make([]float64, clients)
	run, start := &pofmklRun{}, time.Now()
	for t := range l.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := range clients {
			rows[k], labels[k] = l.set.rows[k][t], l.set.labels[k][t]
		}
		if err := with.Round(rows, labels, predictions); err != nil {
			return nil, fmt.Errorf("round %d: %w", t+1, err)
		}
		run.errors = append(run.errors, meanSquaredError(predictions, labels))
		if r, ok := with.(regretful); ok {
			run.count(r, clients)
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

// count notes the clients' regrets after a round.
func (r *pofmklRun) count(with regretful, clients int) {
	r.final = r.final[:0]
	sum := 0.0
	for k := range clients {
		r.final = append(r.final, with.Regret(k))
		sum += r.final[k]
	}
	r.regrets = append(r.regrets, sum/float64(clients))
}

// measure runs groups of plans, all beside one another, and sums them up, a row for each plan.
func (l *pofmklLab) measure(ctx context.Context, groups ...[]pofmklPlan) ([][]pofmklRow, error) {
	runs, err := l.runAll(ctx, slices.Concat(groups...))
	if err != nil {
		return nil, err
	}
	rows := make([][]pofmklRow, len(groups))
	for g, plans := range groups {
		for i, plan := range plans {
			row := plan.row
			row.sumUp(runs[i], l.rounds)
			rows[g] = append(rows[g], row)
		}
		runs = runs[len(plans):]
	}
	return rows, nil
}

// timeRows measures the processor time of every row's algorithm, one after the other with nothing beside: the first
// draw, as often as it takes for so many seconds in all. Rows whose weights are carried over take what the others do.
func (l *pofmklLab) timeRows(ctx context.Context, rows []pofmklRow, least float64) error {
	if processCPU() == 0 {
		l.say("this system does not tell processor times")
		return nil
	}
	for i := range rows {
		if rows[i].Carried {
			continue
		}
		spent, runs := 0.0, 0
		for ; spent < least; runs++ {
			with, err := pofmklPlan{row: rows[i]}.start(l.set, l.rounds, 0)
			if err != nil {
				return err
			}
			runtime.GC() // of what was there before
			start := processCPU()
			if _, err := l.follow(ctx, with); err != nil {
				return fmt.Errorf("%s: %w", rows[i].name(), err)
			}
			spent += processCPU() - start
		}
		rows[i].RunSeconds = spent / float64(runs*len(l.set.rows))
		l.say("%s: %.2g s a client", rows[i].name(), rows[i].RunSeconds)
	}
	return nil
}

// pofmklTask is a piece of work: a plan's draws from first on, one after the other.
type pofmklTask struct{ plan, first, count int }

// runAll runs all plans' draws, several at a time; the answer is [plan][draw]. Draws whose weights are
// carried over are one piece of work, and come first because they take longest.
func (l *pofmklLab) runAll(ctx context.Context, plans []pofmklPlan) ([][]*pofmklRun, error) {
	runs := make([][]*pofmklRun, len(plans))
	var chains, singles []pofmklTask
	for i, p := range plans {
		runs[i] = make([]*pofmklRun, p.draws)
		if p.row.Carried {
			chains = append(chains, pofmklTask{i, 0, p.draws})
			continue
		}
		for d := range p.draws {
			singles = append(singles, pofmklTask{i, d, 1})
		}
	}
	work := append(chains, singles...)
	return runs, share(ctx, l.workers, len(work), func(ctx context.Context, i int) error {
		t := work[i]
		return l.run(ctx, plans[t.plan], t.first, runs[t.plan][t.first:t.first+t.count])
	})
}

// share does the work 0 to n-1 on so many workers and stops at the first error.
func share(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan int, n)
	for i := range n {
		queue <- i
	}
	close(queue)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// run runs consecutive draws of a plan into runs.
func (l *pofmklLab) run(ctx context.Context, plan pofmklPlan, first int, runs []*pofmklRun) error {
	var before *pofmkl.Federation
	for i := range runs {
		with, err := plan.start(l.set, l.rounds, first+i)
		if err == nil && plan.row.Carried {
			before, err = carryOver(before, with)
		}
		if err == nil {
			runs[i], err = l.follow(ctx, with)
		}
		if err != nil {
			return fmt.Errorf("%s, draw %d: %w", plan.row.name(), first+i+1, err)
		}
		l.say("%s, draw %d: %.2fe-3, %.1f s", plan.row.name(), first+i+1, 1e3*mean(runs[i].errors), runs[i].seconds)
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
func (r *pofmklRow) sumUp(runs []*pofmklRun, rounds int) {
	total := spread(each(runs, func(run *pofmklRun) float64 { return 1e3 * mean(run.errors) }))
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
	r.Regret = &measured{}
	for _, run := range runs {
		for t, v := range run.regrets {
			r.regrets[t] += v / float64(len(runs))
		}
		over := spread(run.final)
		r.Regret.Mean += over.Mean / float64(len(runs))
		r.Regret.Deviation += over.Deviation / float64(len(runs))
	}
}

// mean returns the mean of values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// judge compares a row with the specification's figure, by three of the deviations that one draw has.
// Weights that are carried over get better from draw to draw: their figure is of the paper's 20.
func (r *pofmklRow) judge(rounds, draws int) string {
	if r.Spec == nil || rounds != pofmklRounds {
		return "none expected"
	}
	if r.Carried && draws != pofmklDraws {
		return fmt.Sprintf("none: it is of %d draws", pofmklDraws)
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
