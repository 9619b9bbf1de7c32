package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// digests is what this node's owner reads of a job before a consent.
type digests struct {
	config     *Config
	tables     *jobs.Tables
	member     *member
	algorithms *algorithms
	roster     *roster
	accounts   *accounts
	keeper     *keeper
}

// summaryOf is what this node's owner reads before consent: the contract's summary, with what jobs have told before,
// what the job makes of this node's own table, the forecast, and what a rehearsal of it here came to. Nobody else is
// told of any but the contract's own part.
func (n *digests) summaryOf(c *contract.Contract) shown {
	known, notes := n.knownOf(c)
	if note := n.labelHere(c); note != "" {
		notes = append(notes, note)
	}
	if hint := n.keeper.keysHint(c.Job); hint != "" {
		notes = append(notes, strings.ToUpper(hint[:1])+hint[1:]+".")
	}
	s := summary.Of(c, n.member.nameIn(c), known)
	says := shown{lead: s.Lead, notes: notes, own: n.ownTable(c)}
	text := ""
	for _, sentence := range append([]string{s.Lead.Text}, notes...) {
		text += wording.Wrap(wording.Columns, "", sentence)
	}
	text += "\n" + s.Head
	if len(says.own) > 0 {
		text += "\nyour table " + c.Job.Table + ", of which others learn none of this\n"
	}
	for _, note := range says.own {
		text += wording.Wrap(wording.Columns, "  ", note)
	}
	if s, ok := n.roster.job(c.Hash()); ok && s.forecast != nil {
		text += "\n" + wording.Wrap(wording.Columns, "", "Forecast: "+s.forecast.String())
	}
	says.text, says.whole = text+n.algorithms.memoryNote(c)+n.rehearsed(c), s.Whole
	return says
}

// shown is a job's summary as its node's owner reads it: as two texts, and what of the first stands by itself on a
// page.
type shown struct {
	text  string       // what is decided by
	whole string       // every message, what it takes, what is kept
	lead  summary.Lead // the first sentence
	notes []string     // those after it
	own   []string     // what the job makes of this node's own table
}

// ownTable is what a training or alignment makes of this node's own table, a sentence each.
func (n *digests) ownTable(c *contract.Contract) (notes []string) {
	if c.Parties[c.Job.Index(n.member.nameIn(c))].Rows == 0 || c.Job.OverClients() {
		return nil
	}
	switch c.Job.Task {
	case contract.TaskAlign:
		return n.keeper.doubtsOf(c.Job)
	case contract.TaskTrain:
		label := ""
		if kind, err := n.algorithms.kindOf(c.Job); err == nil {
			label = kind.Label(c.Job)
		}
		remarks := n.tables.Remarks(c.Job.Table, label)
		if remarks == nil {
			return nil
		}
		if len(remarks.Columns) > 0 {
			notes = append(notes, "its columns: "+strings.Join(remarks.Columns, ", "))
		}
		notes = append(notes, remarks.Notes...)
	}
	return notes
}

// labelHere warns of a column of this node's table that is called as the label of a job whose labels are not here;
// empty where there is none. It would be a feature, and a model that has it looks as good as none is.
func (n *digests) labelHere(c *contract.Contract) string {
	label := consent.LabelOf(c.Job)
	kind, err := n.algorithms.kindOf(c.Job)
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

// knownOf returns what this node knows of a job beside its contract, while somebody has yet to consent, and what it
// says of what was told before.
func (n *digests) knownOf(c *contract.Contract) (k summary.Known, before []string) {
	k.Algorithms = n.config.Algorithms
	s, ok := n.roster.job(c.Hash())
	if !ok {
		return k, nil
	}
	state := s.State()
	k.Least = c.Job.Contributors(n.member.currentCharter().Rules)
	if k.Awaited = n.lacksConsent(s); k.Awaited {
		k.Consented = n.signedBy(s)
	}
	if state != job.Proposed {
		return k, nil
	}
	told, err := n.accounts.toldBefore(s)
	if err != nil {
		return k, []string{fmt.Sprintf("What was told before of the job's rows is not known: %v.", err)}
	}
	k.Told = &told
	return k, told.Sentences(c, n.member.nameIn(c))
}

// lacksConsent reports whether a job waits for the consent of a party, at a node that hears who consents: one whose own
// owner has yet to, or the proposer's.
func (n *digests) lacksConsent(s *jobState) bool {
	_, agreed := s.InForce()
	ours := s.Contract().Job.Proposer == s.Self()
	return s.State() == job.Proposed || s.State() == job.Agreed && !agreed && ours
}

// signedBy lists the parties of a job whose signature this node has seen, itself once its owner has consented.
func (n *digests) signedBy(s *jobState) []string {
	signed := s.watched.signers()
	return slices.DeleteFunc(slices.Clone(s.Contract().Job.Parties), func(party string) bool {
		if party == s.Self() {
			return s.State() == job.Proposed
		}
		return !slices.Contains(signed, party)
	})
}

// rehearsed says in a contract's summary what a rehearsal of it came to on this machine, nothing where there was none.
func (n *digests) rehearsed(c *contract.Contract) string {
	if !rehearsal.Any(n.config.Dir) {
		return ""
	}
	likeness, err := c.Likeness()
	if err != nil {
		return ""
	}
	r, err := rehearsal.Find(n.config.Dir, likeness)
	if err != nil {
		n.config.Log.Warn("a kept rehearsal cannot be read: rehearse the job anew", "job", c.Job.Name, "error", err)
	}
	if r == nil || err != nil {
		return ""
	}
	return "\n" + wording.Wrap(wording.Columns, "", r.Sentence(n.member.nameIn(c)))
}

// summaryFor is a job's summary. That of a job that is shed is made once, since lists have all of them.
func (n *digests) summaryFor(s *jobState) shown {
	if !s.Brief() {
		return n.summaryOf(s.Contract())
	}
	if made := s.summary.Load(); made != nil {
		return *made
	}
	made := n.summaryOf(n.roster.whole(s))
	s.summary.Store(&made)
	return made
}
