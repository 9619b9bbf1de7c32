package render

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit/finding"
)

// item is one thing that is not as it should be, or that somebody gained.
type item struct {
	Verdict finding.Verdict
	Title   string
	Detail  string
}

// grave tells whether a verdict is one that a reader must see first.
func grave(v finding.Verdict) bool {
	return v == finding.Leak || v == finding.Failed || v == finding.Unverifiable
}

// maxFindings is how many findings of one kind stand under each other.
const maxFindings = 60

// shorten cuts a list of findings, the last then saying how many there are more.
func shorten(list []item) []item {
	if len(list) <= maxFindings {
		return list
	}
	more := len(list) - maxFindings
	return append(list[:maxFindings:maxFindings],
		item{Title: "And " + count(more) + " more", Detail: "The JSON report lists them."})
}

// findings returns what failed and what leaked: checks, with those on what the contract leaves unprotected, then
// attacks, then openings.
func findings(r *finding.Report) []item {
	var out []item
	for _, c := range r.Checks {
		if grave(c.Verdict) || c.Verdict == finding.Disclosed {
			out = append(out, item{c.Verdict, capital(checked(c)), sentence(c.Detail)})
		}
	}
	for _, a := range r.Attacks {
		if grave(a.Verdict) {
			out = append(out, item{a.Verdict, capital(attacked(a)), sentence(a.Detail)})
		}
	}
	for _, l := range r.Ledger {
		if grave(l.Verdict) {
			out = append(out, item{l.Verdict, capital(learned(l)), sentence(plain(l))})
		}
	}
	return out
}

func checked(c finding.Check) string {
	if c.Party == "" {
		return c.Name
	}
	return c.Name + " (" + c.Party + ")"
}

// attacked names an attack and its view.
func attacked(a finding.Attack) string {
	if who := viewer(a); who != none {
		return named(a.Name, "attack") + " (" + who + ")"
	}
	return named(a.Name, "attack")
}

// learned says how many values of a kind a party learned.
func learned(l finding.Learned) string {
	party := named(l.Party, "a party")
	switch {
	case l.Verdict == finding.NotRead:
		return party + " may learn " + values(l, l.Declared) + ", by the contract"
	case l.Unread:
		return party + " may learn " + values(l, l.Declared) + ", by the contract (what it learned was not counted)"
	case l.Declared != l.Count:
		return party + " learned " + values(l, l.Count) + ", where the contract allows " + count(l.Declared)
	}
	return party + " learned " + values(l, l.Count)
}

// values counts the values of one kind, "15,000 angles"; where people have another word for it than the contract, the
// contract's stands behind it.
func values(l finding.Learned, n int64) string {
	words := l.Many
	if n == 1 {
		words = l.One
	}
	switch {
	case words == "":
		return fmt.Sprintf("%s of the kind %s", plural(n, "value", "values"), l.Kind)
	case l.Many == l.Kind || l.One == l.Kind:
		return count(n) + " " + words
	}
	return fmt.Sprintf("%s %s (%s)", count(n), words, l.Kind)
}

// plain says what the values of an opening are: in plain words, or in the contract's where there are none.
func plain(l finding.Learned) string { return named(l.Plain, l.Meaning) }

// system says how much an opening tells against what is unknown; empty when that does not apply.
func system(l finding.Learned) string {
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
func bitsOf(l finding.Learned) string {
	s := fmt.Sprintf("of each row they tell about %s (as much as the answers to that many yes-or-no "+
		"questions), for %s that it does not have",
		plural(l.BitsPerRow, "bit", "bits"), plural(l.UnknownColumns, "column", "columns"))
	if l.Models > 1 {
		s += ", in " + plural(l.Models, "score", "scores")
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
func tallyOf(checks []finding.Check, is func(finding.Verdict) bool) tally {
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
func passed(checks []finding.Check) string {
	t := tallyOf(checks, func(v finding.Verdict) bool { return v == finding.Passed })
	if t.count == 0 {
		return "No check passed."
	}
	return plural(t.count, "check", "checks") + " passed: " + strings.Join(t.names, ", ") + "."
}

// federations tells of each server's sums over its clients, and who was lost in them.
func federations(all []finding.Federation) []string {
	var list []string
	for _, f := range all {
		list = append(list, federation(f))
	}
	return list
}

// federation tells of one server's sums.
func federation(f finding.Federation) string {
	s := fmt.Sprintf("%s summed over %s: it began %s and opened %s", named(f.Server, "A server"),
		plural(f.Clients, "client", "clients"),
		plural(f.Sums, "sum", "sums"), count(f.Opened))
	if f.Opened > 0 {
		s += fmt.Sprintf(", each with at least %s, in the median %s (%s)", plural(f.Fewest, "contributor", "contributors"),
			count(f.Median), f.Counted)
	}
	return strings.TrimSpace(sentence(s) + " " + dropouts(f.Dropouts) + " " + answers(f))
}

// answers says what a server asked, and who answered, empty where it asked nothing.
func answers(f finding.Federation) string {
	if f.Questions == 0 {
		return ""
	}
	s := fmt.Sprintf("it also asked %s, to which single clients gave %s: it knows whose each is, and "+
		"the lines on who learned what say what follows",
		plural(f.Questions, "question", "questions"), plural(f.Answers, "answer", "answers"))
	if f.Silent > 0 {
		s += fmt.Sprintf("; %s did not come in time", plural(f.Silent, "answer", "answers"))
	}
	return sentence(s)
}

// dropouts says who was lost how often, the most frequent first.
func dropouts(lost []finding.Dropout) string {
	if len(lost) == 0 {
		return "No client was lost in a sum."
	}
	var names []string
	for _, d := range lost[:min(len(lost), maxNamed)] {
		names = append(names, fmt.Sprintf("%s in %s", named(d.Client, "an unnamed client"), plural(d.Sums, "sum", "sums")))
	}
	if n := len(lost) - len(names); n > 0 {
		names = append(names, plural(n, "other client", "other clients")+" less often")
	}
	return sentence("sums went on without clients that had been asked: " + list(names))
}
