package consent

import "fmt"

// Line is one sentence of what a policy does; those with Depth 1 belong to the one before with Depth 0.
type Line struct {
	Depth int
	Text  string
}

// Words says rule by rule what a policy does.
func (p *Policy) Words() []Line {
	var lines []Line
	if p != nil && p.Purpose != nil {
		lines = append(lines, Line{0, "every job whose [purpose] does not say " + join(p.Purpose, "and") + " is refused"})
	}
	for _, n := range p.rules() {
		does := "refuses"
		if n.accept {
			does = "consents to"
		}
		lines = append(lines, Line{0, fmt.Sprintf("%s %s a job when", n.name, does)})
		for _, k := range ruleKeys {
			if k.set(n.rule) {
				lines = append(lines, Line{1, k.words(n.rule)})
			}
		}
		if n.accept {
			lines = append(lines, n.rule.sumWords()...)
		}
	}
	if n := p.ApprovalsWanted(); n > 0 {
		lines = append(lines, Line{0, fmt.Sprintf("any other job waits for %d of %s, who each approve it with a key of "+
			"their own: hanse approve --as NAME", n, p.ApproverNames())})
	} else {
		lines = append(lines, Line{0, "any other job waits for hanse approve"})
	}
	if p.MinCell > 0 {
		lines = append(lines, Line{0, fmt.Sprintf("another member's scorecard has bins of at least %d rows, or is refused",
			p.MinCell)})
	}
	for i := range p.Tables {
		lines = append(lines, p.Tables[i].words())
	}
	lines = append(lines, p.keepingWords()...)
	if len(p.Tables) == 0 {
		return append(lines, Line{0, "members may ask about every table of the node, and for no label column"})
	}
	return append(lines, Line{0, "members may ask about no other table"})
}

// words says who may ask about a table.
func (t *Table) words() Line {
	who, what := "all members", "and name no label column of it"
	if t.Members != nil {
		who = join(t.Members, "and")
	}
	if len(t.Labels) > 0 {
		what = "and name as its label column " + join(t.Labels, "or")
	}
	return Line{0, fmt.Sprintf("%s may ask about table %s %s", who, t.Name, what)}
}
