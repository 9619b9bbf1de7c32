package ofmsft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// ProcessReport is what the run of real processes prints with --json. Errors are mean squared errors x 1e3 of labels
// from 0 to 1.
type ProcessReport struct {
	Machine    string  `json:"machine"`
	Set        string  `json:"set"`
	Clients    int     `json:"clients"`
	Rounds     int     `json:"rounds"`
	Budget     float64 `json:"budget"`
	Bandwidth  float64 `json:"bandwidth"`
	Step       float64 `json:"step"`
	Window     int     `json:"window"`
	WarmUp     int     `json:"warm_up"`
	Seconds    float64 `json:"seconds"` // of all rounds
	Round      float64 `json:"ms_a_round"`
	Down       float64 `json:"bytes_down"` // to a client, a round
	Up         float64 `json:"bytes_up"`   // from a client, a round
	PaperDown  float64 `json:"paper_bytes_down"`
	PaperUp    float64 `json:"paper_bytes_up"`
	Sessions   int     `json:"sessions"`
	Verdict    string  `json:"verdict"` // of the audit
	MSE        float64 `json:"mse"`
	SD         float64 `json:"mse_sd"` // over clients
	ClearMSE   float64 `json:"clear_mse"`
	ClearSD    float64 `json:"clear_mse_sd"`
	ClearTime  float64 `json:"clear_seconds"`
	UntunedMSE float64 `json:"untuned_mse"` // in one process, without fine-tuning
	Total      float64 `json:"total_seconds"`
}

// runProcesses runs a job of real processes.
func runProcesses(ctx context.Context, run lab.Run, o Options) error {
	// Refuses what real processes do not run.
	if s := o.Set; s != setAir {
		return fmt.Errorf("--league is of air, not of %s", s)
	}
	for _, name := range []string{"update", "baselines", "seeds", "rounds-per-upload", "scan", "steps", "plot",
		"only",
		"mixed", "bounds", "times"} {
		if run.Given(name) {
			return fmt.Errorf("--league goes without --%s", name)
		}
	}
	if run.Given("clients") && o.Clients < 3 {
		return fmt.Errorf("--clients is %d, want at least 3 with --league", o.Clients)
	}
	if m := o.MaxImportance; !(m > 0) {
		return fmt.Errorf("--max-importance is %v, want a cap above 0 with --league", m)
	}
	if err := checkNumbers(ctx, run, o); err != nil {
		return err
	}
	set, err := ReadSet(o.Set, o.Data, o.Models)
	if err != nil {
		return err
	}
	bench, err := newBench(ctx, run, o, set)
	if err != nil {
		return err
	}
	bench.options.seeds, bench.options.regret = 1, false
	if !run.Given("window") {
		bench.options.window = 1
	}
	of := setting{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: tableOne,
		step: float64(len(set.Labels)) * 1e-3 / math.Sqrt(float64(o.Rounds))}
	if run.Given("budget") {
		of.budget = o.Budget
	}
	if run.Given("step") {
		of.step = o.Step
	}
	in := func(dir string) error {
		r, err := bench.compareProcesses(ctx, of, run, dir)
		if err != nil {
			return err
		}
		return run.Report(r)
	}
	if o.Dir == "" {
		return lab.InFolder(in)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	return in(o.Dir)
}

// compareProcesses runs a case in one process and among real ones.
func (l *bench) compareProcesses(ctx context.Context, c setting, run lab.Run, dir string) (*ProcessReport, error) {
	begun := time.Now()
	p, err := l.params(c, l.world(c))
	if err != nil {
		return nil, err
	}
	r := &ProcessReport{
		Machine: lab.Machine(), Set: l.set.name, Clients: len(l.set.Labels), Rounds: p.Rounds,
		Budget: p.Budget, Bandwidth: p.Bandwidth,
		Step: p.Step, Window: p.Window, WarmUp: p.WarmUp,
	}
	program, err := lab.FindProgram(ctx, run.Log, run.Program, dir)
	if err != nil {
		return nil, err
	}
	// Writes the clients' streams and the server's networks to streams and networks in a folder.
	streams, networks := filepath.Join(dir, "streams"), filepath.Join(dir, "networks")
	if err := errors.Join(os.MkdirAll(streams, 0o700), os.MkdirAll(networks, 0o700)); err != nil {
		return nil, err
	}
	for i, labels := range l.set.Labels {
		n := l.options.rounds
		s := &online.Stream{Columns: sets.AirInputs(), Label: sets.AirLabel, Inputs: l.set.Live.Rows[i][:n],
			Labels: labels[:n]}
		if err := s.Write(filepath.Join(streams, fmt.Sprintf("client-%03d.csv", i+1))); err != nil {
			return nil, err
		}
	}
	for k, n := range l.set.Live.Networks {
		if err := os.WriteFile(filepath.Join(networks, l.set.Names[k]+nn.FileSuffix), n.Bytes(), 0o600); err != nil {
			return nil, err
		}
	}
	// Runs the case in the open, tuned and not.
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	untuned := c
	untuned.update, untuned.step = ofmsft.UpdateNone, 0
	runs, err := l.runAll(ctx, []setting{c, untuned})
	if err != nil {
		return nil, err
	}
	clear := runs[0][0]
	r.ClearMSE, r.ClearSD = lab.Mean(clear.clients), overAll(clear.clients)
	r.ClearTime, r.UntunedMSE = clear.seconds, lab.Mean(runs[1][0].clients)
	times := float64(r.Rounds * r.Clients)
	r.PaperDown, r.PaperUp = clear.downloaded/times, clear.uploaded/times
	demo, err := onlineDemo(ctx, program, demoFlags(p, dir))
	if err != nil {
		return nil, err
	}
	// Takes a demo's figures over.
	r.Seconds, r.Round = demo.TrainSeconds, 1e3*demo.TrainSeconds/float64(r.Rounds)
	r.Down, r.Up, r.Sessions, r.Verdict = demo.BytesDown, demo.BytesUp, demo.Sessions, demo.Audit.Verdict
	r.MSE, r.SD = *demo.MSE, *demo.MSESD
	r.Total = time.Since(begun).Seconds()
	return r, nil
}

// demoFlags are the flags of a demo of the same job.
func demoFlags(p ofmsft.Params, dir string) []string {
	args := []string{
		"--algorithm", "ofmsft", "--streams", filepath.Join(dir, "streams"), "--networks", filepath.Join(dir, "networks"),
		"--label", sets.AirLabel,
		"--rounds", fmt.Sprint(p.Rounds), "--budget", fmt.Sprint(p.Budget), "--bandwidth", fmt.Sprint(p.Bandwidth),
		"--step", fmt.Sprint(p.Step),
		"--window", fmt.Sprint(p.Window), "--input-norm", fmt.Sprint(p.InputNorm), "--label-range",
		fmt.Sprintf("%v:%v", p.LabelLow, p.LabelHigh),
		"--dir", filepath.Join(dir, "demo"),
	}
	if p.MaxImportance > 0 {
		args = append(args, "--max-importance", fmt.Sprint(p.MaxImportance))
	}
	if p.WarmUp > 0 {
		args = append(args, "--warm-up", fmt.Sprint(p.WarmUp))
	}
	return args
}

// onlineDemoRun is what the demo of an algorithm over clients' streams reports.
type onlineDemoRun struct {
	Clients      []string `json:"clients"`
	MSE          *float64 `json:"mse"`
	MSESD        *float64 `json:"mse_sd"`
	TrainSeconds float64  `json:"train_seconds"`
	BytesDown    float64  `json:"bytes_down"`
	BytesUp      float64  `json:"bytes_up"`
	Sessions     int      `json:"sessions"`
	Audit        struct {
		Verdict string `json:"verdict"`
	} `json:"audit"`
}

// onlineDemo runs the demo of an algorithm over clients' streams.
func onlineDemo(ctx context.Context, p *lab.Program, flags []string) (*onlineDemoRun, error) {
	r := new(onlineDemoRun)
	if _, err := p.Demo(ctx, r, flags...); err != nil {
		return nil, err
	}
	if r.MSE == nil || r.MSESD == nil {
		return nil, errors.New("hanse demo prints a result without a mean squared error")
	}
	return r, nil
}

// Print prints the report for people.
func (r *ProcessReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s: %d clients x %d rounds over TLS, masked; B = %g, E = %g, step %.4g over %d rows "+
		"from round %d on; %d sessions, the audit says %s\n\n",
		r.Machine, r.Set, r.Clients, r.Rounds, r.Budget, r.Bandwidth, r.Step, r.Window, r.WarmUp+1, r.Sessions, r.Verdict)
	t := table.New("", "s", "ms a round", "kB down a client and round", "kB up", "mse x 1e3 (over clients)")
	cell := func(format string, values ...any) string { return fmt.Sprintf(format, values...) }
	t.Add("processes over TLS, masked", cell("%.1f", r.Seconds), cell("%.0f", r.Round), cell("%.1f", r.Down/1e3),
		cell("%.1f", r.Up/1e3), cell("%.2f (%.2f)", r.MSE, r.SD))
	t.Add("one process, in the clear", cell("%.1f", r.ClearTime), cell("%.1f", 1e3*r.ClearTime/float64(r.Rounds)),
		"", "", cell("%.2f (%.2f)", r.ClearMSE, r.ClearSD))
	t.Add("never fine-tuned", "", "", "", "", cell("%.2f", r.UntunedMSE))
	t.Add("the paper's count", "", "", cell("%.1f", r.PaperDown/1e3), cell("%.1f", r.PaperUp/1e3), "")
	return t.Write(w)
}
