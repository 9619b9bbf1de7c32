package gfml

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/plot"
	"github.com/hanse-project/hanse/lab/table"
)

// MeanReport is what the command prints with --json.
type MeanReport struct {
	Machine    string      `json:"machine"`
	Runs       int         `json:"runs"`
	Iterations int         `json:"iterations"`
	Samples    int         `json:"samples"`
	Seconds    float64     `json:"seconds"`
	Curves     []MeanCurve `json:"curves"`
}

// MeanCurve is one case: test errors in dB after every every iterations.
type MeanCurve struct {
	Name    string    `json:"name"`
	Runs    []float64 `json:"runs_db"`    // the mean of the runs' errors
	Model   []float64 `json:"model_db"`   // of the mean of the runs' models
	Fresh   []float64 `json:"fresh_db"`   // of the mean of the models of runs with independent rows
	Exact   []float64 `json:"exact_db"`   // of Algorithm 1's predicted mean
	Printed []float64 `json:"printed_db"` // of equation 18's
}

// MeanOptions are the choices of RunMean.
type MeanOptions struct {
	Runs       int
	Iterations int
	Samples    int
}

// RunMean makes all runs and predictions and reports.
func RunMean(ctx context.Context, run lab.Run, o MeanOptions) error {
	r := &MeanReport{Machine: lab.Machine(), Runs: o.Runs, Iterations: o.Iterations,
		Samples: o.Samples}
	if r.Runs < 1 || r.Iterations < every || r.Samples < 1 {
		return fmt.Errorf("--runs is %d, --iterations %d and --samples %d, want at least 1, %d and 1", r.Runs,
			r.Iterations,
			r.Samples, every)
	}
	start := time.Now()
	if err := r.measure(ctx, run.Log); err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	return run.Report(r)
}

// meanSettings are the cases without and with coordinated sharing.
func meanSettings() []setting { return settings()[caseWhole:caseUn40] }

// measure makes the runs of all cases and the predictions.
func (r *MeanReport) measure(ctx context.Context, log io.Writer) error {
	cases := meanSettings()
	var plans []*gfml.Plan
	var clusters []int
	for _, c := range cases {
		params, parties, of := sectionIV(c, 1, r.Iterations)
		plan, err := gfml.NewPlan(params, parties)
		if err != nil {
			return err
		}
		plans, clusters = append(plans, plan), of
	}
	features, d := plans[0].Features(), plans[0].Params().Features
	laws, err := newWorld(1, clusters, features, d)
	if err != nil {
		return err
	}
	errors, models, err := r.runAll(ctx, laws, features, false, log)
	if err != nil {
		return err
	}
	_, fresh, err := r.runAll(ctx, laws, features, true, log)
	if err != nil {
		return err
	}
	moments, err := laws.moments(features, d, r.Samples)
	if err != nil {
		return err
	}
	for i, c := range cases {
		curve := MeanCurve{Name: c.name}
		for at := range errors[i] {
			curve.Runs = append(curve.Runs, decibels(errors[i][at]))
			curve.Model = append(curve.Model, decibels(laws.errorOf(models[i][at])))
			curve.Fresh = append(curve.Fresh, decibels(laws.errorOf(fresh[i][at])))
		}
		if curve.Exact, err = r.predict(ctx, plans[i], laws, moments, false); err != nil {
			return err
		}
		if curve.Printed, err = r.predict(ctx, plans[i], laws, moments, true); err != nil {
			return err
		}
		fmt.Fprintf(log, "%s: predicted\n", c.name)
		r.Curves = append(r.Curves, curve)
	}
	return nil
}

// runAll runs all cases on the same rows, so many times, and returns the mean test errors, [case][point], and the
// servers' mean models, [case][point][server]. Rows follow on one another as the paper's streams do, or, fresh, are
// independent as assumption 3 has them.
func (r *MeanReport) runAll(
	ctx context.Context, laws *world, features *gfml.Features, fresh bool, log io.Writer,
) (errors [][]float64, models [][][][]float64, err error) {
	points := r.Iterations / every
	for range meanSettings() {
		errors, models = append(errors, make([]float64, points)), append(models, make([][][]float64, points))
	}
	for run := range r.Runs {
		bench := simulation{iterations: r.Iterations}
		federations, _, err := bench.federations(meanSettings(), uint64(run+1))
		if err != nil {
			return nil, nil, err
		}
		world := laws.again(uint64(run + 1))
		world.fresh = fresh
		for n := range r.Iterations {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			if err := world.next(features); err != nil {
				return nil, nil, err
			}
			for i, f := range federations {
				if err := f.Step(n, world.round()); err != nil {
					return nil, nil, fmt.Errorf("run %d, %s: %w", run+1, meanSettings()[i].name, err)
				}
				if (n+1)%every != 0 {
					continue
				}
				at := n / every
				errors[i][at] += world.testError(f) / float64(r.Runs)
				for s, server := range f.Servers {
					model := server.Model()
					if run == 0 {
						models[i][at] = append(models[i][at], make([]float64, len(model)))
					}
					for e, v := range model {
						models[i][at][s][e] += v / float64(r.Runs)
					}
				}
			}
		}
		fmt.Fprintf(log, "run %d of %d\n", run+1, r.Runs)
	}
	return errors, models, nil
}

// predict returns the test errors of the predicted mean models, in dB.
func (r *MeanReport) predict(
	ctx context.Context, plan *gfml.Plan, laws *world, moments [][]gfml.Moments, apart bool,
) ([]float64, error) {
	mean, err := plan.NewMean(moments, apart)
	if err != nil {
		return nil, err
	}
	var curve []float64
	for n := range r.Iterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mean.Step(n)
		if (n+1)%every != 0 {
			continue
		}
		var models [][]float64
		for s := range plan.Servers() {
			models = append(models, mean.Server(s))
		}
		curve = append(curve, decibels(laws.errorOf(models)))
	}
	return curve, nil
}

// again is a world of the same laws and test rows with other rows.
func (w *world) again(run uint64) *world {
	other := &world{tests: w.tests}
	for s := range w.streams {
		other.streams, other.z = append(other.streams, nil), append(other.z, nil)
		other.y = append(other.y, make([]float64, len(w.y[s])))
		for k, like := range w.streams[s] {
			stream := *like
			stream.draw = rand.New(rand.NewPCG(^run, uint64(s*serverClients+k)))
			stream.start()
			other.streams[s], other.z[s] = append(other.streams[s], &stream), append(other.z[s], make([]float64,
				len(w.z[s][k])))
		}
	}
	return other
}

// moments estimates every client's from so many rows that do not hang together.
func (w *world) moments(features *gfml.Features, d, samples int) ([][]gfml.Moments, error) {
	z, y := make([][]float64, samples), make([]float64, samples)
	for i := range z {
		z[i] = make([]float64, d)
	}
	var all [][]gfml.Moments
	for s := range w.streams {
		all = append(all, nil)
		for k, like := range w.streams[s] {
			stream := *like
			stream.draw = rand.New(rand.NewPCG(1<<32, uint64(s*serverClients+k)))
			for i := range z {
				stream.start()
				var x []float64
				x, y[i] = stream.next()
				if err := features.Map(z[i], x); err != nil {
					return nil, err
				}
			}
			all[s] = append(all[s], gfml.MomentsOf(z, y))
		}
	}
	return all, nil
}

// errorOf returns the mean squared error of the servers' models on their test rows (equation 21).
func (w *world) errorOf(models [][]float64) float64 {
	sum := 0.0
	for s, t := range w.tests {
		sum += t.meanSquaredError(models[s]) / float64(len(w.tests))
	}
	return sum
}

// Gap is the largest difference of two curves in dB.
func Gap(a, b []float64) float64 {
	most := 0.0
	for i, v := range a {
		most = max(most, math.Abs(v-b[i]))
	}
	return most
}

// Print prints the report for people.
func (r *MeanReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d runs of %d iterations, moments from %d rows of each client, %.0f s; test error in dB\n\n",
		r.Machine, r.Runs, r.Iterations, r.Samples, r.Seconds)
	t := table.New("", "n", "runs", "mean model", "rows independent", "predicted", "equation 18")
	for _, c := range r.Curves {
		for _, n := range []int{50, 200, 500, 1000, 3000} {
			at := n/every - 1
			if n > r.Iterations {
				break
			}
			cells := []string{c.Name, fmt.Sprint(n)}
			for _, curve := range [][]float64{c.Runs, c.Model, c.Fresh, c.Exact, c.Printed} {
				cells = append(cells, fmt.Sprintf("%.2f", curve[at]))
			}
			t.Add(cells...)
		}
	}
	if err := t.Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nat most, the prediction is off the mean model by\n\n")
	t = table.New("dB", "streams", "independent", "equation 18", "independent")
	for _, c := range r.Curves {
		cells := []string{c.Name}
		for _, predicted := range [][]float64{c.Exact, c.Printed} {
			cells = append(cells, fmt.Sprintf("%.2f", Gap(predicted, c.Model)), fmt.Sprintf("%.2f", Gap(predicted,
				c.Fresh)))
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

// Draw draws a panel for each case.
func (r *MeanReport) Draw(folder string) error {
	var panels []*plot.Panel
	for _, c := range r.Curves {
		p := plot.New(c.Name, "iteration", "test error, dB")
		p.Y.Tick.Marker = plot.EveryTwo{}
		p.Legend(plot.Place{})
		for _, of := range []struct {
			name   string
			curve  []float64
			color  int
			dashes plot.Dashes
		}{
			{fmt.Sprintf("%d runs", r.Runs), c.Runs, 0, plot.Solid}, {"rows independent", c.Fresh, 2, plot.Solid},
			{"predicted, Algorithm 1", c.Exact, 1, plot.Dashed}, {"predicted, equation 18", c.Printed, 5,
				plot.Dashed},
		} {
			var xy plot.Points
			for at, v := range of.curve {
				xy = append(xy, plot.Point{X: float64((at + 1) * every), Y: v})
			}
			p.Line(of.name, xy, plot.Style{Color: plot.Tint(of.color), Dashes: of.dashes})
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(r.Iterations), -13, 1
		panels = append(panels, p)
	}
	return plot.Save(folder, "gfml-mean", plot.Rows(panels, 2), 10, 7)
}
