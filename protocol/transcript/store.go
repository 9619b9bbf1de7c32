package transcript

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// unfinished is the file that a payload is in while it is written. There is one: puts are not
// concurrent, and what a crash leaves in it the next put overwrites.
const unfinished = "unfinished"

// emptySum is the hash of the payload of no bytes.
var emptySum = keys.Hash(sha256.Sum256(nil))

// Store keeps payloads in a folder, each distinct one once: DIR/ab/abcd…, named by its SHA-256 in
// hexadecimal. Put is not safe for concurrent use; Get and Has are, also from another process.
type Store struct {
	dir   string
	limit int64
	used  int64
	full  bool
}

// OpenStore returns the store in a folder that holds at most limit bytes of payloads, those that are
// there already included. A folder that does not exist is made by the first Put.
func OpenStore(dir string, limit int64) (*Store, error) {
	s := &Store{dir: dir, limit: limit}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		return s.count(d)
	})
	if err != nil {
		return nil, named("payload store", dir, err)
	}
	return s, nil
}

// count adds a file to what is used.
func (s *Store) count(d fs.DirEntry) error {
	if d.Name() == unfinished {
		return nil
	}
	info, err := d.Info()
	if err == nil {
		s.used += info.Size()
	}
	return err
}

// Put keeps a payload whose SHA-256 is sum. It returns false when the store would exceed its limit, and
// from then on always. A payload that is there already takes no room, an empty one no file. After a
// power cut the latest payloads may be missing or damaged; Get notices.
func (s *Store) Put(sum [32]byte, payload []byte) (kept bool, err error) {
	if s.full {
		return false, nil
	}
	path := s.path(sum)
	if info, err := os.Stat(path); len(payload) == 0 || err == nil && info.Size() == int64(len(payload)) {
		return true, nil
	}
	if int64(len(payload)) > s.limit-s.used {
		s.full = true
		return false, nil
	}
	if err := s.write(path, payload); err != nil {
		return false, named("payload store", s.dir, fmt.Errorf("payload %s was not kept: %w", keys.Hash(sum).Short(), bare(err)))
	}
	s.used += int64(len(payload))
	return true, nil
}

// write writes a file that appears under its name when it is whole.
func (s *Store) write(path string, payload []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	name := filepath.Join(s.dir, unfinished)
	if err := os.WriteFile(name, payload, 0o600); err != nil {
		return err
	}
	return os.Rename(name, path)
}

// Has reports whether a payload is in the store, by its name.
func (s *Store) Has(sum [32]byte) bool {
	info, err := os.Stat(s.path(sum))
	return sum == emptySum || err == nil && info.Mode().IsRegular()
}

// Get returns a payload. One that is missing gives an error that wraps fs.ErrNotExist; one that is
// not what its name says is refused.
func (s *Store) Get(sum [32]byte) ([]byte, error) {
	if sum == emptySum {
		return nil, nil
	}
	payload, err := readBounded(s.path(sum), protocol.MaxFrame)
	if err == nil && sha256.Sum256(payload) != sum {
		err = errors.New("its contents do not have the hash that its name says")
	}
	if err != nil {
		return nil, named("payload store", s.dir, fmt.Errorf("payload %s: %w", keys.Hash(sum).Short(), bare(err)))
	}
	return payload, nil
}

// Used returns the bytes of the payloads in the store.
func (s *Store) Used() int64 { return s.used }

// path returns where a payload is kept.
func (s *Store) path(sum [32]byte) string {
	name := keys.Hash(sum).String()
	return filepath.Join(s.dir, name[:2], name)
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("it is not a file of at most %d bytes", limit)
	}
	payload := make([]byte, info.Size())
	_, err = io.ReadFull(f, payload)
	return payload, err
}
