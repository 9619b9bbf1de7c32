package demo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/wording"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/protocol/contract"
)

// columnsResult is what the demo found, as --json prints it. test_error is the share of wrong labels;
// a regression has test_rmse in its place. clear_* is the same algorithm in one process without
// privacy. rows_* are those that all parties have.
type columnsResult struct {
	Parties   []string `json:"parties"`
	RowsTrain int      `json:"rows_train"`
	RowsTest  int      `json:"rows_test"`
	Columns   []int    `json:"columns"` // feature columns of each party
	// how the rows that all parties have were found; none where all tables have the same rows
	Alignments []alignedRows `json:"alignments,omitempty"`
	Privacy    string        `json:"privacy"`
	// sealed: of the three that hold shares, the first is the label holder
	Keeper         string           `json:"keeper,omitempty"`
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
	Classes        int              `json:"classes,omitempty"` // of a classification
	TestError      float64          `json:"test_error"`
	TestRMSE       *float64         `json:"test_rmse,omitempty"`
	ClearError     float64          `json:"clear_error"`
	ClearAUC       *float64         `json:"clear_auc,omitempty"` // of two classes
	MajorityError  float64          `json:"majority_error"`
	TrainError     *float64         `json:"train_error,omitempty"`
	TrainSeconds   float64          `json:"train_seconds"` // from all connected to the model
	PredictSeconds float64          `json:"predict_seconds"`
	ClearSeconds   float64          `json:"clear_seconds"`
	TotalSeconds   float64          `json:"total_seconds"`
	Rounds         uint64           `json:"rounds"`
	Iterations     int              `json:"iterations"`
	BytesOut       map[string]int64 `json:"bytes_out"` // of the training, by party
	Openings       []jobs.Opened    `json:"openings"`
	Baselines      []trial.Baseline `json:"baselines,omitempty"`
	Audit          *audit.Report    `json:"audit"`
	// Figures are those of the test rows at the label holder.
	Figures *figures.Report `json:"figures,omitempty"`
	// say so where the optimum was not reached: of the training, and of the same in the clear
	NotConverged      string `json:"not_converged,omitempty"`
	ClearNotConverged string `json:"clear_not_converged,omitempty"`
}

// alignedRows says what an alignment of a table found.
type alignedRows struct {
	Name     string         `json:"name"`
	Table    string         `json:"table"`
	Rows     map[string]int `json:"rows"` // each party's
	Common   int            `json:"common"`
	Seconds  float64        `json:"seconds"`
	BytesOut int64          `json:"bytes_out"` // of the first party
}

// describe fills in what was asked for.
func (r *columnsResult) describe(d *columns) {
	p := d.params
	r.Parties, r.RowsTrain, r.RowsTest = d.data.Names, d.data.Train[0].Rows(), d.data.Test[0].Rows()
	for _, t := range d.data.Train {
		r.Columns = append(r.Columns, len(t.Without(d.data.Label).Columns))
	}
	r.Privacy, r.Schedule, r.Loss, r.Kernel, r.Target = d.privacy(), p.Schedule, p.Loss, p.Kernel, p.Target
	r.Classes, r.Keeper, r.Helper = p.ClassCount(), p.Keeper, p.Helper
	if r.Privacy == fdskl.Masked {
		r.Aggregation = d.Aggregation
	}
	r.Lambda, r.Features, r.Topology = cmp.Or(r.Lambda, float64(p.Lambda)), p.Features, d.topology()
	if p.Target == joint.Regression {
		r.TestRMSE = &r.TestError
	}
	if !d.byKernels() {
		r.Schedule, r.Loss, r.Kernel, r.Lambda, r.Features = "", "", "", 0, 0
	}
}

// print prints the comparison for people, or one JSON object.
func (d *columns) print(dir string, a *audit.Report) error {
	d.result.Audit, d.result.TotalSeconds = a, time.Since(d.begun).Seconds()
	if d.JSON {
		return terminal.JSON(d.Out, &d.result)
	}
	err := errors.Join(d.printResult(), printAudit(d.Out, a), d.printComparison(), d.printTraffic())
	if err == nil && d.Verbose {
		err = errors.Join(d.printAlignments(), d.printFigures(), d.printLearned())
	}
	if err != nil {
		return err
	}
	if !d.Verbose {
		fmt.Fprintln(d.Out, "--verbose shows all figures, and in words what each party learned")
	}
	if d.Dir != "" {
		terminal.Sentence(d.Out, "", fmt.Sprintf("everything is in %s: key files, charter, tables, logs, model parts, and "+
			"the audit's report in audit.html", dir))
	}
	return nil
}

// printResult prints in a sentence what the demo came to: it stands first.
func (d *columns) printResult() error {
	r := &d.result
	says := fmt.Sprintf("Hanse: %.4g %% of %d test rows wrong", 100*r.TestError, r.RowsTest)
	guessing := fmt.Sprintf("%.4g %% by guessing", 100*r.MajorityError)
	pooled := fmt.Sprintf("%.4g %% with all columns in one place", 100*r.ClearError)
	if r.TestRMSE != nil {
		says = fmt.Sprintf("Hanse: RMSE %.4f of %d test rows", r.TestError, r.RowsTest)
		guessing, pooled = fmt.Sprintf("%.4f by guessing", r.MajorityError),
			fmt.Sprintf("%.4f with all columns in one place", r.ClearError)
	}
	home := "nobody's columns left home"
	if r.Privacy == fdskl.Published {
		home = "by the published protocol, which gives columns away"
	}
	rarer, rare := 0, false
	if r.Figures != nil {
		rarer, rare = r.Figures.Rarer()
	}
	if rare {
		says += fmt.Sprintf(", AUC %.4f", r.Figures.Binary.AUC.Value)
	}
	says = wording.Wrap(wording.Columns, "", fmt.Sprintf("%s, and %s. %s, %s.", says, home, guessing, pooled))
	if rare {
		says += wording.Wrap(wording.Columns, "", fmt.Sprintf("%.3g %% of these rows are of the rarer class: guessing the "+
			"other is right so often that the error says little. Look at the AUC.",
			100*float64(rarer)/float64(r.Figures.Binary.Rows)))
	}
	switch alone := r.asGoodAlone(rare); {
	case rarer > 0 && rarer < fewRows: // so few that nobody is told apart
		says += wording.Wrap(wording.Columns, "", fmt.Sprintf("The rarer class has %s only: these figures are rough.",
			wording.Count(rarer, "test row")))
	case alone != "":
		says += wording.Wrap(wording.Columns, "", alone)
	}
	_, err := fmt.Fprintf(d.Out, "\n%s", says)
	return err
}

// fewRows is below how many rows of the rarer class figures are rough.
const fewRows = 20

// asGoodAlone says which party's columns alone do as well as all, the best of them, and how well: by the error, or
// where that says little by the AUC; "" where none do.
func (r *columnsResult) asGoodAlone(rare bool) string {
	var best *trial.Baseline
	for i := range r.Baselines {
		b := &r.Baselines[i]
		switch {
		case b.Party == "":
		case rare && b.AUC != nil && *b.AUC >= r.Figures.Binary.AUC.Value && (best == nil || *b.AUC > *best.AUC),
			!rare && b.Error <= r.TestError && (best == nil || b.Error < best.Error):
			best = b
		}
	}
	if best == nil {
		return ""
	}
	how := fmt.Sprintf("%.4g %% wrong", 100*best.Error)
	switch {
	case rare:
		how = fmt.Sprintf("AUC %.4f", *best.AUC)
	case r.TestRMSE != nil:
		how = fmt.Sprintf("RMSE %.4f", best.Error)
	}
	return fmt.Sprintf("%s's columns alone do as well: %s. The others' add nothing here.", best.Party, how)
}

// printAudit prints the lines that say what an audit found.
func printAudit(w io.Writer, a *audit.Report) error {
	return render.Headline(terminal.Painted(w), a)
}

// printAlignments prints how many rows each party has, and how many are common to all.
func (d *columns) printAlignments() error {
	if len(d.result.Alignments) == 0 {
		return nil
	}
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\ntable\t%s\tcommon to all\tseconds\n", strings.Join(d.result.Parties, "\t"))
	for _, a := range d.result.Alignments {
		fmt.Fprintf(w, "%s\t", a.Table)
		for _, name := range d.result.Parties {
			fmt.Fprintf(w, "%d\t", a.Rows[name])
		}
		fmt.Fprintf(w, "%d\t%.2f\n", a.Common, a.Seconds)
	}
	return w.Flush()
}

// printComparison prints one line for each model: of two classes with the AUC.
func (d *columns) printComparison() error {
	r := &d.result
	measure := "test error"
	if r.TestRMSE != nil {
		measure = "test RMSE"
	}
	var area, guess *float64
	if r.Figures != nil && r.Figures.Binary != nil && r.Figures.Binary.AUC != nil {
		area, guess = &r.Figures.Binary.AUC.Value, new(float64)
		*guess = 0.5
		measure += "\tAUC"
	}
	w := wording.NewTable(d.Out, "")
	line := func(name string, wrong float64, auc *float64, seconds string) {
		fmt.Fprintf(w, "%s\t%.4f\t", name, wrong)
		switch {
		case area == nil: // no column
		case auc == nil:
			fmt.Fprint(w, "-\t")
		default:
			fmt.Fprintf(w, "%.4f\t", *auc)
		}
		fmt.Fprintln(w, seconds)
	}
	fmt.Fprintf(w, "\nmodel\t%s\tseconds\n", measure)
	line("guessing", r.MajorityError, guess, "")
	seconds := func(s float64) string { return fmt.Sprintf("%.2f", s) }
	var short []string // which models are not at their optimum
	ended := func(name, notConverged string) {
		if notConverged != "" {
			short = append(short, name+": "+notConverged)
		}
	}
	for _, b := range r.Baselines {
		line(b.Name, b.Error, b.AUC, seconds(b.Seconds))
		ended(b.Name, b.NotConverged)
	}
	if len(r.Baselines) == 0 {
		const pooled = "all columns pooled in the clear"
		line(pooled, r.ClearError, r.ClearAUC, seconds(r.ClearSeconds))
		ended(pooled, r.ClearNotConverged)
	}
	name := "Hanse, nobody's columns left home"
	if r.Privacy == fdskl.Published {
		name = "Hanse, the published protocol: columns leak"
	}
	line(name, r.TestError, area, seconds(r.TrainSeconds))
	ended("Hanse", r.NotConverged)
	err := w.Flush()
	for _, s := range short {
		terminal.Sentence(d.Out, "", s)
	}
	return err
}

// printFigures prints the figures of the test rows.
func (d *columns) printFigures() error {
	r := d.result.Figures
	if r == nil {
		return nil
	}
	fmt.Fprintln(d.Out)
	return r.WriteShort(d.Out)
}

// printTraffic prints what each party was, and how much it sent and learned in the training.
func (d *columns) printTraffic() error {
	r := &d.result
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\nparty\trole\tsent\tlearned in training\n")
	for _, name := range r.Parties {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, r.role(name), wording.Size(r.BytesOut[name]), r.counted(name))
	}
	return w.Flush()
}

// manyNumbers is from how many numbers of a kind on a party may have learned of rows, and not of all rows together.
const manyNumbers = 100

// counted says how much a party learned.
func (r *columnsResult) counted(name string) string {
	var many []string
	few := int64(0)
	for _, o := range r.Openings {
		switch {
		case o.Party != name || o.Kind == contract.KindRowset:
		case o.Count < manyNumbers:
			few += o.Count
		default:
			many = append(many, fmt.Sprintf("%d %s", o.Count, o.Kind))
		}
	}
	if few > 0 {
		many = append(many, wording.Count(few, "number"))
	}
	return cmp.Or(strings.Join(many, ", "), "nothing but sizes and timing")
}

// printLearned prints in words what each party learned in the training.
func (d *columns) printLearned() error {
	r := &d.result
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\nparty\tlearned in training\n")
	for _, name := range r.Parties {
		fmt.Fprintf(w, "%s\t%s\n", name, r.learned(name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	too := "each, too, that every party holds the same row ids"
	if len(r.Alignments) > 0 {
		too = fmt.Sprintf("each, too, before it: how many rows every party has, and which %d all have", r.RowsTrain)
	}
	if _, err := fmt.Fprintln(d.Out, too); err != nil || r.Privacy != fdskl.Sealed {
		return err
	}
	scores := fmt.Sprintf("%s learned the scores of the %d rows that it asked for, %d bits behind the point, and of the "+
		"training what stands above: ", r.Parties[0], r.RowsTest, d.params.ScoreBits)
	if d.params.Binned() {
		scores += "no column, and no bin of any row. hanse scorecard shows the card."
	} else {
		scores += fmt.Sprintf("no angle, no feature, no column. In masked mode (--privacy masked) %d x %d angles would have "+
			"opened to it, which give the others' columns away.", r.RowsTrain, d.params.Angles())
	}
	_, err := fmt.Fprintf(d.Out, "\n%s", wording.Wrap(wording.Columns, "", scores))
	return err
}

// learned says in words what a party learned, but for what the comparing of row ids tells all.
func (r *columnsResult) learned(name string) string {
	once := map[string]string{
		"distances": "a mean distance of rows", "width": "the kernel's width",
		"bound":      "how alike rows are, by its order of magnitude",
		"reach":      "how alike rows are, by its order of magnitude",
		"lambda":     "which lambda was chosen",
		"validation": "which lambda is best",
	}
	var all []string
	for _, o := range r.Openings {
		switch {
		case o.Party != name || o.Kind == contract.KindRowset:
		case o.Count == 1 && once[o.Kind] != "":
			all = append(all, once[o.Kind])
		case o.Kind == "check":
			all = append(all, fmt.Sprintf("%d numbers that check the steps", o.Count))
		case o.Kind == "progress", o.Kind == "pace":
			all = append(all, "whether another step follows")
		default:
			all = append(all, fmt.Sprintf("%d %s", o.Count, o.Kind))
		}
	}
	if len(all) == 0 {
		return "nothing but sizes and timing"
	}
	return strings.Join(all, ", ")
}

// role says what a party was in the training.
func (r *columnsResult) role(name string) string {
	switch name {
	case r.Parties[0]:
		return "label holder"
	case r.Keeper:
		return "keeper"
	case r.Helper:
		return "helper"
	}
	return "passive"
}
