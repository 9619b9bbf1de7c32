// Package shelf keeps data that can be had again, by its hash, in a folder of limited size: what was not
// asked for the longest makes room for what is new. Several processes must not share a folder.
//
// Nothing is synced: after a crash a file may be short or empty, and readers check what they get against
// its hash, as they would with what came over a network.
package shelf

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// Shelf is such a folder. Its methods may be called concurrently.
type Shelf struct {
	dir   string
	limit int64

	mu    sync.Mutex
	books map[string]*book // by file name
	size  int64            // of them all
	clock int64            // advances with every use
}

// book is one file.
type book struct {
	name string
	size int64
	used int64
}

// Open makes the folder if it is missing and takes in what is there. limit is in bytes.
func Open(dir string, limit int64) (*Shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	s := &Shelf{dir: dir, limit: limit, books: make(map[string]*book)}
	modified := make(map[string]time.Time)
	var found []*book
	for _, e := range entries {
		info, err := e.Info()
		var h keys.Hash
		if err != nil || !info.Mode().IsRegular() || h.UnmarshalText([]byte(e.Name())) != nil {
			continue
		}
		modified[e.Name()] = info.ModTime()
		found = append(found, &book{name: e.Name(), size: info.Size()})
	}
	slices.SortFunc(found, func(a, b *book) int {
		return cmp.Or(modified[a.name].Compare(modified[b.name]), cmp.Compare(a.name, b.name))
	})
	for _, b := range found {
		s.add(b)
	}
	s.makeRoom(0)
	return s, nil
}

// Get returns what is kept under a hash. The caller checks that it is that.
func (s *Shelf) Get(hash keys.Hash) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.books[hash.String()]
	if !ok {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(s.dir, b.name))
	if err != nil {
		s.drop(b)
		return nil, false
	}
	s.clock++
	b.used = s.clock
	return data, true
}

// Put keeps data under its hash, if it has room; that it could not be written is no matter.
func (s *Shelf) Put(hash keys.Hash, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &book{name: hash.String(), size: int64(len(data))}
	if old, ok := s.books[b.name]; ok {
		s.drop(old)
	}
	if b.size > s.limit {
		return
	}
	s.makeRoom(b.size)
	if os.WriteFile(filepath.Join(s.dir, b.name), data, 0o600) == nil {
		s.add(b)
	}
}

// add takes a book in as the latest.
func (s *Shelf) add(b *book) {
	s.clock++
	b.used = s.clock
	s.books[b.name] = b
	s.size += b.size
}

// drop removes a book.
func (s *Shelf) drop(b *book) {
	os.Remove(filepath.Join(s.dir, b.name)) // one that stays is found at the next Open
	delete(s.books, b.name)
	s.size -= b.size
}

// makeRoom drops the books of the longest ago until so many bytes fit.
func (s *Shelf) makeRoom(size int64) {
	for s.size+size > s.limit && len(s.books) > 0 {
		var oldest *book
		for _, b := range s.books {
			if oldest == nil || b.used < oldest.used {
				oldest = b
			}
		}
		s.drop(oldest)
	}
}
