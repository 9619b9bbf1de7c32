package consent

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// Mistakes lists all that is wrong with a policy, each in one sentence that names file, rule, key and value. Members
// are held against the charter, where one is given.
func (p *Policy) Mistakes(charter *keys.Charter) []error {
	if p == nil {
		return nil
	}
	var found []error
	add := func(where, what string) {
		found = append(found, fmt.Errorf("policy %s: %s: %s", p.File(), where, what))
	}
	for _, what := range p.keepingMistakes() {
		add("disk", what)
	}
	for _, n := range p.rules() {
		for _, what := range n.mistakes(charter) {
			add(n.name, what)
		}
	}
	for _, what := range append(p.purposeMistakes(), p.approvalMistakes()...) {
		add("its head", what)
	}
	if p.MinCell < 0 {
		found = append(found, fmt.Errorf("policy %s: min_cell is %d, want a number of rows, or no such line", p.File(),
			p.MinCell))
	}
	for i := range p.Tables {
		where := fmt.Sprintf("table %d", i+1)
		for _, what := range p.Tables[i].mistakes(charter) {
			add(where, what)
		}
		if first := slices.IndexFunc(p.Tables, func(t Table) bool { return t.Name == p.Tables[i].Name }); first < i {
			add(where, fmt.Sprintf("name is %q, as that of table %d: put both into one", clip(p.Tables[i].Name), first+1))
		}
	}
	return found
}

// Check returns the first mistake of a policy, and says how many there are.
func (p *Policy) Check(charter *keys.Charter) error {
	found := p.Mistakes(charter)
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	return fmt.Errorf("%w (one of %d mistakes: hanse policy check lists them)", found[0], len(found))
}

// isEmpty reports whether a rule sets no key.
func (r *Rule) isEmpty() bool {
	return !slices.ContainsFunc(ruleKeys, func(k key) bool { return k.set(r) })
}

// mistakes lists what is wrong with a rule.
func (n *numbered) mistakes(charter *keys.Charter) []string {
	if n.rule.isEmpty() {
		return []string{"it sets no key and would fit every job: say which jobs it is for, or take it out"}
	}
	var found []string
	for _, k := range ruleKeys {
		if !k.set(n.rule) {
			continue
		}
		if !n.accept && k.accepts {
			found = append(found, k.name+" bounds what may be accepted, and has no place in a rule that refuses: "+
				"put it into an accept rule")
			continue
		}
		found = append(found, k.mistakes(n.rule, charter)...)
	}
	if r := n.rule; r.MinRows != nil && r.MaxRows != nil && *r.MinRows > *r.MaxRows {
		found = append(found, fmt.Sprintf("min_rows is %d and max_rows %d: no job fits both", *r.MinRows, *r.MaxRows))
	}
	return found
}

// mistakes lists what is wrong with a table.
func (t *Table) mistakes(charter *keys.Charter) []string {
	var found []string
	if t.Name == "" {
		found = append(found, "name is missing: write that of a table that the node is started with (--data NAME=FILE)")
	}
	if slices.Contains(t.Labels, "") {
		found = append(found, "labels has an empty name: write a column's name, or take it out")
	}
	if t.Members != nil {
		found = append(found, unknown("members", t.Members, members(charter))...)
	}
	return found
}

// stranger returns a member that a rule names and the charter has not, and under which key.
func (r *Rule) stranger(charter *keys.Charter) (name, key string) {
	if charter == nil {
		return "", ""
	}
	known := members(charter)
	named := map[string][]string{"proposers": r.Proposers, "parties": r.Parties, "open_to": r.OpenTo}
	for i := range r.Openings {
		named["openings"] = append(named["openings"], r.Openings[i].To...)
	}
	for _, key := range []string{"proposers", "parties", "open_to", "openings"} {
		for _, name := range named[key] {
			if !slices.Contains(known, name) {
				return name, key
			}
		}
	}
	return "", ""
}
