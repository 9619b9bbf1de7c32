package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
)

// pipe is one end of frames in memory, which end with ctx.
type pipe struct {
	in, out chan []byte
	ctx     context.Context
}

// Send implements shards.Frames.
func (p *pipe) Send(ctx context.Context, parts ...[]byte) error {
	select {
	case p.out <- slices.Concat(parts...):
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Receive implements shards.Frames.
func (p *pipe) Receive(ctx context.Context, _ []byte) ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements shards.Frames.
func (p *pipe) Close() error { return nil }

// borrower has a worker's key that was meant for one shard of one job, and asks the node for another place with it.
type borrower struct{ key keys.ID }

// isServed reports whether the node has the borrower in a place of a job: it hears then that the shards are done, which
// is all that there is to hear in this test, and else why it is refused.
func (b *borrower) isServed(t *testing.T, s *shards.Service, job keys.Hash, shard, of int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x, y := make(chan []byte, 4), make(chan []byte, 4)
	own, node := &pipe{x, y, ctx}, &pipe{y, x, ctx}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve(ctx, b.key, node)
	}()
	fresh, err := keys.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	ready := &shards.Ready{Job: job.String(), Shard: shard, Of: of, Key: fresh.ID()}
	if err := shards.SendMessage(ctx, own, shards.Hello{Version: shards.Version, Ready: ready}); err != nil {
		t.Fatal(err)
	}
	var o shards.Order
	if err := shards.ReceiveMessage(ctx, own, &o); err != nil {
		t.Fatal(err)
	}
	<-served
	t.Logf("shard %d of job %s: %s %s", shard, job.Short(), o.Kind, o.Text)
	return o.Kind == shards.OrderDone
}

// service serves workers of jobs in so many shards, whose shards are done already.
func service(of int, shard func(keys.ID) (int, bool), jobs ...keys.Hash) *shards.Service {
	s := shards.New(shards.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Shard: shard,
		Job: func(digits string) (shards.Job, error) {
			for _, j := range jobs {
				if j.String() == digits {
					return shards.Job{Contract: j, Shards: of}, nil
				}
			}
			return shards.Job{}, fmt.Errorf("no job %s", digits)
		},
	})
	for _, j := range jobs {
		s.End(j, "")
	}
	return s
}

// TestBorrowerSucceeds documents what whoever has a worker's key can do with it: it is let in, and served, for the same
// shard of every job, whatever has become of the job that it was made for, and for ever. There is no way to take it
// back but to draw worker.key anew. Another shard is refused.
func TestBorrowerSucceeds(t *testing.T) {
	const of = 2
	master, err := keys.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	workers := newWorkerKeys(master)
	job, other := keys.HashOf("job"), keys.HashOf("another job")
	s := service(of, workers.shard, job, other)
	key, err := WorkerKey(master, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := &borrower{key.ID()}
	if _, in := workers.shard(b.key); !in || !b.isServed(t, s, job, 1, of) {
		t.Error("control: the key does not serve where it was meant to")
	}
	if !b.isServed(t, s, other, 1, of) {
		t.Error("the borrower is refused at another job's shard")
	}
	if b.isServed(t, s, job, 0, of) {
		t.Error("the borrower is served at another shard")
	}
	later := newWorkerKeys(master) // the node, started again years after the job has ended
	if _, in := later.shard(b.key); !in {
		t.Error("the borrower is refused at the door of a node that was started again")
	}
}
