package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/worker"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/transcript"
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
	wrap   func(shards.Frames) shards.Frames // nil: none
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
	if c.wrap != nil {
		return c.wrap(a), nil
	}
	return a, nil
}

func (c *connection) Close() error {
	c.stop()
	c.serves.Wait()
	return nil
}

// workforce is those of all parties of a job, one for each shard.
type workforce struct {
	*testNetwork
	digits string
	of     int
	change func(party, shard int, c *worker.Config)              // of one worker; may be nil
	wrap   func(party, shard int, f shards.Frames) shards.Frames // the streams of one worker; may be nil
	mu     sync.Mutex
	kill   []context.CancelCauseFunc // by party and shard
	ends   []chan error
}

// work starts the workers of a job. They end with the test.
func (l *testNetwork) work(h keys.Hash, of int, change func(party, shard int, c *worker.Config)) *workforce {
	w := &workforce{testNetwork: l, digits: h.String()[:8], of: of, change: change,
		kill: make([]context.CancelCauseFunc, len(l.names)*of), ends: make([]chan error, len(l.names)*of)}
	for p := range l.names {
		for s := range of {
			w.start(p, s)
		}
	}
	return w
}

// start starts one worker.
func (w *workforce) start(party, shard int) {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	folder := filepath.Join(w.dirs[party], "node", "parts")
	c := worker.Config{
		Dial: func(context.Context) (worker.Conn, error) {
			life, stop := context.WithCancel(ctx)
			c := &connection{node: w.nodes[party], life: life, stop: stop}
			if w.wrap != nil {
				c.wrap = func(f shards.Frames) shards.Frames { return w.wrap(party, shard, f) }
			}
			return c, nil
		},
		Job: w.digits, Shard: shard, Of: w.of, Dir: w.t.TempDir(), Cores: 1, Do: columns.WorkShard,
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
	end := make(chan error, 1)
	w.mu.Lock()
	w.kill[at], w.ends[at] = cancel, end
	w.mu.Unlock()
	go func() { end <- worker.Run(ctx, c) }()
	w.t.Cleanup(func() { cancel(nil) })
}

// proposeInShards prepares a job at the first node, starts its workers, and launches it.
func (l *testNetwork) proposeInShards(
	text []byte, of int, change func(party, shard int, c *worker.Config),
) (keys.Hash, *workforce, error) {
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

// shardedJob is a training with workers, and a prediction with its model.
type shardedJob struct {
	privacy, parameters    string
	record                 string // of both
	rows, shards, features int
	idle                   int // a party without data
	scored                 int // shards of the prediction
}

// run trains and scores with workers at all parties. The model must be of use.
func (j shardedJob) run(t *testing.T) (l *testNetwork, trained, scored keys.Hash) {
	t.Helper()
	l = newTestNetwork(t, 4, j.rows)
	l.idle = j.idle
	l.startAll()
	do := func(task, head, parameters string, shards int) keys.Hash {
		t.Helper()
		head += fmt.Sprintf("privacy = %q\nshards = %d\nrecord = %q\n", j.privacy, shards, cmp.Or(j.record, "digests"))
		h, w, err := l.proposeInShards(l.job(task, head, parameters), shards, nil)
		must(t, err)
		w.wantDone()
		return h
	}
	trained = do("train", "", activeBank+fmt.Sprintf("features = %d\nsigma = 1.5\n", j.features)+j.parameters, j.shards)
	scored = do("predict", fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\n", trained), "", j.scored)
	if wrong := wrongShare(t, l.scoresOf("bank", scored), l.tablePath(0, "test")); wrong > 0.3 {
		t.Errorf("%.3f of the labels are wrong, guessing gives 0.5", wrong)
	}
	return l, trained, scored
}

// trainMasked starts all nodes and trains in two shards, with payloads.
func (l *testNetwork) trainMasked() keys.Hash {
	l.t.Helper()
	l.startAll()
	h, w, err := l.proposeInShards(l.job("train", "privacy = \"masked\"\nshards = 2\nrecord = \"full\"",
		activeBank+"features = 256\nsigma = 1.5\nloss = \"square\""), 2, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	w.wantDone()
	return h
}

// TestPayloadsOfShardsHaveALimit: what a job's transcripts keep of payloads is at most what the node's owner says of a
// job, in all shards together. A worker that comes to it hands in what it has, and the job is done.
func TestPayloadsOfShardsHaveALimit(t *testing.T) {
	const limit = 30_000
	l := newTestNetwork(t, 4, 4200)
	l.recordLimit = limit
	h := l.trainMasked()
	for p := range l.names {
		var used int64
		kept, err := shards.KeptIn(l.nodes[p].jobFolder(h))
		if err != nil || len(kept) != 2 {
			t.Fatalf("%d sessions of shards are kept, want 2: %v", len(kept), err)
		}
		for _, k := range kept {
			store, err := transcript.OpenStore(filepath.Join(filepath.Dir(k.Transcript), shards.PayloadFolder), 0)
			must(t, err)
			used += store.Used()
		}
		if used > limit || used == 0 {
			t.Errorf("%s keeps %d bytes of payloads, the limit is %d", l.names[p], used, limit)
		}
	}
}

// ridgeOfShards are parameters of a sealed job.
const ridgeOfShards = "iterations = 30\nlambda = 1e-4\n"

// TestTrainingInShards trains and scores with workers at all parties, of whom one may have no data.
func TestTrainingInShards(t *testing.T) {
	for i, c := range []struct {
		name string
		job  shardedJob
	}{
		{"sealed", shardedJob{privacy: "sealed", parameters: ridgeOfShards, rows: 2200, features: 512, shards: 3, scored: 1}},
		{"sealed, a helper without data", shardedJob{privacy: "sealed",
			parameters: ridgeOfShards + "helper = \"retailer\"", rows: 1200, features: 512, shards: 2, idle: 3, scored: 1}},
		{"masked", shardedJob{privacy: "masked", parameters: "loss = \"square\"", rows: 4200, features: 256, shards: 2,
			scored: 2}},
	} {
		if drawn.Today(t, i, 3) {
			t.Run(c.name, func(t *testing.T) { c.job.run(t) })
		}
	}
}

// wantDone waits for all workers, who must have heard that their shards are done.
func (w *workforce) wantDone() {
	w.t.Helper()
	for i, end := range w.ends {
		if err := <-end; err != nil {
			w.t.Errorf("worker %d: %v", i, err)
		}
		end <- nil
	}
}

// TestOneWorkerAtATime: where a party runs fewer workers than there are shards, those of shards that are done at all
// parties end, so that the next ones find a place. Workers have their places until the job is done.
func TestOneWorkerAtATime(t *testing.T) {
	const shards = 2
	l := newTestNetwork(t, 4, 1200)
	l.startAll()
	if l.nodes[0].HasShards() {
		t.Error("a node without jobs has places for workers")
	}
	h := l.proposed(l.job("train", fmt.Sprintf("privacy = \"sealed\"\nshards = %d", shards),
		activeBank+"features = 512\nsigma = 1.5\n"+ridgeOfShards)).Hash()
	w := &workforce{testNetwork: l, digits: h.String()[:8], of: shards, kill: make([]context.CancelCauseFunc, 4*shards),
		ends: make([]chan error, 4*shards)}
	launched, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for p := range l.names {
		all.Go(func() {
			for s := range shards {
				w.start(p, s)
				select {
				case err := <-w.ends[p*shards+s]:
					if err != nil {
						t.Errorf("worker %s/%d: %v", l.names[p], s, err)
					}
				case <-launched.Done():
				}
				if s == 0 && !l.nodes[p].HasShards() {
					t.Errorf("%s has no places for workers while shard 1 has none", l.names[p])
				}
			}
		})
	}
	if _, err := l.nodes[0].Launch(launched, h, nil); err != nil {
		t.Error(err)
	}
	all.Wait()
	if l.nodes[0].HasShards() {
		t.Error("a node keeps places for workers of a job that is done")
	}
}

// TestWorkersThatAreRefused: who was started for another job, another number of shards or a shard that has a worker is
// told so, by name.
func TestWorkersThatAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 1300)
	l.startAll()
	c := l.proposed(l.job("train", "privacy = \"sealed\"\nshards = 2", activeBank+"features = 1024\nlambda = 1e-4"))
	w := &workforce{testNetwork: l, digits: c.Hash().String()[:8], of: 2, kill: make([]context.CancelCauseFunc, 8),
		ends: make([]chan error, 8)}
	for _, one := range []struct {
		change func(c *worker.Config)
		want   string
		usage  bool
	}{
		{func(c *worker.Config) { c.Of = 3 }, "the job has 2 shards, and this worker was started for one of 3", true},
		{func(c *worker.Config) { c.Shard = 2 }, "there is no shard 2: the job has shards 0 to 1", true},
		{func(c *worker.Config) { c.Job = "trial" }, "a worker names its job by the first 8 digits", false},
	} {
		w.change = func(_, _ int, c *worker.Config) { one.change(c) }
		w.start(0, 1)
		var refused *worker.RefusedError
		err := <-w.ends[1]
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), one.want) {
			t.Errorf("error is %v\nwant %s", err, one.want)
		} else if refused.Usage != one.usage {
			t.Errorf("%v: that the arguments are wrong is %v, want %v", err, refused.Usage, one.usage)
		}
	}
	// A twin hears that the shard has a worker, and tries again.
	told := make(chan string, 1)
	w.change = nil
	w.start(0, 0)
	for len(l.nodes[0].shards.Progress(c.Hash(), 2).Workers) == 0 {
		time.Sleep(time.Millisecond)
	}
	w.change = func(_, _ int, c *worker.Config) {
		c.Told = func(text string) {
			if strings.HasPrefix(text, "connected") {
				return
			}
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

// dying are the streams of a worker that is killed when it is about to send its n-th frame.
type dying struct {
	shards.Frames
	left *atomic.Int64
	die  func()
}

func (d *dying) Send(ctx context.Context, frame ...[]byte) error {
	if d.left.Add(-1) == 0 {
		d.die()
		return context.Canceled
	}
	return d.Frames.Send(ctx, frame...)
}

// TestWorkersAreKilledAtAnyFrame kills one worker of each role at its first frame, at frames in between and at the last
// ones, with which it hands in what it has made, and kills the worker that takes its place too. The job ends, and the
// shard has the generations that this takes; the scores are those of a model.
func TestWorkersAreKilledAtAnyFrame(t *testing.T) {
	frames := make(map[int]int64) // by party, of an undisturbed worker
	var counted sync.Mutex
	run := func(t *testing.T, victim int, began bool, at func(all int64) []int64) {
		l := newTestNetwork(t, 4, 1200)
		l.startAll()
		text := l.job("train", "privacy = \"sealed\"\nshards = 2",
			activeBank+"features = 512\nlambda = 1e-4\nsigma = 1.5\niterations = 5")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c, err := l.nodes[0].Prepare(ctx, text, nil)
		must(t, err)
		counts := make([]atomic.Int64, 4)
		var deaths []int64
		if at != nil {
			deaths = at(frames[victim])
		}
		w := &workforce{testNetwork: l, digits: c.Hash().String()[:8], of: 2, kill: make([]context.CancelCauseFunc, 8),
			ends: make([]chan error, 8)}
		var lives atomic.Int64
		killed := make(chan struct{}, len(deaths))
		var left atomic.Int64
		next := func() {
			if n := lives.Add(1); int(n) <= len(deaths) {
				left.Store(deaths[n-1])
			} else {
				left.Store(1 << 40)
			}
		}
		next()
		w.wrap = func(party, shard int, f shards.Frames) shards.Frames {
			if party != victim || shard != 1 || at == nil {
				return &counting{f, &counts[party]}
			}
			return &dying{f, &left, func() {
				w.mu.Lock()
				w.kill[party*2+1](errors.New("killed"))
				w.mu.Unlock()
				killed <- struct{}{}
			}}
		}
		for p := range l.names {
			for s := range 2 {
				w.start(p, s)
			}
		}
		ended := l.launched(ctx, 0, c.Hash())
	killing:
		for range deaths {
			select {
			case err := <-ended: // it had fewer frames to send than the one that was counted
				must(t, err)
				ended = nil
				break killing
			case <-killed:
				w.mu.Lock()
				end := w.ends[victim*2+1]
				w.mu.Unlock()
				<-end
				next()
				w.start(victim, 1)
			case <-ctx.Done():
				t.Fatalf("the worker did not come to frames %d", deaths)
			}
		}
		if ended != nil {
			must(t, <-ended)
		}
		w.wantDone()
		if at == nil {
			counted.Lock()
			for p := range counts {
				frames[p] = counts[p].Load() / 2
			}
			counted.Unlock()
			return
		}
		generations, err := os.ReadDir(filepath.Join(l.nodes[0].jobFolder(c.Hash()), shards.Folder, "00001"))
		must(t, err)
		if last := generations[len(generations)-1].Name(); began && last < "00002" {
			t.Errorf("the worker was killed in a session, and the last generation at the label holder is %s", last)
		}
	}
	run(t, 0, false, nil)
	for victim, name := range []string{"label holder", "keeper", "helper", "outside"} {
		for i, c := range []struct {
			name  string
			began bool // one of the kills is within a session
			at    func(all int64) []int64
		}{
			{"first and last frames", false, func(all int64) []int64 { return []int64{2, all} }},
			{"in between, twice", true, func(all int64) []int64 { return []int64{all / 3, 2 * all / 3} }},
			{"the last but one", false, func(all int64) []int64 { return []int64{all - 1} }},
		} {
			if !drawn.Today(t, 3*victim+i, 12) {
				continue
			}
			t.Run(name+", "+c.name, func(t *testing.T) { run(t, victim, c.began, c.at) })
		}
	}
}

// counting counts the frames that a worker sends.
type counting struct {
	shards.Frames
	sent *atomic.Int64
}

func (c *counting) Send(ctx context.Context, frame ...[]byte) error {
	c.sent.Add(1)
	return c.Frames.Send(ctx, frame...)
}

// TestWhatIsLeftOfShards: when a job in shards has ended its parts are gone, also where a crash came before; when its
// owner removes it, payloads go, and the transcripts and records by which its shards can be audited stay.
func TestWhatIsLeftOfShards(t *testing.T) {
	l := newTestNetwork(t, 4, 4200)
	h := l.trainMasked()
	folder := filepath.Join(l.dirs[1], "node", "parts", h.String())
	gone := func() {
		t.Helper()
		for range 100 { // the session ends a moment after the job
			if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s is still there", folder)
	}
	gone()
	l.restart(1, h, func(string) {
		must(t, os.MkdirAll(folder, 0o700))
	})
	gone()

	files := func(name string) int {
		list, err := filepath.Glob(filepath.Join(l.jobFile(1, h, shards.Folder), "*", "*", name))
		must(t, err)
		return len(list)
	}
	transcripts := files(shards.TranscriptFile)
	if transcripts < 2 || files(shards.PayloadFolder) != transcripts {
		t.Fatalf("%d transcripts and %d folders of payloads", transcripts, files(shards.PayloadFolder))
	}
	r := l.mustRemove(1, h)
	if files(shards.TranscriptFile) != transcripts || files(shards.ContractFile) != transcripts ||
		files(shards.PayloadFolder) != 0 {
		t.Errorf("%d transcripts, %d contracts and %d folders of payloads are left", files(shards.TranscriptFile),
			files(shards.ContractFile), files(shards.PayloadFolder))
	}
	if !slices.ContainsFunc(r.Stays, func(p Pile) bool { return p.What == whatShards && p.Bytes > 0 }) ||
		!slices.ContainsFunc(r.Goes, func(p Pile) bool { return p.What == usesOf[PayloadFolder] && p.Bytes > 0 }) {
		t.Errorf("it says %+v", r)
	}
	for shard := range 2 {
		if _, done, err := shards.Generations(l.nodes[1].jobFolder(h), h, shard); err != nil || done == 0 {
			t.Errorf("of shard %d generation %d is done: %v", shard, done, err)
		}
	}
}
