package node

import (
	"errors"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// DefaultRecordLimit is the most bytes of payloads that are kept of one job.
const DefaultRecordLimit = 8 << 30

// recordQueue is how many entries wait to be hashed and written before a session waits for them.
const recordQueue = 16

// Names inside a job's folder.
const (
	transcriptFile = "transcript"
	payloadFolder  = "payloads"
)

// recorder puts a queue before a session's transcript: the session hands entries over and goes on
// with the network while a goroutine hashes and writes them. It implements protocol.Recorder.
type recorder struct {
	log   *transcript.Log
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
	entry   protocol.Entry
	payload []byte
	reached chan<- struct{}
}

// newRecorder continues the job's transcript with a new session.
func (n *Node) newRecorder(s *jobState, session uint32) (*recorder, error) {
	c := s.contract
	config := transcript.Config{Contract: c.Hash(), Self: c.Job.Index(n.name()), Key: n.config.Key}
	for _, p := range c.Parties {
		config.IDs = append(config.IDs, p.ID)
	}
	if c.Job.Record == protocol.RecordFull {
		limit := n.config.RecordLimit
		if limit == 0 {
			limit = DefaultRecordLimit
		}
		var err error
		if config.Store, err = transcript.OpenStore(s.vault.Path(payloadFolder), limit); err != nil {
			return nil, err
		}
	}
	log, err := transcript.Open(s.vault.Path(transcriptFile), config)
	if err != nil {
		return nil, err
	}
	if err := log.Begin(session); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	r := &recorder{log: log, peers: len(c.Parties) - 1, queue: make(chan queued, recordQueue), free: make(chan []byte, recordQueue)}
	r.ended.Go(r.write)
	return r, nil
}

// Record implements protocol.Recorder. An error is that of an earlier entry.
func (r *recorder) Record(e protocol.Entry, payload []byte) error {
	if err := r.failure(); err != nil {
		return err
	}
	r.queue <- queued{entry: e, payload: append(r.buffer(), payload...)}
	return nil
}

// Link implements protocol.Recorder. It waits until everything recorded so far is written.
func (r *recorder) Link(peer int) (keys.Hash, error) {
	reached := make(chan struct{})
	r.queue <- queued{reached: reached}
	<-reached
	if err := r.failure(); err != nil {
		return keys.Hash{}, err
	}
	return r.log.Link(peer)
}

// buffer returns an empty buffer, used before if there is one.
func (r *recorder) buffer() []byte {
	select {
	case b := <-r.free:
		return b[:0]
	default:
		return nil
	}
}

// write takes entries from the queue until it is closed.
func (r *recorder) write() {
	for q := range r.queue {
		if q.reached != nil {
			close(q.reached)
			continue
		}
		if r.failure() == nil {
			r.fail(r.keep(q))
		}
		select {
		case r.free <- q.payload:
		default:
		}
	}
}

// keep writes one entry, and seals the transcript when every link is countersigned.
func (r *recorder) keep(q queued) error {
	if err := r.log.Record(q.entry, q.payload); err != nil {
		return err
	}
	if q.entry.Event != protocol.EventCountersigned {
		r.signed = 0
		return nil
	}
	if r.signed++; r.signed < r.peers {
		return nil
	}
	return errors.Join(r.log.Seal("checkpoint"), r.log.Sync())
}

// failure returns the first error.
func (r *recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail keeps the first error.
func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// close writes what is still in the queue and seals the session.
func (r *recorder) close(done bool) error {
	close(r.queue)
	r.ended.Wait()
	why := "broken"
	if done {
		why = "done"
	}
	err := r.failure()
	if err == nil {
		err = r.log.Seal(why)
	}
	return errors.Join(err, r.log.Sync(), r.log.Close())
}
