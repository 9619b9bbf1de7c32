package node

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol/contract"
)

// endsSeries reports whether a job is what keeps a series ended to which this party has consented: the first refused
// one of it, which is not forgotten while others of it are known.
func (n *keeper) endsSeries(s *jobState) bool {
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
func (n *keeper) othersOfSeries(s *jobState) ([]*jobState, error) {
	alike, err := seriesOf(s.Contract())
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(n.roster.allJobs(), func(other *jobState) bool {
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
