package columns

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Jobs is a node's part in all jobs over columns. What it keeps from one job to the next is in parts that know nothing
// of each other, each with a lock of its own.
type Jobs struct {
	*jobs.Member
	algorithms registry.List
	queues     queues
	scored     scoredModels
	lists      lists
	cuts       cuts
	looks      looks
}

// New prepares a member's part in jobs over columns, of the algorithms listed.
func New(m *jobs.Member, l registry.List) *Jobs {
	return &Jobs{
		Member: m, algorithms: l, queues: queues{of: make(map[keys.Hash]*requestQueue)},
		scored: scoredModels{member: m, of: make(map[keys.Hash]*scored)}, cuts: cuts{made: make(map[cutsOf][]cut)},
	}
}

// Task implements jobs.Kind.
func (j *Jobs) Task(job *contract.Job) (jobs.Task, error) {
	switch {
	case job.Task == contract.TaskAlign:
		a, err := j.newAlignment(job)
		return &task{part: a, member: j}, err
	case job.OverClients():
		return nil, fmt.Errorf("job %q: %s has no servers: every party holds columns of the same rows", job.Name,
			job.Algorithm)
	case job.Threshold != 0:
		return nil, fmt.Errorf("job %q: threshold is %v, want none: sums over features need every party",
			job.Name, job.Threshold)
	case job.Privacy == keys.PrivacyMasked && len(job.Parties) < 3:
		return nil, fmt.Errorf("job %q: masked sums need at least 3 parties, it has %d: with two, the root of a sum knows "+
			"the other's addend", job.Name, len(job.Parties))
	case job.Privacy == keys.PrivacySealed:
		if err := checkSealable(job); err != nil {
			return nil, err
		}
	}
	var p part
	var err error
	if job.Task == contract.TaskPredict {
		p, err = j.newPrediction(job)
	} else {
		p, err = j.newTraining(job)
	}
	return &task{part: p, member: j}, err
}

// Complete implements jobs.Kind.
func (j *Jobs) Complete(job *contract.Job) error {
	if job.Task == contract.TaskAlign {
		return j.completeAlignment(job)
	}
	if err := j.completeRows(job); err != nil {
		return err
	}
	complete := j.algorithms.OverColumns(job).Complete
	if complete == nil || job.Task != contract.TaskTrain {
		return nil
	}
	if job.Privacy == keys.PrivacySealed {
		if err := checkSealable(job); err != nil {
			return err
		}
	}
	charter := j.Charter()
	if err := complete(job, func(a, b string) bool { return !charter.Affiliated(a, b) }); err != nil {
		return wrongRoles(job, err)
	}
	return nil
}

// CompleteFor implements jobs.Kind: who keeps in an alignment, and into how many buckets its lists go; how many random
// features a training has that does not say it.
func (j *Jobs) CompleteFor(job *contract.Job, all []contract.Facts) (string, error) {
	if job.Task != contract.TaskAlign {
		complete := j.algorithms.OverColumns(job).CompleteFor
		if complete == nil || job.Task != contract.TaskTrain {
			return "", nil
		}
		return complete(job, contract.RowsOf(all))
	}
	p, err := psi.ParamsOf(job)
	if err != nil {
		return "", err
	}
	apart := func(a, b string) bool { return !j.Charter().Affiliated(a, b) }
	if p, err = p.CompleteFor(job, all, apart); err != nil {
		return "", err
	}
	return "", job.SetParameters(p)
}

// Stands implements jobs.Kind: no two who hold shares are affiliated. A prediction's roles are in the model part.
func (j *Jobs) Stands(job *contract.Job) error {
	if job.Task == contract.TaskAlign {
		_, err := j.newAlignment(job)
		return err
	}
	if job.Task != contract.TaskTrain || job.Privacy != keys.PrivacySealed {
		return nil
	}
	_, err := j.newTraining(job)
	return err
}

// Label implements jobs.Kind.
func (j *Jobs) Label(job *contract.Job) string {
	if job.Task != contract.TaskTrain {
		return ""
	}
	if t, err := j.goalOf(job); err == nil && t.active() {
		return t.goal.Label
	}
	return ""
}

// DataSum implements jobs.Kind: the helper of a sealed job may have no table.
func (j *Jobs) DataSum(job *contract.Job) (sum keys.Hash, err error) {
	if job.Privacy == keys.PrivacySealed && !j.Tables.Has(job.Table) {
		return sum, nil
	}
	sum, _, err = j.Tables.Now(job.Table)
	return sum, err
}

// Model returns the model part of a finished training. It is the one that all parties signed for when the training
// was done.
func (j *Jobs) Model(training string) (joint.Part, error) {
	part, _, err := j.modelOf(training)
	return part, err
}

// modelOf returns a model part, and the job that trained it; see Model.
func (j *Jobs) modelOf(training string) (part joint.Part, trained *contract.Job, err error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(training)); err != nil {
		return nil, nil, err
	}
	v, ok := j.Folder(h)
	if !ok {
		return nil, nil, fmt.Errorf("this node has no finished training with contract %s", h.Short())
	}
	if err := j.Signed(h, jobs.ModelFile); err != nil {
		return nil, nil, err
	}
	data, err := v.Load(jobs.ModelFile)
	if err != nil {
		return nil, nil, err
	}
	for _, done := range j.Finished(contract.TaskTrain, training) {
		if done.Contract.Hash() == h {
			part, err = j.algorithms.Part(done.Contract, data)
			return part, done.Contract.Job, err
		}
	}
	return nil, nil, fmt.Errorf("this node has no finished training with contract %s", h.Short())
}

// Known implements jobs.Kind, by the table that was looked at last: a job's facts have just been stated.
func (j *Jobs) Known(job *contract.Job) forecast.Known {
	k := j.looks.known()
	k.Algorithms = j.algorithms
	if job.Task == contract.TaskPredict {
		k.Part, _ = j.Model(job.Model) // without, the job is none of this node's
	}
	return k
}
