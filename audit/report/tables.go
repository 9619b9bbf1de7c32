package report

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/secagg/he"
)

// partyTable lists who took part and which transcripts were read.
func partyTable(r *audit.Report) *table {
	t := newTable("Who took part", "party", "role", ">columns", "transcript")
	for _, p := range r.Job.Parties {
		t.add(named(p.Name, "unnamed"), named(roleOf(p), none), count(p.Columns), transcriptOf(r, p))
	}
	return t
}

// transcriptOf says in words what was read of a party.
func transcriptOf(r *audit.Report, p audit.Party) string {
	for _, t := range r.Transcripts {
		if t.Party == p.Name {
			return fmt.Sprintf("%s, %s", plural(t.Records, "record", "records"), ending(t))
		}
	}
	if p.Audited {
		return "read"
	}
	return "not read"
}

// ending says how a transcript ends.
func ending(t audit.Transcript) string {
	if t.Cut {
		return "cut short"
	}
	return "complete"
}

// transcriptTable lists the files that were read.
func transcriptTable(r *audit.Report) *table {
	t := newTable("Transcripts", "party", ">records", ">sessions", ">sent", ">received", ">countersigned", "payloads", "end", "file")
	for _, f := range r.Transcripts {
		kept := "digests only"
		if f.Kept {
			kept = "kept"
		}
		t.add(named(f.Party, none), count(f.Records), count(f.Sessions), size(float64(f.BytesSent)),
			size(float64(f.BytesReceived)), percent(f.Countersigned), kept, ending(f), f.Path)
	}
	return t
}

// egressTable holds the budget against what was sent.
func egressTable(r *audit.Report) *table {
	t := newTable("What left each machine", "from", "to", "kind", "class", ">frames", ">of", ">bytes", ">budget", ">used")
	t.Note = "Frames and payload bytes of the session that sent most, against the budget of one session. " +
		"Lines without a budget are control messages of a few hundred bytes."
	for _, e := range r.Egress {
		t.add(named(e.From, none), named(e.To, "all"), e.Kind, classAndEncoding(e), count(e.Frames), allowed(e.BudgetFrames, count(e.BudgetFrames)),
			size(float64(e.Bytes)), allowed(e.BudgetBytes, size(float64(e.BudgetBytes))), used(e))
	}
	return t
}

// egressTableNarrow is egressTable for a terminal.
func egressTableNarrow(r *audit.Report) *table {
	t := newTable("What left each machine", "from", "to", "kind", "class", ">frames", ">bytes", ">used")
	for _, e := range r.Egress {
		t.add(named(e.From, none), named(e.To, "all"), e.Kind, e.Class, count(e.Frames), size(float64(e.Bytes)), used(e))
	}
	return t
}

// fold adds up each party's control messages, which are many and small; halves of encrypted totals, and a line
// over its budget, stay.
func fold(lines []audit.Egress) []audit.Egress {
	var list, controls []audit.Egress
	place := make(map[string]int)
	for _, e := range lines {
		if e.Class != "control" || over(e) || strings.HasSuffix(e.Kind, he.SuffixC1) {
			list = append(list, e)
			continue
		}
		at, ok := place[e.From]
		if !ok {
			at = len(controls)
			place[e.From] = at
			controls = append(controls, audit.Egress{From: e.From, To: "all", Kind: "control", Class: e.Class})
		}
		c := &controls[at]
		c.Frames, c.Bytes = c.Frames+e.Frames, c.Bytes+e.Bytes
		c.BudgetFrames, c.BudgetBytes = c.BudgetFrames+e.BudgetFrames, c.BudgetBytes+e.BudgetBytes
	}
	return append(list, controls...)
}

// classAndEncoding names class and encoding of a line.
func classAndEncoding(e audit.Egress) string {
	if e.Encoding == "" {
		return e.Class
	}
	return e.Class + ", " + e.Encoding
}

// allowed writes a budget; one of zero is none.
func allowed(budget int64, words string) string {
	if budget <= 0 {
		return none
	}
	return words
}

// used says which share of the budget was used, and shouts when it was exceeded.
func used(e audit.Egress) string {
	switch {
	case over(e):
		return "OVER BUDGET"
	case e.BudgetBytes <= 0:
		return none
	}
	return percent(float64(e.Bytes) / float64(e.BudgetBytes))
}

// over tells whether a line exceeds a budget it has.
func over(e audit.Egress) bool {
	return e.BudgetBytes > 0 && e.Bytes > e.BudgetBytes || e.BudgetFrames > 0 && e.Frames > e.BudgetFrames
}

// ledgerTable lists what each party learned by design.
func ledgerTable(r *audit.Report) *table {
	t := newTable("Disclosure ledger", "party", "kind", ">recorded", ">allowed", ">features", ">unknown columns", ">rank", ">bits a row", ">addends", "verdict")
	t.Note = "Values a party learns by design. Bits a row are those of scores in sealed jobs, about. Rank is that of the system of equations on row differences; addends is the smallest number of parties in a sum."
	for _, l := range r.Ledger {
		recorded := count(l.Count)
		if l.Unread {
			recorded = none
		}
		t.add(named(l.Party, none), l.Kind, recorded, count(l.Declared), positive(l.Features), positive(l.UnknownColumns),
			positive(l.Rank), positive(l.BitsPerRow), positive(l.Contributors), string(l.Verdict))
	}
	return t
}

// positive writes a number for which zero means that it does not apply.
func positive(n int) string {
	if n == 0 {
		return none
	}
	return count(n)
}

// attackTable lists the attacks for a terminal; found is the share of rows rebuilt, or what a test gave.
func attackTable(r *audit.Report) *table {
	t := newTable("Attacks", "attack", "view", ">rows", ">found", ">error", ">control", "verdict")
	for _, a := range r.Attacks {
		found := statistic(a)
		if a.RecoveredShare != nil {
			found = percent(*a.RecoveredShare)
		}
		t.add(a.Name, viewer(a), positive(a.Rows), found,
			optional(a.RMS, number), optional(a.ControlRMS, number), string(a.Verdict))
	}
	return t
}

// statistic writes what a test found, with what it is.
func statistic(a audit.Attack) string {
	if a.Statistic == nil {
		return none
	}
	what := map[string]string{"uniformity": "p ", "mask reuse": "p ", "known rows": "R2 ", "label leakage": "r "}[a.Name]
	if what == "p " && *a.Statistic < 1e-12 {
		return "p<1e-12"
	}
	if what == "R2 " || what == "r " {
		return fmt.Sprintf("%s%.2f", what, *a.Statistic)
	}
	return what + number(*a.Statistic)
}

// attackTableWide lists the attacks for a page, with both controls and the statistic of tests.
func attackTableWide(r *audit.Report) *table {
	t := newTable("Attacks", "attack", "view", ">rows", ">unknown columns", ">equations", ">rows rebuilt", ">same, leaky control",
		">error", ">same, empty control", ">statistic", "verdict")
	t.Note = "Rows rebuilt: within 1 % of the range of every column. Error: root mean square, as a share of a column's range. " +
		"The leaky control is the same attack where everything can be found, the empty control where there is nothing to find. " +
		"Statistic: of attacks that test, the smallest p-value, or a correlation or R\u00b2."
	for _, a := range r.Attacks {
		t.add(a.Name, viewer(a), positive(a.Rows), positive(a.UnknownColumns), positive(a.Equations), optional(a.RecoveredShare, percent),
			optional(a.ControlShare, percent), optional(a.RMS, number), optional(a.ControlRMS, number), statistic(a), string(a.Verdict))
	}
	return t
}

// viewer names whose view an attack uses.
func viewer(a audit.Attack) string {
	switch {
	case a.Party == "":
		return named(a.View, none)
	case a.View == "":
		return a.Party
	}
	return a.Party + ", " + a.View
}

// qualityTable lists how well an attack rebuilt each column.
func qualityTable(a audit.Attack) *table {
	t := newTable(capital(attacked(a)), "party", "column", ">error", ">R\u00b2")
	for _, c := range a.Columns {
		t.add(named(c.Party, none), named(c.Name, "unnamed"), number(c.RMS), number(c.R2))
	}
	return t
}

// checkTable lists the checks, those that did not pass first.
func checkTable(r *audit.Report) *table {
	t := newTable("Checks", "check", "party", "verdict", "detail")
	for _, passed := range []bool{false, true} {
		for _, c := range r.Checks {
			if passed == (c.Verdict == audit.Passed) {
				t.add(c.Name, named(c.Party, "all"), string(c.Verdict), c.Detail)
			}
		}
	}
	return t
}
