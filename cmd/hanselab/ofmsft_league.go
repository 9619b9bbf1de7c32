package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// airLabel is the column that the air set's clients foretell.
const airLabel = "NO2"

// leagueFlag asks for a league of real processes.
func leagueFlag() cli.Flag {
	return &cli.BoolFlag{Name: "league", Usage: "run air as a masked job of real processes over TLS, beside the same job in one process: budget 5, one seed, window 1 and, for N clients, the step 0.001 N/sqrt(T) if nothing else is said"}
}

// leagueDirFlag chooses where a league works.
func leagueDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "dir", Usage: "work in this `FOLDER` with --league and keep it (default: a temporary one, removed)"}
}

// ofmsftLeague is what --league prints with --json. Errors are mean squared errors x 1e3 of labels from 0 to 1.
type ofmsftLeague struct {
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

// runOFMSFTLeague runs a job of real processes.
func runOFMSFTLeague(c *cli.Context) (err error) {
	if err := checkOFMSFTLeague(c); err != nil {
		return err
	}
	set, err := readOFMSFTSet(c.String("set"), c.String("data"), c.String("models"))
	if err != nil {
		return err
	}
	lab, err := newOFMSFTLab(c, set)
	if err != nil {
		return err
	}
	o := &lab.options
	o.seeds, o.regret = 1, false
	if !c.IsSet("window") {
		o.window = 1
	}
	of := ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: tableOne, step: float64(len(set.labels)) * 1e-3 / math.Sqrt(float64(o.rounds))}
	if c.IsSet("budget") {
		of.budget = c.Float64("budget")
	}
	if c.IsSet("step") {
		of.step = c.Float64("step")
	}
	dir, remove, err := leagueDir(c.String("dir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r, err := lab.league(c.Context, of, c.String("hanse"), dir)
	if err != nil {
		return err
	}
	return r.print(c.App.Writer, c.Bool("json"))
}

// checkOFMSFTLeague refuses what a league does not know.
func checkOFMSFTLeague(c *cli.Context) error {
	if s := c.String("set"); s != setAir {
		return fmt.Errorf("--league is of air, not of %s", s)
	}
	for _, name := range []string{"update", "baselines", "seeds", "rounds-per-upload", "scan", "steps", "plot", "only",
		"mixed", "bounds", "times"} {
		if c.IsSet(name) {
			return fmt.Errorf("--league goes without --%s", name)
		}
	}
	if c.IsSet("clients") && c.Int("clients") < 3 {
		return fmt.Errorf("--clients is %d, want at least 3 with --league", c.Int("clients"))
	}
	if m := c.Float64("max-importance"); !(m > 0) {
		return fmt.Errorf("--max-importance is %v, want a cap above 0 with --league", m)
	}
	return checkOFMSFTNumbers(c)
}

// leagueDir returns the folder to work in, and what to call at the end.
func leagueDir(dir string) (string, func() error, error) {
	if dir == "" {
		return workDir()
	}
	return dir, func() error { return nil }, os.MkdirAll(dir, 0o700)
}

// league runs a case in one process and among real ones.
func (l *ofmsftLab) league(ctx context.Context, c ofmsftCase, path, dir string) (*ofmsftLeague, error) {
	begun := time.Now()
	p, err := l.params(c, l.world(c))
	if err != nil {
		return nil, err
	}
	r := &ofmsftLeague{
		Machine: machine(), Set: l.set.name, Clients: len(l.set.labels), Rounds: p.Rounds, Budget: p.Budget, Bandwidth: p.Bandwidth,
		Step: p.Step, Window: p.Window, WarmUp: p.WarmUp,
	}
	program, err := findProgram(ctx, path, dir)
	if err != nil {
		return nil, err
	}
	if err := l.writeLeague(dir); err != nil {
		return nil, err
	}
	if err := l.inOneProcess(ctx, c, r); err != nil {
		return nil, err
	}
	demo, err := program.onlineDemo(ctx, leagueArgs(p, dir))
	if err != nil {
		return nil, err
	}
	r.take(demo)
	r.Total = time.Since(begun).Seconds()
	return r, nil
}

// writeLeague writes the clients' streams and the server's networks to streams and networks in a folder.
func (l *ofmsftLab) writeLeague(dir string) error {
	streams, networks := filepath.Join(dir, "streams"), filepath.Join(dir, "networks")
	if err := errors.Join(os.MkdirAll(streams, 0o700), os.MkdirAll(networks, 0o700)); err != nil {
		return err
	}
	for i, labels := range l.set.labels {
		n := l.options.rounds
		s := &online.Stream{Columns: airInputs(), Label: airLabel, Inputs: l.set.live.rows[i][:n], Labels: labels[:n]}
		if err := s.Write(filepath.Join(streams, fmt.Sprintf("client-%03d.csv", i+1))); err != nil {
			return err
		}
	}
	for k, n := range l.set.live.networks {
		if err := os.WriteFile(filepath.Join(networks, l.set.names[k]+nn.FileSuffix), n.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inOneProcess runs the case in the open, tuned and not.
func (l *ofmsftLab) inOneProcess(ctx context.Context, c ofmsftCase, r *ofmsftLeague) error {
	if err := l.prepare(ctx); err != nil {
		return err
	}
	untuned := c
	untuned.update, untuned.step = ofmsft.UpdateNone, 0
	runs, err := l.runAll(ctx, []ofmsftCase{c, untuned})
	if err != nil {
		return err
	}
	clear := runs[0][0]
	r.ClearMSE, r.ClearSD, r.ClearTime, r.UntunedMSE = mean(clear.clients), overAll(clear.clients), clear.seconds, mean(runs[1][0].clients)
	times := float64(r.Rounds * r.Clients)
	r.PaperDown, r.PaperUp = clear.downloaded/times, clear.uploaded/times
	return nil
}

// leagueArgs are the flags of a demo of the same job.
func leagueArgs(p ofmsft.Params, dir string) []string {
	args := []string{
		"--algorithm", "ofmsft", "--streams", filepath.Join(dir, "streams"), "--networks", filepath.Join(dir, "networks"), "--label", airLabel,
		"--rounds", fmt.Sprint(p.Rounds), "--budget", fmt.Sprint(p.Budget), "--bandwidth", fmt.Sprint(p.Bandwidth), "--step", fmt.Sprint(p.Step),
		"--window", fmt.Sprint(p.Window), "--input-norm", fmt.Sprint(p.InputNorm), "--label-range", fmt.Sprintf("%v:%v", p.LabelLow, p.LabelHigh),
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
func (p *program) onlineDemo(ctx context.Context, flags []string) (*onlineDemoRun, error) {
	cmd, out, said := p.demoCommand(ctx, flags)
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("hanse demo %s: %w\n%s", strings.Join(flags, " "), err, lastLines(said.Bytes(), 8))
	}
	r := new(onlineDemoRun)
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, fmt.Errorf("hanse demo prints no result that can be read: %w", err)
	}
	if r.MSE == nil || r.MSESD == nil {
		return nil, errors.New("hanse demo prints a result without a mean squared error")
	}
	return r, nil
}

// take takes a demo's figures over.
func (r *ofmsftLeague) take(d *onlineDemoRun) {
	r.Seconds, r.Round = d.TrainSeconds, 1e3*d.TrainSeconds/float64(r.Rounds)
	r.Down, r.Up, r.Sessions, r.Verdict = d.BytesDown, d.BytesUp, d.Sessions, d.Audit.Verdict
	r.MSE, r.SD = *d.MSE, *d.MSESD
}

// print prints the league for people or for programs.
func (r *ofmsftLeague) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%s: %d clients x %d rounds over TLS, masked; B = %g, E = %g, step %.4g over %d rows from round %d on; %d sessions, the audit says %s\n\n",
		r.Machine, r.Set, r.Clients, r.Rounds, r.Budget, r.Bandwidth, r.Step, r.Window, r.WarmUp+1, r.Sessions, r.Verdict)
	t := newTable("", "s", "ms a round", "kB down a client and round", "kB up", "mse x 1e3 (over clients)")
	cell := func(format string, values ...any) string { return fmt.Sprintf(format, values...) }
	t.add("processes over TLS, masked", cell("%.1f", r.Seconds), cell("%.0f", r.Round), cell("%.1f", r.Down/1e3), cell("%.1f", r.Up/1e3), cell("%.2f (%.2f)", r.MSE, r.SD))
	t.add("one process, in the clear", cell("%.1f", r.ClearTime), cell("%.1f", 1e3*r.ClearTime/float64(r.Rounds)), "", "", cell("%.2f (%.2f)", r.ClearMSE, r.ClearSD))
	t.add("never fine-tuned", "", "", "", "", cell("%.2f", r.UntunedMSE))
	t.add("the paper's count", "", "", cell("%.1f", r.PaperDown/1e3), cell("%.1f", r.PaperUp/1e3), "")
	return t.write(w)
}
