// Package pofmkl repeats the experiments of the POF-MKL paper: its tables 1 to 3, its figures, and its theorems'
// bounds.
package pofmkl

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab"
)

// What the paper ran: how many rows each client has, T, and how often the features were drawn.
const (
	Rounds = 500
	Draws  = 20
)

// Report is what the command prints with --json. Errors are in units of 1e-3, for labels from 0 to 1.
type Report struct {
	Machine  string  `json:"machine"`
	Set      string  `json:"set"`
	Clients  int     `json:"clients"`
	Columns  int     `json:"columns"`
	Rounds   int     `json:"rounds"`
	Draws    int     `json:"draws"`
	Seconds  float64 `json:"seconds"`
	Bound    float64 `json:"theorem_1_bound"` // of a client's regret
	Rows     []Row   `json:"rows"`
	Explored []Row   `json:"xi"`
	Common   []Row   `json:"common_bins"` // in pairs: Algorithm 2, a common bin
}

// Row is one algorithm with its sizes, over all draws.
type Row struct {
	Algorithm string  `json:"algorithm"`
	Chosen    int     `json:"m,omitempty"`
	Features  int     `json:"d,omitempty"`
	Explore   float64 `json:"explore,omitempty"`
	Common    bool    `json:"common_bin,omitempty"`
	Step      float64 `json:"step,omitempty"` // 0: the default
	Carried   bool    `json:"weights_carried_over"`

	Mean      float64        `json:"mse_mean"`
	Deviation float64        `json:"mse_sd"` // over draws
	Paper     *lab.Published `json:"paper_mse,omitempty"`
	Spec      *lab.Published `json:"spec_mse,omitempty"`
	Verdict   string         `json:"verdict"`

	Regret      *lab.Measured  `json:"regret,omitempty"` // over clients, mean over draws
	PaperRegret *lab.Published `json:"paper_regret,omitempty"`

	Words     int `json:"words_masked,omitempty"`    // 2ND, or 2MD with a common bin, of one client and round
	OpenWords int `json:"words_published,omitempty"` // 2MD

	// RunSeconds is the processor time of one client over all rounds, the server's part shared out, alone in this
	// process; 0 where it was not measured. PaperSeconds is what Table 1 calls run time.
	RunSeconds   float64 `json:"run_seconds,omitempty"`
	PaperSeconds float64 `json:"paper_run_seconds,omitempty"`

	errors  []float64 // [T], the mean squared error of the rounds so far
	regrets []float64 // [T], the mean over clients
}

// Options are the choices of Run.
type Options struct {
	Set      string
	Data     string
	Draws    int
	XiDraws  int
	CPU      float64
	BinDraws int
	Rounds   int
}

// Run repeats the experiments on one set.
func Run(ctx context.Context, run lab.Run, o Options) error {
	rounds, draws, explored, cpu := o.Rounds, o.Draws, o.XiDraws, o.CPU
	common := o.BinDraws
	switch {
	case rounds < 1 || rounds > Rounds:
		return fmt.Errorf("--rounds is %d, want 1 to %d", rounds, Rounds)
	case draws < 1:
		return fmt.Errorf("--draws is %d, want at least 1", draws)
	case explored < 0:
		return fmt.Errorf("--xi-draws is %d, want at least 0", explored)
	case !(cpu >= 0 && cpu <= 3600):
		return fmt.Errorf("--cpu is %v, want 0 to 3600 seconds", cpu)
	case common < 0:
		return fmt.Errorf("--bin-draws is %d, want at least 0", common)
	}
	set, err := ReadSet(o.Set, o.Data)
	if err != nil {
		return err
	}
	start := time.Now()
	p := pofmkl.Params{Rounds: rounds}.WithDefaults()
	report := Report{
		Machine: lab.Machine(), Set: set.name, Clients: len(set.Rows), Columns: len(set.columns),
		Rounds: rounds, Draws: draws,
		Bound: theoremOne(p, rounds),
	}
	bench := bench{set: set, rounds: rounds, log: run.Log, workers: runtime.GOMAXPROCS(0)}
	bins := commonPlans(common, rounds, len(set.Rows))
	groups, err := bench.measure(ctx, plansOf(set.name, draws), explorePlans(explored), bins)
	if err != nil {
		return err
	}
	report.Rows, report.Explored, report.Common = groups[0], groups[1], groups[2]
	if cpu > 0 {
		if err := bench.timeRows(ctx, report.Rows, cpu); err != nil {
			return err
		}
	}
	report.Seconds = time.Since(start).Seconds()
	return run.Report(&report)
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s: %d clients, %d inputs, %d rounds, %d draws of the features, %.0f s\n", r.Machine, r.Set,
		r.Clients, r.Columns, r.Rounds, r.Draws, r.Seconds)
	fmt.Fprintf(w, "mean squared errors in units of 1e-3: mean ± deviation over draws\n\n")
	if err := errorTable(r.Rows).Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nregret of a client by equation 11: mean ± deviation over clients; Theorem 1's bound is "+
		"%.1f\n\n", r.Bound)
	if err := regretTable(r.Rows).Write(w); err != nil {
		return err
	}
	if r.Rows[0].RunSeconds > 0 {
		fmt.Fprintf(w, "\nprocessor time of a client; the paper's is of an Intel Core i7-10510U\n\n")
		if err := timeTable(r.Rows, r.Rounds).Write(w); err != nil {
			return err
		}
	}
	if len(r.Explored) > 0 {
		fmt.Fprintf(w, "\nPOF-MKL with other exploration rates\n\n")
		if err := exploreTable(r.Explored).Write(w); err != nil {
			return err
		}
	}
	if len(r.Common) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nPOF-MKL with one bin of kernels for all clients of a round\n\n")
	return commonTable(r.Common).Write(w)
}
