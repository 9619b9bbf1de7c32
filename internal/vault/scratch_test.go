package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/hanse-project/hanse/internal/durable"
)

// scratchOf makes a scratch file of three blocks in a folder of its own.
func scratchOf(t *testing.T) (s *Scratch, blocks [][]byte) {
	t.Helper()
	v, err := Open(t.TempDir(), Options{})
	must(t, err)
	if s, err = v.Scratch("rows", 300); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i, n := range []int{100, 100, 7} {
		blocks = append(blocks, bytes.Repeat([]byte{byte('a' + i)}, n))
		must(t, s.Append(blocks[i]))
	}
	return s, blocks
}

// TestScratchGivesBackWhatWasWritten, in any order, and leaves nothing behind; what is on the disk tells nothing, not
// even to whom knows a block, and nobody else may open it.
func TestScratchGivesBackWhatWasWritten(t *testing.T) {
	s, blocks := scratchOf(t)
	for _, i := range []int{0, 1, 2, 0, 2, 1, 1} {
		got, err := s.Read(i)
		if err != nil || !bytes.Equal(got, blocks[i]) {
			t.Errorf("block %d is %q, %v", i, got, err)
		}
	}
	data, err := os.ReadFile(s.path)
	must(t, err)
	for _, b := range blocks {
		if bytes.Contains(data, b[:7]) {
			t.Errorf("the file holds a block as it is")
		}
	}
	again, _ := scratchOf(t)
	if other, err := os.ReadFile(again.path); err != nil || bytes.Equal(other[:16], data[:16]) {
		t.Errorf("two files of the same blocks begin alike, %v", err)
	}
	if info, err := os.Stat(s.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(s.path)); err != nil || len(left) != 0 {
		t.Errorf("a closed scratch leaves %v, %v", left, err)
	}
}

// TestAlteredScratchesAreFoundOut: any byte that is changed, two blocks that change places, one of another file, and a
// file that is cut short.
func TestAlteredScratchesAreFoundOut(t *testing.T) {
	s, _ := scratchOf(t)
	whole, err := os.ReadFile(s.path)
	must(t, err)
	whole = whole[:s.ends[2]]
	wantAltered := func(what string, i int, text []byte) {
		t.Helper()
		must(t, os.WriteFile(s.path, text, 0o600))
		_, err := s.Read(i)
		var path *fs.PathError
		if !errors.Is(err, errAltered) || !errors.As(err, &path) ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("read block %d of %s: ", i+1, s.path)) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	for at := range whole {
		text := bytes.Clone(whole)
		text[at] ^= 1
		i := 0
		for s.ends[i] <= int64(at) {
			i++
		}
		wantAltered(fmt.Sprintf("byte %d", at), i, text)
	}
	n := s.ends[0]
	wantAltered("places", 0, append(append(bytes.Clone(whole[n:2*n]), whole[:n]...), whole[2*n:]...))
	wantAltered("cut", 2, whole[:len(whole)-1])
	other, _ := scratchOf(t)
	text, err := os.ReadFile(other.path)
	must(t, err)
	wantAltered("another's", 1, text)
	must(t, os.WriteFile(s.path, whole, 0o600))
	if _, err := s.Read(1); err != nil {
		t.Errorf("the file as it was: %v", err)
	}
}

// fullFile has room for so many bytes.
type fullFile struct {
	scratchFile
	left int
}

// Write implements io.Writer as a disk that gets full does.
func (f *fullFile) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left >= 0 {
		return f.scratchFile.Write(b)
	}
	n, err := f.scratchFile.Write(b[:max(0, f.left+len(b))])
	return n, errors.Join(err, &fs.PathError{Op: "write", Path: "rows", Err: syscall.ENOSPC})
}

// TestScratchOnAFullDisk fails at the byte that there is no room for, says so in one sentence, and writes nothing more:
// the next block would have the same nonce.
func TestScratchOnAFullDisk(t *testing.T) {
	for _, left := range []int{0, 1, 115, 116, 117, 200, 231} {
		v, err := Open(t.TempDir(), Options{})
		must(t, err)
		s, err := v.Scratch("rows", 0)
		must(t, err)
		file := &fullFile{s.file, left}
		s.file = file
		written := 0
		for ; err == nil && written < 3; written++ {
			err = s.Append(make([]byte, 100))
		}
		var failed *WriteError
		want := "a file that a running job needs could not be written: write rows: no space left on device; free some space, " +
			"or mend the disk, and the job goes on"
		if written != left/116+1 || !errors.As(err, &failed) || err.Error() != want {
			t.Errorf("with %d bytes left append %d says %v", left, written, err)
		}
		file.left = 1 << 20
		if again := s.Append(make([]byte, 100)); again != err {
			t.Errorf("after that, Append says %v", again)
		}
		if info, err := os.Stat(s.path); err != nil || info.Size() != int64(left) {
			t.Errorf("the file has %d bytes, %v, want %d", info.Size(), err, left)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestScratchThatDoesNotFit is not begun; one that does is as large from the beginning as it will be.
func TestScratchThatDoesNotFit(t *testing.T) {
	none := errors.New("it does not fit")
	var asked int64
	dir := t.TempDir()
	v, err := Open(dir, Options{Reserve: func(bytes int64) error {
		if asked = bytes; bytes > 1000 {
			return none
		}
		return nil
	}})
	must(t, err)
	if _, err := v.Scratch("rows", 1001); err != none || asked != 1001 {
		t.Errorf("error is %v, asked for %d", err, asked)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	s, err := v.Scratch("rows", 1000)
	must(t, err)
	defer s.Close()
	if info, err := os.Stat(s.path); err != nil || info.Size() != 1000 {
		t.Errorf("it has %v bytes, %v", info.Size(), err)
	}
}

// TestLeftScratches: what a killed process leaves is swept up, or is out of the way of the next one; a write that fails
// at the beginning leaves nothing.
func TestLeftScratches(t *testing.T) {
	dir := t.TempDir()
	kill := false
	v, err := Open(dir, Options{Fault: func(string) (bool, error) {
		if kill {
			return true, io.ErrClosedPipe
		}
		return false, nil
	}})
	must(t, err)
	s, err := v.Scratch("rows", 10)
	must(t, err)
	s.file.Close() // as when the process ends
	next, err := v.Scratch("rows", 10)
	must(t, err)
	next.file.Close()
	if swept, err := durable.Sweep(dir); err != nil || len(swept) != 1 || swept[0] != filepath.Base(s.path) {
		t.Errorf("swept up %v, %v", swept, err)
	}
	kill = true
	var failed *WriteError
	if _, err := v.Scratch("rows", 10); !errors.As(err, &failed) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a write that failed leaves %v, %v", left, err)
	}
}
