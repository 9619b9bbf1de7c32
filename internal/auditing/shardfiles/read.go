// Package shardfiles reads what a node keeps of the shards of a job, for an audit.
package shardfiles

import (
	"errors"
	"io/fs"
	"os"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Read adds what a party's folder of a job has of the job's shards, if it has anything. open returns a transcript with
// the payloads beside it.
func Read(
	out *evidence.Shards, party int, folder string, job contract.InForce, open func(path string) (evidence.Source, error),
) error {
	c, there := job.Contract(), false
	list := make([]evidence.ShardRecord, c.Job.Shards)
	for i := range list {
		var err error
		list[i].Latest, list[i].Done, err = shards.Generations(folder, c.Hash(), i)
		if there = there || !errors.Is(err, fs.ErrNotExist); err != nil && !errors.Is(err, fs.ErrNotExist) {
			list[i].Fault = err.Error()
		}
	}
	kept, err := shards.KeptIn(folder)
	if err != nil || !there && len(kept) == 0 {
		return err
	}
	out.Records[party] = list
	for _, k := range kept {
		g := evidence.Generation{Party: party, Shard: k.Shard, Number: k.Generation}
		text, err := os.ReadFile(k.Contract)
		if err == nil {
			g.Contract, err = job.ParseShard(text)
		}
		if err != nil {
			g.Fault = err.Error()
		}
		if _, err := os.Stat(k.Transcript); err == nil {
			source, err := open(k.Transcript)
			if err != nil {
				return err
			}
			g.Source = &source
		}
		out.Generations = append(out.Generations, g)
	}
	return nil
}
