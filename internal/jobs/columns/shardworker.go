package columns

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// What workers do.
const (
	sealedSums   = "sealed sums"
	sealedScores = "sealed scores"
	maskedScores = "masked scores"
	maskedSum    = "masked sums"
)

// shardTask is what a worker of a shard is told beside contracts and rows.
type shardTask struct {
	Kind     string    `cbor:"1,keyasint"`
	Model    []byte    `cbor:"2,keyasint"`           // this party's part, as far as it is known
	Labels   []byte    `cbor:"3,keyasint,omitempty"` // at the label holder: words, or of a masked training numbers
	Receiver int       `cbor:"4,keyasint,omitempty"` // of a prediction
	IDs      []string  `cbor:"5,keyasint,omitempty"` // of the rows of a prediction, where this party has them
	Coin     keys.Hash `cbor:"6,keyasint"`           // of the rows kept out of a sealed training; zeros: none
}

// encode returns a task's bytes.
func (t shardTask) encode() ([]byte, error) { return cbor.Marshal(t) }

// WorkShard is a worker's part of a shard's session.
func WorkShard(ctx context.Context, s *worker.Session) ([]byte, error) {
	var t shardTask
	if err := control.Decode(s.Work, &t); err != nil {
		return nil, err
	}
	model, err := fdskl.DecodeModel(t.Model)
	if err != nil {
		return nil, err
	}
	if len(t.Labels)%8 != 0 {
		return nil, fmt.Errorf("%d bytes of labels, want a multiple of 8", len(t.Labels))
	}
	var matrices []*kernel.Matrix
	if s.Rows != nil {
		matrices = append(matrices, s.Rows)
	}
	at := s.Contract.Shard
	shard := fdskl.Shard{Lo: at.First, Hi: at.First + at.Rows}
	report := func(p joint.Progress) { s.Report(p.Step, p.Done, p.Total) }
	if t.Kind == maskedSum || t.Kind == maskedScores {
		network, err := wired.NewNetwork(ctx, s.Wire, s.Contract, func(string, int64) {})
		if err != nil {
			return nil, err
		}
		if t.Kind == maskedScores {
			scores, err := fdskl.ScoreShard(ctx, fdskl.ShardScoring{Self: s.Wire.Self(), Receiver: t.Receiver, Model: model,
				Rows: shard.Rows(), Matrices: matrices, Network: network, Workers: s.Cores, Report: report})
			return fdskl.EncodeScores(scores), err
		}
		sums, err := fdskl.SumRows(ctx, fdskl.Summing{Self: s.Wire.Self(), Begun: model, Rows: s.JobRows, Shard: shard,
			Matrices: matrices, Labels: decodeFloats(t.Labels), Network: network, Workers: s.Cores, Report: report})
		return sums.Encode(), err
	}
	network, err := wired.NewSealedNetwork(s.Wire, s.Contract, cores(s.Cores))
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case sealedSums:
		sums, err := sealed.SumRows(ctx, sealed.Summing{Self: s.Wire.Self(), Begun: model, Rows: s.JobRows, Shard: shard,
			Matrices: matrices, Labels: decodeWords(t.Labels), Coin: t.Coin, Network: network, Workers: s.Cores, Report: report})
		return sums.Encode(), err
	case sealedScores:
		words, err := sealed.ScoreShard(ctx, sealed.ShardScoring{Self: s.Wire.Self(), Receiver: t.Receiver, Model: model,
			Rows: shard.Rows(), Matrices: matrices, IDs: t.IDs, Network: network, Workers: s.Cores, Report: report})
		return words.Encode(), err
	}
	return nil, fmt.Errorf("the node asks for %.30q, which this worker does not know: run one version of the program",
		t.Kind)
}

// checkShards refuses shards of jobs whose rows cannot be worked on in shards.
func checkShards(job *contract.Job, p fdskl.Params) error {
	if job.Shards == 0 || job.Privacy == fdskl.Sealed {
		return nil
	}
	if err := fdskl.CheckSharded(p, job.Privacy, job.Encrypted()); err != nil {
		return fmt.Errorf("job %q: shards is %d: %w", job.Name, job.Shards, err)
	}
	return nil
}

// decodeWords reads what encodeWords wrote; of nothing it is nil.
func decodeWords(b []byte) (words []uint64) {
	for ; len(b) > 0; b = b[8:] {
		words = append(words, binary.LittleEndian.Uint64(b))
	}
	return words
}

// encodeFloats writes numbers as bytes.
func encodeFloats(list []float64) []byte {
	b := make([]byte, 0, 8*len(list))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// decodeFloats reads what encodeFloats wrote; of nothing it is nil.
func decodeFloats(b []byte) (list []float64) {
	for ; len(b) > 0; b = b[8:] {
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return list
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
	p, err := registry.Params(c.Job, c.Parties)
	if err != nil && c.Job.Task == contract.TaskTrain {
		return 0, 0, err
	}
	rows := int64(c.Rows()/c.Job.Shards + 1)
	memory = workerMemory + rows*(8*int64(c.Parties[party].Columns)+16)
	switch {
	case c.Job.Task != contract.TaskTrain: // a few blocks, which are smaller than those of a training
	case c.Job.Privacy == fdskl.Sealed:
		memory += sealed.Memory(p, int(rows))
	default:
		memory += 4 * 8 * int64(p.Features) * int64(p.Features)
	}
	files, err := shards.NeedsDisk(c, party)
	return memory, workerDisk + files, err
}
