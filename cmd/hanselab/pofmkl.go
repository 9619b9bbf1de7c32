package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// What the paper ran: how many rows each client has, T, and how often the features were drawn.
const (
	pofmklRounds = 500
	pofmklDraws  = 20
)

// pofmklCommand repeats the experiments of the POF-MKL paper.
func pofmklCommand() *cli.Command {
	return &cli.Command{
		Name:  "pofmkl",
		Usage: "mean squared errors and regrets of POF-MKL and its baselines, beside the paper's",
		Description: `Repeats tables 1 to 3 and figures 1 and 2 of the POF-MKL paper in one process, in the
clear: every algorithm, with several draws of the random features, and the processor time
of a client. Its POF-MKL rows are
out of reach of its Algorithm 2; they come out if the clients' weights are carried over
from one draw to the next, and both are shown. So is what a common bin of kernels for all
clients of a round costs and saves.

   hanselab pofmkl --set air --data ../shared/data --draws 20 --plot docs
   hanselab pofmkl --set naval --data ../shared/data --draws 2 --json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "set", Required: true,
				Usage: "the `SET` to learn: air, naval, uji or wec; hanselab sets tells which are there"},
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.IntFlag{Name: "draws", Value: pofmklDraws, Usage: "`N` draws of the random features"},
			&cli.IntFlag{Name: "xi-draws", Value: 3, Usage: "`N` draws of the study of xi; 0 leaves it out"},
			&cli.Float64Flag{Name: "cpu", Value: 0.5, Usage: "time each row for `S` processor seconds at least; 0 leaves it out"},
			&cli.IntFlag{Name: "bin-draws", Value: 3, Usage: "`N` draws of the study of common bins; 0 leaves it out"},
			&cli.IntFlag{Name: "rounds", Value: pofmklRounds, Usage: "`T` rounds, at most 500"},
			&cli.StringFlag{Name: "plot", Usage: "draw pofmkl-SET.svg and .png in this `FOLDER`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runPOFMKL,
	}
}

// pofmklReport is what the command prints with --json. Errors are in units of 1e-3, for labels from 0 to 1.
type pofmklReport struct {
	Machine  string      `json:"machine"`
	Set      string      `json:"set"`
	Clients  int         `json:"clients"`
	Columns  int         `json:"columns"`
	Rounds   int         `json:"rounds"`
	Draws    int         `json:"draws"`
	Seconds  float64     `json:"seconds"`
	Bound    float64     `json:"theorem_1_bound"` // of a client's regret
	Rows     []pofmklRow `json:"rows"`
	Explored []pofmklRow `json:"xi"`
	Common   []pofmklRow `json:"common_bins"` // in pairs: Algorithm 2, a common bin
}

// pofmklRow is one algorithm with its sizes, over all draws.
type pofmklRow struct {
	Algorithm string  `json:"algorithm"`
	Chosen    int     `json:"m,omitempty"`
	Features  int     `json:"d,omitempty"`
	Explore   float64 `json:"explore,omitempty"`
	Common    bool    `json:"common_bin,omitempty"`
	Step      float64 `json:"step,omitempty"` // 0: the default
	Carried   bool    `json:"weights_carried_over"`

	Mean      float64       `json:"mse_mean"`
	Deviation float64       `json:"mse_sd"` // over draws
	Paper     *pofmklFigure `json:"paper_mse,omitempty"`
	Spec      *pofmklFigure `json:"spec_mse,omitempty"`
	Verdict   string        `json:"verdict"`

	Regret      *measured     `json:"regret,omitempty"` // over clients, mean over draws
	PaperRegret *pofmklFigure `json:"paper_regret,omitempty"`

	Words     int `json:"words_masked,omitempty"`    // 2ND, or 2MD with a common bin, of one client and round
	OpenWords int `json:"words_published,omitempty"` // 2MD

	// RunSeconds is the processor time of one client over all rounds, the server's part shared out, alone in this
	// process; 0 where it was not measured. PaperSeconds is what Table 1 calls run time.
	RunSeconds   float64 `json:"run_seconds,omitempty"`
	PaperSeconds float64 `json:"paper_run_seconds,omitempty"`

	errors  []float64 // [T], the mean squared error of the rounds so far
	regrets []float64 // [T], the mean over clients
}

// pofmklFigure is a published number with its deviation; 0 when none is given.
type pofmklFigure struct {
	Value     float64 `json:"value"`
	Deviation float64 `json:"sd,omitempty"`
}

// runPOFMKL repeats the experiments on one set.
func runPOFMKL(c *cli.Context) error {
	rounds, draws, explored, cpu := c.Int("rounds"), c.Int("draws"), c.Int("xi-draws"), c.Float64("cpu")
	common := c.Int("bin-draws")
	switch {
	case rounds < 1 || rounds > pofmklRounds:
		return fmt.Errorf("--rounds is %d, want 1 to %d", rounds, pofmklRounds)
	case draws < 1:
		return fmt.Errorf("--draws is %d, want at least 1", draws)
	case explored < 0:
		return fmt.Errorf("--xi-draws is %d, want at least 0", explored)
	case !(cpu >= 0 && cpu <= 3600):
		return fmt.Errorf("--cpu is %v, want 0 to 3600 seconds", cpu)
	case common < 0:
		return fmt.Errorf("--bin-draws is %d, want at least 0", common)
	}
	set, err := readPOFMKLSet(c.String("set"), c.String("data"))
	if err != nil {
		return err
	}
	start := time.Now()
	p := pofmkl.Params{Rounds: rounds}.WithDefaults()
	report := pofmklReport{
		Machine: machine(), Set: set.name, Clients: len(set.rows), Columns: len(set.columns), Rounds: rounds, Draws: draws,
		Bound: theoremOne(p, rounds),
	}
	lab := pofmklLab{set: set, rounds: rounds, log: c.App.ErrWriter, workers: runtime.GOMAXPROCS(0)}
	bins := commonPlans(common, rounds, len(set.rows))
	groups, err := lab.measure(c.Context, pofmklPlans(set.name, draws), explorePlans(explored), bins)
	if err != nil {
		return err
	}
	report.Rows, report.Explored, report.Common = groups[0], groups[1], groups[2]
	if cpu > 0 {
		if err := lab.timeRows(c.Context, report.Rows, cpu); err != nil {
			return err
		}
	}
	report.Seconds = time.Since(start).Seconds()
	if folder := c.String("plot"); folder != "" {
		if err := drawPOFMKL(folder, &report); err != nil {
			return err
		}
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// print prints the report for people or for programs.
func (r *pofmklReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%s: %d clients, %d inputs, %d rounds, %d draws of the features, %.0f s\n", r.Machine, r.Set, r.Clients, r.Columns, r.Rounds, r.Draws, r.Seconds)
	fmt.Fprintf(w, "mean squared errors in units of 1e-3: mean ± deviation over draws\n\n")
	if err := pofmklTable(r.Rows).write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nregret of a client by equation 11: mean ± deviation over clients; Theorem 1's bound is %.1f\n\n", r.Bound)
	if err := pofmklRegretTable(r.Rows).write(w); err != nil {
		return err
	}
	if r.Rows[0].RunSeconds > 0 {
		fmt.Fprintf(w, "\nprocessor time of a client; the paper's is of an Intel Core i7-10510U\n\n")
		if err := pofmklTimeTable(r.Rows, r.Rounds).write(w); err != nil {
			return err
		}
	}
	if len(r.Explored) > 0 {
		fmt.Fprintf(w, "\nPOF-MKL with other exploration rates\n\n")
		if err := pofmklExploreTable(r.Explored).write(w); err != nil {
			return err
		}
	}
	if len(r.Common) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nPOF-MKL with one bin of kernels for all clients of a round\n\n")
	return pofmklCommonTable(r.Common).write(w)
}
