package transcript

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Names inside the folder that a party keeps for a job; an audit finds a transcript, its payloads and its contract by
// them.
const (
	File          = "transcript"
	PayloadFolder = "payloads"
	ContractFile  = "contract.toml"
)

// DefaultRecordLimit is the most bytes of payloads that are kept of one job.
const DefaultRecordLimit = 8 << 30

// recordQueue is how many entries wait to be hashed and written before a session waits for them. A
// few keep both busy; more would only take chunks of a megabyte each out of the processor's cache.
const recordQueue = 4

// Recorder takes a session's entries and lets it go on with the network, while a goroutine hashes and
// writes them: a queue before a Log, so that the network does not wait for hashes and disks. It implements
// protocol.Recorder.
type Recorder struct {
	log   *Log
	peers int // other parties of the session
	queue chan queued
	free  chan []byte // buffers to be used again
	ended sync.WaitGroup

	signed int // countersignatures of the round so far; the writing goroutine's

	mu  sync.Mutex
	err error // the first failure
}

// queued is an entry on its way to the log, or a question whether all before it are there.
type queued struct {
	entry   *protocol.Entry // nil: the question alone
	payload []byte
	reached chan<- struct{} // closed once it is written: somebody waits, whose payload it is; nil: the payload is a copy
}

// Begin begins a session of a contract in the transcript of a folder, which it makes where there is none; Close must
// follow. The contract says who the parties are and whether payloads are kept, of which limit is the most bytes, 0 for
// DefaultRecordLimit; c says the rest.
func Begin(folder string, of *contract.Contract, session uint32, limit int64, c Config) (*Recorder, error) {
	c.Contract, c.IDs = of.Hash(), nil
	for _, p := range of.Parties {
		c.IDs = append(c.IDs, p.ID)
	}
	c.Self = slices.Index(c.IDs, c.Key.ID())
	err := os.MkdirAll(folder, 0o700)
	if err == nil && of.Job.Record == contract.RecordFull {
		c.Store, err = OpenStore(filepath.Join(folder, PayloadFolder), cmp.Or(limit, DefaultRecordLimit))
	}
	if err != nil {
		return nil, err
	}
	log, err := Open(filepath.Join(folder, File), c)
	if err != nil {
		return nil, err
	}
	return NewRecorder(log, session, len(c.IDs))
}

// NewRecorder begins a session in a transcript, which belongs to the recorder from then on; Close must follow. An
// error closes the transcript.
func NewRecorder(log *Log, session uint32, parties int) (*Recorder, error) {
	if err := log.Begin(session); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	r := &Recorder{log: log, peers: parties - 1, queue: make(chan queued, recordQueue),
		free: make(chan []byte, recordQueue)}
	r.ended.Go(r.write)
	return r, nil
}

// Record implements protocol.Recorder. An error may be that of an earlier entry. It waits for an entry of what is about
// to be sent to be written, so that a killed process has nothing sent of which its transcript does not know.
func (r *Recorder) Record(e protocol.Entry, payload []byte) error {
	if err := r.failure(); err != nil {
		return err
	}
	if e.Event == protocol.EventSent {
		return r.await(queued{entry: &e, payload: payload})
	}
	r.queue <- queued{entry: &e, payload: append(r.buffer(), payload...)}
	return nil
}

// written waits until everything recorded so far is written.
func (r *Recorder) written() error { return r.await(queued{}) }

// await queues an entry, or nothing, and waits until it and all before it are written.
func (r *Recorder) await(q queued) error {
	reached := make(chan struct{})
	q.reached = reached
	r.queue <- q
	<-reached
	return r.failure()
}

// Link implements protocol.Recorder.
func (r *Recorder) Link(peer int) (keys.Hash, error) {
	if err := r.written(); err != nil {
		return keys.Hash{}, err
	}
	return r.log.Link(peer)
}

// States implements protocol.Recorder.
func (r *Recorder) States() ([]protocol.LinkState, error) {
	if err := r.written(); err != nil {
		return nil, err
	}
	return r.log.States()
}

// Past implements protocol.Recorder.
func (r *Recorder) Past() (protocol.Past, error) {
	if err := r.written(); err != nil {
		return protocol.Past{}, err
	}
	return r.log.Past()
}

// Former implements protocol.Recorder.
func (r *Recorder) Former(peer int, session uint32, sent, received uint64) (protocol.Former, error) {
	if err := r.written(); err != nil {
		return protocol.Former{}, err
	}
	return r.log.Former(peer, session, sent, received)
}

// Sync implements protocol.Recorder.
func (r *Recorder) Sync() error {
	if err := r.written(); err != nil {
		return err
	}
	return r.log.Sync()
}

// buffer returns an empty buffer, used before if there is one.
func (r *Recorder) buffer() []byte {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return nil
	}
}

// write takes entries from the queue until it is closed.
func (r *Recorder) write() {
	for q := range r.queue {
		if q.entry != nil && r.failure() == nil {
			r.fail(r.keep(q))
		}
		if q.reached != nil {
			close(q.reached)
			continue
		}
		select {
		case r.free <- q.payload:
		default:
		}
	}
}

// keep writes one entry, and seals the transcript when every link is countersigned.
func (r *Recorder) keep(q queued) error {
	if err := r.log.Record(*q.entry, q.payload); err != nil {
		return err
	}
	if q.entry.Event != protocol.EventCountersigned {
		r.signed = 0
		return nil
	}
	if r.signed++; r.signed < r.peers {
		return nil
	}
	return errors.Join(r.log.Sign(SignedCheckpoint), r.log.Sync())
}

// failure returns the first error.
func (r *Recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail keeps the first error.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// Close writes what is still in the queue, seals the session as done or broken, and closes the
// transcript.
func (r *Recorder) Close(done bool) error {
	close(r.queue)
	r.ended.Wait()
	why := SignedBroken
	if done {
		why = SignedDone
	}
	err := r.failure()
	if err == nil {
		err = r.log.Sign(why)
	}
	return errors.Join(err, r.log.Sync(), r.log.Close())
}
