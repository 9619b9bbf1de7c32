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
	}
	lines = append(lines, Line{0, "any other job waits for hanse approve"})
	for i := range p.Tables {
		lines = append(lines, p.Tables[i].words())
	}
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
