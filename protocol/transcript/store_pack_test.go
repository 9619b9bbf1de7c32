package transcript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// packOf returns the bytes of a pack with some payloads.
func packOf(payloads ...string) []byte {
	var b []byte
	for _, p := range payloads {
		head := entry{size: uint32(len(p)), sum: sha256.Sum256([]byte(p))}.encode()
		b = append(append(b, head[:]...), p...)
	}
	return b
}

// storeWith returns a folder with one pack.
func storeWith(t failer, root string, pack []byte) (dir, path string) {
	t.Helper()
	dir = mustTemp(t, root)
	path = filepath.Join(dir, packName(1))
	mustWrite(t, path, pack)
	return dir, path
}

// TestAPackIsGolden holds every byte of a pack, and wants the same from a store.
func TestAPackIsGolden(t *testing.T) {
	s := mustOpenStore(t, t.TempDir(), 100)
	for _, p := range []string{"masked words", "a total", "masked words"} {
		mustPut(t, s, []byte(p))
	}
	got := mustRead(t, filepath.Join(s.dir, "pack-000001"))
	golden(t, "small.pack", got)
	if !bytes.Equal(got, packOf("masked words", "a total")) {
		t.Error("the store does not write what its entries say")
	}
}

// TestTheDocumentHasTheLayoutOfEntries holds docs/transcript.md against the layout beside the code.
func TestTheDocumentHasTheLayoutOfEntries(t *testing.T) {
	page, n := string(mustRead(t, "../../docs/transcript.md")), 0
	for line := range strings.Lines(string(mustRead(t, "store_entry.go"))) {
		if layout, ok := strings.CutPrefix(line, "//\t"); ok {
			n++
			if !strings.Contains(page, "\n"+layout) {
				t.Errorf("docs/transcript.md lacks the line %q", layout)
			}
		}
	}
	if n != 6 {
		t.Errorf("the layout has %d lines, want 6", n)
	}
}

// TestAKilledWriterLosesItsLastPayloadOnly cuts a pack everywhere, with and without zeros where the rest
// was: readers find the whole entries and change nothing, and a writer goes on behind them.
func TestAKilledWriterLosesItsLastPayloadOnly(t *testing.T) {
	payloads, root := []string{"one", "and a second", "III"}, t.TempDir()
	whole, next := packOf(payloads...), []byte("what comes after")
	for cut := range whole {
		dir, path := storeWith(t, root, whole[:cut])
		want, end := make(map[string]bool), 0
		for _, p := range payloads {
			if end+headSize+len(p) > cut {
				break
			}
			want[p] = true
			end += headSize + len(p)
		}
		s := mustOpenStore(t, dir, 100)
		wantAll(t, s, want)
		if got := mustRead(t, path); !bytes.Equal(got, whole[:cut]) {
			t.Fatalf("cut at %d: a reader changed the pack", cut)
		}
		if !mustPut(t, s, next) {
			t.Fatalf("cut at %d: the store is full", cut)
		}
		mustClose(t, s)
		if got := mustRead(t, path); !bytes.Equal(got, append(bytes.Clone(whole[:end]), packOf(string(next))...)) {
			t.Fatalf("cut at %d: the pack is %q", cut, got)
		}
	}
}

// A power cut can leave zeros, of any length, where data was not yet on the disk.
func TestZerosAtTheEndOfAPackAreCutOff(t *testing.T) {
	payloads, root := []string{"one", "and a second", "III"}, t.TempDir()
	whole := packOf(payloads...)
	for cut := range whole {
		for _, zeros := range []int{len(whole) - cut, 3 * windowSize} {
			dir, _ := storeWith(t, root, append(bytes.Clone(whole[:cut]), make([]byte, zeros)...))
			s := mustOpenStore(t, dir, 1<<20)
			for _, p := range payloads {
				got, err := s.Get(sha256.Sum256([]byte(p)))
				if err == nil && string(got) != p {
					t.Fatalf("zeros from %d: got %q", cut, got)
				}
				if at := bytes.Index(whole, []byte(p)); err != nil && at+len(p) <= cut {
					t.Fatal(err)
				}
			}
			mustPut(t, s, []byte("next"))
			mustClose(t, s)
			if got, err := mustOpenStore(t, dir, 0).Get(sha256.Sum256([]byte("next"))); err != nil || string(got) != "next" {
				t.Fatalf("zeros from %d: got %q, %v", cut, got, err)
			}
		}
	}
}

func TestWhatIsNoPackIsRefusedByNameAndOffset(t *testing.T) {
	good := packOf("good")
	longer := append(bytes.Clone(good), packOf("better")...)
	patched := func(at int, b ...byte) []byte {
		p := bytes.Clone(longer)
		copy(p[len(good)+at:], b)
		return p
	}
	resized := func(size uint32) []byte {
		head := entry{size: size, sum: sha256.Sum256([]byte("better"))}.encode()
		return patched(0, head[:]...)
	}
	for name, c := range map[string]struct {
		pack []byte
		want string
	}{
		"short":       {[]byte("hello"), "offset 0: this is not the head of a payload"},
		"text":        {bytes.Repeat([]byte("hello "), 20), "offset 0: this is not the head of a payload"},
		"later zeros": {append(make([]byte, 5000), 1), "offset 0: this is not the head of a payload"},
		"magic":       {patched(0, 'P'), "offset 48: this is not the head of a payload"},
		"version":     {patched(3, 2), "offset 48: this is a payload of version 2, this program reads version 1"},
		"checksum":    {patched(40, 0, 0, 0, 0), "offset 48: the head of this payload has the checksum 00000000, want "},
		"hash":        {patched(8, 0, 0), "offset 48: the head of this payload has the checksum "},
		"torn too late": {append(bytes.Clone(good), append(bytes.Clone(longer[len(good):][:headSize-1]), 1)...),
			"offset 48: the head of this payload has the checksum "},
		"no bytes":     {resized(0), "offset 48: this payload has 0 bytes, want 1 to 4198400"},
		"huge":         {resized(math.MaxUint32), "offset 48: this payload has 4294967295 bytes, want 1 to 4198400"},
		"long by one":  {resized(protocol.MaxFrame + 1), "offset 48: this payload has 4198401 bytes, want 1 to 4198400"},
		"short by one": {append(resized(5), good...), "offset 97: this is not the head of a payload"},
	} {
		dir, path := storeWith(t, t.TempDir(), c.pack)
		_, err := OpenStore(dir, 1)
		wantPart(t, name, err, "payload store "+dir+": pack-000001, "+c.want)
		if got := mustRead(t, path); !bytes.Equal(got, c.pack) {
			t.Errorf("%s: the pack was changed", name)
		}
	}
}

func TestPacksAreRegularFilesOfAtMostOneGiB(t *testing.T) {
	_, target := storeWith(t, t.TempDir(), packOf("elsewhere"))
	for _, c := range []struct {
		make func(path string) error
		want string
	}{
		{func(path string) error { return os.Symlink(target, path) }, " is not a regular file"},
		{func(path string) error { return os.Mkdir(path, 0o700) }, " is not a regular file"},
		{func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, maxPack+1))
		}, ": it has 1073741825 bytes, want at most 1073741824"},
	} {
		dir := t.TempDir()
		must(t, c.make(filepath.Join(dir, packName(1))))
		_, err := OpenStore(dir, 1)
		wantError(t, err, "payload store "+dir+": pack-000001"+c.want)
	}
}

// Packs may be missing; files of other names are left alone.
func TestAStoreIsThePacksInItsFolder(t *testing.T) {
	dir, _ := storeWith(t, t.TempDir(), packOf("one"))
	mustWrite(t, filepath.Join(dir, "pack-000007"), packOf("seven", "one"))
	for _, name := range []string{"pack-000000", "pack-12", "pack-+00008", "pack-0000009", "pack-000009.bak", "other"} {
		mustWrite(t, filepath.Join(dir, name), []byte("not a pack"))
	}
	s := mustOpenStore(t, dir, 100)
	s.packSize = 1
	wantAll(t, s, map[string]bool{"one": true, "seven": true})
	if s.Used() != 11 { // what is there twice takes room twice
		t.Errorf("%d bytes used, want 11", s.Used())
	}
	if p := s.index[sha256.Sum256([]byte("one"))]; p.pack != 1 {
		t.Errorf("of two entries that in pack %d counts, want the first", p.pack)
	}
	mustPut(t, s, []byte("next"))
	if got := mustRead(t, filepath.Join(dir, "pack-000008")); !bytes.Equal(got, packOf("next")) {
		t.Errorf("pack 8 is %q", got)
	}
	mustWrite(t, filepath.Join(dir, packName(maxPacks)), nil)
	mustClose(t, s)
	mustPut(t, s, []byte("the last"))
	_, err := s.Put([32]byte{}, []byte("more"))
	wantError(t, err, "payload store "+dir+": payload 00000000 was not kept: there is no pack after pack-999999")
}

// A payload never spans two packs, and a pack that is full is not touched again.
func TestPacksAreFilledInOrder(t *testing.T) {
	s := mustOpenStore(t, filepath.Join(t.TempDir(), "a", "b"), 1<<20)
	s.packSize = 2*headSize + 10
	for _, p := range []string{"12345", "67890", "x", "1234567890", strings.Repeat("long", 100), "y", "z"} {
		mustPut(t, s, []byte(p))
	}
	for i, want := range [][]byte{packOf("12345", "67890"), packOf("x"), packOf("1234567890"),
		packOf(strings.Repeat("long", 100)), packOf("y", "z")} {
		if got := mustRead(t, filepath.Join(s.dir, packName(i+1))); !bytes.Equal(got, want) {
			t.Errorf("pack %d is %q, want %q", i+1, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, packName(6))); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSyncReachesTheDisk takes away what a sync needs: that it is asked for is seen by its error, and that it is not
// asked for twice by the lack of one.
func TestSyncReachesTheDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "payloads")
	sync := func(s *Store, want string) {
		t.Helper()
		switch err := s.Sync(); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "":
			wantPart(t, "sync", err, "payload store "+dir+": "+want)
		}
	}
	sync(nil, "")
	s := mustOpenStore(t, dir, 100)
	sync(s, "") // there is nothing, and no folder
	mustPut(t, s, []byte("one"))
	must(t, s.file.Close())
	sync(s, "pack-000001, offset 47: file already closed")
	if s.synced != 0 || s.listed {
		t.Error("what failed counts as synced")
	}
	s = mustOpenStore(t, dir, 100) // another process: what the one before has put may not be on the disk
	away := dir + "-away"
	must(t, os.Rename(dir, away))
	sync(s, "pack-000001: no such file or directory")
	must(t, os.Rename(away, dir))
	sync(s, "")
	mustPut(t, s, []byte("one")) // is there
	must(t, os.Rename(dir, away))
	sync(s, "")
	must(t, os.Rename(away, dir))
	s.packSize = 1
	mustPut(t, s, []byte("two"))
	must(t, os.Rename(dir, away))
	sync(s, "no such file or directory") // the new pack's name
	must(t, os.Rename(away, dir))
	sync(s, "")
	mustPut(t, s, []byte("three"))
	must(t, s.file.Close())
	_, err := s.Put(sha256.Sum256([]byte("four")), []byte("four")) // begins a pack, and syncs the one before it
	wantPart(t, "put", err, "was not kept: file already closed")
}

// A store that reads finds what another appends while it does, and never half of it.
func TestReadersFollowAWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "payloads")
	const payloads = 300
	text := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 1}, 1+i*7%3000) }
	writer := mustOpenStore(t, dir, 1<<30)
	writer.packSize = 100_000
	var wg sync.WaitGroup
	for _, reader := range []*Store{mustOpenStore(t, dir, 0), mustOpenStore(t, dir, 0), writer} {
		wg.Go(func() {
			for i := range payloads {
				sum := sha256.Sum256(text(i))
				got, err := reader.Get(sum)
				for errors.Is(err, fs.ErrNotExist) {
					runtime.Gosched()
					got, err = reader.Get(sum)
				}
				if err != nil || !bytes.Equal(got, text(i)) {
					t.Errorf("payload %d: %d bytes, %v", i, len(got), err)
					return
				}
			}
		})
	}
	for i := range payloads {
		mustPut(t, writer, text(i))
		if i%50 == 0 {
			mustClose(t, writer)
		}
	}
	wg.Wait()
}

// Only a store that puts holds a file open, and a log closes it.
func TestAStoreLeavesNoFilesOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	l := newTestNetwork(t, t.TempDir(), 2, "handles")
	dir := filepath.Join(l.dir, "payloads")
	l.stores[0] = mustOpenStore(t, dir, 100)
	l.begin(1)
	before := opened(t, dir)
	l.frame(0, 1, contract.ClassMasked, contract.Bytes, "angles", []byte("words"))
	during := opened(t, dir)
	l.must(l.logs[0].Close())
	for range 3 {
		if _, err := l.stores[0].Get(sha256.Sum256([]byte("words"))); err != nil {
			t.Error(err)
		}
	}
	if after := opened(t, dir); before != 0 || during != 1 || after != 0 {
		t.Errorf("%d files open before, %d during, %d after a put", before, during, after)
	}
	mustClose(t, l.stores[0])
	mustClose(t, nil)
}

// opened counts this process's open files in a folder.
func opened(t failer, dir string) (n int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, f := range files {
		if target, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}
