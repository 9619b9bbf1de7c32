package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
)

// pipe is one end of frames in memory.
type pipe struct {
	in, out chan []byte
	here    context.Context // ends when this end is closed
	there   context.Context
	close   func()
}

// newPipe returns both ends.
func newPipe() (a, b *pipe) {
	x, y := make(chan []byte, 4), make(chan []byte, 4)
	ca, closeA := context.WithCancel(context.Background())
	cb, closeB := context.WithCancel(context.Background())
	return &pipe{x, y, ca, cb, closeA}, &pipe{y, x, cb, ca, closeB}
}

var errPipe = errors.New("the other end is closed")

func (p *pipe) Send(ctx context.Context, frame ...[]byte) error {
	select {
	case p.out <- slices.Concat(frame...):
		return nil
	case <-p.there.Done():
		return errPipe
	case <-p.here.Done():
		return errPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Receive(ctx context.Context, _ []byte) ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	default:
	}
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.there.Done():
		select {
		case frame := <-p.in: // sent before it closed
			return frame, nil
		default:
			return nil, errPipe
		}
	case <-p.here.Done():
		return nil, errPipe
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Close() error {
	p.close()
	return nil
}

// connection is a worker's to its node, in memory.
type connection struct {
	node   *Node
	life   context.Context
	stop   context.CancelFunc
	serves sync.WaitGroup
}

func (c *connection) Open(context.Context) (shards.Frames, error) {
	if c.life.Err() != nil {
		return nil, c.life.Err()
	}
	a, b := newPipe()
	c.serves.Go(func() {
		defer b.Close()
		c.node.ServeWorker(c.life, keys.ID{}, b)
	})
	return a, nil
}

func (c *connection) Close() error {
	c.stop()
	c.serves.Wait()
	return nil
}

// workers are those of all parties of a job, one for each shard.
type workers struct {
	*testNetwork
	digits string
	of     int
	change func(party, shard int, c *worker.Config) // of one worker; may be nil
	kill   []context.CancelCauseFunc                // by party and shard
	ends   []chan error
}

// work starts the workers of a job. They end with the test.
func (l *testNetwork) work(h keys.Hash, of int, change func(party, shard int, c *worker.Config)) *workers {
	w := &workers{testNetwork: l, digits: h.String()[:8], of: of, change: change,
		kill: make([]context.CancelCauseFunc, len(l.names)*of), ends: make([]chan error, len(l.names)*of)}
	for p := range l.names {
		for s := range of {
			w.start(p, s)
		}
	}
	return w
}

// start starts one worker.
func (w *workers) start(party, shard int) {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	folder := filepath.Join(w.dirs[party], "node", "parts")
	c := worker.Config{
		Dial: func(context.Context) (worker.Conn, error) {
			life, stop := context.WithCancel(ctx)
			return &connection{node: w.nodes[party], life: life, stop: stop}, nil
		},
		Job: w.digits, Shard: shard, Of: w.of, Dir: w.t.TempDir(), Cores: 1, Do: columns.WorkShard, RecordLimit: 1 << 30,
		Rows: func(contract keys.Hash, shard int, digest keys.Hash) (*kernel.Matrix, error) {
			m, got, err := parts.Read(parts.Path(folder, contract, shard), parts.StandardLimits())
			if err == nil && got != digest {
				err = fmt.Errorf("the part of shard %d is another", shard)
			}
			return m, err
		},
		Told: func(text string) { w.t.Logf("worker %s/%d: %s", w.names[party], shard, text) },
	}
	if w.change != nil {
		w.change(party, shard, &c)
	}
	at := party*w.of + shard
	w.kill[at], w.ends[at] = cancel, make(chan error, 1)
	end := w.ends[at]
	go func() { end <- worker.Run(ctx, c) }()
	w.t.Cleanup(func() { cancel(nil) })
}

// proposeInShards prepares a job at the first node, starts its workers, and launches it.
func (l *testNetwork) proposeInShards(
	text []byte, of int, change func(party, shard int, c *worker.Config),
) (keys.Hash, *workers, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, text, nil)
	if err != nil {
		return keys.Hash{}, nil, err
	}
	w := l.work(c.Hash(), of, change)
	_, err = l.nodes[0].Launch(ctx, c.Hash(), nil)
	return c.Hash(), w, err
}

// TestTrainingInShards trains and scores with workers at all parties, of whom one may have no data.
func TestTrainingInShards(t *testing.T) {
	for _, c := range []struct {
		name, privacy, parameters string
		rows, shards, idle        int
		scored                    int // shards of the prediction
	}{
		{"sealed", "sealed", "features = 256\nlambda = 1e-4\nsigma = 1.5\niterations = 30", 4200, 3, 0, 2},
		{"sealed, a helper without data", "sealed",
			"features = 256\nsigma = 1.5\niterations = 30\nlambda = 1e-4\nhelper = \"retailer\"", 4200, 2, 3, 1},
		{"masked", "masked", "features = 256\nsigma = 1.5\nloss = \"square\"", 10000, 2, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 4, c.rows)
			l.idle = c.idle
			l.startAll()
			head := fmt.Sprintf("privacy = %q\nshards = %d\nrecord = \"full\"", c.privacy, c.shards)
			h, w, err := l.proposeInShards(l.job("train", head, activeBank+c.parameters), c.shards, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.wantDone()
			head = fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nprivacy = %q\n", h, c.privacy)
			head += fmt.Sprintf("shards = %d\n", c.scored)
			scored, w, err := l.proposeInShards(l.job("predict", head, ""), c.scored, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.wantDone()
			if wrong := wrongShare(t, l.scoresOf("bank", scored), l.tablePath(0, "test")); wrong > 0.3 {
				t.Errorf("%.3f of the labels are wrong, guessing gives 0.5", wrong)
			}
		})
	}
}

// wantDone waits for all workers, who must have heard that their shards are done.
func (w *workers) wantDone() {
	w.t.Helper()
	for i, end := range w.ends {
		if err := <-end; err != nil {
			w.t.Errorf("worker %d: %v", i, err)
		}
		end <- nil
	}
}

// TestWorkersThatAreRefused: who was started for another job, another number of shards or a shard that has a worker is
// told so, by name.
func TestWorkersThatAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 1300)
	l.startAll()
	c := l.proposed(l.job("train", "privacy = \"sealed\"\nshards = 2", activeBank+"features = 1024\nlambda = 1e-4"))
	w := &workers{testNetwork: l, digits: c.Hash().String()[:8], of: 2, kill: make([]context.CancelCauseFunc, 8),
		ends: make([]chan error, 8)}
	for _, one := range []struct {
		change func(c *worker.Config)
		want   string
	}{
		{func(c *worker.Config) { c.Of = 3 }, "the job has 2 shards, and this worker was started for one of 3"},
		{func(c *worker.Config) { c.Shard = 2 }, "there is no shard 2: the job has shards 0 to 1"},
		{func(c *worker.Config) { c.Job = "trial" }, "a worker names its job by the first 8 digits"},
	} {
		w.change = func(_, _ int, c *worker.Config) { one.change(c) }
		w.start(0, 1)
		var refused *worker.RefusedError
		if err := <-w.ends[1]; !errors.As(err, &refused) || !strings.Contains(err.Error(), one.want) {
			t.Errorf("error is %v\nwant %s", err, one.want)
		}
	}
	// A twin hears that the shard has a worker, and tries again.
	told := make(chan string, 1)
	w.change = nil
	w.start(0, 0)
	for len(l.nodes[0].Workers(c.Hash())) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.change = func(_, _ int, c *worker.Config) {
		c.Told = func(text string) {
			select {
			case told <- text:
			default:
			}
		}
	}
	w.start(0, 0)
	if text := <-told; !strings.Contains(text, "shard 0 has a worker already") {
		t.Errorf("a twin hears %q", text)
	}
}
