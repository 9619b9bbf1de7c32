package shards

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// maxGeneration is more generations than a shard ever has. A party that names more would have it the last.
const maxGeneration = 1 << 30

// slots are the shards of one run at one party. They have one lock, and neither one each nor a goroutine that events
// come to: the end is of all shards at once, and who asks for a delegation waits for the disk anyway. Under the lock
// slots write to their own files and call nobody else.
type slots struct {
	disk       disk
	resultFile func(shard int) string
	news       chan struct{} // holds one when there may be something to do
	ended      chan struct{} // closed by the coordinator's last word

	mu       sync.Mutex
	list     []slot
	sessions sync.WaitGroup // those under way
	failure  error          // of the disk or of this party's own making: the run ends with it
}

// openSlots reads how a job's shards stand. What an earlier run came to counts if it is whole, and of the same data.
func openSlots(d disk, w *Work) (*slots, error) {
	s := &slots{disk: d, resultFile: w.ResultFile, news: make(chan struct{}, 1), ended: make(chan struct{})}
	for i, shard := range w.Shards {
		rec, err := loadRecord(d, i)
		if err != nil {
			return nil, err
		}
		var result []byte
		if rec.Done > 0 && rec.Digest == w.Digest {
			if result, err = d.Load(w.ResultFile(i)); err != nil {
				return nil, err
			}
		}
		next := slot{shard: shard, record: rec, rows: shard.Rows}
		if result == nil || resultHash(result) != rec.Result || w.Check(i, result) != nil { // nil where it is damaged, too
			next.Done, next.rows = 0, 0
		}
		s.list = append(s.list, next)
	}
	return s, nil
}

// delegate notes that a generation of a shard is delegated to a worker's key. It is on the disk then.
func (s *slots) delegate(o Offer, key keys.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.list[o.Shard].delegate(o.Generation, key)
	if err != nil {
		return err
	}
	return s.write(next)
}

// begin notes that a session of a shard is under way, until stop is called for it.
func (s *slots) begin(o Offer, key keys.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.list[o.Shard].begin(o.Generation, key)
	if err != nil {
		return err
	}
	s.list[o.Shard] = next
	s.sessions.Add(1)
	return nil
}

// progress notes how many rows a worker says that it has done.
func (s *slots) progress(shard, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[shard] = s.list[shard].progress(rows)
}

// keep keeps what a shard came to: the result is on the disk, and then the record that says so.
func (s *slots) keep(shard int, rec record, result []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.list[shard].keep(rec)
	if err != nil {
		return err
	}
	if err := s.disk.Save(s.resultFile(shard), result); err != nil {
		return s.broken(err)
	}
	return s.write(next)
}

// stop notes that the session of a shard is over, well or not.
func (s *slots) stop(shard int) {
	s.mu.Lock()
	s.list[shard] = s.list[shard].stop()
	s.mu.Unlock()
	s.sessions.Done()
	s.wake()
}

// end is the coordinator's last word, which must be what this party knows.
func (s *slots) end(done []uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(done) != len(s.list) {
		return fmt.Errorf("%d shards are said to be done, there are %d", len(done), len(s.list))
	}
	for i := range s.list {
		if err := s.list[i].isDone(done[i]); err != nil {
			return err
		}
	}
	s.close()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
	return nil
}

// finish has nothing delegated, begun or kept from now on.
func (s *slots) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

// fail notes what the run cannot go on with.
func (s *slots) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken(err)
}

// failed returns what the run cannot go on with.
func (s *slots) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// now returns the slots as they are.
func (s *slots) now() []slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// wake has the run look again at what there is to do.
func (s *slots) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// close is finish under the lock.
func (s *slots) close() {
	for i := range s.list {
		s.list[i] = s.list[i].finish()
	}
}

// write has a slot count once its record is on the disk.
func (s *slots) write(next slot) error {
	if err := saveRecord(s.disk, next.shard.Index, next.record); err != nil {
		return s.broken(err)
	}
	s.list[next.shard.Index] = next
	return nil
}

// broken is fail under the lock, and returns the error.
func (s *slots) broken(err error) error {
	if s.failure == nil {
		s.failure = err
	}
	s.wake()
	return err
}

// slot is all that a party's run knows of one shard, as a state machine that does nothing itself: each method is what
// happens to the shard, and returns the slot as it is then, or why that may not happen. Where its record is another one
// then, the caller has it on the disk before the slot counts; so a generation that has left this party is never
// delegated again, and what is kept is of one session, also where a node is killed.
type slot struct {
	shard contract.Shard
	record
	offered keys.ID // to whose key the last generation is delegated, until it begins; zero: it has begun, or is lost
	running bool    // a session of the last generation is under way
	rows    int     // how many the shard's worker has done
	over    bool    // all shards are done, or the run has ended
}

// delegate: a generation is delegated to a worker's key. What an earlier one came to is no more.
func (s slot) delegate(generation uint32, key keys.ID) (slot, error) {
	switch {
	case s.over:
		return s, fmt.Errorf("shard %d is offered, and all is done or over", s.shard.Index)
	case generation > maxGeneration:
		return s, fmt.Errorf("generation %d of shard %d is offered, and no shard has more than %d", generation, s.shard.Index,
			maxGeneration)
	case generation <= s.Latest:
		return s, fmt.Errorf("generation %d of shard %d is offered, and generation %d was: they only rise", generation,
			s.shard.Index, s.Latest)
	case s.running:
		return s, fmt.Errorf("shard %d is offered, and a session of it is under way", s.shard.Index)
	}
	return slot{shard: s.shard, record: record{Latest: generation}, offered: key}, nil
}

// begin: all parties have delegated a generation, this one to the key that is named.
func (s slot) begin(generation uint32, key keys.ID) (slot, error) {
	switch {
	case s.Latest != generation || s.Done > 0 || s.offered != key:
		return s, fmt.Errorf("generation %d of shard %d is to begin, which this party has not delegated last", generation,
			s.shard.Index)
	case s.running || s.over:
		return s, fmt.Errorf("generation %d of shard %d is to begin, and is under way or over", generation, s.shard.Index)
	}
	s.running, s.offered = true, keys.ID{}
	return s, nil
}

// progress: the worker says how many rows it has done.
func (s slot) progress(rows int) slot {
	if s.running && s.Done == 0 {
		s.rows = min(max(rows, 0), s.shard.Rows)
	}
	return s
}

// keep: the worker has handed in what the session of a generation came to.
func (s slot) keep(done record) (slot, error) {
	if s.Latest != done.Done || s.Done > 0 || !s.running || s.over {
		return s, errors.New("another generation has begun, or the run is over")
	}
	s.record, s.rows = done, s.shard.Rows
	return s, nil
}

// stop: the session is over, well or not.
func (s slot) stop() slot {
	s.running = false
	return s
}

// finish: nothing is delegated, begun or kept from now on.
func (s slot) finish() slot {
	s.over = true
	return s
}

// isDone refuses a generation that is not what the shard came to here.
func (s slot) isDone(generation uint32) error {
	if generation != s.Done || s.Done == 0 || s.running {
		return fmt.Errorf("generation %d of shard %d is said to be done, here it is %d", generation, s.shard.Index, s.Done)
	}
	return nil
}

// standing is how the shard stands, where its worker waits or does not.
func (s slot) standing(ready bool) Standing {
	return Standing{Latest: s.Latest, Done: s.Done, Running: s.running, Ready: ready}
}
