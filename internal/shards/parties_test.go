package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// pipe is one end of frames in memory, which end with ctx.
type pipe struct {
	in, out chan []byte
	ctx     context.Context
}

func (p *pipe) Send(ctx context.Context, parts ...[]byte) error {
	select {
	case p.out <- slices.Concat(parts...):
		return nil
	case <-p.ctx.Done():
		return errors.New("the stream is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Receive(ctx context.Context, _ []byte) ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.ctx.Done():
		return nil, errors.New("the stream is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() error { return nil }

// noMesh is a session in which the workers tell each other nothing.
type noMesh struct{ protocol.Mesh }

func (noMesh) Close() error { return nil }

// parties are three nodes with a worker for each shard of a job. What a shard comes to is the hash of its session's
// contract, and the workers need nothing of each other: each may fail where the others do not.
type parties struct {
	*sharded
	t        *testing.T
	services []*Service
	vaults   []*vault.Vault
	digests  []keys.Hash // see Work.Digest
	ctx      context.Context
	stop     context.CancelFunc
	works    sync.WaitGroup
	// act is what the worker of a shard does with a task: nil is its best, errLeaves to break off without a word, any
	// other error to say that it failed.
	act func(party, shard int, generation uint32) error
	lie func(party int, q Request, a *Response) // changes an answer to the coordinator; may be nil
	// asks fails a request to another party, before or behind its answer.
	asks func(number int) (before, behind error)

	mu    sync.Mutex
	asked int
	had   map[keys.ID]keys.Hash // keys of workers, and the session that each had
	given map[string]uint32     // by party and shard: the last generation that was delegated, as far as others saw
	twice []string              // what was given out twice
}

var errLeaves = errors.New("the worker leaves")

func newParties(t *testing.T) *parties {
	ctx, cancel := context.WithCancel(context.Background())
	l := &parties{sharded: newSharded(t), t: t, ctx: ctx, stop: cancel, digests: make([]keys.Hash, 3),
		had: make(map[keys.ID]keys.Hash), given: make(map[string]uint32)}
	h := l.job.Contract().Hash()
	for p := range l.keys {
		v, err := vault.Open(t.TempDir(), vault.Options{Rebuildable: func(string) bool { return true }})
		must(t, err)
		l.vaults = append(l.vaults, v)
		l.services = append(l.services, New(Config{Key: l.keys[p], Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Open: func(context.Context, protocol.SessionID, []keys.ID) (protocol.Mesh, error) { return noMesh{}, nil },
			Job:  func(string) (Job, error) { return Job{Contract: h, Shards: 2}, nil }}))
	}
	t.Cleanup(func() {
		cancel()
		l.works.Wait()
		for _, v := range l.vaults {
			v.Close()
		}
	})
	return l
}

// hire starts the workers.
func (l *parties) hire() {
	for p := range l.services {
		for s := range l.shards {
			l.works.Go(func() {
				for l.ctx.Err() == nil && !l.employed(p, s) {
				}
			})
		}
	}
}

// employed is a worker over one connection. It returns whether its shard is done.
func (l *parties) employed(party, shard int) (done bool) {
	ctx, cancel := context.WithCancel(l.ctx)
	x, y := make(chan []byte), make(chan []byte)
	own, node := &pipe{x, y, ctx}, &pipe{y, x, ctx}
	var served sync.WaitGroup
	served.Go(func() {
		defer cancel()
		l.services[party].Serve(ctx, keys.ID{}, node)
	})
	defer served.Wait()
	defer cancel()
	for {
		key, err := keys.GenerateKey()
		if err != nil {
			return false
		}
		hello := Hello{Version: Version, Ready: &Ready{Job: "job", Shard: shard, Of: 2, Key: key.ID()}}
		if SendMessage(ctx, own, hello) != nil {
			return false
		}
		var o Order
		if ReceiveMessage(ctx, own, &o) != nil {
			return false
		}
		switch o.Kind {
		case OrderDone:
			return true
		case OrderAgain:
			continue
		case OrderWork:
		default:
			return false
		}
		said, data, err := l.session(ctx, own, party, shard, key.ID(), o.Size)
		if err != nil {
			return false
		}
		if said.Kind == SaidResult {
			file := Said{Kind: SaidFile, Name: TranscriptFile, Size: int64(len(data))}
			if SendMessage(ctx, own, file) != nil || SendData(ctx, own, bytes.NewReader(data), file.Size) != nil {
				return false
			}
		}
		if SendMessage(ctx, own, said) != nil || SendData(ctx, own, bytes.NewReader(data), said.Size) != nil {
			return false
		}
	}
}

// session reads a worker's task.
func (l *parties) session(
	ctx context.Context, f Frames, party, shard int, key keys.ID, size int64,
) (said Said, data []byte, err error) {
	var b bytes.Buffer
	var task Task
	if err := ReceiveData(ctx, f, &b, size); err != nil {
		return said, nil, err
	}
	if err := control.Decode(b.Bytes(), &task); err != nil {
		return said, nil, err
	}
	in, err := l.job.ParseShard(task.Shard)
	if err != nil {
		return said, nil, err
	}
	c := in.Contract()
	h := c.Hash()
	l.mu.Lock()
	if c.Parties[party].ID != key || c.Shard.Index != shard {
		l.twice = append(l.twice, "a task for another worker")
	}
	if !l.had[key].IsZero() {
		l.twice = append(l.twice, "a key that had a session")
	}
	l.had[key] = h
	l.mu.Unlock()
	if l.act != nil {
		if err := l.act(party, shard, c.Shard.Generation); errors.Is(err, errLeaves) {
			return said, nil, err
		} else if err != nil {
			return Said{Kind: SaidFailed, Text: err.Error()}, nil, nil
		}
	}
	return Said{Kind: SaidResult, Size: int64(len(h))}, h[:], nil
}

// result names the file of a shard's result.
func result(shard int) string { return fmt.Sprintf("result-%d", shard) }

// ask is a request of the coordinator, which is the first party, to another.
func (l *parties) ask(_ context.Context, party int, q Request) (Response, error) {
	l.mu.Lock()
	l.asked++
	var before, behind error
	if l.asks != nil {
		before, behind = l.asks(l.asked)
	}
	l.mu.Unlock()
	if before != nil {
		return Response{}, before
	}
	a, err := l.services[party].Answer(l.job.Contract().Hash(), q)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, text := range a.Delegations {
		d, err := contract.ParseDelegation([]byte(text))
		if text == "" || err != nil {
			continue
		}
		at := fmt.Sprint(party, " ", q.Offers[i].Shard)
		if d.Generation <= l.given[at] {
			l.twice = append(l.twice, fmt.Sprintf("party and shard %s: generation %d after %d", at, d.Generation, l.given[at]))
		}
		l.given[at] = d.Generation
	}
	if l.lie != nil {
		l.lie(party, q, &a)
	}
	return a, errors.Join(err, behind)
}

// runAll has all parties run their shards, with new workers where there are none; all end when one fails.
func (l *parties) runAll() ([3][]Session, error) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, 30*time.Second, errors.New("the shards are not done"))
	defer cancel()
	var lists [3][]Session
	var errs [3]error
	var all sync.WaitGroup
	for p, s := range l.services {
		w := Work{Contract: l.job, Self: p, Vault: l.vaults[p], Shards: l.shards, Parts: make([]keys.Hash, 2),
			Digest: l.digests[p], Task: func(int) ([]byte, error) { return nil, nil }, Disclose: operations,
			ResultFile: result, Size: func(int) int64 { return 100 }, Check: func(int, []byte) error { return nil },
			Reserve: func(int64) error { return nil }, Alive: func(context.Context) bool { return true },
			Waiting: func(int, []string, time.Time) {}}
		if p == 0 {
			w.Ask = l.ask
		}
		all.Go(func() {
			if lists[p], errs[p] = s.Run(ctx, w); errs[p] != nil {
				cancel()
			}
		})
	}
	for _, s := range l.services { // a worker that came before a run is told that all is done, if it was once
		for ctx.Err() == nil {
			if a, _ := s.Answer(l.job.Contract().Hash(), Request{}); !a.Absent {
				break
			}
			runtime.Gosched()
		}
	}
	l.hire()
	all.Wait()
	return lists, errors.Join(errs[:]...)
}

// wantOne checks that the parties' results are of the same sessions, and that nothing was given out twice.
func (l *parties) wantOne(lists [3][]Session) {
	l.t.Helper()
	h := l.job.Contract().Hash()
	for p, list := range lists {
		own, first := transcript.ShardStatement(h, list), transcript.ShardStatement(h, lists[0])
		if !bytes.Equal(own[:32], first[:32]) {
			l.t.Errorf("party %d has other sessions: %+v and %+v", p, list, lists[0])
		}
		for i, s := range list {
			if got, err := l.vaults[p].Load(result(i)); err != nil || !bytes.Equal(got, s.Contract[:]) {
				l.t.Errorf("party %d says that it has the sums of session %x of shard %d, and has %x: %v", p, s.Contract[:4], i,
					got, err)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.twice) > 0 {
		l.t.Errorf("twice: %v", l.twice)
	}
}
