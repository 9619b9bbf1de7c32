package transcript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// mustPut puts a payload and returns whether it was kept.
func mustPut(t failer, s *Store, payload []byte) bool {
	t.Helper()
	kept, err := s.Put(sha256.Sum256(payload), payload)
	must(t, err)
	return kept
}

// mustOpenStore opens a store.
func mustOpenStore(t failer, dir string, limit int64) *Store {
	t.Helper()
	s, err := OpenStore(dir, limit)
	must(t, err)
	return s
}

// TestAStoreIsASetOfPayloads compares a store, opened anew now and then, with a map.
func TestAStoreIsASetOfPayloads(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, limit := mustTemp(t, root), rapid.Int64Range(0, 60).Draw(t, "limit")
		packSize := rapid.Int64Range(1, 200).Draw(t, "pack")
		s, reader := mustOpenStore(t, dir, limit), mustOpenStore(t, dir, 0)
		s.packSize = packSize
		want, used, full := make(map[string]bool), int64(0), false
		for range rapid.IntRange(0, 20).Draw(t, "puts") {
			payload := rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 16).Draw(t, "payload")
			isNew := !want[string(payload)] && len(payload) > 0
			full = full || isNew && used+int64(len(payload)) > limit
			if kept := mustPut(t, s, payload); kept == full {
				t.Fatalf("kept %v of %d bytes with %d of %d used", kept, len(payload), used, limit)
			}
			if isNew && !full {
				want[string(payload)] = true
				used += int64(len(payload))
			}
			switch rapid.IntRange(0, 10).Draw(t, "between") {
			case 0:
				mustClose(t, s)
			case 1, 2:
				mustClose(t, s)
				s, full = mustOpenStore(t, dir, limit), false
				s.packSize = packSize
			case 3:
				wantAll(t, reader, want)
			}
		}
		mustClose(t, s)
		if s.Used() != used {
			t.Fatalf("%d bytes used, want %d", s.Used(), used)
		}
		wantAll(t, s, want)
		wantAll(t, reader, want)
		wantAll(t, mustOpenStore(t, dir, 0), want)
		if reader.Used() != used {
			t.Fatalf("the reader counts %d bytes, want %d", reader.Used(), used)
		}
	})
}

// wantAll wants all these payloads in a store, and no others.
func wantAll(t failer, s *Store, want map[string]bool) {
	t.Helper()
	for payload := range want {
		sum := sha256.Sum256([]byte(payload))
		if got, err := s.Get(sum); err != nil || string(got) != payload || !s.Has(sum) {
			t.Fatalf("got %x, %v, want %x", got, err, payload)
		}
	}
	if len(s.index) != len(want) {
		t.Fatalf("the store has %d payloads, want %d", len(s.index), len(want))
	}
}

// mustClose closes a store.
func mustClose(t failer, s *Store) {
	t.Helper()
	must(t, s.Close())
}

// mustRead reads a file.
func mustRead(t failer, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// mustWrite writes a file.
func mustWrite(t failer, path string, b []byte) {
	t.Helper()
	must(t, os.WriteFile(path, b, 0o600))
}

func TestAStoreNoticesDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "payloads")
	s := mustOpenStore(t, dir, 100)
	payload := []byte("masked words")
	sum := sha256.Sum256(payload)
	at := fmt.Sprintf("payload store %s: payload %x was not ", dir, sum[:4])
	_, err := s.Get(sum)
	wantError(t, err, at+"found: file does not exist")
	if !errors.Is(err, fs.ErrNotExist) || s.Has(sum) {
		t.Error("it has what it has not")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("opening and reading a store made its folder")
	}
	if !mustPut(t, s, payload) || !s.Has(sum) {
		t.Error("it has not what it has")
	}
	pack := filepath.Join(dir, "pack-000001")
	if info, err := os.Stat(pack); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	whole := mustRead(t, pack)
	mustWrite(t, pack, bytes.Replace(whole, payload, []byte("Masked words"), 1))
	_, err = s.Get(sum)
	wantError(t, err, at+"read: pack-000001, offset 0: the payload does not have the hash that its head says")
	mustWrite(t, pack, whole[:len(whole)-1])
	_, err = s.Get(sum)
	wantError(t, err, at+"read: pack-000001, offset 0: the pack ends inside this entry, it was longer before")
	_, err = s.Put([32]byte{1}, []byte{1})
	wantError(t, err, fmt.Sprintf("payload store %s: payload 01000000 was not kept: pack-000001, offset 56: the pack has 55 bytes: somebody else changes it", dir))
	_, err = s.Put([32]byte{1}, []byte{1}) // the file is closed: the folder is looked at again
	wantError(t, err, fmt.Sprintf("payload store %s: payload 01000000 was not kept: pack-000001, offset 55: the pack ends here, it had 56 bytes before", dir))
	must(t, os.Remove(pack))
	_, err = s.Get(sum)
	wantError(t, err, at+"read: pack-000001: no such file or directory")
}

// A payload without bytes needs no entry, and one that no frame can carry gets none.
func TestPayloadsOfNoBytesAndOfTooManyHaveNoEntry(t *testing.T) {
	s := mustOpenStore(t, filepath.Join(t.TempDir(), "payloads"), 0)
	if !mustPut(t, s, nil) || !s.Has(emptySum) {
		t.Error("an empty payload is not kept")
	}
	if got, err := s.Get(emptySum); err != nil || len(got) != 0 {
		t.Errorf("got %x, %v", got, err)
	}
	if mustPut(t, s, []byte{1}) || mustPut(t, s, nil) {
		t.Error("a full store keeps")
	}
	s = mustOpenStore(t, t.TempDir(), 1<<30)
	payload := make([]byte, protocol.MaxFrame+1)
	_, err := s.Put([32]byte{}, payload)
	wantError(t, err, "payload store "+s.dir+": payload 00000000 was not kept: it has 4198401 bytes, want at most 4198400")
	if !mustPut(t, s, payload[1:]) {
		t.Error("the longest payload is not kept")
	}
}

// A store has as many payloads as its index may have, and no more are read.
func TestAStoreHasSoManyPayloadsAndNoMore(t *testing.T) {
	s := mustOpenStore(t, t.TempDir(), 100)
	reader := mustOpenStore(t, s.dir, 0)
	s.most, reader.most = 2, 1
	if !mustPut(t, s, []byte("one")) || !mustPut(t, s, []byte("two")) || mustPut(t, s,
		[]byte("three")) || mustPut(t, s, []byte("one")) {
		t.Error("a store of two payloads keeps others")
	}
	_, err := reader.Get(sha256.Sum256([]byte("two")))
	wantError(t, err, "payload store "+s.dir+": payload 3fc4ccfe was not found: pack-000001, offset 47: the store has more than 1 payloads")
	mustClose(t, s)
}

func TestStoreErrorsNameTheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	s := mustOpenStore(t, file, 10)
	mustWrite(t, file, nil)
	_, err := s.Put(sha256.Sum256([]byte("x")), []byte("x"))
	wantError(t, err, "payload store "+file+": payload 2d711642 was not kept: not a directory")
	_, err = OpenStore(file, 10)
	wantError(t, err, "payload store "+file+": not a directory")
}

// A log whose store is full says so once a session and goes on.
func TestALogGoesOnWithoutPayloadsWhenTheStoreIsFull(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "store")
	send := func(payload string) { l.frame(0, 1, contract.ClassMasked, contract.Bytes, "angles", []byte(payload)) }
	l.stores[0] = mustOpenStore(t, filepath.Join(l.dir, "payloads"), 10)
	l.begin(1)
	send("12345")
	send("")
	send("123456") // no room
	send("12345")
	l.open(0, "angles", []byte("1"))
	l.begin(2) // the same store: it stays full
	send("1")
	l.stores[0] = mustOpenStore(t, filepath.Join(l.dir, "payloads"), 10)
	l.begin(3)
	send("123")
	var got strings.Builder
	for _, b := range blocks(l.text(0))[1:] {
		fmt.Fprintf(&got, "%d%d ", b[0], b[keptAt])
	}
	if want := "50 11 11 70 10 10 30 50 70 10 50 11 "; got.String() != want {
		t.Errorf("types and marks are %s, want %s", got.String(), want)
	}
	if s, err := verify(l.text(0), l.ids); err != nil || s.Kept != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := verify(l.text(1), l.ids); err != nil || s.Kept != 0 {
		t.Errorf("without a store: %+v, %v", s, err)
	}
}

// A store that cannot be written ends the log: what the owner asked to be kept would be missing.
func TestAStoreThatFailsEndsTheLog(t *testing.T) {
	l := newTestNetwork(t, t.TempDir(), 2, "store")
	dir := filepath.Join(l.dir, "payloads")
	l.stores[0] = mustOpenStore(t, dir, 10)
	must(t, os.WriteFile(dir, nil, 0o600))
	l.begin(1)
	e := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: contract.ClassControl, Kind: "x", Session: 1}
	err := l.logs[0].Record(e, []byte("x"))
	wantError(t, err, "transcript "+l.path(0)+": payload store "+dir+": payload 2d711642 was not kept: not a directory")
	if again := l.logs[0].Sign(SignedBroken); again != err {
		t.Errorf("error %v", again)
	}
}
