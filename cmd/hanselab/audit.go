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
	"github.com/hanse-project/hanse/audit"
)

// auditCommand measures what audits find on real data.
func auditCommand() *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "what the audit rebuilds from real trainings, masked and as published",
		Description: `For each set and privacy mode: hanse demo with the set's settings and all payloads kept,
and what its audit found with every party's transcript and columns. Fails when it finds
no leak in the published protocol, or finds in a masked training more, or less, than the
contract declares.

   hanselab audit --data ../shared/data
   hanselab audit --data ../shared/data --sets phishing --json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.StringSliceFlag{Name: "sets", Value: cli.NewStringSlice("a9a", "phishing", "defaultcredit", "ijcnn1", "w8a"), Usage: "`SETS` to audit"},
			&cli.IntFlag{Name: "published-features", Value: 256, Usage: "`D` random features of published runs, which send a float64 where masked ones send two bytes"},
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
	sets, err := chooseSets(c.StringSlice("sets"), c.String("data"))
	if err != nil {
		return err
	}
	if c.Int("published-features") < 1 {
		return fmt.Errorf("--published-features is %d, want at least 1", c.Int("published-features"))
	}
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
		runs, err := auditSet(c.Context, p, &sets[i], c.Int("published-features"), c.App.ErrWriter)
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

// auditSet audits a masked and a published training on a set.
func auditSet(ctx context.Context, p *program, s *benchmarkSet, publishedFeatures int, log io.Writer) ([]auditRun, error) {
	var runs []auditRun
	for _, privacy := range []string{fdskl.Masked, fdskl.Published} {
		features := s.features
		if privacy == fdskl.Published {
			features = publishedFeatures
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
		want := audit.Declared
		if r.Privacy == fdskl.Published {
			want = audit.Leak
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
