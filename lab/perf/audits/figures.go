package audits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/lab/table"
)

// The attacks of a report that are counted, and the view that is told apart, by their names there.
const (
	attackDifference = "difference"
	attackUniformity = "uniformity"
	attackReuse      = "mask reuse"
	attackKnown      = "known rows"
	viewActive       = "active party"
)

// newAuditRun takes the figures of one run out of its report.
func newAuditRun(set, privacy string, features int, flags []string, r *audit.Report) Result {
	run := Result{Set: set, Privacy: privacy, Features: features,
		Command: "hanse demo --json --quick " + strings.Join(flags, " "), Report: r}
	run.Uniformity = extreme(r, attackUniformity, func(audit.Attack) bool { return true },
		func(a, b float64) float64 { return min(a, b) })
	highest := func(a, b float64) float64 { return max(a, b) }
	run.KnownActive = extreme(r, attackKnown, func(a audit.Attack) bool { return a.View == viewActive }, highest)
	run.KnownParents = extreme(r, attackKnown, func(a audit.Attack) bool { return a.View != viewActive }, highest)
	run.MaskReuse = worstVerdict(r, attackReuse)
	return run
}

// extreme reduces the statistics of the attacks of a name that are asked for; nil when there are none.
func extreme(r *audit.Report, name string, asked func(audit.Attack) bool, worse func(a, b float64) float64) *float64 {
	var worst *float64
	for _, a := range r.Attacks {
		if a.Name != name || a.Statistic == nil || !asked(a) {
			continue
		}
		v := *a.Statistic
		if worst != nil {
			v = worse(*worst, v)
		}
		worst = &v
	}
	return worst
}

// worstVerdict returns the worst verdict of the attacks of a name; empty when there are none.
func worstVerdict(r *audit.Report, name string) audit.Verdict {
	order := []audit.Verdict{"", audit.Skipped, audit.Clean, audit.Disclosed, audit.Unverifiable, audit.Leak}
	var worst audit.Verdict
	for _, a := range r.Attacks {
		if a.Name == name && slices.Index(order, a.Verdict) > slices.Index(order, worst) {
			worst = a.Verdict
		}
	}
	return worst
}

// differenceTable lays the difference attacks out, one row for each.
func differenceTable(runs []Result) *table.Table {
	t := table.New("set", "privacy", "verdict", "party", "view", "rows", "unknown columns", "equations",
		"recovered %", "rms", "control rms", "control %")
	for _, run := range runs {
		for _, a := range run.Report.Attacks {
			if a.Name != attackDifference {
				continue
			}
			t.Addf("%s|%s|%s|%s|%s|%v|%v|%v|%s|%s|%s|%s", run.Set, run.Privacy, a.Verdict, a.Party, a.View, a.Rows,
				a.UnknownColumns, a.Equations, percent(a.RecoveredShare), figure("%.2g", a.RMS),
				figure("%.2g", a.ControlRMS), percent(a.ControlShare))
		}
	}
	return t
}

// auditTable lays the other figures out, one row for each run.
func auditTable(runs []Result) *table.Table {
	t := table.New("set", "privacy", "D", "verdict", "uniformity p", "mask reuse", "known rows R2: active party",
		"tree parents", "audit s")
	for _, r := range runs {
		t.Addf("%s|%s|%v|%s|%s|%s|%s|%s|%.1f", r.Set, r.Privacy, r.Features, r.Report.Verdict,
			figure("%.2g", r.Uniformity), r.MaskReuse, figure("%.2f", r.KnownActive),
			figure("%.2f", r.KnownParents), r.Report.Seconds)
	}
	return t
}

// percent renders a share, or nothing when there is none.
func percent(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", 100**share)
}

// figure renders a number, or nothing when there is none.
func figure(format string, v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}
