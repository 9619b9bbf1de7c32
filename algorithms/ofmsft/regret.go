package ofmsft

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/parallel"
)

// regrets compares the clients' predictions with their best networks in hindsight, which takes the
// losses of all networks on all rows.
type regrets struct {
	given  [][]*Runner // [workers][K], the networks as they were at first
	shares [][]float64 // [N][K], what the clients drew the round's networks by
	drawn  []float64   // [N], summed losses that were to be expected before the draws
	tuned  [][]float64 // [N][K], summed losses of the networks as they were in each round
	first  [][]float64 // [N][K], summed losses of the networks as they were at first
	x      []float32   // [N][inputs], the round's rows
	y      []float64   // [N]
	losses [][]float64 // [K][N], of the round
	before [][]float64 // [K][N], of the round
}

// CountRegrets makes the federation count regrets, before its first round. It costs the losses of all
// networks, twice for those that were fine-tuned, on every row. networks are those that the federation
// was made with; they must not change.
func (f *Federation) CountRegrets(networks []*nn.Network) error {
	if f.rounds > 0 {
		return fmt.Errorf("regrets are to be counted after %d rounds, want none", f.rounds)
	}
	if err := f.params.CheckNetworks(networks); err != nil {
		return err
	}
	n, k := len(f.Clients), len(networks)
	r := &regrets{shares: matrix(n, k), drawn: make([]float64, n), tuned: matrix(n, k), first: matrix(n, k),
		losses: matrix(k, n), before: matrix(k, n)}
	for range f.runners {
		r.given = append(r.given, NewRunners(networks))
	}
	f.regret = r
	return nil
}

// matrix makes room for rows x columns numbers.
func matrix(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

// countRegret adds the round that was learned last, before the networks change.
func (f *Federation) countRegret() error {
	r := f.regret
	if r == nil {
		return nil
	}
	r.x, r.y = r.x[:0], r.y[:0]
	for _, c := range f.Clients {
		x, y := c.window.Before(0, 1)
		r.x, r.y = append(r.x, x...), append(r.y, y...)
	}
	err := parallel.Each(len(f.runners), len(r.losses), func(worker, k int) error {
		f.runners[worker][k].workspace.Losses(r.x, r.y, len(r.y), r.losses[k])
		if f.Server.Version(k) == 0 {
			copy(r.before[k], r.losses[k])
			return nil
		}
		r.given[worker][k].workspace.Losses(r.x, r.y, len(r.y), r.before[k])
		return nil
	})
	for i := range f.Clients {
		for k := range r.losses {
			r.drawn[i] += r.shares[i][k] * r.losses[k][i]
			r.tuned[i][k] += r.losses[k][i]
			r.first[i][k] += r.before[k][i]
		}
	}
	return err
}

// Regret returns client i's regret so far, from 0: the losses of its predictions less those of the
// network that was best for it, each network counted in every round as it was then, fine-tuned by all.
// This is the paper's regret, with the losses that came about in place of their expectations over the
// draw. It is 0 unless CountRegrets was called.
func (f *Federation) Regret(i int) float64 {
	if f.regret == nil {
		return 0
	}
	return f.Clients[i].loss - slices.Min(f.regret.tuned[i])
}

// ExpectedRegret is Regret with the losses that were to be expected of each draw, given all rounds before it: the
// paper's equation 1, and 46a where a draw is for several rows.
func (f *Federation) ExpectedRegret(i int) float64 {
	if f.regret == nil {
		return 0
	}
	return f.regret.drawn[i] - slices.Min(f.regret.tuned[i])
}

// TunedLoss returns the first term of equation 3, the server's regret in fine-tuning network k, from 0: the losses
// of the network on all rows so far, as it was in each round, summed over rounds, mean over clients. It is 0 unless
// CountRegrets was called.
func (f *Federation) TunedLoss(k int) float64 {
	if f.regret == nil {
		return 0
	}
	sum := 0.0
	for _, losses := range f.regret.tuned {
		sum += losses[k]
	}
	return sum / float64(len(f.Clients))
}

// RegretAtFirst is Regret with the networks as they were before any fine-tuning. It may be negative:
// fine-tuning may beat them all.
func (f *Federation) RegretAtFirst(i int) float64 {
	if f.regret == nil {
		return 0
	}
	return f.Clients[i].loss - slices.Min(f.regret.first[i])
}
