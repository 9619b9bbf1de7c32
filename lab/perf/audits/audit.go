// Package audits measures what audits find in real trainings.
package audits

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
)

// Report is what the command prints with --json.
type Report struct {
	Machine string   `json:"machine"`
	Parties int      `json:"parties"`
	Runs    []Result `json:"runs"`
}

// Result is the audit of one training. A figure is null where the audit has none.
type Result struct {
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

// Options are the choices of Run.
type Options struct {
	Data              string
	Sets              []string
	Rows              int
	PublishedFeatures int
	SealedFeatures    int
	Clients           bool
	Jobs              string
	Rounds            int
}

// Run audits all chosen sets.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if o.Clients {
		if n := o.Rounds; n < 20 {
			return fmt.Errorf("--rounds is %d, want at least 20", n)
		}
		return auditClients(ctx, run, o)
	}
	if o.PublishedFeatures < 1 {
		return fmt.Errorf("--published-features is %d, want at least 1", o.PublishedFeatures)
	}
	if o.SealedFeatures < 0 {
		return fmt.Errorf("--sealed-features is %d, want 0 or more", o.SealedFeatures)
	}
	chosen, err := sets.Choose(o.Sets, o.Data)
	if err != nil {
		return err
	}
	features := map[string]int{fdskl.Published: o.PublishedFeatures, fdskl.Sealed: o.SealedFeatures}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) error {
		report := Report{Machine: lab.Machine(), Parties: sets.Parties}
		for i := range chosen {
			if err := chosen[i].Prepare(dir, o.Rows); err != nil {
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
			runs, err := auditSet(ctx, p, &chosen[i], features, run.Log)
			if err != nil {
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
			report.Runs = append(report.Runs, runs...)
		}
		if err := run.Report(&report); err != nil {
			return err
		}
		return judgeAudits(report.Runs)
	})
}

// auditSet audits a masked, a published and a sealed training on a set, with so many features; masked ones have the
// set's.
func auditSet(ctx context.Context, p *lab.Program, s *sets.Benchmark, featuresOf map[string]int,
	log io.Writer) ([]Result, error) {
	var runs []Result
	for _, privacy := range []string{fdskl.Masked, fdskl.Published, fdskl.Sealed} {
		features := featuresOf[privacy]
		if privacy == fdskl.Masked {
			features = s.Features
		}
		if features == 0 {
			continue
		}
		flags := auditFlags(*s, privacy, features)
		r, err := auditedDemo(ctx, p, flags...)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(log, "%s %s: %s, %s\n", s.Name, privacy, r.Verdict, r.Summary)
		runs = append(runs, newAuditRun(s.Name, privacy, features, flags, r))
	}
	return runs, nil
}

// auditFlags returns the demo's flags for a set, a privacy mode and a number of features.
func auditFlags(s sets.Benchmark, privacy string, features int) []string {
	s.Features = features
	if privacy == fdskl.Sealed {
		s.Loss = kernel.Square.String()
	}
	flags := append(s.Flags(sets.Parties, 1), "--overlap", "1") // all parties have all rows of a set
	flags[slices.Index(flags, "--privacy")+1] = privacy
	if privacy == fdskl.Published {
		flags = append(flags, "--i-know-this-leaks")
	}
	return flags
}

// judgeAudits names the first run whose verdict is not that of its privacy mode.
func judgeAudits(runs []Result) error {
	for _, r := range runs {
		want := audit.Disclosed
		switch r.Privacy {
		case fdskl.Published:
			want = audit.Leak
		case fdskl.Sealed:
			want = audit.Clean
		}
		if r.Report.Verdict != want {
			return fmt.Errorf("%s %s: the audit's verdict is %s, want %s; repeat it with: %s", r.Set, r.Privacy,
				r.Report.Verdict, want, r.Command)
		}
	}
	return nil
}

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d parties, trees, the audit has all transcripts, payloads and columns\n\ndifference "+
		"attacks\n\n", r.Machine, r.Parties)
	if err := differenceTable(r.Runs).Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nruns\n\n")
	if err := auditTable(r.Runs).Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ncommands\n\n")
	for _, run := range r.Runs {
		fmt.Fprintf(w, "    # %s %s\n    %s\n", run.Set, run.Privacy, run.Command)
	}
	return nil
}
