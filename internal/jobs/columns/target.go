package columns

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The parameters that say what a training's target is.
const (
	paramTarget  = "target"
	paramClasses = "classes"
)

// Settle implements jobs.Kind: the label holder of a training says of its label what the job does not, and a party of
// an alignment that it has no rows. A label holder that proposes hears which class is the event.
func (j *Jobs) Settle(job *contract.Job) (s jobs.Settled, err error) {
	if job.Task == contract.TaskAlign {
		return j.settleAlignment(job)
	}
	target, open := openTarget(job)
	proposes := job.Task == contract.TaskTrain && !job.OverClients() && job.Proposer == j.Name()
	if !open && !proposes {
		return s, nil
	}
	t, err := j.goalOf(job)
	if err != nil || t.goal.Active[0] != j.Name() {
		return s, err
	}
	table, err := t.load()
	if err != nil {
		return s, err
	}
	classes := t.goal.ClassCount()
	if open {
		if s.Target, s.Classes, err = vertical.TargetOf(table, t.goal.Label, target); err != nil {
			return s, err
		}
		classes = s.Classes
	}
	if proposes && classes == 2 {
		s.Said, err = t.eventText(table)
	}
	return s, err
}

// openTarget reports whether a job leaves open what its label is taken for or how many classes that has, and returns
// what it says: a loss for classes says that they are.
func openTarget(job *contract.Job) (target string, open bool) {
	if job.Task != contract.TaskTrain || job.OverClients() || job.Parameters[paramClasses] != nil {
		return "", false
	}
	target, _ = job.Parameters[paramTarget].(string)
	name, _ := job.Parameters["loss"].(string)
	if loss, err := kernel.ParseLoss(name); target == "" && err == nil && loss.Classifies() {
		target = joint.Classification
	}
	return target, target != joint.Regression
}

// TakeIn implements jobs.Kind: the label holder says what its label is. Two classes are what a job is of that says
// nothing.
func (j *Jobs) TakeIn(job *contract.Job, party string, s jobs.Settled) (string, error) {
	event := s.Said
	s.Said = ""
	switch {
	case s == (jobs.Settled{}):
		return event, nil
	case job.Task == contract.TaskAlign && s == (jobs.Settled{Bare: true}):
		return j.takeInHelper(job, party)
	case job.Task == contract.TaskAlign || s.Bare:
		return "", fmt.Errorf("job %q: %s settles what such a job does not leave open", job.Name, party)
	}
	t, err := j.goalOf(job)
	if err != nil {
		return "", err
	}
	said, open := openTarget(job)
	if !open || t.goal.Active[0] != party || said != "" && s.Target != said {
		return "", fmt.Errorf("job %q: %s settles a target that the job says or that another party holds", job.Name, party)
	}
	switch {
	case s.Target == joint.Regression:
		job.Parameters[paramTarget] = s.Target
	case s.Classes != 2:
		job.Parameters[paramTarget], job.Parameters[paramClasses] = s.Target, int64(s.Classes)
	}
	label := t.goal.Label
	if t.goal, err = j.algorithms.Goal(job); err != nil {
		return "", fmt.Errorf("job %q, whose label %s has %d classes: %w", job.Name, label, s.Classes, err)
	}
	text := fmt.Sprintf("target: %s of column %s", t.goal.Kind(), label)
	if event != "" {
		event = "\n" + event
	}
	switch {
	case said != "":
		return text + event, nil
	case t.goal.Target == joint.Regression:
		return text + fmt.Sprintf(" (inferred; say target = %q for classes)", joint.Classification), nil
	}
	return text + fmt.Sprintf(" (inferred; say target = %q for a number)", joint.Regression) + event, nil
}
