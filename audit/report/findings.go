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

// findings returns what failed and what leaked: checks, with those on what the contract leaves unprotected, then
// attacks, then openings.
func findings(r *audit.Report) []finding {
	var out []finding
	for _, c := range r.Checks {
		if grave(c.Verdict) || c.Verdict == audit.Disclosed {
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
			out = append(out, finding{l.Verdict, capital(learned(l)), sentence(plain(l))})
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
		return party + " may learn " + values(l, l.Declared) + ", by the contract (its transcript was not read)"
	case l.Declared != l.Count:
		return party + " learned " + values(l, l.Count) + ", where the contract allows " + count(l.Declared)
	}
	return party + " learned " + values(l, l.Count)
}

// values counts the values of one kind, "15,000 angles".
func values(l audit.Learned, n int64) string {
	if n == 1 {
		return "1 " + named(l.One, "value of the kind "+l.Kind)
	}
	return count(n) + " " + named(l.Many, "values of the kind "+l.Kind)
}

// plain says what the values of an opening are: in plain words, or in the contract's where there are none.
func plain(l audit.Learned) string { return named(l.Plain, l.Meaning) }

// system says how much an opening tells against what is unknown; empty when that does not apply.
func system(l audit.Learned) string {
	if l.UnknownColumns <= 0 {
		return ""
	}
	if l.BitsPerRow > 0 {
		return bitsOf(l)
	}
	s := fmt.Sprintf("%s of each row, for %s that it does not have", plural(l.Features, "such number", "such numbers"),
		plural(l.UnknownColumns, "column", "columns"))
	switch {
	case l.Rank >= l.UnknownColumns:
		s += ": enough to compute how rows differ in every one of them"
	case l.Rank > 0:
		s += ": too few to compute columns of numbers; columns that only say yes or no may follow all the same"
	}
	return s + "."
}

// bitsOf says how many bits of each row scores tell, against what is unknown.
func bitsOf(l audit.Learned) string {
	s := fmt.Sprintf("of each row they tell about %s (as much as the answers to that many yes-or-no questions), for %s that it does not have",
		plural(l.BitsPerRow, "bit", "bits"), plural(l.UnknownColumns, "column", "columns"))
	if l.Models > 1 {
		s += ", under " + plural(l.Models, "model", "models")
	}
	if present(l.Entropy) {
		s += fmt.Sprintf(", which hold at most %.1f bits a row", *l.Entropy)
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
