package report

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit"
)

// federations tells of each server's sums over its clients, and who was lost in them.
func federations(all []audit.Federation) []string {
	var list []string
	for _, f := range all {
		list = append(list, federation(f))
	}
	return list
}

// federation tells of one server's sums.
func federation(f audit.Federation) string {
	s := fmt.Sprintf("%s summed over %s: it began %s and opened %s", named(f.Server, "A server"), plural(f.Clients, "client", "clients"),
		plural(f.Sums, "sum", "sums"), count(f.Opened))
	if f.Opened > 0 {
		s += fmt.Sprintf(", each with at least %s, in the median %s (%s)", plural(f.Fewest, "contributor", "contributors"), count(f.Median), f.Counted)
	}
	return strings.TrimSpace(sentence(s) + " " + dropouts(f.Dropouts) + " " + answers(f))
}

// answers says what a server asked, and who answered, empty where it asked nothing.
func answers(f audit.Federation) string {
	if f.Questions == 0 {
		return ""
	}
	s := fmt.Sprintf("it also asked %s, to which single clients gave %s: it knows whose each is, and the lines on who learned what say what follows",
		plural(f.Questions, "question", "questions"), plural(f.Answers, "answer", "answers"))
	if f.Silent > 0 {
		s += fmt.Sprintf("; %s did not come in time", plural(f.Silent, "answer", "answers"))
	}
	return sentence(s)
}

// dropouts says who was lost how often, the most frequent first.
func dropouts(lost []audit.Dropout) string {
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
