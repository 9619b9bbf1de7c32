// Package cache keeps data that can be had again, by its hash, in a folder of limited size: what was not
// asked for the longest makes room for what is new. Several processes must not share a folder.
//
// Nothing is synced: after a crash a file may be short or empty, and readers check what they get against
// its hash, as they would with what came over a network.
package cache

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

// Cache is such a folder. Its methods may be called concurrently.
type Cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	entries map[string]*entry // by file name
	size    int64             // of them all
	clock   int64             // advances with every use
}

// entry is one file.
type entry struct {
	name string
	size int64
	used int64
}

// Open makes the folder if it is missing and takes in what is there. limit is in bytes.
func Open(dir string, limit int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	s := &Cache{dir: dir, limit: limit, entries: make(map[string]*entry)}
	modified := make(map[string]time.Time)
	var found []*entry
	for _, e := range files {
		info, err := e.Info()
		var h keys.Hash
		if err != nil || !info.Mode().IsRegular() || h.UnmarshalText([]byte(e.Name())) != nil {
			continue
		}
		modified[e.Name()] = info.ModTime()
		found = append(found, &entry{name: e.Name(), size: info.Size()})
	}
	slices.SortFunc(found, func(a, b *entry) int {
		return cmp.Or(modified[a.name].Compare(modified[b.name]), cmp.Compare(a.name, b.name))
	})
	for _, b := range found {
		s.add(b)
	}
	s.makeSpace(0)
	return s, nil
}

// Get returns what is kept under a hash. The caller checks that it is that.
func (s *Cache) Get(hash keys.Hash) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.entries[hash.String()]
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
func (s *Cache) Put(hash keys.Hash, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &entry{name: hash.String(), size: int64(len(data))}
	if old, ok := s.entries[b.name]; ok {
		s.drop(old)
	}
	if b.size > s.limit {
		return
	}
	s.makeSpace(b.size)
	if os.WriteFile(filepath.Join(s.dir, b.name), data, 0o600) == nil {
		s.add(b)
	}
}

// add takes an entry in as the latest.
func (s *Cache) add(b *entry) {
	s.clock++
	b.used = s.clock
	s.entries[b.name] = b
	s.size += b.size
}

// drop removes an entry.
func (s *Cache) drop(b *entry) {
	os.Remove(filepath.Join(s.dir, b.name)) // one that stays is found at the next Open
	delete(s.entries, b.name)
	s.size -= b.size
}

// makeSpace drops the entries of the longest ago until so many bytes fit.
func (s *Cache) makeSpace(size int64) {
	for s.size+size > s.limit && len(s.entries) > 0 {
		var oldest *entry
		for _, b := range s.entries {
			if oldest == nil || b.used < oldest.used {
				oldest = b
			}
		}
		s.drop(oldest)
	}
}
