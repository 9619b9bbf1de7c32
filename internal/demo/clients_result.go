package demo

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/internal/wording"
)

// clientsResult is what the demo of an algorithm over clients' streams found, as --json prints it. Mean
// squared errors, in squares of the range of labels where a job states one, are times 1000; where labels are classes
// there are accuracies in
// their place, in %. clear_* is the same learning in one
// process, in the clear; alone_* every client by itself.
type clientsResult struct {
	Algorithm       string   `json:"algorithm"`
	Servers         []string `json:"servers"`
	Clients         []string `json:"clients"`
	Privacy         string   `json:"privacy"`
	Aggregation     string   `json:"aggregation,omitempty"`
	Rounds          int      `json:"rounds"`
	LastClients     []int    `json:"last_clients"`       // in each server's latest total
	MSE             *float64 `json:"mse,omitempty"`      // x 1000, mean over clients
	MSESD           *float64 `json:"mse_sd,omitempty"`   // x 1000, over clients
	Accuracy        *float64 `json:"accuracy,omitempty"` // in %, mean over clients
	AccuracySD      *float64 `json:"accuracy_sd,omitempty"`
	Regret          *float64 `json:"regret,omitempty"`
	ClearMSE        *float64 `json:"clear_mse,omitempty"`
	ClearMSESD      *float64 `json:"clear_mse_sd,omitempty"`
	ClearAccuracy   *float64 `json:"clear_accuracy,omitempty"`
	ClearAccuracySD *float64 `json:"clear_accuracy_sd,omitempty"`
	// largest difference of a prediction from that in one process
	ClearApart      *float64       `json:"clear_apart,omitempty"`
	AloneMSE        *float64       `json:"alone_mse,omitempty"`
	AloneMSESD      *float64       `json:"alone_mse_sd,omitempty"`
	AloneAccuracy   *float64       `json:"alone_accuracy,omitempty"`
	AloneAccuracySD *float64       `json:"alone_accuracy_sd,omitempty"`
	Fixed           *fixedResult   `json:"fixed,omitempty"`
	Budgets         []budgetResult `json:"budgets,omitempty"`
	// mean squared error by iteration, over clients and the iterations before
	Curve         []float64 `json:"curve_db,omitempty"`
	AccuracyCurve []float64 `json:"curve_accuracy,omitempty"` // the same of accuracy, in %
	BytesDown     float64   `json:"bytes_down"`               // to a client, a round
	BytesUp       float64   `json:"bytes_up"`                 // from a client, a round
	BytesBetween  float64   `json:"bytes_between"`            // of servers to each other, all of them, a round
	PaperDown     float64   `json:"paper_bytes_down"`         // as the paper counts
	PaperUp       float64   `json:"paper_bytes_up"`
	// bytes of models, or under masks, from a server to others, a round
	ModelsBetween float64       `json:"models_between,omitempty"`
	PaperBetween  float64       `json:"paper_models_between,omitempty"` // as the paper counts
	TrainSeconds  float64       `json:"train_seconds"`
	TotalSeconds  float64       `json:"total_seconds"`
	Sessions      uint32        `json:"sessions"`
	Openings      []jobs.Opened `json:"openings"`
	Audit         *audit.Report `json:"audit"`

	measure                       measure
	job                           figure
	clear, alone                  *figure // nil: not asked for
	curve, clearCurve, aloneCurve []float64
}

// curveWindow is over how many iterations the learning curve is smoothed: a tenth of them, 50 at most.
func curveWindow(rounds int) int { return max(1, min(50, rounds/10)) }

// describe fills in what was asked for and what came of it.
func (r *clientsResult) describe(d *clients, score *online.Score) {
	r.Algorithm, r.Privacy, r.Rounds = d.Algorithm, d.privacy(), d.learning.Rounds()
	r.Servers, r.Clients = d.federation.Servers, d.federation.AllClients()
	if r.Privacy == fdskl.Masked {
		r.Aggregation = d.Aggregation
	}
	r.measure, r.job, r.curve = d.measure, d.measure.of(score), d.measure.curve(score.Curve, curveWindow(r.Rounds))
	d.measure.put(r.job, &r.MSE, &r.MSESD, &r.Accuracy, &r.AccuracySD)
	d.measure.putCurve(r.curve, &r.Curve, &r.AccuracyCurve)
	if !math.IsNaN(score.Regret) {
		r.Regret = &score.Regret
	}
	r.PaperDown, r.PaperUp = d.learning.PaperBytes()
	if sensors, ok := d.learning.(*online.Sensors); ok {
		r.PaperBetween = sensors.PaperBetween()
		for _, name := range r.Servers {
			for _, e := range d.reported[name].Egress {
				if slices.Contains([]string{gfml.KindPsi, gfml.KindPsiPrime, gfml.KindDiffusion}, e.Kind) {
					r.ModelsBetween += float64(e.Bytes) / float64(r.Rounds*len(r.Servers))
				}
			}
		}
	}
	first := d.reported[r.Servers[0]]
	r.TrainSeconds, r.Sessions = first.Seconds, first.Sessions
	for _, name := range r.Servers {
		clients := 0
		if o := d.reported[name].Online; o != nil {
			clients = o.Clients
		}
		r.LastClients = append(r.LastClients, clients)
	}
	for _, name := range d.network.Names {
		r.Openings = append(r.Openings, d.reported[name].Openings...)
	}
	times := float64(r.Rounds * len(r.Clients))
	for _, name := range r.Clients {
		r.BytesDown += float64(d.reported[name].BytesIn) / times
		r.BytesUp += float64(d.reported[name].BytesOut) / times
	}
	for _, name := range r.Servers {
		r.BytesBetween += float64(d.reported[name].BytesOut) / float64(r.Rounds)
	}
	r.BytesBetween = max(0, r.BytesBetween-r.BytesDown*float64(len(r.Clients))) // what servers send and no client gets
}

// compare sets the other ways of learning beside it.
func (r *clientsResult) compare(d *clients, together, alone *online.Outcome) error {
	open, err := d.federation.Score(together)
	if err != nil {
		return err
	}
	single, err := d.federation.Score(alone)
	if err != nil {
		return err
	}
	clear, lone, window := d.measure.of(open), d.measure.of(single), curveWindow(r.Rounds)
	r.clear, r.alone = &clear, &lone
	d.measure.put(clear, &r.ClearMSE, &r.ClearMSESD, &r.ClearAccuracy, &r.ClearAccuracySD)
	d.measure.put(lone, &r.AloneMSE, &r.AloneMSESD, &r.AloneAccuracy, &r.AloneAccuracySD)
	r.clearCurve, r.aloneCurve = d.measure.curve(open.Curve, window), d.measure.curve(single.Curve, window)
	if d.trial.Exact { // elsewhere clients draw for themselves, at random
		largest := online.Apart(d.outcome, together)
		r.ClearApart = &largest
	}
	return nil
}

// print prints the comparison for people, or one JSON object.
func (d *clients) print(dir string, a *audit.Report) error {
	r := &d.result
	r.Audit, r.TotalSeconds = a, time.Since(d.begun).Seconds()
	if d.Dir != "" {
		err := writeCurves(filepath.Join(dir, "curve.svg"), d.measure.drawing, r.curves())
		if err = errors.Join(err, r.drawBudgets(dir)); err != nil {
			return err
		}
	}
	if d.JSON {
		return terminal.JSON(d.Out, r)
	}
	name := "nobody's rows left home"
	if r.Privacy == fdskl.Published {
		name = "the published protocol: the server sees every client's updates"
	}
	fmt.Fprintf(d.Out, "\n%s", wording.Wrap(wording.Columns, "", fmt.Sprintf("Hanse: %s %s over clients; %s",
		d.measure.title, r.job, name)))
	err := errors.Join(printAudit(d.Out, a), d.printErrors(), d.printBudgets(), d.printFigures(), d.printCurve())
	if err != nil || d.Dir == "" {
		return err
	}
	drawings := "the learning curve in curve.svg"
	if len(r.Budgets) > 0 {
		drawings = "the learning curves in curve.svg, those of budgets in budgets.svg and regret.svg"
	}
	fmt.Fprintln(d.Out)
	terminal.Sentence(d.Out, "", fmt.Sprintf("everything is in %s: key files, charter, streams, logs, predictions, %s, "+
		"and the audit's report in audit.html", dir, drawings))
	return nil
}

// printErrors prints one line for each way of learning.
func (d *clients) printErrors() error {
	r := &d.result
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\nlearning\t%s, over clients\n", d.measure.title)
	for _, c := range r.rivals() {
		fmt.Fprintf(w, "%s\t%s\n", c.name, c.how)
	}
	name := "Hanse, nobody's rows left home"
	if r.Privacy == fdskl.Published {
		name = "Hanse, the published protocol: the server sees every client's updates"
	}
	fmt.Fprintf(w, "%s\t%s\n", name, r.job)
	return w.Flush()
}

// rival is another way of learning.
type rival struct {
	name string
	how  string // well it does
}

// rivals lists the other ways of learning there are.
func (r *clientsResult) rivals() []rival {
	if r.alone == nil {
		return nil
	}
	alone, together := rival{"every client alone", r.alone.String()},
		rival{"together, in one process in the clear", r.clear.String()}
	f, b := r.Fixed, r.jobsBudget()
	if f == nil || b == nil {
		return []rival{alone, together}
	}
	alone.name = "every client alone, with networks that it got once"
	return []rival{
		{"one network for all, on average over the networks", fmt.Sprintf("%.2f", f.average)},
		{"one network for all, in hindsight " + f.Network + "'s", f.best.String()},
		alone, {"selected together, never fine-tuned", b.untuned.String()}, together,
	}
}

// printFigures prints what the job took.
func (d *clients) printFigures() error {
	r := &d.result
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\nrounds\t%d in %.1f s, %.0f ms each\n", r.Rounds, r.TrainSeconds,
		1e3*r.TrainSeconds/float64(r.Rounds))
	lastClients := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.LastClients)), ", "), "[]")
	fmt.Fprintf(w, "clients in the last total\t%s of %d\n", lastClients, len(r.Clients)/len(r.Servers))
	if r.Regret != nil {
		fmt.Fprintf(w, "regret against the best %s\t%.2f a client\n", d.trial.Rival, *r.Regret)
	}
	fmt.Fprintf(w, "to a client, a round\t%s, the paper counts %s\n", wording.Size(int64(r.BytesDown)),
		wording.Size(int64(r.PaperDown)))
	fmt.Fprintf(w, "from a client, a round\t%s, the paper counts %s\n", wording.Size(int64(r.BytesUp)),
		wording.Size(int64(r.PaperUp)))
	if r.PaperBetween > 0 {
		fmt.Fprintf(w, "models from a server to others, a round\t%s, the paper counts %s\n",
			wording.Size(int64(r.ModelsBetween)), wording.Size(int64(r.PaperBetween)))
	}
	if r.ClearApart != nil {
		fmt.Fprintf(w, "largest difference from one process\t%.1e in a prediction\n", *r.ClearApart)
	}
	return w.Flush()
}
