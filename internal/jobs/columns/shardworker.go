package columns

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// WorkShard is a worker's part of a shard's session, of an algorithm of this program.
func WorkShard(ctx context.Context, s *worker.Session) (result []byte, err error) {
	own := &joint.Session{Contract: s.Contract, Self: s.Wire.Self(), Workers: s.Cores,
		Report: func(p joint.Progress) { s.Report(p.Step, p.Done, p.Total) }}
	if s.Contract.Job.Privacy == keys.PrivacySealed {
		own.Sealed, err = wired.NewSealedNetwork(s.Wire, s.Contract, cores(s.Cores))
	} else {
		own.Network, err = wired.NewNetwork(ctx, s.Wire, s.Contract, func(string, int64) {})
	}
	if err != nil {
		return nil, err
	}
	work := registry.Program().OverColumns(s.Contract.Job).Work
	if work == nil {
		return nil, fmt.Errorf("the node asks for %.30q, which this worker does not know: run one version of the program",
			s.Contract.Job.Algorithm)
	}
	return work(ctx, own, joint.Work{Task: s.Work, Rows: s.Rows, JobRows: s.JobRows})
}

// What a worker takes beside its rows and its part of the algorithm, in bytes.
const (
	workerMemory = 96 << 20
	workerDisk   = 64 << 20
)

// WorkerNeeds is about how many bytes of memory, and of disk, the worker of a party of a job in shards takes.
func WorkerNeeds(c *contract.Contract, party int) (memory, scratch int64, err error) {
	if c.Job.Shards == 0 {
		return 0, 0, fmt.Errorf("job %q has no shards", c.Job.Name)
	}
	rows := int64(c.Rows()/c.Job.Shards + 1)
	memory = workerMemory + rows*(8*int64(c.Parties[party].Columns)+16)
	if c.Job.Task == contract.TaskTrain { // else a few blocks, which are smaller than those of a training
		o, err := registry.Program().Outline(c.Job, nil, c.Parties, nil)
		if err != nil {
			return 0, 0, err
		}
		if p, _ := fdskl.ParamsIn(o); c.Job.Privacy == keys.PrivacySealed {
			memory += sealed.Memory(p, int(rows))
		} else {
			memory += 4 * 8 * int64(p.Features) * int64(p.Features)
		}
	}
	files, err := shards.NeedsDisk(c, party)
	return memory, workerDisk + files, err
}
