package columns

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/rss"
)

// shardResult begins the names of what shards come to, in a job's folder.
const shardResult = joint.FilePrefix + "shard-"

// RemoveParts removes the parts of a job's rows that were written for workers.
func (j *Jobs) RemoveParts(contract keys.Hash) error { return parts.Remove(j.PartsFolder(), contract) }

// runShards has the shards' workers make their results, compares with all parties what the sessions were, and takes in
// the results, shard by shard.
func (r *session) runShards(ctx context.Context, o wired.Outliner, w joint.ShardWork) error {
	c := r.Contract()
	list, err := wired.Shards(c.Job, c.Parties, o)
	if err != nil {
		return err
	}
	digests, all := make([]keys.Hash, len(list)), []byte(nil)
	if w.Rows != nil {
		var spans [][2]int
		for i := range list {
			spans = append(spans, [2]int{list[i].First, list[i].First + list[i].Rows})
		}
		if digests, err = parts.Cut(r.parts, c.Hash(), w.Rows, spans, cores(r.workers)); err != nil {
			return fmt.Errorf("parts of the rows for workers: %w", err)
		}
	}
	for _, d := range digests {
		all = append(all, d[:]...)
	}
	var summed, done atomic.Int64 // rows and shards that were told of last
	file := func(i int) string { return fmt.Sprintf("%s%05d", shardResult, i) }
	sessions, err := r.Daemon.Shards(ctx, shards.Work{
		Self: r.wire.Self(), Shards: list, Parts: digests, ResultFile: file,
		Digest: keys.HashOf("hanse shards begun v1", w.Begun, all),
		Task:   func(i int) ([]byte, error) { return w.Task(list[i]) },
		Size:   func(i int) int64 { return w.Size(list[i]) },
		Disclose: func(i int) ([]contract.Opening, []contract.Operation, error) {
			return wired.DiscloseShard(c.Job, c.Parties, o, &list[i])
		},
		Check: func(i int, result []byte) error { return w.Check(list[i], result) },
		Made:  r.Sharded,
		Progress: func(rows, ready int) {
			if int64(rows) != summed.Swap(int64(rows)) {
				r.Step("rows", rows, c.Rows(), 0)
			}
			if int64(ready) > done.Swap(int64(ready)) {
				r.Daemon.Notify(jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("%d of %s done here", ready,
					wording.Count(len(list), "shard"))})
			}
		},
	})
	if err != nil {
		return err
	}
	if err := compareShards(ctx, r.wire, c, sessions); err != nil {
		return err
	}
	for i := range list {
		data, err := r.Vault.Load(file(i))
		if err != nil {
			return err
		}
		if err := w.Take(list[i], data); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return nil
}

// compareShards compares with all parties what the shards' sessions were. A mixture of sessions would be a model that
// is wrong, and nobody would see it.
func compareShards(ctx context.Context, wire *protocol.Session, c *contract.Contract, list []shards.Session) error {
	own := transcript.ShardStatement(c.Hash(), list)
	all, err := wire.Exchange(ctx, contract.KindShards, own, contract.ShardsSize)
	if err != nil {
		return err
	}
	for i, theirs := range all {
		if len(theirs) != contract.ShardsSize || !bytes.Equal(theirs[:contract.SharedSize], own[:contract.SharedSize]) {
			return &rss.DeviationError{Parties: []string{c.Parties[i].Name}, Kind: contract.KindShards,
				Reason: "it says that the shards had other sessions than this party knows of: the sums of the two do not belong " +
					"together"}
		}
	}
	return nil
}
