package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/protocol"
)

// maxPack is the most bytes of a pack.
const maxPack = 1 << 30

// maxPacks is the highest number of a pack: names have six digits.
const maxPacks = 999_999

// packPrefix begins the names of packs.
const packPrefix = "pack-"

// packName returns the name of a pack.
func packName(number int) string { return fmt.Sprintf("%s%06d", packPrefix, number) }

// packsIn returns the numbers of the packs in a folder, in order; none if there is no folder. Files of
// other names are no business of the store.
func packsIn(dir string) ([]int, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, f := range files {
		digits, _ := strings.CutPrefix(f.Name(), packPrefix)
		if n, err := strconv.Atoi(digits); err == nil && n > 0 && n <= maxPacks && packName(n) == f.Name() {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// openPack opens a pack and returns its size. It follows no links and waits for no pipes.
func openPack(dir string, number int, flag int) (*os.File, int64, error) {
	path := filepath.Join(dir, packName(number))
	named, err := os.Lstat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", packName(number), bare(err))
	}
	if !named.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", packName(number))
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", packName(number), bare(err))
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(named, info):
		err = errors.New("it was replaced by another file")
	case info.Size() > maxPack:
		err = fmt.Errorf("it has %d bytes, want at most %d", info.Size(), maxPack)
	default:
		return f, info.Size(), nil
	}
	return nil, 0, errors.Join(fmt.Errorf("%s: %w", packName(number), bare(err)), f.Close())
}

// inPack says where in which pack an error is.
func inPack(number int, at int64, err error) error {
	return fmt.Errorf("%s, offset %d: %w", packName(number), at, bare(err))
}

// append writes an entry behind the last one. After an error the next call starts from what is in the
// folder, and cuts off what was written.
func (s *Store) append(sum [32]byte, payload []byte) error {
	if len(payload) > protocol.MaxFrame {
		return fmt.Errorf("it has %d bytes, want at most %d", len(payload), protocol.MaxFrame)
	}
	e := entry{size: uint32(len(payload)), sum: sum}
	if err := s.openForWriting(headSize + int64(e.size)); err != nil {
		return errors.Join(err, s.release())
	}
	info, err := s.file.Stat()
	if err == nil && info.Size() != s.end { // another writer, whose entries this one would overwrite
		err = fmt.Errorf("the pack has %d bytes: somebody else changes it", info.Size())
	}
	head := e.encode()
	if err == nil {
		_, err = s.file.WriteAt(head[:], s.end)
	}
	if err == nil {
		_, err = s.file.WriteAt(payload, s.end+headSize)
	}
	if err != nil {
		return errors.Join(inPack(s.last, s.end, err), s.release())
	}
	at := s.end
	s.end += headSize + int64(e.size)
	return s.add(e, at)
}

// openForWriting opens the pack that has room for an entry of size bytes, with its head.
func (s *Store) openForWriting(size int64) error {
	if s.file == nil && s.last > 0 {
		f, size, err := openPack(s.dir, s.last, os.O_WRONLY)
		if err != nil {
			return err
		}
		s.file = f
		if size != s.end { // an incomplete entry at its end is cut off
			if err := f.Truncate(s.end); err != nil {
				return inPack(s.last, s.end, err)
			}
		}
	}
	if s.file == nil || s.end > 0 && s.end+size > s.packSize {
		return s.create()
	}
	return nil
}

// create begins a pack, and the folder with the first. The pack before it is synced, since Sync looks at the last only.
func (s *Store) create() error {
	if err := s.syncPack(); err != nil {
		return err
	}
	if err := s.release(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return bare(err)
	}
	if s.last == maxPacks {
		return fmt.Errorf("there is no pack after %s", packName(s.last))
	}
	name := packName(s.last + 1)
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", name, bare(err))
	}
	s.file, s.last, s.end, s.synced, s.listed = f, s.last+1, 0, 0, false
	return nil
}

// syncPack makes the entries of the last pack durable.
func (s *Store) syncPack() error {
	if s.last == 0 || s.synced == s.end {
		return nil
	}
	f := s.file
	if f == nil {
		var err error
		if f, _, err = openPack(s.dir, s.last, os.O_WRONLY); err != nil { // some systems sync only what can be written
			return err
		}
		defer f.Close()
	}
	if err := f.Sync(); err != nil {
		return inPack(s.last, s.end, err)
	}
	s.synced = s.end
	return nil
}

// release closes the file that is written.
func (s *Store) release() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
