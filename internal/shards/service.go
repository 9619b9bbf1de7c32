package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	desk   *desk
	runs   sync.Map // keys.Hash of a contract: its *run
	relays sync.Map // protocol.SessionID: its *relay
}

// New makes a service.
func New(c Config) *Service { return &Service{config: c, desk: newDesk()} }

// Serve serves one stream that a worker has opened, until it or ctx ends.
func (s *Service) Serve(ctx context.Context, from keys.ID, f Frames) {
	greeting, cancel := context.WithTimeout(ctx, helloTime)
	var h Hello
	err := ReceiveMessage(greeting, f, &h)
	cancel()
	switch {
	case err != nil:
	case h.Version != Version:
		err = refuse(ctx, f, Order{Kind: OrderRefused, Text: fmt.Sprintf("the worker speaks version %d of its node's "+
			"messages, the node version %d: run one version of the program at both", h.Version, Version)})
	case h.Ready != nil:
		err = s.serveWorker(ctx, from, f, h.Ready)
	case h.Relay != nil:
		err = s.serveRelay(ctx, from, f, h.Relay)
	}
	if err != nil && ctx.Err() == nil {
		s.config.Log.Debug("a worker's stream ended", "worker", from.Short(), "error", err)
	}
}

// serveWorker has a worker work on its shard, session after session, until the shard is done at all parties.
func (s *Service) serveWorker(ctx context.Context, from keys.ID, f Frames, r *Ready) error {
	at, last := s.admit(from, r)
	if last.Kind != "" {
		return refuse(ctx, f, last)
	}
	w := s.desk.come(at)
	if w == nil {
		return refuse(ctx, f, Order{Kind: OrderBusy, Text: fmt.Sprintf("shard %d has a worker already: two at the same time "+
			"would each undo what the other does", r.Shard)})
	}
	defer s.desk.leave(at, w)
	for {
		if r.Key.IsZero() || r.Shard != at.shard {
			return fmt.Errorf("a worker of shard %d says that it is ready for shard %d, or without a key", at.shard, r.Shard)
		}
		if err := s.serves(from, at); err != nil {
			return refuse(ctx, f, Order{Kind: OrderRefused, Text: err.Error()})
		}
		if !s.desk.ready(w, r.Key) {
			return fmt.Errorf("a worker of shard %d says that it is ready with a key that had a session", at.shard)
		}
		if run := s.run(at.contract); run != nil {
			run.slots.wake()
		}
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
			if err := runWorker(ctx, f, o); err != nil {
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

// admit finds the place that a worker has come for, or the one order for a worker that cannot have one.
func (s *Service) admit(from keys.ID, r *Ready) (at place, last Order) {
	job, err := s.config.Job(r.Job)
	switch {
	case errors.Is(err, ErrNoJob): // it may be proposed yet
		return at, Order{Kind: OrderBusy, Text: err.Error()}
	case err != nil:
		return at, Order{Kind: OrderRefused, Text: err.Error()}
	}
	at = place{job.Contract, r.Shard}
	if err := s.serves(from, at); err != nil {
		return at, Order{Kind: OrderRefused, Text: err.Error()}
	}
	switch {
	case job.Shards == 0:
		last = Order{Kind: OrderRefused, Text: fmt.Sprintf("job %.8s has no shards: its text does not say shards",
			job.Contract)}
	case r.Of != job.Shards:
		last = Order{Kind: OrderRefused, Usage: true, Text: fmt.Sprintf("the job has %d shards, and this worker was started "+
			"for one of %d", job.Shards, r.Of)}
	case r.Shard < 0 || r.Shard >= job.Shards:
		last = Order{Kind: OrderRefused, Usage: true, Text: fmt.Sprintf("there is no shard %d: the job has shards 0 to %d",
			r.Shard, job.Shards-1)}
	case job.Done:
		last = Order{Kind: OrderDone}
	}
	return at, last
}

// refuse gives a worker its one order. Its text says, to the node's log too, why the worker cannot be of use.
func refuse(ctx context.Context, f Frames, o Order) error {
	err := SendMessage(ctx, f, o)
	if o.Text != "" {
		err = errors.Join(err, errors.New(o.Text))
	}
	return err
}

// runWorker gives a worker its task and hears what it says, until its session is over.
func runWorker(ctx context.Context, f Frames, o order) (err error) {
	defer func() {
		if err != nil {
			o.said(Said{Kind: SaidFailed, Text: err.Error()}, nil, nil)
		}
	}()
	if err := SendData(ctx, f, bytes.NewReader(o.task), int64(len(o.task))); err != nil {
		return err
	}
	for {
		var said Said
		if err := ReceiveMessage(ctx, f, &said); err != nil {
			return err
		}
		said.Text = wording.Line(said.Text, maxText)
		data := func(most int64) ([]byte, error) { return receiveBytes(ctx, f, said.Size, most) }
		file := func(path string) error { return receiveFile(ctx, f, path, said.Size) }
		if err := o.said(said, data, file); err != nil {
			return err
		}
		if said.Kind == SaidResult || said.Kind == SaidFailed {
			return nil
		}
	}
}

// serveRelay passes frames of one stream until one of its ends, or the session, is over.
func (s *Service) serveRelay(ctx context.Context, from keys.ID, f Frames, to *Relay) error {
	found, _ := s.relays.Load(to.Session)
	r, _ := found.(*relay)
	if r == nil || to.Party < 0 || to.Party >= len(r.peers) || r.peers[to.Party].IsZero() {
		return fmt.Errorf("a stream for party %d of session %x, which is not under way", to.Party, to.Session[:4])
	}
	if err := s.serves(from, r.at); err != nil {
		return fmt.Errorf("a stream for party %d of session %x: %w", to.Party, to.Session[:4], err)
	}
	if !r.take(to.Party) {
		return fmt.Errorf("a second stream for party %d of session %x", to.Party, to.Session[:4])
	}
	return r.serve(ctx, f, to.Party)
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

// run returns the run of a contract that is under way, nil where there is none.
func (s *Service) run(contract keys.Hash) *run {
	found, _ := s.runs.Load(contract)
	r, _ := found.(*run)
	return r
}

// End tells all workers of a job that there is nothing more to do: why the job has ended, or, where why is empty, that
// their shards are done.
func (s *Service) End(contract keys.Hash, why string) {
	last := order{kind: OrderDone}
	if why != "" {
		last = order{kind: OrderRefused, text: why}
	}
	s.desk.end(contract, last)
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
	there, over := s.desk.at(contract, of)
	done := slices.Repeat([]bool{over}, of)
	if r := s.run(contract); r != nil {
		for i, slot := range r.slots.now() {
			done[i] = slot.Done > 0
		}
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
