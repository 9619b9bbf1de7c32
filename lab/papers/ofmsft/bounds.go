package ofmsft

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/hindsight"
)

// boundCases lists what is held against theorems 1 and 3: three budgets, and rounds of 5 and 20 rows.
func boundCases(ctx context.Context, run lab.Run, o Options) ([]setting, error) {
	for _, name := range []string{"budget", "baselines", "scan", "only", "rounds-per-upload"} {
		if run.Given(name) {
			return nil, fmt.Errorf("--bounds has its own cases, want it without --%s", name)
		}
	}
	update := ofmsft.UpdateEquation11
	if u := o.Update; u != "" && u != updateOwn && u != ofmsft.UpdateNone {
		update = u
	} else if u != "" {
		return nil, fmt.Errorf("--update is %q with --bounds, want %s or %s", u, ofmsft.UpdateEquation11,
			ofmsft.UpdateInPlace)
	}
	if n := o.Hindsight; n < 1 {
		return nil, fmt.Errorf("--hindsight is %d, want at least 1", n)
	}
	var cases []setting
	for _, of := range []struct {
		budget float64
		rows   int
	}{{2, 1}, {tableOne, 1}, {10, 1}, {tableOne, 5}, {tableOne, 20}} {
		cases = append(cases, setting{
			algorithm: ofmsFT, update: update, budget: of.budget, perUpload: of.rows, step: o.Step,
		})
	}
	return cases, nil
}

// comparators are the best networks in hindsight, and what the bounds know of all networks.
type comparators struct {
	losses   [][]float64 // [K][T], summed over the rounds so far, mean over clients
	radius   float64     // R, the largest square norm of parameters
	moved    float64     // the largest square distance from where a network starts to its rival
	gradient float64     // G, the largest norm of a gradient over a row that was seen
}

// gradientStride is of how many rows one is looked at for G.
const gradientStride = 50

// findRivals trains every network on all rows.
func (l *bench) findRivals(ctx context.Context, epochs int) (*comparators, error) {
	s, n, k := l.set, len(l.set.Labels), len(l.set.Names)
	var rows hindsight.Rows
	for i, own := range s.Live.Rows {
		rows.X = append(rows.X, s.Live.scaled(own[:l.options.rounds])...)
		for _, y := range s.Labels[i][:l.options.rounds] {
			if s.classes == 0 {
				y = (y - s.Low) / (s.High - s.Low)
			}
			rows.Y = append(rows.Y, y)
		}
	}
	r := &comparators{losses: make([][]float64, k)}
	norms, gradients, moves := make([]float64, k), make([]float64, k), make([]float64, k)
	err := lab.Share(ctx, l.workers, k, func(ctx context.Context, i int) error {
		given := s.Live.Networks[i]
		best, loss, err := hindsight.Fit(ctx, given, rows, hindsight.Options{Epochs: epochs, Batch: 32, Step: 0.02,
			Seed: uint64(i)})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Names[i], err)
		}
		losses := make([]float64, len(rows.Y)) // client by client
		best.NewWorkspace().Losses(rows.X, rows.Y, len(rows.Y), losses)
		r.losses[i] = make([]float64, l.options.rounds)
		sum := 0.0
		for t := range r.losses[i] {
			for c := range n {
				sum += losses[c*l.options.rounds+t] / float64(n)
			}
			r.losses[i][t] = sum
		}
		for _, m := range []*nn.Network{given, best} {
			norms[i] = max(norms[i], hindsight.Square(m.Parameters()))
			gradients[i] = max(gradients[i], hindsight.Gradient(m, rows, gradientStride))
		}
		apart := make([]float32, given.Size())
		for j, v := range best.Parameters() {
			apart[j] = v - given.Parameters()[j]
		}
		moves[i] = hindsight.Square(apart)
		l.say("%s: the best in hindsight has a loss of %.5f", s.Names[i], loss)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range k {
		r.radius, r.gradient, r.moved = max(r.radius, norms[i]), max(r.gradient, gradients[i]), max(r.moved, moves[i])
	}
	return r, nil
}

// Bound is a case's regrets below the theorems' bounds, after all rounds.
type Bound struct {
	Clusters    float64      `json:"mu"`     // mean over clients
	Groups      int          `json:"groups"` // alpha
	Regret      lab.Measured `json:"regret"` // of a client by equation 1, over seeds
	RegretBound float64      `json:"regret_bound"`
	Server      lab.Measured `json:"server_regret"` // by equation 3, mean over networks, over seeds
	ServerLeast float64      `json:"server_regret_least"`
	ServerMost  float64      `json:"server_regret_most"`
	ServerBound float64      `json:"server_regret_bound"`
	StartBound  float64      `json:"server_regret_bound_from_start"` // with the distance from the start in place of R

	regrets, server      []float64 // [T]
	regretMax, serverMax []float64 // [T], the bounds
	startMax             []float64 // [T], StartBound by rounds
}

// bound sums a case's runs up against the theorems.
func (l *bench) bound(c setting, runs []*course, r *comparators) (*Bound, error) {
	p, err := l.params(c, l.world(c))
	if err != nil {
		return nil, err
	}
	b, n, rounds := &Bound{}, float64(len(l.set.Labels)), l.options.rounds
	var packings []*ofmsft.Packings
	for i := range l.set.Labels {
		own, err := p.Packings(strconv.Itoa(i + 1))
		if err != nil {
			return nil, err
		}
		packings = append(packings, own)
		b.Clusters += float64(own.MostClusters())
	}
	b.Clusters /= n
	for _, run := range runs {
		b.Groups = max(b.Groups, run.groups)
	}
	for t := range rounds {
		bound := 0.0
		for _, own := range packings {
			bound += p.RegretBound(own, t+1) / n
		}
		b.regretMax = append(b.regretMax, bound)
		b.serverMax = append(b.serverMax, p.TuningBound(packings, b.Groups, r.radius, r.gradient, t+1))
		b.startMax = append(b.startMax, p.TuningBound(packings, b.Groups, r.moved, r.gradient, t+1))
	}
	b.regrets, _ = alongRounds(lab.Each(runs, func(run *course) []float64 { return run.expected }))
	b.Regret = *atEnd(lab.Each(runs, func(run *course) []float64 { return run.expected }))
	server := lab.Each(runs, func(run *course) []float64 { // mean over networks
		regret := make([]float64, rounds)
		for t := range regret {
			for k, losses := range r.losses {
				regret[t] += (run.tuned[t][k] - losses[t]) / float64(len(r.losses))
			}
		}
		return regret
	})
	b.server, _ = alongRounds(server)
	b.Server = *atEnd(server)
	for k, losses := range r.losses {
		regret := lab.Mean(lab.Each(runs, func(run *course) float64 { return run.tuned[rounds-1][k] - losses[rounds-1] }))
		if k == 0 {
			b.ServerLeast, b.ServerMost = regret, regret
		}
		b.ServerLeast, b.ServerMost = min(b.ServerLeast, regret), max(b.ServerMost, regret)
	}
	b.RegretBound, b.ServerBound = b.regretMax[rounds-1], b.serverMax[rounds-1]
	b.StartBound = b.startMax[rounds-1]
	return b, nil
}
