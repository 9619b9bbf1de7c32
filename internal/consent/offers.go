package consent

import (
	"fmt"
	"slices"
)

// NotOffered is the refusal to speak of a table or a label column to another member. Its text is for the owner's log.
type NotOffered struct {
	Asker, Table, Label string
	OfTable             bool // the table is not offered; else it is, and the label column is not
}

// Error says who asked for what, and what the policy would have to say.
func (e *NotOffered) Error() string {
	if e.OfTable {
		return fmt.Sprintf("%s asks about table %q, and no [[table]] of the policy offers it to that member: "+
			"these lines would: [[table]] name = %[2]q members = [%[1]q]", e.Asker, clip(e.Table))
	}
	return fmt.Sprintf("%s asks for the labels in column %q of table %q, "+
		"and no [[table]] of the policy offers that column: "+
		"these lines would: [[table]] name = %[3]q labels = [%[2]q]", e.Asker, clip(e.Label), clip(e.Table))
}

// Offers refuses to compute facts of a table for another member unless the policy offers the table and, where this node
// is to bring the labels, the column. Without any [[table]] every table is offered, and no label column.
func (p *Policy) Offers(table, label, asker string) error {
	refusal := &NotOffered{Asker: asker, Table: table, Label: label}
	if p == nil || len(p.Tables) == 0 {
		if label == "" {
			return nil
		}
		return refusal
	}
	i := slices.IndexFunc(p.Tables, func(t Table) bool { return t.Name == table })
	if i < 0 || p.Tables[i].Members != nil && !slices.Contains(p.Tables[i].Members, asker) {
		refusal.OfTable = true
		return refusal
	}
	if label != "" && !slices.Contains(p.Tables[i].Labels, label) {
		return refusal
	}
	return nil
}

// Cells refuses to cut columns into bins of fewer rows than the policy wants; nil accepts what all jobs may ask for.
func (p *Policy) Cells(minCell int64) error {
	if p == nil || minCell >= p.MinCell {
		return nil
	}
	return fmt.Errorf("min_cell is %d, and the policy wants at least %d: bins of fewer rows tell of these rows", minCell,
		p.MinCell)
}
