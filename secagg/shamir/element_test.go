package shamir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// encodeWords writes words as they are, canonical or not.
func encodeWords(words ...uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func TestElementsOnTheWire(t *testing.T) {
	e := Element{0, 1, 0x0102030405060708, P - 1, 2}
	const golden = "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x08\x07\x06\x05\x04\x03\x02\x01" + "\xfe\xff\xff\xff\xff\xff\xff\x1f" + "\x02\x00\x00\x00\x00\x00\x00\x00"
	b := e.Append([]byte("before"))
	if string(b) != "before"+golden {
		t.Errorf("written as %x", b)
	}
	if back, err := Parse([]byte(golden)); err != nil || back != e {
		t.Errorf("read as %v, error %v", back, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "parse a field element: 0 bytes, want 40"},
		{make([]byte, Size-1), "parse a field element: 39 bytes, want 40"},
		{make([]byte, Size+1), "parse a field element: 41 bytes, want 40"},
		{encodeWords(0, 0, P, 0, 0), "parse a field element: word 2 is not below 2^61 - 1"},
		{encodeWords(0, 0, 0, 0, 1<<63), "parse a field element: word 4 is not below 2^61 - 1"},
	} {
		if _, err := Parse(c.b); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// FuzzParse: whatever is read is canonical and written back as it was.
func FuzzParse(f *testing.F) {
	f.Add(encodeWords(0, 1, 2, P-1, 5))
	f.Add(encodeWords(0, 1, 2, P, 5))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if err != nil {
			return
		}
		if !e.canonical() || !bytes.Equal(e.Append(nil), b) {
			t.Fatalf("%x is read as %v", b, e)
		}
	})
}

func TestKeysBecomeElements(t *testing.T) {
	got, err := FromKey(encodeWords(P, 1<<61, 1<<64-1, P-1, 7<<61|5))
	if want := (Element{0, 0, 0, P - 1, 5}); err != nil || got != want {
		t.Errorf("got %v, error %v, want %v", got, err, want)
	}
	for _, n := range []int{0, Size - 1, Size + 1} {
		if _, err := FromKey(make([]byte, n)); err == nil {
			t.Errorf("a key of %d bytes is taken", n)
		}
	}
	_, err = FromKey(make([]byte, 32))
	if want := "make a share of a key: 32 bytes, want 40"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestKeysOfAnyBytesBecomeCanonicalElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), Size, Size).Draw(t, "key")
		if e, err := FromKey(key); err != nil || !e.canonical() {
			t.Fatalf("got %v, error %v", e, err)
		}
	})
}

// TestRandomDrawsAgainOutsideTheField: P, under whatever high bits, is no word.
func TestRandomDrawsAgainOutsideTheField(t *testing.T) {
	outside, inside := encodeWords(1, 2, 3, 1<<63|P, 5), encodeWords(6, 7, 1<<61|8, 9, P-1)
	e, err := Random(bytes.NewReader(append(outside, inside...)))
	if want := (Element{6, 7, 8, 9, P - 1}); err != nil || e != want {
		t.Errorf("got %v, error %v, want %v", e, err, want)
	}
}

func TestRandomReportsItsSource(t *testing.T) {
	if _, err := Random(bytes.NewReader(make([]byte, Size-1))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short source: error %v", err)
	}
	broken := errors.New("no entropy")
	if _, err := Random(iotest.ErrReader(broken)); err == nil || err.Error() != "draw a secret: no entropy" {
		t.Errorf("a broken source: error %v", err)
	}
	ones := bytes.Repeat([]byte{0xff}, 100*Size)
	_, err := Random(bytes.NewReader(ones))
	if want := "draw a secret: the source of randomness repeats the one value outside the field"; err == nil || err.Error() != want {
		t.Errorf("a stuck source: error %v, want %s", err, want)
	}
}

func TestEqualComparesEveryWord(t *testing.T) {
	e := Element{1, 2, 3, 4, 5}
	for w := range e {
		other := e
		other[w] ^= 1 << 60
		if e.equal(&other) {
			t.Errorf("elements that differ in word %d are equal", w)
		}
	}
	if other := e; !e.equal(&other) {
		t.Error("an element differs from itself")
	}
}
