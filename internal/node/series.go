package node

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// inSeries returns the consent of a series that a proposal belongs to, empty where it belongs to none: a person or a
// rule has consented to a prediction with Repeat, so many jobs have not had that consent yet, and this one differs from
// it in its rows alone. What it adds to what was told of its rows is within the standards of a rule. n.judging is held.
func (n *Node) inSeries(s *jobState, c *consent.Case) (job.Consent, error) {
	j := s.Contract().Job
	if j.Repeat < 2 || n.config.Policy.ApprovalsWanted() > 0 || !c.WithinStandards() {
		return job.Consent{}, nil
	}
	others, err := n.othersOfSeries(s)
	if err != nil {
		return job.Consent{}, err
	}
	var first *jobState
	count := 0
	for _, other := range others {
		if other.refused() { // whoever refuses one ends the series
			return job.Consent{}, nil
		}
		r := other.Record()
		if r.Consent == nil || !n.ledger.Has(other.Contract().Hash()) {
			continue
		}
		count++
		if r.Consent.By != job.BySeries && (first == nil || r.Consent.At.Before(first.Record().Consent.At)) {
			first = other
		}
	}
	if first == nil || count >= j.Repeat || 2*s.Contract().Rows() > 3*first.Contract().Rows() {
		return job.Consent{}, nil
	}
	return job.Consent{By: job.BySeries, Rule: fmt.Sprintf("%d of %d after job %s", count+1, j.Repeat,
		first.Contract().Job.Name)}, nil
}

// endsSeries reports whether a job is what keeps a series ended to which this party has consented: the first refused
// one of it, which is not forgotten while others of it are known.
func (n *Node) endsSeries(s *jobState) bool {
	if s.Contract().Job.Repeat < 2 || !s.refused() {
		return false
	}
	others, err := n.othersOfSeries(s)
	consented := err != nil // what cannot be read is no reason to forget
	for _, other := range others {
		if other.refused() && other.endedAt().Before(s.endedAt()) {
			return false
		}
		consented = consented || other.Record().Consent != nil
	}
	return consented
}

// refused reports whether a job has ended because a party refused it.
func (s *jobState) refused() bool {
	e := s.Ending()
	return e != nil && e.Outcome == contract.OutcomeRefused
}

// othersOfSeries lists the other jobs of a series that are known here.
func (n *Node) othersOfSeries(s *jobState) ([]*jobState, error) {
	alike, err := seriesOf(s.Contract())
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(n.allJobs(), func(other *jobState) bool {
		if other == s || other.Contract().Job.Repeat != s.Contract().Job.Repeat {
			return true
		}
		its, err := seriesOf(other.Contract())
		return err != nil || !bytes.Equal(its, alike)
	})
	return others, nil
}

// seriesOf is what the jobs of a series have alike: all but names, rows, and what makes two contracts of one job.
func seriesOf(c *contract.Contract) ([]byte, error) {
	job := *c.Job
	job.Name, job.Rows, job.Alignment, job.Nonce, job.Expires, job.Charter = "", "", "", "", "", ""
	text, err := job.Text()
	if err != nil {
		return nil, err
	}
	for i := range c.Parties {
		f := &c.Parties[i]
		text = fmt.Appendf(text, "%s %s %d\n", f.ID, f.Role, f.Columns)
	}
	return text, nil
}
