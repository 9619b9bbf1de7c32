package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"testing"

	"github.com/hanse-project/hanse/protocol"
)

// addPacks seeds a fuzzer.
func addPacks(f *testing.F) {
	pack := packOf("one", "and a second", "one", "III")
	f.Add(pack)
	f.Add(pack[:len(pack)-1])
	f.Add(append(bytes.Clone(pack), make([]byte, 100)...))
	f.Add([]byte("pay\x02"))
	f.Add([]byte{})
}

// FuzzPack: any bytes are walked to an end or an error.
func FuzzPack(f *testing.F) {
	addPacks(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzWalk(t, b)
		fuzzWalk(t, rechecked(b))
	})
}

// FuzzStore: what a store finds in any bytes can be read or is refused, and when it takes them for a
// pack it goes on with it and loses nothing.
func FuzzStore(f *testing.F) {
	addPacks(f)
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzStore(t, root, b)
		fuzzStore(t, root, rechecked(b))
	})
}

// fuzzWalk compares a walk with one that holds everything in memory.
func fuzzWalk(t *testing.T, pack []byte) {
	w, at := walk{source: bytes.NewReader(pack), size: int64(len(pack))}, int64(0)
	err := w.entries(func(e entry, from int64) error {
		head := e.encode()
		if from != at || !bytes.Equal(head[:], pack[from:from+headSize]) {
			t.Fatalf("an entry at %d, want %d", from, at)
		}
		at += headSize + int64(e.size)
		return nil
	})
	if w.at != at || at > int64(len(pack)) || (err == nil) != (at == int64(len(pack))) {
		t.Fatalf("the walk ended at %d of %d, %v, want %d", w.at, len(pack), err, at)
	}
}

// fuzzStore opens, appends and opens again.
func fuzzStore(t *testing.T, root string, pack []byte) {
	dir, path := storeWith(t, root, pack)
	defer os.RemoveAll(dir)
	s, err := OpenStore(dir, 1<<30)
	if err != nil {
		if !bytes.Equal(mustRead(t, path), pack) {
			t.Fatal("a pack that was refused was changed")
		}
		return
	}
	before := maps.Clone(s.index)
	for sum := range before {
		if got, err := s.Get(sum); err == nil && sha256.Sum256(got) != sum {
			t.Fatal("a payload has another hash")
		}
	}
	next := fmt.Appendf(nil, "next of %x", sha256.Sum256(pack))
	mustPut(t, s, next)
	mustClose(t, s)
	again := mustOpenStore(t, dir, 0)
	if got, err := again.Get(sha256.Sum256(next)); err != nil || !bytes.Equal(got, next) || again.Used() != s.Used() {
		t.Fatalf("got %q, %v, %d bytes used, want %d", got, err, again.Used(), s.Used())
	}
	for sum, place := range before {
		if again.index[sum] != place {
			t.Fatal("an entry was lost")
		}
	}
}

// rechecked gives every head its checksum, so that a fuzzer gets behind it.
func rechecked(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+headSize <= len(b); {
		head := b[at : at+headSize]
		copy(head, entryMagic)
		head[len(entryMagic)] = entryVersion
		binary.BigEndian.PutUint32(head[checksumAt:], crc32.Checksum(head[:checksumAt], castagnoli))
		size := binary.BigEndian.Uint32(head[4:])
		if size > protocol.MaxFrame {
			break
		}
		at += headSize + int(size)
	}
	return b
}
