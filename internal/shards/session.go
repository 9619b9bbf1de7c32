package shards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// What files take on the disk, in bytes.
const (
	leastFile    = 512     // one, however small it is
	sessionFiles = 1 << 20 // those of a session in which nothing passes
	frameFiles   = 512     // what tells of a frame, in a transcript and among payloads, beside its payload
)

// conduct runs this party's end of a shard's session: the worker does its part, and the node passes its frames on.
func (r *run) conduct(at place, f contract.InForce) {
	err := r.session(at, f)
	if err != nil && r.ctx.Err() == nil {
		r.service.config.Log.Info("a session of a shard ended, and another one follows", "shard", at.shard,
			"generation", f.Contract().Shard.Generation, "error", err)
	}
	r.slots.stop(at.shard)
}

// session is conduct until the worker's part is done, or an error.
func (r *run) session(at place, f contract.InForce) error {
	c := f.Contract()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	w, err := r.service.desk.engage(at, c.Parties[r.Self].ID)
	if err != nil {
		return err
	}
	var passing *relay
	task, maxFiles, err := r.task(at.shard, c)
	if err == nil {
		passing, err = r.open(ctx, at, c)
	}
	if err != nil {
		r.service.desk.send(at, w, order{kind: OrderAgain})
		return err
	}
	defer passing.mesh.Close()
	r.service.relays.Store(SessionID(c), passing)
	defer r.service.relays.Delete(SessionID(c))
	over := make(chan error, 1)
	h := &hearing{run: r, shard: at.shard, contract: c, folder: r.Vault.Path(Path(at.shard, c.Shard.Generation)),
		maxFiles: maxFiles, over: over}
	if !r.service.desk.send(at, w, order{kind: OrderWork, task: task, said: h.said}) {
		return errors.New("its worker has gone")
	}
	select {
	case err = <-over:
	case <-w.gone:
		select {
		case err = <-over: // its last word
		default:
			err = errors.New("its worker has gone")
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	passing.drain(ctx)
	return err
}

// task is what the worker of a shard's session is given, and how many bytes of files it may hand in.
func (r *run) task(shard int, c *contract.Contract) (task []byte, maxFiles int64, err error) {
	work, err := r.Task(shard)
	if err != nil {
		r.slots.fail(err)
		return nil, 0, err
	}
	task, err = cbor.Marshal(Task{Contract: r.Contract.Contract().Text(), Shard: c.Text(), Session: SessionID(c),
		Self: r.Self, Work: work, Consent: r.Consent, Part: r.Parts[shard], Payloads: r.Payloads})
	if err != nil {
		return nil, 0, err
	}
	maxFiles, err = filesOf(c, r.Self, r.Payloads)
	return task, maxFiles, err
}

// open joins the other parties' nodes in a shard's session, which ends with ctx.
func (r *run) open(ctx context.Context, at place, c *contract.Contract) (*relay, error) {
	peers := make([]keys.ID, len(c.Parties))
	var others []keys.ID
	for i, p := range r.Contract.Contract().Parties {
		if i != r.Self {
			peers[i] = p.ID
			others = append(others, p.ID)
		}
	}
	opening, stop := context.WithTimeout(ctx, openTime)
	defer stop()
	mesh, err := r.service.config.Open(opening, SessionID(c), others)
	if err != nil {
		return nil, err
	}
	return &relay{at: at, ctx: ctx, mesh: mesh, peers: peers, taken: make([]bool, len(peers))}, nil
}

// SessionID names the session of a shard to the transport.
func SessionID(c *contract.Contract) protocol.SessionID {
	h := c.Hash()
	return protocol.SessionID(keys.HashOf("hanse shard session v1", h[:]))
}

// hearing hears what a worker says of its session.
type hearing struct {
	*run
	shard    int
	contract *contract.Contract
	folder   string // of the generation
	files    int64  // bytes of files so far
	maxFiles int64
	begun    bool // the folder is there
	over     chan<- error
}

// said takes what a worker says. An error ends the worker's stream.
func (h *hearing) said(s Said, data func(most int64) ([]byte, error), file func(path string) error) error {
	switch s.Kind {
	case SaidProgress:
		h.slots.progress(h.shard, s.Done)
		h.report()
	case SaidFile:
		return h.file(s, file)
	case SaidFailed:
		h.over <- errors.New("its worker says: " + s.Text)
	case SaidResult:
		result, err := data(h.Size(h.shard))
		if err != nil {
			return err
		}
		err = h.done(result, s.Traffic)
		h.report()
		h.over <- err
	default:
		return fmt.Errorf("a worker says %.20q, which means nothing", s.Kind)
	}
	return nil
}

// file keeps a file of the session.
func (h *hearing) file(s Said, receive func(path string) error) error {
	folder, name := filepath.Split(s.Name)
	folder = strings.TrimSuffix(folder, "/")
	known := folder == "" && name == TranscriptFile || folder == PayloadFolder && filepath.IsLocal(name) && name != "." &&
		len(name) <= 100
	switch {
	case !known:
		return fmt.Errorf("a worker hands in a file %.40q: want %s, or one in %s", s.Name, TranscriptFile, PayloadFolder)
	case s.Size < 0 || s.Size > h.maxFiles-h.files:
		return fmt.Errorf("a worker hands in %d bytes more than %d, at most %d are kept of a session", s.Size, h.files,
			h.maxFiles)
	}
	if err := h.Reserve(s.Size); err != nil {
		return err
	}
	if err := h.begin(); err != nil {
		return err
	}
	h.files += max(s.Size, leastFile)
	return receive(filepath.Join(h.folder, folder, name))
}

// begin makes the folder of the generation, with the contract, which tells whose transcript is in it.
func (h *hearing) begin() error {
	if h.begun {
		return nil
	}
	h.begun = true
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(h.folder, ContractFile), h.contract.Text())
}

// done keeps a result: it is on the disk, and then the record that says so.
func (h *hearing) done(result []byte, t Traffic) error {
	if err := h.Check(h.shard, result); err != nil {
		return err
	}
	if !h.begun {
		return errors.New("its worker has handed in no transcript of its session")
	}
	head, err := headOf(filepath.Join(h.folder, TranscriptFile))
	if err != nil {
		return err
	}
	if err := durable.SyncDir(h.folder); err != nil {
		return err
	}
	g := h.contract.Shard.Generation
	rec := record{Latest: g, Done: g, Digest: h.Digest, Contract: h.contract.Hash(), Head: head, Traffic: t,
		Result: resultHash(result)}
	if err := h.slots.keep(h.shard, rec, result); err != nil {
		return err
	}
	if h.Passed != nil {
		h.Passed(t)
	}
	return nil
}

// report says how far the run is.
func (h *hearing) report() {
	if h.Progress == nil {
		return
	}
	rows, shards := 0, 0
	for _, slot := range h.slots.now() {
		rows += slot.rows
		if slot.Done > 0 {
			shards++
		}
	}
	h.Progress(rows, shards)
}

// headOf returns the hash of the last record of a transcript.
func headOf(path string) (head keys.Hash, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return head, err
	}
	if _, err := f.ReadAt(head[:], max(0, info.Size()-int64(len(head)))); err != nil {
		return head, fmt.Errorf("transcript %s has %d bytes: %w", path, info.Size(), err)
	}
	return head, nil
}

// NeedsDisk is about how many bytes of disk a worker of a party takes for the files of its session.
func NeedsDisk(c *contract.Contract, party int) (int64, error) {
	frames, bytes, err := c.ShardPassing(party)
	return sessionFiles + filesOfFrames(c, frames, bytes, math.MaxInt64)/int64(c.Job.Shards), err
}

// filesOf is more bytes than the files of a shard's session have at a party, of which so many may be of payloads.
func filesOf(c *contract.Contract, self int, payloads int64) (int64, error) {
	frames, bytes, err := c.Passing(self)
	return sessionFiles + filesOfFrames(c, frames, bytes, payloads), err
}

// filesOfFrames is what files have of so many frames with so many bytes, of which so many may be kept.
func filesOfFrames(c *contract.Contract, frames, bytes, payloads int64) int64 {
	files := frames * frameFiles
	if c.Job.Record == contract.RecordFull {
		files += min(2*bytes, payloads) // what is received may be told of once more where it opens
	}
	return files
}
