package node

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// summaryOf is what this node's owner reads before consent: what jobs have told before, the contract's summary, the
// forecast, what a rehearsal of it here came to, and of a training over columns what it makes of this node's own table.
// Nobody else is told of any but the summary.
func (n *Node) summaryOf(c *contract.Contract) string {
	text, listed := n.toldOf(c)
	if note := n.labelHere(c); note != "" {
		text = wording.Wrap(wording.Columns, "", note) + "\n" + text
	}
	text += summary.Of(c, n.nameIn(c), listed)
	if s, ok := n.job(c.Hash()); ok && s.forecast != nil {
		text += "\n" + wording.Wrap(wording.Columns, "", "Forecast: "+s.forecast.String())
	}
	text += n.memoryNote(c) + n.rehearsed(c)
	brings := c.Parties[c.Job.Index(n.nameIn(c))].Rows > 0
	if c.Job.Task == contract.TaskAlign && brings {
		if doubts := n.doubtsOf(c.Job); len(doubts) > 0 {
			text += "\nyour table " + c.Job.Table + ", of which others learn none of this\n"
			for _, doubt := range doubts {
				text += wording.Wrap(wording.Columns, "  ", doubt)
			}
		}
	}
	if c.Job.Task != contract.TaskTrain || c.Job.OverClients() {
		return text
	}
	label := ""
	if kind, err := n.kindOf(c.Job); err == nil {
		label = kind.Label(c.Job)
	}
	remarks := n.tables.Remarks(c.Job.Table, label)
	if remarks == nil || len(remarks.Columns)+len(remarks.Notes) == 0 || !brings {
		return text
	}
	var b strings.Builder
	b.WriteString(text + "\nyour table " + c.Job.Table + ", of which others learn none of this\n")
	if len(remarks.Columns) > 0 {
		b.WriteString(wording.Wrap(wording.Columns, "  ", "its columns: "+strings.Join(remarks.Columns, ", ")))
	}
	for _, note := range remarks.Notes {
		b.WriteString(wording.Wrap(wording.Columns, "  ", note))
	}
	return b.String()
}

// labelHere warns of a column of this node's table that is called as the label of a job whose labels are not here;
// empty where there is none. It would be a feature, and a model that has it looks as good as none is.
func (n *Node) labelHere(c *contract.Contract) string {
	label := consent.LabelOf(c.Job)
	kind, err := n.kindOf(c.Job)
	if err != nil || label == "" || c.Job.Task != contract.TaskTrain || c.Job.OverClients() || kind.Label(c.Job) != "" {
		return ""
	}
	column := wording.Line(n.tables.Called(c.Job.Table, label), wording.MaxWord)
	if column == "" {
		return ""
	}
	return fmt.Sprintf("Your table %s has a column %q, called as the label that others hold: it would be a feature here, "+
		"and a model of it looks better than it is. If it is the label, refuse the job, and leave the column out: ignore = "+
		"[%q] in the table's options.", c.Job.Table, column, column)
}

// toldOf says first what was told before of a job's rows, and what the job adds, while somebody has yet to consent; and
// how many ids an alignment's asker has listed before.
func (n *Node) toldOf(c *contract.Contract) (text string, listed int) {
	s, ok := n.job(c.Hash())
	if !ok || s.status() != StateProposed {
		return "", 0
	}
	told, err := n.toldBefore(s)
	if err != nil {
		return wording.Wrap(wording.Columns, "", fmt.Sprintf(
			"What was told before of the job's rows is not known: %v.", err)) + "\n", 0
	}
	for _, sentence := range told.Sentences(c, n.nameIn(c)) {
		text += wording.Wrap(wording.Columns, "", sentence)
	}
	if text != "" {
		text += "\n"
	}
	return text, told.Listed
}
