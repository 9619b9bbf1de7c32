package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/lab/hindsight"
)

// boundCases lists what is held against theorems 1 and 3: three budgets, and rounds of 5 and 20 rows.
func boundCases(c *cli.Context) ([]ofmsftCase, error) {
	for _, name := range []string{"budget", "baselines", "scan", "only", "rounds-per-upload"} {
		if c.IsSet(name) {
			return nil, fmt.Errorf("--bounds has its own cases, want it without --%s", name)
		}
	}
	update := ofmsft.UpdateEquation11
	if u := c.String("update"); u != "" && u != updateOwn && u != ofmsft.UpdateNone {
		update = u
	} else if u != "" {
		return nil, fmt.Errorf("--update is %q with --bounds, want %s or %s", u, ofmsft.UpdateEquation11,
			ofmsft.UpdateInPlace)
	}
	if n := c.Int("hindsight"); n < 1 {
		return nil, fmt.Errorf("--hindsight is %d, want at least 1", n)
	}
	var cases []ofmsftCase
	for _, of := range []struct {
		budget float64
		rows   int
	}{{2, 1}, {tableOne, 1}, {10, 1}, {tableOne, 5}, {tableOne, 20}} {
		cases = append(cases, ofmsftCase{
			algorithm: ofmsFT, update: update, budget: of.budget, perUpload: of.rows, step: c.Float64("step"),
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
func (l *ofmsftLab) findRivals(ctx context.Context, epochs int) (*comparators, error) {
	s, n, k := l.set, len(l.set.labels), len(l.set.names)
	var rows hindsight.Rows
	for i, own := range s.live.rows {
		rows.X = append(rows.X, s.live.scaled(own[:l.options.rounds])...)
		for _, y := range s.labels[i][:l.options.rounds] {
			if s.classes == 0 {
				y = (y - s.low) / (s.high - s.low)
			}
			rows.Y = append(rows.Y, y)
		}
	}
	r := &comparators{losses: make([][]float64, k)}
	norms, gradients, moves := make([]float64, k), make([]float64, k), make([]float64, k)
	err := share(ctx, l.workers, k, func(ctx context.Context, i int) error {
		given := s.live.networks[i]
		best, loss, err := hindsight.Fit(ctx, given, rows, hindsight.Options{Epochs: epochs, Batch: 32, Step: 0.02,
			Seed: uint64(i)})
		if err != nil {
			return fmt.Errorf("%s: %w", s.names[i], err)
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
		l.say("%s: the best in hindsight has a loss of %.5f", s.names[i], loss)
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

// ofmsftBound is a case's regrets below the theorems' bounds, after all rounds.
type ofmsftBound struct {
	Clusters    float64  `json:"mu"`     // mean over clients
	Groups      int      `json:"groups"` // alpha
	Regret      measured `json:"regret"` // of a client by equation 1, over seeds
	RegretBound float64  `json:"regret_bound"`
	Server      measured `json:"server_regret"` // by equation 3, mean over networks, over seeds
	ServerLeast float64  `json:"server_regret_least"`
	ServerMost  float64  `json:"server_regret_most"`
	ServerBound float64  `json:"server_regret_bound"`
	StartBound  float64  `json:"server_regret_bound_from_start"` // with the distance from the start in place of R

	regrets, server      []float64 // [T]
	regretMax, serverMax []float64 // [T], the bounds
	startMax             []float64 // [T], StartBound by rounds
}

// bound sums a case's runs up against the theorems.
func (l *ofmsftLab) bound(c ofmsftCase, runs []*ofmsftRun, r *comparators) (*ofmsftBound, error) {
	p, err := l.params(c, l.world(c))
	if err != nil {
		return nil, err
	}
	b, n, rounds := &ofmsftBound{}, float64(len(l.set.labels)), l.options.rounds
	var packings []*ofmsft.Packings
	for i := range l.set.labels {
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
	b.regrets, _ = alongRounds(each2(runs, func(run *ofmsftRun) []float64 { return run.expected }))
	b.Regret = *atEnd(each2(runs, func(run *ofmsftRun) []float64 { return run.expected }))
	server := each2(runs, func(run *ofmsftRun) []float64 { // mean over networks
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
		regret := mean(each(runs, func(run *ofmsftRun) float64 { return run.tuned[rounds-1][k] - losses[rounds-1] }))
		if k == 0 {
			b.ServerLeast, b.ServerMost = regret, regret
		}
		b.ServerLeast, b.ServerMost = min(b.ServerLeast, regret), max(b.ServerMost, regret)
	}
	b.RegretBound, b.ServerBound = b.regretMax[rounds-1], b.serverMax[rounds-1]
	b.StartBound = b.startMax[rounds-1]
	return b, nil
}

// printBounds prints the regrets beside the bounds.
func (r *ofmsftReport) printBounds(w io.Writer) error {
	fmt.Fprintf(w, "\nregret of a client (equation 1) and of the server in fine-tuning a network (equation 3),\n"+
		"beside theorems 1 (n = 1) and 3; R = %.0f and G = %.1f are what was seen, %d epochs of hindsight;\n"+
		"the last bound has the distance from the networks' start, %.2g, in place of R\n\n", r.Radius, r.Gradient, r.Hindsight, r.Moved)
	t := newTable("B", "n", "mu", "alpha", "client", "bound", "server, mean", "least to most", "bound", "from start")
	for _, row := range r.Rows {
		b := row.Bound
		t.add(fmt.Sprintf("%g", row.Budget), fmt.Sprint(row.PerUpload), fmt.Sprintf("%g", b.Clusters), fmt.Sprint(b.Groups),
			fmt.Sprintf("%.2f", b.Regret.Mean), fmt.Sprintf("%.0f", b.RegretBound), fmt.Sprintf("%.2f", b.Server.Mean),
			fmt.Sprintf("%.2f to %.2f", b.ServerLeast, b.ServerMost),
			fmt.Sprintf("%.2g", b.ServerBound), fmt.Sprintf("%.2g", b.StartBound))
	}
	return t.write(w)
}

// drawBounds draws the clients' regret on the left and the server's on the right, each below its bound, which is
// dashed; dotted is that from the networks' start. The legends stand between regrets and bounds, which are far apart.
func drawBounds(folder string, r *ofmsftReport) error {
	left := newPlot(fmt.Sprintf("%s: mean regret of a client; dashed: the bound", r.Set), "rounds", "regret, equation 1")
	right := newPlot("of the server in fine-tuning a network; dotted: from its start", "rounds", "regret, equation 3")
	for side, d := range []*plot.Plot{left, right} {
		addGrid(d)
		styleLegend(d)
		d.Y.Scale, d.Y.Tick.Marker = plot.LogScale{}, powers(nil)
		low, high := math.Inf(1), 0.0
		for i, row := range r.Rows {
			regrets, bounds := row.Bound.regrets, row.Bound.regretMax
			if side == 1 {
				regrets, bounds = row.Bound.server, row.Bound.serverMax
			}
			xy := positiveOnly(regrets)
			if len(xy) == 0 {
				return fmt.Errorf("no regret is above 0 with B = %g and n = %d: there is nothing to draw", row.Budget,
					row.PerUpload)
			}
			name := fmt.Sprintf("B = %g, n = %d", row.Budget, row.PerUpload)
			if err := addSeries(d, name, xy, tint(i), false); err != nil {
				return err
			}
			dashed := [][]float64{bounds}
			if side == 1 {
				dashed = append(dashed, row.Bound.startMax)
			}
			for which, values := range dashed {
				bound, err := plotter.NewLine(series(values))
				if err != nil {
					return fmt.Errorf("%s, bound: %w", name, err)
				}
				bound.Color, bound.Width = tint(i), vg.Points(1.4)
				bound.Dashes = [][]vg.Length{{vg.Points(4), vg.Points(2.5)}, {vg.Points(1.3), vg.Points(2)}}[which]
				d.Add(bound)
			}
			low, high = min(low, xy[len(xy)-1].Y), max(high, bounds[len(bounds)-1])
		}
		d.Y.Min, d.Y.Max = low/30, high*3
		d.Legend.Top, d.Legend.YOffs = false, 1.1*vg.Inch
		if side == 1 {
			d.Legend.YOffs = 1.6 * vg.Inch
		}
	}
	return save(folder, "ofmsft-"+r.Set+"-bounds", [][]*plot.Plot{{left, right}}, 11*vg.Inch, 4.6*vg.Inch)
}
