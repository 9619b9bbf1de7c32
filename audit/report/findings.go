package report

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

// finding is one thing that is not as it should be, or that somebody gained.
type finding struct {
	Verdict audit.Verdict
	Title   string
	Detail  string
}

// grave tells whether a verdict is one that a reader must see first.
func grave(v audit.Verdict) bool {
	return v == audit.Leak || v == audit.Failed || v == audit.Unverifiable
}

// maxFindings is how many findings of one kind stand under each other.
const maxFindings = 60

// shorten cuts a list of findings, the last then saying how many there are more.
func shorten(list []finding) []finding {
	if len(list) <= maxFindings {
		return list
	}
	more := len(list) - maxFindings
	return append(list[:maxFindings:maxFindings], finding{Title: "And " + count(more) + " more", Detail: "The JSON report lists them."})
}

// findings returns what failed and what leaked: checks, then attacks, then openings.
func findings(r *audit.Report) []finding {
	var out []finding
	for _, c := range r.Checks {
		if grave(c.Verdict) {
			out = append(out, finding{c.Verdict, capital(checked(c)), sentence(c.Detail)})
		}
	}
	for _, a := range r.Attacks {
		if grave(a.Verdict) {
			out = append(out, finding{a.Verdict, capital(attacked(a)), sentence(a.Detail)})
		}
	}
	for _, l := range r.Ledger {
		if grave(l.Verdict) {
			out = append(out, finding{l.Verdict, capital(learned(l)), sentence(l.Meaning)})
		}
	}
	return out
}

// checked names a check.
func checked(c audit.Check) string {
	if c.Party == "" {
		return c.Name
	}
	return c.Name + " (" + c.Party + ")"
}

// attacked names an attack and its view.
func attacked(a audit.Attack) string {
	if who := viewer(a); who != none {
		return named(a.Name, "attack") + " (" + who + ")"
	}
	return named(a.Name, "attack")
}

// learned says how many values of a kind a party learned.
func learned(l audit.Learned) string {
	party := named(l.Party, "a party")
	switch {
	case l.Unread:
		return party + " may learn " + values(l.Kind, l.Declared) + ", by the contract (its transcript was not read)"
	case l.Declared != l.Count:
		return party + " learned " + values(l.Kind, l.Count) + ", where the contract allows " + count(l.Declared)
	}
	return party + " learned " + values(l.Kind, l.Count)
}

// values counts the values of one kind, "15,000 angles".
func values(kind string, n int64) string {
	kind = named(kind, "value")
	switch {
	case strings.Contains(kind, " "):
		return count(n) + " (" + kind + ")"
	case n == 1:
		return "1 " + strings.TrimSuffix(kind, "s")
	case strings.HasSuffix(kind, "s"):
		return count(n) + " " + kind
	}
	return count(n) + " " + kind + " values"
}

// system says how many equations an opening gives for how many unknowns; empty when that does not apply.
func system(l audit.Learned) string {
	if l.UnknownColumns <= 0 {
		return ""
	}
	if l.BitsPerRow > 0 {
		return bitsOf(l)
	}
	s := fmt.Sprintf("%s against %s of the others", plural(l.Features, "feature", "features"), plural(l.UnknownColumns, "unknown column", "unknown columns"))
	switch {
	case l.Rank >= l.UnknownColumns:
		s += fmt.Sprintf(": the equations have rank %s, enough to determine the differences of rows", count(l.Rank))
	case l.Rank > 0:
		s += fmt.Sprintf(": the equations have rank %s, too few for columns of numbers; one-hot columns may follow all the same", count(l.Rank))
	}
	return s + "."
}

// bitsOf says how many bits of each row scores tell, against what is unknown.
func bitsOf(l audit.Learned) string {
	s := fmt.Sprintf("about %s a row under %s, against %s of the others", plural(l.BitsPerRow, "bit", "bits"), plural(l.Models, "model", "models"),
		plural(l.UnknownColumns, "unknown column", "unknown columns"))
	if present(l.Entropy) {
		s += fmt.Sprintf(", which have at most %.1f bits a row", *l.Entropy)
	}
	return s + "."
}

// tally holds the names of checks by outcome.
type tally struct {
	count int
	names []string
}

// tallyOf collects the checks with one of the verdicts, every name once.
func tallyOf(checks []audit.Check, is func(audit.Verdict) bool) tally {
	var t tally
	seen := map[string]bool{}
	for _, c := range checks {
		if !is(c.Verdict) {
			continue
		}
		t.count++
		if !seen[c.Name] && len(t.names) < maxRows {
			seen[c.Name] = true
			t.names = append(t.names, named(c.Name, "unnamed"))
		}
	}
	return t
}

// passed is the line that stands for all checks that hold.
func passed(checks []audit.Check) string {
	t := tallyOf(checks, func(v audit.Verdict) bool { return v == audit.Passed })
	if t.count == 0 {
		return "No check passed."
	}
	return plural(t.count, "check", "checks") + " passed: " + strings.Join(t.names, ", ") + "."
}
