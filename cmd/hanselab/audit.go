package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/audit"
)

// auditCommand measures what audits find on real data.
func auditCommand() *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "what the audit rebuilds from real trainings, masked, as published and sealed",
		Description: `For each set and privacy mode: hanse demo with the set's settings and all payloads kept,
and what its audit found with every party's transcript and columns. Fails when it finds
no leak in the published protocol, finds in a masked training more, or less, than the
contract declares, or gains anything in a sealed one, which has the square loss.

   hanselab audit --data ../shared/data
   hanselab audit --data ../shared/data --sets phishing --json

With --clients jobs over clients' streams: POF-MKL and OFMS-FT on the air set, GFML on
sensors as the demo has them, each published, masked and encrypted, in one process.

   hanselab audit --data ../shared/data --clients`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.StringSliceFlag{Name: "sets", Value: cli.NewStringSlice("a9a", "phishing", "defaultcredit", "ijcnn1", "w8a"), Usage: "`SETS` to audit"},
			rowsFlag(),
			&cli.IntFlag{Name: "published-features", Value: 256, Usage: "`D` random features of published runs, which send a float64 where masked ones send two bytes"},
			&cli.IntFlag{Name: "sealed-features", Value: 512, Usage: "`D` random features of sealed runs, which send 32 bytes where masked ones send two; 0 leaves them out"},
			&cli.BoolFlag{Name: "clients", Usage: "audit jobs over clients' streams"},
			&cli.StringFlag{Name: "jobs", Usage: "of jobs over clients those alone whose names begin with `WORD`, such as ofmsft"},
			&cli.IntFlag{Name: "rounds", Value: 100, Usage: "`N` rounds of jobs over clients; a tenth where they are encrypted"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output, every audit's whole report in it"},
			programFlag(),
		},
		Action: runAudit,
	}
}

// auditReport is what the command prints with --json.
type auditReport struct {
	Machine string     `json:"machine"`
	Parties int        `json:"parties"`
	Runs    []auditRun `json:"runs"`
}

// auditRun is the audit of one training. A figure is null where the audit has none.
type auditRun struct {
	Set          string        `json:"set"`
	Privacy      string        `json:"privacy"`
	Features     int           `json:"features"`
	Command      string        `json:"command"` // that repeats the run
	Uniformity   *float64      `json:"uniformity_p"`
	MaskReuse    audit.Verdict `json:"mask_reuse"`           // the worst of all parties'; empty: nothing is masked
	KnownActive  *float64      `json:"known_rows_r2_active"` // the best of all columns
	KnownParents *float64      `json:"known_rows_r2_parents"`
	Report       *audit.Report `json:"audit"`
}

// runAudit audits all chosen sets.
func runAudit(c *cli.Context) (err error) {
	if c.Bool("clients") {
		if n := c.Int("rounds"); n < 20 {
			return fmt.Errorf("--rounds is %d, want at least 20", n)
		}
		return auditClients(c)
	}
	if c.Int("published-features") < 1 {
		return fmt.Errorf("--published-features is %d, want at least 1", c.Int("published-features"))
	}
	if c.Int("sealed-features") < 0 {
		return fmt.Errorf("--sealed-features is %d, want 0 or more", c.Int("sealed-features"))
	}
	sets, err := chooseSets(c.StringSlice("sets"), c.String("data"))
	if err != nil {
		return err
	}
	features := map[string]int{fdskl.Published: c.Int("published-features"), fdskl.Sealed: c.Int("sealed-features")}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	p, err := findProgram(c.Context, c.String("hanse"), dir)
	if err != nil {
		return err
	}
	report := auditReport{Machine: machine(), Parties: benchmarkParties}
	for i := range sets {
		if err := sets[i].prepare(dir, c.Int("rows")); err != nil {
			return fmt.Errorf("%s: %w", sets[i].name, err)
		}
		runs, err := auditSet(c.Context, p, &sets[i], features, c.App.ErrWriter)
		if err != nil {
			return fmt.Errorf("%s: %w", sets[i].name, err)
		}
		report.Runs = append(report.Runs, runs...)
	}
	if err := report.print(c.App.Writer, c.Bool("json")); err != nil {
		return err
	}
	return judgeAudits(report.Runs)
}

// auditSet audits a masked, a published and a sealed training on a set, with so many features; masked ones have the
// set's.
func auditSet(ctx context.Context, p *program, s *benchmarkSet, featuresOf map[string]int, log io.Writer) ([]auditRun, error) {
	var runs []auditRun
	for _, privacy := range []string{fdskl.Masked, fdskl.Published, fdskl.Sealed} {
		features := featuresOf[privacy]
		if privacy == fdskl.Masked {
			features = s.features
		}
		if features == 0 {
			continue
		}
		flags := auditFlags(*s, privacy, features)
		r, err := p.auditedDemo(ctx, flags...)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(log, "%s %s: %s, %s\n", s.name, privacy, r.Verdict, r.Summary)
		runs = append(runs, newAuditRun(s.name, privacy, features, flags, r))
	}
	return runs, nil
}

// auditFlags returns the demo's flags for a set, a privacy mode and a number of features.
func auditFlags(s benchmarkSet, privacy string, features int) []string {
	s.features = features
	if privacy == fdskl.Sealed {
		s.loss = kernel.Square.String()
	}
	flags := s.flags(benchmarkParties, 1)
	flags[slices.Index(flags, "--privacy")+1] = privacy
	if privacy == fdskl.Published {
		flags = append(flags, "--i-know-this-leaks")
	}
	return flags
}

// judgeAudits names the first run whose verdict is not that of its privacy mode.
func judgeAudits(runs []auditRun) error {
	for _, r := range runs {
		want := audit.Disclosed
		switch r.Privacy {
		case fdskl.Published:
			want = audit.Leak
		case fdskl.Sealed:
			want = audit.Clean
		}
		if r.Report.Verdict != want {
			return fmt.Errorf("%s %s: the audit's verdict is %s, want %s; repeat it with: %s", r.Set, r.Privacy, r.Report.Verdict, want, r.Command)
		}
	}
	return nil
}

// print prints the report for people or for programs.
func (r *auditReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%d parties, trees, the audit has all transcripts, payloads and columns\n\ndifference attacks\n\n", r.Machine, r.Parties)
	if err := differenceTable(r.Runs).write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nruns\n\n")
	if err := auditTable(r.Runs).write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ncommands\n\n")
	for _, run := range r.Runs {
		fmt.Fprintf(w, "    # %s %s\n    %s\n", run.Set, run.Privacy, run.Command)
	}
	return nil
}

// demoCommandLine writes the command that runs a demo, for people to repeat it.
func demoCommandLine(flags []string) string {
	return "hanse demo --json --quick " + strings.Join(flags, " ")
}
