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
)

// mustPut puts a payload and returns whether it was kept.
func mustPut(t failer, s *Store, payload []byte) bool {
	t.Helper()
	kept, err := s.Put(sha256.Sum256(payload), payload)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// mustOpenStore opens a store.
func mustOpenStore(t failer, dir string, limit int64) *Store {
	t.Helper()
	s, err := OpenStore(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAStoreIsASetOfPayloads compares a store, opened anew now and then, with a map.
func TestAStoreIsASetOfPayloads(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, limit := mustTemp(t, root), rapid.Int64Range(0, 60).Draw(t, "limit")
		s, want, used, full := mustOpenStore(t, dir, limit), make(map[string]bool), int64(0), false
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
			if rapid.IntRange(0, 5).Draw(t, "anew") == 0 {
				s, full = mustOpenStore(t, dir, limit), false
			}
		}
		if s.Used() != used {
			t.Fatalf("%d bytes used, want %d", s.Used(), used)
		}
		for payload := range want {
			if got, err := s.Get(sha256.Sum256([]byte(payload))); err != nil || string(got) != payload {
				t.Fatalf("got %x, %v, want %x", got, err, payload)
			}
		}
	})
}

func TestAStoreNoticesDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "payloads")
	s := mustOpenStore(t, dir, 100)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("opening a store made its folder")
	}
	payload := []byte("masked words")
	sum := sha256.Sum256(payload)
	at := fmt.Sprintf("payload store %s: payload %x: ", dir, sum[:4])
	_, err := s.Get(sum)
	wantError(t, err, at+"no such file or directory")
	if !errors.Is(err, fs.ErrNotExist) || s.Has(sum) {
		t.Error("it has what it has not")
	}
	if !mustPut(t, s, payload) || !s.Has(sum) {
		t.Error("it has not what it has")
	}
	file := filepath.Join(dir, fmt.Sprintf("%x", sum[:1]), fmt.Sprintf("%x", sum))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for text, want := range map[string]string{
		"Masked words":                           "its contents do not have the hash that its name says",
		"":                                       "its contents do not have the hash that its name says",
		strings.Repeat("x", protocol.MaxFrame+1): "it is not a file of at most 4198400 bytes",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(sum)
		wantError(t, err, at+want)
	}
	// What a power cut left empty is written again.
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(sum); !mustPut(t, s, payload) || err == nil {
		t.Errorf("got %x", got)
	}
	if got, err := s.Get(sum); err != nil || !bytes.Equal(got, payload) {
		t.Errorf("got %x, %v", got, err)
	}
}

func TestAnEmptyPayloadNeedsNoFile(t *testing.T) {
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
}

func TestStoreErrorsNameTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	_, err := OpenStore(dir, 1)
	wantError(t, err, "payload store "+dir+": "+filepath.Join(dir, "link")+" is neither a file nor a folder")
	file := filepath.Join(t.TempDir(), "file")
	s := mustOpenStore(t, file, 10)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(sha256.Sum256([]byte("x")), []byte("x"))
	wantError(t, err, "payload store "+file+": payload 2d711642 was not kept: not a directory")
}

// A log whose store is full says so once a session and goes on.
func TestALogGoesOnWithoutPayloadsWhenTheStoreIsFull(t *testing.T) {
	l := newLeague(t, t.TempDir(), 2, "store")
	send := func(payload string) { l.frame(0, 1, protocol.ClassMasked, protocol.Bytes, "angles", []byte(payload)) }
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
		fmt.Fprintf(&got, "%d%d ", b[0], b[152])
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
	l := newLeague(t, t.TempDir(), 2, "store")
	dir := filepath.Join(l.dir, "payloads")
	l.stores[0] = mustOpenStore(t, dir, 10)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.begin(1)
	e := protocol.Entry{Event: protocol.EventSent, Peer: 1, Class: protocol.ClassControl, Kind: "x", Session: 1}
	err := l.logs[0].Record(e, []byte("x"))
	wantError(t, err, "transcript "+l.path(0)+": payload store "+dir+": payload 2d711642 was not kept: not a directory")
	if again := l.logs[0].Seal(SealBroken); again != err {
		t.Errorf("error %v", again)
	}
}
