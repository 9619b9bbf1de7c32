package node

import (
	"context"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A job may take its model and its rows from jobs before it. These are done at one party a moment before another knows:
// the end travels. A job that is proposed in that moment waits for it.

// endingInput returns a job that is ending here and that another one takes its model or its rows from, nil where there
// is none. Of rows that are not settled yet that is any alignment that they can mean.
func (n *consents) endingInput(job *contract.Job) *jobState {
	if job.Model == "" && job.Rows == "" {
		return nil
	}
	for _, s := range n.roster.openJobs() {
		h, before := s.Contract().Hash().String(), s.Contract().Job
		meant := before.Task == contract.TaskAlign && Means(job.Rows, before.Name, h) && job.Rows != "" && job.Alignment == ""
		if (meant || h == job.Model || h == job.Alignment) && s.IsEnding() {
			return s
		}
	}
	return nil
}

// inputsFor refuses for now a job of a member that takes something from one that is ending here. Who took no part in
// that one learns nothing of it.
func (n *consents) inputsFor(from keys.ID, job *contract.Job) error {
	s := n.endingInput(job)
	if s == nil || partyWith(s.Contract(), from) < 0 {
		return nil
	}
	s.looks.hurry()
	before := s.Contract().Job.Name
	return &faults.Error{Code: fault.CodeEnding, Names: []string{before}, Err: fmt.Errorf("job %q takes something from "+
		"job %q, whose end has not come to this node yet", job.Name, before)}
}

// awaitInputs waits until no job that another one, to be proposed here, takes something from is ending at this node,
// telling listen what it waits for. What cannot be read as a job waits for nothing.
func (n *consents) awaitInputs(ctx context.Context, text []byte, listen func(jobs.Event)) error {
	job, err := contract.ParseJob(text)
	if err != nil {
		return nil
	}
	since, told := time.Now(), time.Time{}
	for {
		s := n.endingInput(job)
		if s == nil {
			return nil
		}
		s.looks.hurry()
		if time.Since(told) >= jobs.WaitReport && listen != nil {
			told = time.Now()
			listen(jobs.Event{Kind: jobs.EventWaiting, Time: told, Since: since, Text: fmt.Sprintf("waiting for the end of "+
				"job %s%s: this party's part is stored, and not all have signed yet", s.Contract().Job.Name, lasting(since))})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return fmt.Errorf("waiting for the end of job %q: %w", s.Contract().Job.Name, err)
		}
	}
}
