package transcript

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hanse-project/hanse/keys"
)

// maxEntries is the most payloads of a store, since each takes some 100 bytes of memory while it is open.
const maxEntries = 1 << 24

// emptySum is the hash of the payload of no bytes.
var emptySum = keys.Hash(sha256.Sum256(nil))

// Store keeps payloads in a folder, each distinct one once, in files of up to 1 GiB that are appended to
// (docs/transcript.md). One Store at a time puts, and not concurrently; Get, Has and Used are safe for
// concurrent use, also beside Put and from another process.
type Store struct {
	dir      string
	limit    int64
	packSize int64 // most bytes of a pack that is written
	most     int   // payloads

	mu    sync.RWMutex
	index map[[32]byte]place
	used  int64
	last  int      // number of the last pack; 0: there is none
	end   int64    // where the whole entries of the last pack end
	file  *os.File // the last pack, from a Put to Close
	full  bool

	synced int64 // bytes of the last pack that are known to be on the disk
	listed bool  // so are the names of the packs and of the folder
}

// place is where an entry stands.
type place struct{ pack, at, size uint32 }

// OpenStore returns the store in a folder that holds at most limit bytes of payloads, those that are
// there already included. It reads where the payloads stand and not what they are, and changes nothing:
// a folder that does not exist is made by the first Put.
func OpenStore(dir string, limit int64) (*Store, error) {
	s := &Store{dir: dir, limit: limit, packSize: maxPack, most: maxEntries, index: make(map[[32]byte]place)}
	if err := s.refresh(); err != nil {
		return nil, named("payload store", dir, err)
	}
	return s, nil
}

// Put keeps a payload whose SHA-256 is sum. It returns false when the store would exceed its limit, or
// 2^24 payloads, and from then on always. A payload that is there already takes no room, an empty one
// no entry. The first Put cuts off what a crash left incomplete. After a power cut the payloads since the
// last Sync may be missing or damaged; Get notices.
func (s *Store) Put(sum [32]byte, payload []byte) (kept bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full || len(payload) == 0 {
		return !s.full, nil
	}
	if err := s.refresh(); err != nil {
		return false, s.failed(sum, "was not kept", err)
	}
	if _, ok := s.index[sum]; ok {
		return true, nil
	}
	if int64(len(payload)) > s.limit-s.used || len(s.index) >= s.most {
		s.full = true
		return false, nil
	}
	if err := s.append(sum, payload); err != nil {
		return false, s.failed(sum, "was not kept", err)
	}
	return true, nil
}

// Has reports whether a payload is in the store. It does not read the payload.
func (s *Store) Has(sum [32]byte) bool {
	if sum == emptySum {
		return true
	}
	_, err := s.find(sum)
	return err == nil
}

// Get returns a payload. One that is missing gives an error that wraps fs.ErrNotExist; one whose bytes
// are not what they were is refused. What another process put since the last call is found.
func (s *Store) Get(sum [32]byte) ([]byte, error) {
	if sum == emptySum {
		return nil, nil
	}
	p, err := s.find(sum)
	if err != nil {
		return nil, s.failed(sum, "was not found", err)
	}
	payload, err := s.read(p, sum)
	if err != nil {
		return nil, s.failed(sum, "was not read", err)
	}
	return payload, nil
}

// Used returns the bytes of the payloads in the store.
func (s *Store) Used() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.used
}

// Sync makes every payload put so far safe against a power cut: the bytes of its pack, and the names of
// the packs and of the folder. It does nothing when nothing was put since the last time, and it also
// covers what an earlier process put and did not sync. A Store that is nil has nothing to sync.
func (s *Store) Sync() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.syncPack()
	if err == nil && s.last > 0 && !s.listed { // the names of the packs, and that of their folder in the one above
		for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
			if err = syncDir(dir); err != nil {
				break
			}
		}
		s.listed = err == nil
	}
	return named("payload store", s.dir, err)
}

// Close closes the file that Put keeps open. The store can be used again: a Put opens it anew, a Get
// needs none. A Store that is nil has nothing to close.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return named("payload store", s.dir, s.release())
}

// find returns where a payload stands.
func (s *Store) find(sum [32]byte) (place, error) {
	s.mu.RLock()
	p, ok := s.index[sum]
	s.mu.RUnlock()
	if ok {
		return p, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return place{}, err
	}
	if p, ok = s.index[sum]; !ok {
		return place{}, fs.ErrNotExist
	}
	return p, nil
}

// read reads the payload of an entry and checks its hash.
func (s *Store) read(p place, sum [32]byte) ([]byte, error) {
	f, _, err := openPack(s.dir, int(p.pack), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	payload := make([]byte, p.size)
	_, err = f.ReadAt(payload, int64(p.at)+headSize)
	switch {
	case err == io.EOF:
		err = errors.New("the pack ends inside this entry, it was longer before")
	case err == nil && sha256.Sum256(payload) != sum:
		err = errors.New("the payload does not have the hash that its head says")
	}
	if err != nil {
		return nil, inPack(int(p.pack), int64(p.at), err)
	}
	return payload, nil
}

// refresh takes what was appended since the last time into the index. While this store's own file is
// open it appends alone, and the index is complete.
func (s *Store) refresh() error {
	if s.file != nil {
		return nil
	}
	numbers, err := packsIn(s.dir)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		if number < s.last {
			continue
		}
		if number > s.last {
			s.last, s.end, s.synced, s.listed = number, 0, 0, false
		}
		if err := s.walkLast(); err != nil {
			return err
		}
	}
	return nil
}

// walkLast takes the entries of the last pack from where the last walk ended. An incomplete entry at
// its end is left for later: it may be under way, or never completed.
func (s *Store) walkLast() error {
	f, size, err := openPack(s.dir, s.last, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if size < s.end {
		return inPack(s.last, size, fmt.Errorf("the pack ends here, it had %d bytes before", s.end))
	}
	w := walk{source: f, size: size, at: s.end}
	err = w.entries(s.add)
	s.end = w.at
	if err != nil && !errors.Is(err, errTorn) {
		return inPack(s.last, w.at, err)
	}
	return nil
}

// add takes an entry of the last pack into the index. Of two with one hash the first counts.
func (s *Store) add(e entry, at int64) error {
	if len(s.index) >= s.most {
		return fmt.Errorf("the store has more than %d payloads", s.most)
	}
	s.used += int64(e.size)
	if _, ok := s.index[e.sum]; !ok {
		s.index[e.sum] = place{pack: uint32(s.last), at: uint32(at), size: e.size}
	}
	return nil
}

// failed says which payload an error is about.
func (s *Store) failed(sum [32]byte, what string, err error) error {
	return named("payload store", s.dir, fmt.Errorf("payload %s %s: %w", keys.Hash(sum).Short(), what, bare(err)))
}
