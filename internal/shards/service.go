package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// helloTime is how long a stream may take to say what it is for.
const helloTime = 20 * time.Second

// Config is what a Service is made of.
type Config struct {
	Key *keys.PrivateKey // of this member, with which it signs delegations
	// Open joins a session with the other parties' nodes; see protocol.Transport.
	Open func(ctx context.Context, id protocol.SessionID, peers []keys.ID) (protocol.Mesh, error)
	// Job finds the job that a worker names by the first digits of its contract's hash. The error says for people why
	// there is none that a worker could work for; it is an ErrNoJob where there may be one later.
	Job func(digits string) (Job, error)
	// Worker tells which shard of which job the worker with a key works on now; nil: any.
	Worker func(keys.ID) (contract keys.Hash, shard int, ok bool)
	Now    func() time.Time
	Log    *slog.Logger
}

// Job is what a Service knows of a job for which no run is on.
type Job struct {
	Contract keys.Hash
	Shards   int
	Done     bool // no more is to be done for it
}

// ErrNoJob says that there is no such job at this node.
var ErrNoJob = errors.New("this node has no such job")

// Service serves a node's workers. Its methods may be called concurrently.
type Service struct {
	config Config

	mu      sync.Mutex
	workers map[place]*worker
	runs    map[keys.Hash]*run
	done    map[place]bool      // shards that are done at all parties
	over    map[keys.Hash]order // of contracts that have ended or all of whose shards are done: what workers are told
	relays  map[protocol.SessionID]*relay
	used    map[keys.ID]bool // workers' keys that had a session: each has one
}

// place is a shard of a job, for which there is one worker at a time.
type place struct {
	contract keys.Hash
	shard    int
}

// worker is one that is connected.
type worker struct {
	frames Frames
	key    keys.ID // that it has drawn for its next session
	busy   bool    // a session of it is under way
	order  chan order
	gone   chan struct{} // closed when it is connected no more
}

// order is what a worker is told, and who hears what it says then.
type order struct {
	kind string
	text string // of a refusal
	task []byte
	said func(s Said, data func(most int64) ([]byte, error), file func(path string) error) error
}

// New makes a service.
func New(c Config) *Service {
	return &Service{config: c, workers: make(map[place]*worker), runs: make(map[keys.Hash]*run),
		done: make(map[place]bool), over: make(map[keys.Hash]order), relays: make(map[protocol.SessionID]*relay),
		used: make(map[keys.ID]bool)}
}

// Serve serves one stream that a worker has opened, until it or ctx ends.
func (s *Service) Serve(ctx context.Context, from keys.ID, f Frames) {
	greeting, cancel := context.WithTimeout(ctx, helloTime)
	var h Hello
	err := ReceiveMessage(greeting, f, &h)
	cancel()
	switch {
	case err != nil:
	case h.Version != Version:
		err = s.refuse(ctx, f, OrderRefused, fmt.Sprintf("the worker speaks version %d of its node's messages, the node "+
			"version %d: run one version of the program at both", h.Version, Version))
	case h.Ready != nil:
		err = s.serveWorker(ctx, from, f, h.Ready)
	case h.Relay != nil:
		err = s.serveRelay(ctx, from, f, h.Relay)
	}
	if err != nil && ctx.Err() == nil {
		s.config.Log.Debug("a worker's stream ended", "worker", from.Short(), "error", err)
	}
}

// serves refuses a worker whose key is not that of a place.
func (s *Service) serves(from keys.ID, at place) error {
	if s.config.Worker == nil {
		return nil
	}
	contract, shard, ok := s.config.Worker(from)
	switch {
	case !ok:
		return errors.New("the worker's key is no longer one of this node's: have another made with hanse worker key")
	case contract != at.contract:
		return fmt.Errorf("the worker's key is of job %s, not of job %s", contract.Short(), at.contract.Short())
	case shard != at.shard:
		return fmt.Errorf("the worker's key is that of shard %d, not of shard %d", shard, at.shard)
	}
	return nil
}

// refuse tells a worker why it cannot be of use, or not now.
func (s *Service) refuse(ctx context.Context, f Frames, kind, text string) error {
	return errors.Join(SendMessage(ctx, f, Order{Kind: kind, Text: text}), errors.New(text))
}

// misused tells a worker that it was started with the wrong arguments.
func (s *Service) misused(ctx context.Context, f Frames, text string) error {
	return errors.Join(SendMessage(ctx, f, Order{Kind: OrderRefused, Text: text, Usage: true}), errors.New(text))
}

// serveWorker has a worker work on its shard, session after session, until the shard is done at all parties.
func (s *Service) serveWorker(ctx context.Context, from keys.ID, f Frames, r *Ready) error {
	job, err := s.config.Job(r.Job)
	switch {
	case errors.Is(err, ErrNoJob): // it may be proposed yet
		return s.refuse(ctx, f, OrderBusy, err.Error())
	case err != nil:
		return s.refuse(ctx, f, OrderRefused, err.Error())
	}
	at := place{job.Contract, r.Shard}
	if err := s.serves(from, at); err != nil {
		return s.refuse(ctx, f, OrderRefused, err.Error())
	}
	switch {
	case job.Shards == 0:
		return s.refuse(ctx, f, OrderRefused, fmt.Sprintf("job %.8s has no shards: its text does not say shards",
			job.Contract))
	case r.Of != job.Shards:
		return s.misused(ctx, f, fmt.Sprintf("the job has %d shards, and this worker was started for one of %d",
			job.Shards, r.Of))
	case r.Shard < 0 || r.Shard >= job.Shards:
		return s.misused(ctx, f, fmt.Sprintf("there is no shard %d: the job has shards 0 to %d", r.Shard,
			job.Shards-1))
	case job.Done:
		return SendMessage(ctx, f, Order{Kind: OrderDone})
	}
	w := &worker{frames: f, order: make(chan order, 1), gone: make(chan struct{})}
	s.mu.Lock()
	if s.workers[at] != nil {
		s.mu.Unlock()
		return s.refuse(ctx, f, OrderBusy, fmt.Sprintf("shard %d has a worker already: two at the same time would each "+
			"undo what the other does", r.Shard))
	}
	s.workers[at] = w
	over, ended := s.over[job.Contract]
	if !ended && s.done[at] {
		over, ended = order{kind: OrderDone}, true
	}
	s.mu.Unlock()
	if ended {
		w.order <- over
	}
	defer func() {
		s.mu.Lock()
		delete(s.workers, at)
		s.mu.Unlock()
		close(w.gone)
	}()
	for {
		if r.Key.IsZero() || r.Shard != at.shard {
			return fmt.Errorf("a worker of shard %d says that it is ready for shard %d, or without a key", at.shard, r.Shard)
		}
		if err := s.serves(from, at); err != nil {
			return s.refuse(ctx, f, OrderRefused, err.Error())
		}
		s.mu.Lock()
		used := s.used[r.Key]
		if !used {
			w.key, w.busy = r.Key, false
		}
		s.mu.Unlock()
		if used {
			return fmt.Errorf("a worker of shard %d says that it is ready with a key that had a session", at.shard)
		}
		s.notify(job.Contract)
		var o order
		select {
		case o = <-w.order:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := SendMessage(ctx, f, Order{Kind: o.kind, Text: o.text, Size: int64(len(o.task))}); err != nil ||
			o.kind == OrderDone || o.kind == OrderRefused {
			return err
		}
		if o.kind == OrderWork {
			if err := s.runWorker(ctx, w, o); err != nil {
				return err
			}
		}
		var h Hello
		if err := ReceiveMessage(ctx, f, &h); err != nil {
			return err
		}
		if h.Ready == nil {
			return errors.New("a worker did not say that it is ready")
		}
		r = h.Ready
	}
}

// runWorker gives a worker its task and hears what it says, until its session is over.
func (s *Service) runWorker(ctx context.Context, w *worker, o order) (err error) {
	defer func() {
		if err != nil {
			o.said(Said{Kind: SaidFailed, Text: err.Error()}, nil, nil)
		}
	}()
	if err := SendData(ctx, w.frames, bytes.NewReader(o.task), int64(len(o.task))); err != nil {
		return err
	}
	for {
		var said Said
		if err := ReceiveMessage(ctx, w.frames, &said); err != nil {
			return err
		}
		said.Text = wording.Line(said.Text, maxText)
		data := func(most int64) ([]byte, error) { return receiveBytes(ctx, w.frames, said.Size, most) }
		file := func(path string) error { return receiveFile(ctx, w.frames, path, said.Size) }
		if err := o.said(said, data, file); err != nil {
			return err
		}
		if said.Kind == SaidResult || said.Kind == SaidFailed {
			return nil
		}
	}
}

// notify has the run of a contract look again at what there is to do.
func (s *Service) notify(contract keys.Hash) {
	s.mu.Lock()
	r := s.runs[contract]
	s.mu.Unlock()
	if r != nil {
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// order gives the worker of a shard an order, if it is there still: one that has come in its place has another key.
func (s *Service) order(at place, w *worker, o order) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[at] != w {
		return false
	}
	select {
	case w.order <- o:
		return true
	default:
		return false
	}
}

// release tells the worker of a shard, and whoever comes for it later, that there is nothing more to do.
func (s *Service) release(at place) {
	s.mu.Lock()
	s.done[at] = true
	w := s.workers[at]
	s.mu.Unlock()
	if w != nil {
		s.order(at, w, order{kind: OrderDone})
	}
}

// End tells all workers of a job that there is nothing more to do: why the job has ended, or, where why is empty, that
// their shards are done.
func (s *Service) End(contract keys.Hash, why string) {
	last := order{kind: OrderDone}
	if why != "" {
		last = order{kind: OrderRefused, text: why}
	}
	s.mu.Lock()
	s.over[contract] = last
	for at := range s.done {
		if at.contract == contract {
			delete(s.done, at)
		}
	}
	var idle []*worker
	for at, w := range s.workers {
		if at.contract == contract {
			idle = append(idle, w)
		}
	}
	s.mu.Unlock()
	for _, w := range idle {
		select {
		case w.order <- last:
		default:
		}
	}
}

// Progress is how a job's shards stand at this node.
type Progress struct {
	Of      int   `json:"of"`                // how many the job has
	Done    int   `json:"done"`              // of them
	Workers []int `json:"workers"`           // the shards whose worker is connected here, ascending
	Missing []int `json:"missing,omitempty"` // the shards that are not done and have no worker here, ascending
}

// String says it in a few words.
func (p *Progress) String() string {
	return fmt.Sprintf("%d of %s done here, %s connected", p.Done, wording.Count(p.Of, "shard"),
		wording.Count(len(p.Workers), "worker"))
}

// Progress tells how the shards of a job stand, of which it has so many. Before a run none counts as done.
func (s *Service) Progress(contract keys.Hash, of int) Progress {
	p := Progress{Of: of, Workers: []int{}}
	s.mu.Lock()
	r, over := s.runs[contract], s.over[contract]
	there := make([]bool, of)
	for at := range s.workers {
		if at.contract == contract {
			there[at.shard] = true
		}
	}
	s.mu.Unlock()
	done := make([]bool, of)
	for i := range done {
		done[i] = over.kind == OrderDone
	}
	if r != nil {
		r.mu.Lock()
		for i, rec := range r.records {
			done[i] = rec.Done > 0
		}
		r.mu.Unlock()
	}
	for i := range of {
		if done[i] {
			p.Done++
		}
		switch {
		case there[i]:
			p.Workers = append(p.Workers, i)
		case !done[i]:
			p.Missing = append(p.Missing, i)
		}
	}
	return p
}
