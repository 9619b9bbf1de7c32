package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/report"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/trial"
)

// demoResult is what the demo found, as --json prints it. test_error is the share of wrong labels;
// a regression has test_rmse in its place. clear_* is the same algorithm in one process without
// privacy.
type demoResult struct {
	Parties        []string         `json:"parties"`
	RowsTrain      int              `json:"rows_train"`
	RowsTest       int              `json:"rows_test"`
	Columns        []int            `json:"columns"` // feature columns of each party
	Privacy        string           `json:"privacy"`
	Keeper         string           `json:"keeper,omitempty"` // sealed: of the three that hold shares, the first is the label holder
	Helper         string           `json:"helper,omitempty"`
	Aggregation    string           `json:"aggregation,omitempty"` // what protects the sums of a masked training
	Schedule       string           `json:"schedule"`
	Loss           string           `json:"loss"`
	Kernel         string           `json:"kernel"`
	Sigma          float64          `json:"sigma"`
	Lambda         float64          `json:"lambda"`
	Features       int              `json:"features"`
	Topology       string           `json:"topology"`
	Target         string           `json:"target"`
	TestError      float64          `json:"test_error"`
	TestRMSE       *float64         `json:"test_rmse,omitempty"`
	ClearError     float64          `json:"clear_error"`
	MajorityError  float64          `json:"majority_error"`
	TrainError     *float64         `json:"train_error,omitempty"`
	TrainSeconds   float64          `json:"train_seconds"` // from all connected to the model
	PredictSeconds float64          `json:"predict_seconds"`
	ClearSeconds   float64          `json:"clear_seconds"`
	TotalSeconds   float64          `json:"total_seconds"`
	Rounds         uint64           `json:"rounds"`
	Iterations     int              `json:"iterations"`
	BytesOut       map[string]int64 `json:"bytes_out"` // of the training, by party
	Openings       []node.Opened    `json:"openings"`
	Baselines      []trial.Baseline `json:"baselines,omitempty"`
	Audit          *audit.Report    `json:"audit"`
}

// addTraining takes over the proposer's report.
func (r *demoResult) addTraining(report *node.Report) {
	r.TrainSeconds, r.Rounds, r.Sigma = report.Seconds, report.Rounds, report.Sigma
	if report.Trained != nil {
		r.TrainError, r.Iterations = report.Trained.TrainError, report.Trained.Iterations
	}
}

// addParty takes over what one party's node says.
func (r *demoResult) addParty(report *node.Report) {
	if r.BytesOut == nil {
		r.BytesOut = make(map[string]int64)
	}
	r.BytesOut[report.Party] = report.BytesOut
	r.Openings = append(r.Openings, report.Openings...)
}

// describe fills in what was asked for.
func (r *demoResult) describe(d *demo) {
	p := d.params
	r.Parties, r.RowsTrain, r.RowsTest = d.data.Names, d.data.Train[0].Rows(), d.data.Test[0].Rows()
	for _, t := range d.data.Train {
		r.Columns = append(r.Columns, len(t.Without(d.data.Label).Columns))
	}
	r.Privacy, r.Schedule, r.Loss, r.Kernel, r.Target = privacyOf(d.c), p.Schedule, p.Loss, p.Kernel, p.Target
	r.Keeper, r.Helper = p.Keeper, p.Helper
	if r.Privacy == fdskl.Masked {
		r.Aggregation = d.c.String("aggregation")
	}
	r.Lambda, r.Features, r.Topology = p.Lambda, p.Features, d.c.String("topology")
	if p.Target == fdskl.Regression {
		r.TestRMSE = &r.TestError
	}
}

// print ends the demo: the comparison for people, or one JSON object.
func (d *demo) print(dir string) error {
	d.result.TotalSeconds = time.Since(d.begun).Seconds()
	if d.c.Bool("json") {
		return printJSON(d.c, &d.result)
	}
	if err := d.printComparison(); err != nil {
		return err
	}
	if err := d.printTraffic(); err != nil {
		return err
	}
	fmt.Fprintf(d.c.App.Writer, "\naudit of the training, %.1f s\n", d.result.Audit.Seconds)
	if err := report.Headline(d.c.App.Writer, d.result.Audit); err != nil {
		return err
	}
	if d.c.String("dir") != "" {
		fmt.Fprintf(d.c.App.Writer, "\neverything is in %s: key files, charter, tables, logs, model parts, and the audit's report in audit.html\n", dir)
	}
	return nil
}

// printComparison prints one line for each model.
func (d *demo) printComparison() error {
	r := &d.result
	measure := "test error"
	if r.TestRMSE != nil {
		measure = "test RMSE"
	}
	w := tabwriter.NewWriter(d.c.App.Writer, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nmodel\t%s\tseconds\n", measure)
	fmt.Fprintf(w, "guessing\t%.4f\t\n", r.MajorityError)
	for _, b := range r.Baselines {
		fmt.Fprintf(w, "%s\t%.4f\t%.2f\n", b.Name, b.Error, b.Seconds)
	}
	if len(r.Baselines) == 0 {
		fmt.Fprintf(w, "all columns pooled in the clear\t%.4f\t%.2f\n", r.ClearError, r.ClearSeconds)
	}
	name := "Hanse, nobody's columns left home"
	if r.Privacy == fdskl.Published {
		name = "Hanse, the published protocol: columns leak"
	}
	fmt.Fprintf(w, "%s\t%.4f\t%.2f\n", name, r.TestError, r.TrainSeconds)
	return w.Flush()
}
