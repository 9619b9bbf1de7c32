package chaos

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is what a run came to.
type Report struct {
	Seed   uint64   `json:"seed"`
	Kinds  []string `json:"kinds"`
	Trials []Result `json:"trials"`
}

// Summary is what the trials of one kind came to.
type Summary struct {
	Kind                                     string
	Trials, Right, Degraded, Failed, Skipped int
	Median                                   float64 // seconds, of those that were not skipped
}

// Failures lists the trials that failed.
func (r *Report) Failures() (list []Result) {
	for _, t := range r.Trials {
		if t.Verdict.Bad() {
			list = append(list, t)
		}
	}
	return list
}

// Summaries counts the trials of each kind.
func (r *Report) Summaries() (list []Summary) {
	for _, name := range r.Kinds {
		s := Summary{Kind: name}
		var seconds []float64
		for _, t := range r.Trials {
			if t.Kind != name {
				continue
			}
			s.Trials++
			switch t.Verdict {
			case Right:
				s.Right++
			case Degraded:
				s.Degraded++
			case Skipped:
				s.Skipped++
			default:
				s.Failed++
			}
			if t.Verdict != Skipped {
				seconds = append(seconds, t.Seconds)
			}
		}
		s.Median = median(seconds)
		list = append(list, s)
	}
	return list
}

// median returns the middle one of values, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// tableRow is how a line of the table is set; with the numbers it has 80 columns.
const tableRow = "%-16s %8s %8s %9s %8s %9s %16s\n"

// Write writes the table and a line for each failure.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, tableRow, "kind", "trials", "right", "degraded", "failed", "skipped", "median seconds")
	for _, s := range r.Summaries() {
		n := func(v int) string { return fmt.Sprint(v) }
		median := fmt.Sprintf("%.1f", s.Median)
		fmt.Fprintf(&b, tableRow, s.Kind, n(s.Trials), n(s.Right), n(s.Degraded), n(s.Failed), n(s.Skipped), median)
	}
	if list := r.Failures(); len(list) > 0 {
		fmt.Fprintln(&b)
		for _, t := range list {
			fmt.Fprintf(&b, "%s, seed %d: %s; %s\n", t.Kind, t.Seed, t.story(), t.Folder)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// story tells a trial in a line.
func (r *Result) story() string {
	var parts []string
	for _, p := range []string{r.Job, r.Victim, r.Fault, r.Moment} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	what := strings.ReplaceAll(r.What, "\n", " ")
	if r.Verdict == Silent {
		what = "SILENT: " + what
	}
	if len(parts) == 0 {
		return what
	}
	return strings.Join(parts, ", ") + ": " + what
}
