package wired

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Outliner is a training, or a prediction, of whose sessions outlines say what they open and do.
type Outliner interface {
	Outline(facts []contract.Facts, shard *contract.Shard) (joint.Outline, error)
}

// trainingOf reads a job that Part.Train can do, and what it learns.
func trainingOf(job *contract.Job) (joint.Training, joint.Goal, error) {
	if job.Task != contract.TaskTrain || job.OverClients() || job.Privacy == keys.PrivacySealed || job.Shards > 0 ||
		job.Rows != "" {
		return nil, joint.Goal{}, fmt.Errorf("job %q is task %q of %q with privacy %q, %d shards and rows %q: want a masked "+
			"or published training over columns without shards and rows; a node does the others", job.Name, job.Task,
			job.Algorithm, job.Privacy, job.Shards, job.Rows)
	}
	goal, err := registry.Program().Goal(job)
	if err != nil {
		return nil, goal, fmt.Errorf("job %q: %w", job.Name, err)
	}
	training, err := registry.Program().Training(job)
	if err != nil {
		return nil, goal, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return training, goal, nil
}

// Draft makes the contract of a training from the job and what each party says of its table, in the job's order. The
// same job and facts make the same contract, byte for byte: a party signs the one that it has made itself.
func Draft(job *contract.Job, all []contract.Facts) (*contract.Contract, error) {
	training, _, err := trainingOf(job)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.Rows != all[0].Rows {
			return nil, fmt.Errorf("job %q: %s has %d rows and %s has %d: want the same rows at all parties", job.Name,
				all[0].Name, all[0].Rows, f.Name, f.Rows)
		}
	}
	openings, operations, err := Disclose(job, all, training)
	if err != nil {
		return nil, err
	}
	return contract.NewContract(job, all, openings, operations)
}

// Compared lists what comparing the row ids opens and sends. With data at one party alone there is nothing to compare,
// nor where an alignment says which rows are meant.
func Compared(job *contract.Job, all []contract.Facts) (openings []contract.Opening, operations []contract.Operation) {
	holders := contract.WithData(all)
	if len(holders) < 2 || job.Rows != "" {
		return nil, nil
	}
	for _, f := range holders {
		openings = append(openings, contract.Opening{
			To: f.Name, Kind: contract.KindRowset, Count: int64(len(holders) - 1),
			Meaning: "whether the row ids of each other party with data are the same as its own; " +
				"a party that guesses the whole list of another can test its guess",
		})
	}
	return openings, []contract.Operation{contract.Rowset()}
}

// Disclose returns what a job's contract holds: the comparison of row ids, what the algorithm's code does and opens,
// and what the sessions of shards do. more are operations of the job's own session beside them.
func Disclose(
	job *contract.Job, all []contract.Facts, o Outliner, more ...contract.Operation,
) ([]contract.Opening, []contract.Operation, error) {
	d, err := disclosed(job, all, o, nil)
	if err != nil {
		return nil, nil, err
	}
	operations := d.Operations
	if job.Encrypted() {
		if operations, err = Encrypted(operations, job.Parties); err != nil {
			return nil, nil, fmt.Errorf("job %q: %w", job.Name, err)
		}
	}
	inShards, err := discloseShards(job, all, o)
	if err != nil {
		return nil, nil, err
	}
	ids, comparing := Compared(job, all)
	own := slices.Concat(comparing, operations, more)
	if job.Shards > 0 {
		own = append(own, contract.ShardsCompared())
	}
	return append(d.Openings, ids...), append(contract.SessionOperations(len(all), own), inShards...), nil
}

// disclosed is what the code of the job's own session, or of a shard's, does and opens.
func disclosed(
	job *contract.Job, all []contract.Facts, o Outliner, shard *contract.Shard,
) (d joint.Disclosure, err error) {
	outline, err := o.Outline(all, shard)
	if err == nil {
		d, err = outline.Disclose()
	}
	if err != nil {
		return d, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return d, nil
}

// discloseShards lists what the sessions of all shards do together.
func discloseShards(job *contract.Job, all []contract.Facts, o Outliner) ([]contract.Operation, error) {
	if job.Shards == 0 {
		return nil, nil
	}
	list, err := Shards(job, all, o)
	if err != nil {
		return nil, err
	}
	lists := make([][]contract.Operation, len(list))
	for i := range list {
		if _, lists[i], err = DiscloseShard(job, all, o, &list[i]); err != nil {
			return nil, err
		}
	}
	return contract.InShards(job.Shards, lists...), nil
}

// DiscloseShard lists what the session of one shard opens and does; see Disclose.
func DiscloseShard(
	job *contract.Job, all []contract.Facts, o Outliner, s *contract.Shard,
) ([]contract.Opening, []contract.Operation, error) {
	d, err := disclosed(job, all, o, s)
	if err != nil {
		return nil, nil, err
	}
	return d.Openings, contract.SessionOperations(len(all), d.Operations), nil
}

// Shards numbers a job's shards; see Disclose.
func Shards(job *contract.Job, all []contract.Facts, o Outliner) (list []contract.Shard, err error) {
	outline, err := o.Outline(all, nil)
	if err == nil {
		list, err = outline.Cut(job.Shards)
	}
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return list, nil
}
