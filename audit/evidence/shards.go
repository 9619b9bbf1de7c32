package evidence

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Shards is what an auditor has of the sessions of a job's shards.
type Shards struct {
	// Records are what the parties' nodes say of their shards, by party and shard; nil of parties whose folders were not
	// given.
	Records [][]ShardRecord
	// Generations are the sessions of which a party's folder has something, in any order.
	Generations []Generation
}

// ShardRecord is what a party's node says of a shard.
type ShardRecord struct {
	Latest, Done uint32 // the generation that it delegated last, and the one that is done; 0: none
	Fault        string // why it cannot be read; empty where it can, or where there is none
}

// Generation is what one party's folder has of one session of a shard.
type Generation struct {
	Party, Shard int
	Number       uint32
	Contract     contract.InForce // the zero value where it cannot be had
	Fault        string           // why
	Source       *Source          // its transcript; nil where there is none
}

// whole is the contract of the job, also where Contract is that of a shard.
func (in *Input) whole() *contract.Contract {
	if in.Job != nil {
		return in.Job
	}
	return in.Contract
}

// Owner is the key of a party in the job, also in the session of a shard, whose parties have the keys of workers.
func (in *Input) Owner(party int) keys.ID { return in.whole().Parties[party].ID }

// OfShard is what an audit reads of the session of one shard of a job: the rows of that shard, and the transcripts of
// the session that parties have, nil of one without.
func (in *Input) OfShard(c *contract.Contract, have []*Generation) Input {
	one := *in
	one.Job, one.Contract, one.Sources, one.Shards = in.Contract, c, nil, nil
	for p, g := range have {
		if g != nil && g.Source != nil {
			s := *g.Source
			s.Of = in.Contract.Parties[p].Name
			one.Sources = append(one.Sources, s)
		}
	}
	one.Columns = make([]*Columns, len(in.Columns))
	lo, hi := c.Shard.First, c.Shard.First+c.Shard.Rows
	for i, of := range in.Columns {
		if of == nil {
			continue
		}
		cut := *of
		cut.Rows = of.Rows.Cut(lo, hi)
		if of.Labels != nil {
			cut.Labels = of.Labels[lo:hi]
		}
		one.Columns[i] = &cut
	}
	return one
}

// CutShards cuts the rows of a job in shards as all its parties must.
func (in *Input) CutShards() (list []contract.Shard, err error) {
	job, rows := in.Contract.Job, contract.RowsOf(in.Contract.Parties)
	if job.Task == contract.TaskPredict {
		list, err = joint.Cut(rows, joint.ScoreRows, job.Shards)
	} else {
		var o joint.Outline
		if o, err = in.Outline(); err == nil {
			list, err = o.Cut(job.Shards)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("shards of job %q: %w", job.Name, err)
	}
	return list, nil
}

// DiscloseShard lists what the session of a shard opens and does by the job's contract alone.
func (in *Input) DiscloseShard(s contract.Shard) ([]contract.Opening, []contract.Operation, error) {
	o, err := in.outline(&s)
	if err != nil {
		return nil, nil, err
	}
	d, err := o.Disclose()
	return d.Openings, contract.SessionOperations(len(in.Contract.Parties), d.Operations), err
}
