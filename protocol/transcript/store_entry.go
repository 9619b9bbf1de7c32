package transcript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hanse-project/hanse/protocol"
)

// Numbers of the layout of entries.
const (
	headSize     = 44
	entryMagic   = "pay"
	entryVersion = 1
	checksumAt   = 40
)

// windowSize is how many bytes of a pack a walk reads at once: many heads when payloads are small.
const windowSize = 4096

// errTorn says that a pack ends with an entry that is not whole, as a crash leaves it.
var errTorn = errors.New("the pack ends inside this entry")

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is the head of a payload in a pack; the payload follows it.
//
// Evolution: a change of layout or meaning is a new version, which stands at the same place of every
// entry for ever. What reads version 1 refuses a pack with any other and appends nothing to it.
//
//	offset size
//	     0    3  "pay"
//	     3    1  version
//	     4    4  bytes of the payload, 1 to 4 MiB + 4096
//	     8   32  SHA-256 of the payload
//	    40    4  CRC-32C of bytes 0 to 39
type entry struct {
	size uint32
	sum  [32]byte
}

// encode returns the head.
func (e entry) encode() (head [headSize]byte) {
	copy(head[:], entryMagic)
	head[len(entryMagic)] = entryVersion
	binary.BigEndian.PutUint32(head[4:], e.size)
	copy(head[8:], e.sum[:])
	binary.BigEndian.PutUint32(head[checksumAt:], crc32.Checksum(head[:checksumAt], castagnoli))
	return head
}

// decodeEntry reads a head of headSize bytes.
func decodeEntry(head []byte) (entry, error) {
	if string(head[:len(entryMagic)]) != entryMagic {
		return entry{}, errors.New("this is not the head of a payload")
	}
	if v := head[len(entryMagic)]; v != entryVersion {
		return entry{}, fmt.Errorf("this is a payload of version %d, this program reads version %d", v, entryVersion)
	}
	want := crc32.Checksum(head[:checksumAt], castagnoli)
	if got := binary.BigEndian.Uint32(head[checksumAt:]); got != want {
		return entry{}, fmt.Errorf("the head of this payload has the checksum %08x, want %08x", got, want)
	}
	e := entry{size: binary.BigEndian.Uint32(head[4:]), sum: [32]byte(head[8:checksumAt])}
	if e.size == 0 || e.size > protocol.MaxFrame {
		return entry{}, fmt.Errorf("this payload has %d bytes, want 1 to %d", e.size, protocol.MaxFrame)
	}
	return e, nil
}

// walk goes from head to head over a pack.
type walk struct {
	source io.ReaderAt
	size   int64 // what is behind it is not looked at
	at     int64 // where the next entry begins
	buffer [windowSize]byte
	window []byte // bytes of the source, in buffer
	from   int64  // where the window begins
}

// entries calls add for every whole entry, in order. It returns errTorn when the pack ends inside the
// entry at w.at, and says otherwise what is wrong there.
func (w *walk) entries(add func(e entry, at int64) error) error {
	for w.at < w.size {
		head, err := w.head()
		if err != nil {
			return err
		}
		if len(head) < headSize {
			return w.tail(head, errors.New("this is not the head of a payload"))
		}
		e, err := decodeEntry(head)
		if err != nil {
			return w.tail(head, err)
		}
		end := w.at + headSize + int64(e.size)
		if end > w.size {
			return errTorn
		}
		if err := add(e, w.at); err != nil {
			return err
		}
		w.at = end
	}
	return nil
}

// head returns the next headSize bytes, or fewer when the pack ends before.
func (w *walk) head() ([]byte, error) {
	want := min(headSize, w.size-w.at)
	if w.at < w.from || w.at+want > w.from+int64(len(w.window)) {
		n, err := w.source.ReadAt(w.buffer[:min(windowSize, w.size-w.at)], w.at)
		if err != nil && err != io.EOF {
			return nil, err
		}
		w.window, w.from = w.buffer[:n], w.at
	}
	return w.window[w.at-w.from:][:min(want, w.from+int64(len(w.window))-w.at)], nil
}

// tail decides what bytes are that are not a head. They are the start of one, left by a crash, when all
// behind that start is zero: a power cut can leave zeros where data was not yet on the disk. The walk
// is over then, its buffer free.
func (w *walk) tail(head []byte, otherwise error) error {
	const start = entryMagic + string(rune(entryVersion))
	begun := bytes.TrimRight(head, "\x00")
	n := min(len(begun), len(start))
	if len(begun) == headSize || string(begun[:n]) != start[:n] {
		return otherwise
	}
	for at := w.at + int64(len(head)); at < w.size; {
		n, err := w.source.ReadAt(w.buffer[:min(windowSize, w.size-at)], at)
		if !zero(w.buffer[:n]) {
			return otherwise
		}
		if err != nil {
			if err == io.EOF {
				return errTorn
			}
			return err
		}
		at += int64(n)
	}
	return errTorn
}
