package cache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/cache"
	"github.com/hanse-project/hanse/keys"
)

// dataOf is what is kept under hashOf of the same number.
func dataOf(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 10+i) }

func hashOf(i int) keys.Hash { return keys.HashOf("cache test", []byte{byte(i)}) }

// open opens a cache.
func open(t interface{ Fatal(...any) }, dir string, limit int64) *cache.Cache {
	s, err := cache.Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCachesForgetTheOldest compares with a list in the order of use, over reopenings.
func TestCachesForgetTheOldest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "cache")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		const limit = 60
		s := open(rt, dir, limit)
		var order []int // oldest first
		size := func() (n int) {
			for _, i := range order {
				n += len(dataOf(i))
			}
			return n
		}
		without := func(i int) {
			for k, j := range order {
				if j == i {
					order = append(order[:k], order[k+1:]...)
					return
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			i := rapid.IntRange(0, 8).Draw(rt, "entry")
			if rapid.Bool().Draw(rt, "put") {
				s.Put(hashOf(i), dataOf(i))
				for without(i); size()+len(dataOf(i)) > limit; {
					order = order[1:]
				}
				order = append(order, i)
				continue
			}
			data, ok := s.Get(hashOf(i))
			want := false
			for _, j := range order {
				want = want || i == j
			}
			if ok != want || ok && !bytes.Equal(data, dataOf(i)) {
				rt.Fatalf("entry %d: %v (%d bytes), want %v", i, ok, len(data), want)
			}
			if ok {
				without(i)
				order = append(order, i)
			}
		}
	})
}

// TestCachesOutliveTheirProcess and take in no more than their limit, nor what is none of theirs.
func TestCachesOutliveTheirProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 100)
	for i := range 5 {
		s.Put(hashOf(i), dataOf(i))
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), make([]byte, 500), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, 100)
	for i := range 5 {
		if data, ok := s.Get(hashOf(i)); !ok || !bytes.Equal(data, dataOf(i)) {
			t.Errorf("entry %d: %v, %d bytes", i, ok, len(data))
		}
	}
	s = open(t, dir, 30)
	left := 0
	for i := range 5 {
		if _, ok := s.Get(hashOf(i)); ok {
			left += len(dataOf(i))
		}
	}
	if left == 0 || left > 30 {
		t.Errorf("%d bytes are left, want 1 to 30", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}

// TestWhatDoesNotFitIsNotKept, and what has gone is forgotten.
func TestWhatDoesNotFitIsNotKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 12)
	s.Put(hashOf(1), dataOf(1))
	s.Put(hashOf(9), dataOf(9))
	if _, ok := s.Get(hashOf(9)); ok {
		t.Error("an entry of 19 bytes is in a cache of 12")
	}
	if _, ok := s.Get(hashOf(1)); !ok {
		t.Error("the first entry made room for one that does not fit")
	}
	if err := os.Remove(filepath.Join(dir, hashOf(1).String())); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get(hashOf(1)); ok {
		t.Error("an entry that was removed is there")
	}
}
