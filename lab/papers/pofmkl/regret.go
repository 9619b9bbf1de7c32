package pofmkl

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/regret"
	"github.com/hanse-project/hanse/lab/table"
)

// gradientBound is L of assumption 2: losses are at most 1 there, so that errors are, and a gradient is twice an
// error times features of length 1.
const gradientBound = 2

// RegretReport is what the command prints with --json. Losses and regrets are sums over clients and rounds, of
// squared errors of labels from 0 to 1.
type RegretReport struct {
	Machine   string        `json:"machine"`
	Set       string        `json:"set"`
	Clients   int           `json:"clients"`
	Rounds    int           `json:"rounds"`
	Chosen    int           `json:"m"`
	Features  int           `json:"d"`
	Norms     []float64     `json:"norms"`
	Points    []regretPoint `json:"points"`
	BestNorm  float64       `json:"best_length"`             // of the best function's coefficients without a limit
	Personal  []float64     `json:"personal_loss,omitempty"` // by norm: each client with a function of its own
	MatterAt  []float64     `json:"bound_matters_at"`        // by norm: rounds at which a tuned bound falls below the loss
	HoldsWith float64       `json:"bound_holds_with_d"`      // features at which Theorem 2's probability reaches one half
	// Assumption 2 has every kernel's loss at most 1 and theta_i of length C at most.
	LargestLoss float64 `json:"largest_loss"`  // of a kernel at a client, in all rounds
	Above       float64 `json:"losses_above"`  // share of the kernels' losses that are above 1
	LargestNorm float64 `json:"largest_theta"` // length, at the rounds of the points
	Seconds     float64 `json:"seconds"`
}

// regretPoint is where a federation stands after some rounds.
type regretPoint struct {
	Round      int       `json:"round"`
	Loss       float64   `json:"loss"`            // of POF-MKL
	Best       []float64 `json:"best_loss"`       // by norm: the best function's
	Free       float64   `json:"free_loss"`       // the best function's when nothing limits its coefficients
	Bounds     []float64 `json:"theorem_2_bound"` // by norm
	Clients    float64   `json:"clients_regret"`  // sum of equation 11 over clients
	TheoremOne float64   `json:"theorem_1_bound"` // the same sum of Theorem 1's bounds
}

// RegretOptions are the choices of RunRegret.
type RegretOptions struct {
	Set      string
	Data     string
	Chosen   int
	Features int
	Norms    []float64
	Rounds   int
	Personal bool
}

// RunRegret runs one federation and reports.
func RunRegret(ctx context.Context, run lab.Run, o RegretOptions) error {
	r := &RegretReport{Machine: lab.Machine(), Rounds: o.Rounds, Chosen: o.Chosen,
		Features: o.Features, Norms: o.Norms}
	if r.Rounds < 1 || r.Rounds > Rounds {
		return fmt.Errorf("--rounds is %d, want 1 to %d", r.Rounds, Rounds)
	}
	for _, norm := range r.Norms {
		if !(norm > 0) || math.IsInf(norm, 0) {
			return fmt.Errorf("--norms is %v, want positive numbers", r.Norms)
		}
	}
	set, err := ReadSet(o.Set, o.Data)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := r.measure(ctx, set, run.Log); err != nil {
		return err
	}
	if o.Personal {
		// Adds up, for every norm, the losses of functions that each client has for itself, of its best kernel.
		p := r.params(set)
		d, err := pofmkl.NewDictionary(p, set.columns)
		if err != nil {
			return err
		}
		features := d.NewFeatures()
		r.Personal = make([]float64, len(r.Norms))
		for k := range set.Rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			grams := newGrams(p)
			for t := range r.Rounds {
				if err := addRow(grams, features, set.Rows[k][t], set.Labels[k][t]); err != nil {
					return err
				}
			}
			best, _, err := bestOf(grams, r.Norms)
			if err != nil {
				return fmt.Errorf("client %d: %w", k+1, err)
			}
			for n, loss := range best {
				r.Personal[n] += loss
			}
			fmt.Fprintf(run.Log, "client %d of %d: %.4g\n", k+1, r.Clients, best)
		}
	}
	r.Seconds = time.Since(start).Seconds()
	return run.Report(r)
}

// params returns the job of the run, that of the same row of Table 1 in its first draw.
func (r *RegretReport) params(set *Set) pofmkl.Params {
	return pofmkl.Params{
		Label: "target", Seed: fmt.Sprintf("%s %d", set.name,
			1), Rounds: r.Rounds, Features: r.Features, Chosen: r.Chosen,
	}.WithDefaults()
}

// measure runs the federation and, at the report's rounds, fits the best functions to the rows so far.
func (r *RegretReport) measure(ctx context.Context, set *Set, log io.Writer) error {
	p := r.params(set)
	d, err := pofmkl.NewDictionary(p, set.columns)
	if err != nil {
		return err
	}
	r.Set, r.Clients = set.name, len(set.Rows)
	federation, err := pofmkl.NewFederation(d, r.Clients, sha256.Sum256(fmt.Appendf(nil, "%s draw %d", set.name, 1)))
	if err != nil {
		return err
	}
	features, grams := d.NewFeatures(), newGrams(p)
	rows, labels, predictions := make([][]float64, r.Clients), make([]float64, r.Clients), make([]float64, r.Clients)
	loss := 0.0
	for t := 1; t <= r.Rounds; t++ {
		for k := range rows {
			rows[k], labels[k] = set.Rows[k][t-1], set.Labels[k][t-1]
		}
		if err := federation.Round(rows, labels, predictions); err != nil {
			return fmt.Errorf("round %d: %w", t, err)
		}
		r.watch(federation.Clients)
		for k, x := range rows {
			loss += (predictions[k] - labels[k]) * (predictions[k] - labels[k])
			if err := addRow(grams, features, x, labels[k]); err != nil {
				return err
			}
		}
		if !slices.Contains(regretRounds(r.Rounds), t) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at, err := r.point(p, grams, t, loss)
		if err != nil {
			return err
		}
		for _, c := range federation.Clients {
			at.Clients += c.Regret()
		}
		for i := range p.Kernels() {
			theta := federation.Server.Theta()[2*p.Features*i : 2*p.Features*(i+1)]
			r.LargestNorm = max(r.LargestNorm, (&regret.Fit{Theta: theta}).Norm())
		}
		r.Points = append(r.Points, at)
		fmt.Fprintf(log, "round %d: loss %.4g, best in hindsight %.4g\n", t, loss, at.Best)
	}
	last := r.Points[len(r.Points)-1]
	for _, norm := range r.Norms {
		r.MatterAt = append(r.MatterAt, r.bound(p, norm).RoundsToMatter(last.Loss/float64(r.Clients*r.Rounds)))
	}
	r.HoldsWith = regret.FeaturesToHold(r.Rounds, len(set.columns), slices.Max(p.Bandwidths))
	return nil
}

// watch holds the losses of a round against assumption 2.
func (r *RegretReport) watch(clients []*pofmkl.Client) {
	for _, c := range clients {
		for _, l := range c.Losses() {
			r.LargestLoss = max(r.LargestLoss, l)
			if l > 1 {
				r.Above += 1 / float64(len(c.Losses())*len(clients)*r.Rounds)
			}
		}
	}
}

// regretRounds lists the rounds at which a run of so many is looked at.
func regretRounds(rounds int) []int {
	var list []int
	for _, t := range []int{1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500} {
		if t < rounds {
			list = append(list, t)
		}
	}
	return append(list, rounds)
}

// newGrams starts one for each kernel.
func newGrams(p pofmkl.Params) []*regret.Gram {
	grams := make([]*regret.Gram, p.Kernels())
	for i := range grams {
		grams[i] = regret.NewGram(2 * p.Features)
	}
	return grams
}

// addRow counts a row for all kernels.
func addRow(grams []*regret.Gram, features *pofmkl.Features, x []float64, y float64) error {
	if err := features.Set(1, x); err != nil {
		return err
	}
	for i, g := range grams {
		g.Add(features.Kernel(i), y)
	}
	return nil
}

// bound is Theorem 2's for coefficients of this length.
func (r *RegretReport) bound(p pofmkl.Params, norm float64) regret.Bound {
	return regret.Bound{
		Clients: r.Clients, Kernels: p.Kernels(), Bins: p.Bins(), Step: p.Step, WeightStep: p.WeightStep, Explore: p.Explore,
		Gradient: gradientBound, Norm: norm,
	}
}

// point fits the best functions of all kernels after t rounds.
func (r *RegretReport) point(p pofmkl.Params, grams []*regret.Gram, t int, loss float64) (regretPoint, error) {
	at := regretPoint{Round: t, Loss: loss, TheoremOne: float64(r.Clients) * theoremOne(p, t)}
	best, free, err := bestOf(grams, r.Norms)
	if err != nil {
		return at, fmt.Errorf("round %d: %w", t, err)
	}
	at.Best, at.Free, r.BestNorm = best, free.Loss, free.Norm()
	for _, norm := range r.Norms {
		at.Bounds = append(at.Bounds, r.bound(p, norm).At(t))
	}
	return at, nil
}

// bestOf returns the least loss of all kernels for every norm, and the best fit without a limit.
func bestOf(grams []*regret.Gram, norms []float64) (best []float64, free regret.Fit, err error) {
	limits := append(slices.Clone(norms), math.Inf(1))
	for i, g := range grams {
		fits, err := g.Best(limits...)
		if err != nil {
			return nil, free, fmt.Errorf("kernel %d: %w", i+1, err)
		}
		for n := range norms {
			if i == 0 {
				best = append(best, fits[n].Loss)
			}
			best[n] = min(best[n], fits[n].Loss)
		}
		if last := fits[len(norms)]; i == 0 || last.Loss < free.Loss {
			free = last
		}
	}
	return best, free, nil
}

// Print prints the report for people.
func (r *RegretReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s: %d clients, POF-MKL M=%d D=%d, sums over clients and rounds, %.0f s\n\n", r.Machine,
		r.Set,
		r.Clients, r.Chosen, r.Features, r.Seconds)
	head := []string{"rounds", "loss"}
	for _, norm := range r.Norms {
		head = append(head, fmt.Sprintf("regret, C = %g", norm), "bound")
	}
	t := table.New(append(head, "equation 11", "bound")...)
	for _, at := range r.Points {
		cells := []string{fmt.Sprint(at.Round), fmt.Sprintf("%.1f", at.Loss)}
		for n := range r.Norms {
			cells = append(cells, fmt.Sprintf("%.1f", at.Loss-at.Best[n]), fmt.Sprintf("%.0f", at.Bounds[n]))
		}
		t.Add(append(cells, fmt.Sprintf("%.1f", at.Clients), fmt.Sprintf("%.0f", at.TheoremOne))...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	last := r.Points[len(r.Points)-1]
	fmt.Fprintf(w, "\nwithout a limit the best function's loss is %.1f, its coefficients' length %.3g\n", last.Free,
		r.BestNorm)
	for n, loss := range r.Personal {
		fmt.Fprintf(w, "each client with its own function, C = %g: loss %.1f, regret %.1f\n", r.Norms[n], loss,
			last.Loss-loss)
	}
	for n, at := range r.MatterAt {
		fmt.Fprintf(w, "with C = %g and steps tuned for T the bound is below the loss from T = %.0f on\n", r.Norms[n],
			math.Ceil(at))
	}
	fmt.Fprintf(w, "assumption 2: %.2g %% of the kernels' losses are above 1, the largest is %.3g; the longest "+
		"theta_i is %.3g\n",
		100*r.Above, r.LargestLoss, r.LargestNorm)
	_, err := fmt.Fprintf(w, "the bound holds against the kernels' own functions with probability 1/2 from D = "+
		"%.0f on\n",
		math.Ceil(r.HoldsWith))
	return err
}
