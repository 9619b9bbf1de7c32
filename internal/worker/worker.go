// Package worker is a process that works on one shard of a job for its party's node. It knows that node alone, has no
// key of the party's, and keeps nothing that it could not lose: whenever it begins anew, the shard's session does.
package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Times of a worker.
const (
	retryLeast  = 500 * time.Millisecond // after the first failure; twice as long after each that follows
	retryMost   = 15 * time.Second
	leaveTime   = time.Second            // to tell the others why a session is left
	reportEvery = 200 * time.Millisecond // between two reports of how far it is
	maxTask     = 4 << 30                // bytes
)

// Conn is a connection to the worker's node.
type Conn interface {
	// Open opens a stream.
	Open(ctx context.Context) (shards.Frames, error)
	Close() error
}

// Session is one session of a shard, as the algorithm's part sees it.
type Session struct {
	Wire     *protocol.Session
	Contract *contract.Contract // the shard's
	JobRows  int                // rows of the whole job
	Work     []byte             // what the node's part of the algorithm has for the worker
	Rows     *kernel.Matrix     // the shard's rows of this party; nil where it has none
	Cores    int                // goroutines for arithmetic; 0: all cores
	Report   func(step string, done, total int)
}

// Config says what a worker works on.
type Config struct {
	Dial  func(ctx context.Context) (Conn, error)
	Job   string // the first digits of its contract's hash
	Shard int
	Of    int
	// Rows reads the shard's rows of a job, and refuses others than those with this digest.
	Rows func(contract keys.Hash, shard int, digest keys.Hash) (*kernel.Matrix, error)
	// Do is the worker's part of the algorithm. It returns the shard's result.
	Do    func(ctx context.Context, s *Session) ([]byte, error)
	Dir   string // where transcripts lie until the node has them
	Cores int
	Told  func(text string) // hears what a person may want to know
}

// RefusedError says why the node has no use for this worker: trying again would not help.
type RefusedError struct {
	Text  string
	Usage bool // the worker was started with the wrong arguments
}

// Error implements error.
func (e *RefusedError) Error() string { return "the node has no use for this worker: " + e.Text }

// ErrDone ends the work on a shard that is done at all parties, or of a job that is.
var ErrDone = errors.New("the shard is done")

// Run works on a shard until it is done at all parties. It connects again and begins again as often as it must.
func Run(ctx context.Context, c Config) error {
	wait := retryLeast
	for {
		began := time.Now()
		err := c.connected(ctx)
		var refused *RefusedError
		switch {
		case errors.Is(err, ErrDone):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused):
			return err
		}
		if time.Since(began) > 2*retryMost {
			wait = retryLeast
		}
		c.Told(fmt.Sprintf("trying again in %v: %v", wait, err))
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, retryMost)
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connected works over one connection to the node, until it breaks or the shard is done.
func (c Config) connected(ctx context.Context) error {
	conn, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	home, err := conn.Open(ctx)
	if err != nil {
		return err
	}
	defer home.Close()
	c.Told("connected to the node")
	for wait := retryLeast; ; {
		key, err := keys.GenerateKey()
		if err != nil {
			return err
		}
		hello := shards.Hello{Version: shards.Version, Ready: &shards.Ready{Job: c.Job, Shard: c.Shard, Of: c.Of,
			Key: key.ID()}}
		if err := shards.SendMessage(ctx, home, hello); err != nil {
			return err
		}
		var o shards.Order
		if err := shards.ReceiveMessage(ctx, home, &o); err != nil {
			return err
		}
		switch o.Kind {
		case shards.OrderDone:
			return ErrDone
		case shards.OrderRefused:
			return &RefusedError{o.Text, o.Usage}
		case shards.OrderBusy:
			return errors.New(o.Text)
		case shards.OrderAgain:
			continue
		case shards.OrderWork:
		default:
			return fmt.Errorf("the node says %.20q, which means nothing", o.Kind)
		}
		task, err := receiveTask(ctx, home, o.Size)
		if err != nil {
			return err
		}
		own, err := c.work(ctx, conn, home, key, task)
		if err != nil {
			return err
		}
		if own == nil {
			c.Told("this worker's part is done and handed in; it waits until those of the other parties are")
			wait = retryLeast
			continue
		}
		c.Told(fmt.Sprintf("the session ended, and another one follows in %v: %v", wait, own))
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, retryMost)
	}
}

// receiveTask receives what a session needs.
func receiveTask(ctx context.Context, home shards.Frames, size int64) (t shards.Task, err error) {
	if size < 0 || size > maxTask {
		return t, fmt.Errorf("a task of %d bytes, at most %d are read", size, int64(maxTask))
	}
	var b bytes.Buffer
	if err := shards.ReceiveData(ctx, home, &b, size); err != nil {
		return t, err
	}
	return t, control.Decode(b.Bytes(), &t)
}

// work is one session. own is why it failed, where another one can follow; err is that the node cannot be told.
func (c Config) work(
	ctx context.Context, conn Conn, home shards.Frames, key *keys.PrivateKey, task shards.Task,
) (own, err error) {
	dir := filepath.Join(c.Dir, fmt.Sprintf("shard-%05d", c.Shard))
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	result, traffic, own := c.session(ctx, conn, home, key, task, dir)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := sendFiles(ctx, home, dir); err != nil {
		return nil, err
	}
	if own != nil {
		return own, shards.SendMessage(ctx, home, shards.Said{Kind: shards.SaidFailed, Text: own.Error()})
	}
	said := shards.Said{Kind: shards.SaidResult, Size: int64(len(result)), Traffic: traffic}
	if err := shards.SendMessage(ctx, home, said); err != nil {
		return nil, err
	}
	if err := shards.SendData(ctx, home, bytes.NewReader(result), said.Size); err != nil {
		return nil, err
	}
	return nil, os.RemoveAll(dir)
}

// session runs one session of the shard, from its keys to its last signature, and leaves its transcript in a folder.
func (c Config) session(
	ctx context.Context, conn Conn, home shards.Frames, key *keys.PrivateKey, task shards.Task, dir string,
) (result []byte, traffic shards.Traffic, err error) {
	shard, jobRows, err := inForce(task, c.Shard, key.ID())
	if err != nil {
		return nil, traffic, err
	}
	c.Told(fmt.Sprintf("the shard begins: rows %d to %d of %d, generation %d", shard.Shard.First,
		shard.Shard.First+shard.Shard.Rows-1, jobRows, shard.Shard.Generation))
	var rows *kernel.Matrix
	if !task.Part.IsZero() {
		if rows, err = c.Rows(shard.Shard.Contract, c.Shard, task.Part); err != nil {
			return nil, traffic, err
		}
	}
	budget, err := contract.NewBudget(shard, task.Self)
	if err != nil {
		return nil, traffic, err
	}
	record, err := transcript.Begin(dir, shard, 1, task.Payloads, transcript.Config{Key: key, Consent: task.Consent})
	if err != nil {
		return nil, traffic, err
	}
	read := reading{record, make(map[shards.Flow]int64)}
	defer func() {
		if closed := record.Close(err == nil); err == nil {
			err = closed
		}
	}()
	m, err := openMesh(ctx, conn, task, shard)
	if err != nil {
		return nil, traffic, err
	}
	defer m.Close()
	wire, err := protocol.NewSession(ctx, m, protocol.SessionConfig{
		Contract: shard.Hash(), Number: 1, Parties: shard.Members(), Key: key, Budget: budget, Recorder: read,
	})
	if err != nil {
		return nil, traffic, err
	}
	latest := time.Time{}
	result, err = c.Do(ctx, &Session{Wire: wire, Contract: shard, JobRows: jobRows, Work: task.Work, Rows: rows,
		Cores: c.Cores, Report: func(step string, done, total int) {
			if now := time.Now(); now.Sub(latest) >= reportEvery || done == total {
				latest = now
				said := shards.Said{Kind: shards.SaidProgress, Step: step, Done: done, Total: total}
				_ = shards.SendMessage(ctx, home, said) // a node that is gone is noticed by the streams too
			}
		}})
	if err == nil {
		err = wire.Finish(ctx)
	}
	if err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		wire.Abort(leaving, protocol.ReasonOf(err))
		return nil, traffic, err
	}
	return result, trafficOf(m, budget, read.bytes), nil
}

// reading is a session's recorder that counts what is received, by party and kind.
type reading struct {
	protocol.Recorder
	bytes map[shards.Flow]int64
}

// Record implements protocol.Recorder.
func (r reading) Record(e protocol.Entry, payload []byte) error {
	if e.Event == protocol.EventReceived {
		r.bytes[shards.Flow{Party: e.Peer, Kind: e.Kind}] += int64(len(payload))
	}
	return r.Recorder.Record(e, payload)
}

// trafficOf is what passed in a session that is over.
func trafficOf(m *mesh, budget *contract.Budget, read map[shards.Flow]int64) (t shards.Traffic) {
	for _, s := range m.streams {
		t.Sent, t.Received = t.Sent+s.sent.Load(), t.Received+s.received.Load()
	}
	for _, e := range budget.Lines() {
		f := shards.Flow{Party: e.To, Kind: e.Kind}
		f.Read = read[f]
		delete(read, shards.Flow{Party: e.To, Kind: e.Kind})
		if f.Frames, f.Sent = e.Frames, e.Bytes; f.Frames > 0 || f.Read > 0 {
			t.Flows = append(t.Flows, f)
		}
	}
	for f, bytes := range read { // of what this party sends nothing
		f.Read = bytes
		t.Flows = append(t.Flows, f)
	}
	return t
}

// inForce reads the shard's contract and checks that it is this worker's. It returns the rows of the job, too.
func inForce(task shards.Task, shard int, own keys.ID) (s *contract.Contract, rows int, err error) {
	c, err := contract.ParseContract(task.Contract)
	if err != nil {
		return nil, 0, err
	}
	job, err := c.InForce()
	if err != nil {
		return nil, 0, err
	}
	f, err := job.ParseShard(task.Shard)
	if err != nil {
		return nil, 0, err
	}
	s = f.Contract()
	if s.Shard.Index != shard || task.Self < 0 || task.Self >= len(s.Parties) || s.Parties[task.Self].ID != own {
		return nil, 0, fmt.Errorf("the task is for shard %d, or for another key than this worker's", s.Shard.Index)
	}
	return s, c.Rows(), nil
}

// sendFiles hands in what a session leaves of its transcript.
func sendFiles(ctx context.Context, home shards.Frames, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		said := shards.Said{Kind: shards.SaidFile, Name: filepath.ToSlash(name), Size: info.Size()}
		if err := shards.SendMessage(ctx, home, said); err != nil {
			return err
		}
		return shards.SendData(ctx, home, io.Reader(file), info.Size())
	})
}
