package ring

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// slowWord reads a word, byte by byte.
func slowWord(b []byte, size, i int) (w uint64) {
	for j := range size {
		w |= uint64(b[size*i+j]) << (8 * j)
	}
	return w
}

// checkBytes adds b to a and subtracts it, with every kernel, and compares with arithmetic on single words. Bytes
// around them must stay what they were.
func checkBytes(t rapid.TB, a, b []byte, size int) {
	t.Helper()
	n := min(len(a), len(b)) / size * size
	b = b[:n:n]
	for _, c := range []struct {
		name string
		do   func(dst, src []byte, width int)
		want func(x, y uint64) uint64
	}{
		{"AddBytes", AddBytes, func(x, y uint64) uint64 { return x + y }},
		{"plainAdd", plainAdd, func(x, y uint64) uint64 { return x + y }},
		{"SubBytes", SubBytes, func(x, y uint64) uint64 { return x - y }},
		{"plainSub", plainSub, func(x, y uint64) uint64 { return x - y }},
	} {
		around := slices.Concat([]byte{0xa5}, a[:n], bytes.Repeat([]byte{0x5a}, 70))
		got := around[1 : 1+n]
		c.do(got, b, 8*size)
		for i := range n / size {
			x, y := slowWord(a, size, i), slowWord(b, size, i)
			if w := slowWord(got, size, i); w != c.want(x, y)&(1<<(8*size)-1) {
				t.Fatalf("%s of %d words of %d bytes: word %d: %#x and %#x give %#x", c.name, n/size, size, i, x, y, w)
			}
		}
		if around[0] != 0xa5 || !bytes.Equal(around[1+n:], bytes.Repeat([]byte{0x5a}, 70)) {
			t.Fatalf("%s of %d words of %d bytes wrote beside them", c.name, n/size, size)
		}
	}
}

// checkMoves writes words as bytes and reads them again, with every kernel.
func checkMoves[W Lane](t rapid.TB, words []W) {
	t.Helper()
	size := bits.Len64(uint64(^W(0))) / 8
	var want []byte
	for _, w := range words {
		want = append(want, binary.LittleEndian.AppendUint64(nil, uint64(w))[:size]...)
	}
	for name, put := range map[string]func([]byte, []W){"PutBytes": PutBytes[W], "plainPut": plainPut[W]} {
		got := bytes.Repeat([]byte{0x5a}, len(want)+70)
		put(got[:len(want):len(want)], words)
		if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], bytes.Repeat([]byte{0x5a}, 70)) {
			t.Fatalf("%s of %d words of %d bytes wrote other bytes", name, len(words), size)
		}
	}
	for name, get := range map[string]func([]W, []byte){"GetBytes": GetBytes[W], "plainGet": plainGet[W]} {
		got := slices.Repeat([]W{7}, len(words)+33)
		get(got[:len(words):len(words)], want)
		if !slices.Equal(got[:len(words)], words) || !slices.Equal(got[len(words):], slices.Repeat([]W{7}, 33)) {
			t.Fatalf("%s of %d words of %d bytes read other words", name, len(words), size)
		}
	}
}

// checkShort writes the lower halves of words as bytes and reads them again, with every kernel.
func checkShort(t rapid.TB, words []uint64) {
	t.Helper()
	var want []byte
	lower := make([]uint64, len(words))
	for i, w := range words {
		want, lower[i] = binary.LittleEndian.AppendUint32(want, uint32(w)), w&(1<<32-1)
	}
	for name, put := range map[string]func([]byte, []uint64){"PutShort": PutShort, "plainPutShort": plainPutShort} {
		got := bytes.Repeat([]byte{0x5a}, len(want)+70)
		put(got[:len(want):len(want)], words)
		if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], bytes.Repeat([]byte{0x5a}, 70)) {
			t.Fatalf("%s of %d words wrote other bytes", name, len(words))
		}
	}
	for name, get := range map[string]func([]uint64, []byte){"GetShort": GetShort, "plainGetShort": plainGetShort} {
		got := slices.Repeat([]uint64{7}, len(words)+33)
		get(got[:len(words):len(words)], want)
		if !slices.Equal(got[:len(words)], lower) || !slices.Equal(got[len(words):], slices.Repeat([]uint64{7}, 33)) {
			t.Fatalf("%s of %d words read other words", name, len(words))
		}
	}
}

// TestWordsInBytesAreAddedOneByOne has every length around one and two lines, and bytes that begin anywhere.
func TestWordsInBytesAreAddedOneByOne(t *testing.T) {
	for _, size := range []int{2, 4, 8} {
		rapid.Check(t, func(t *rapid.T) {
			n := size * rapid.IntRange(0, 200/size).Draw(t, "words")
			extreme := rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xff})
			draw := func(name string) []byte {
				b := rapid.SliceOfN(rapid.OneOf(extreme, rapid.Byte()), n+8, n+8).Draw(t, name)
				return b[rapid.IntRange(0, 8).Draw(t, name+" from"):][:n]
			}
			checkBytes(t, draw("a"), draw("b"), size)
		})
	}
}

func TestWordsAreMovedToBytesAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100).Draw(t, "words")
		w := words[uint64](n+1).Draw(t, "w")[rapid.IntRange(0, 1).Draw(t, "from"):][:n]
		checkMoves(t, w)
		checkShort(t, w)
		w32, w16 := make([]uint32, n), make([]uint16, n)
		for i, v := range w {
			w32[i], w16[i] = uint32(v), uint16(v)
		}
		checkMoves(t, w32)
		checkMoves(t, w16)
	})
}

// FuzzBytes looks for words that are not added, or not moved, as single words are.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("\x00\x00\xff\xff\x00\x80\xff\x7f\x01\x00"), []byte("\x00\x00\x01\x00\x00\x80\x01\x00\xff\xff"))
	f.Add(bytes.Repeat([]byte{0xff}, 330), bytes.Repeat([]byte{0x80, 1}, 165))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, size := range []int{2, 4, 8} {
			checkBytes(t, a, b, size)
		}
		w16, w32, w64 := make([]uint16, len(a)/2), make([]uint32, len(a)/4), make([]uint64, len(a)/8)
		GetBytes(w16, a)
		GetBytes(w32, a)
		GetBytes(w64, a)
		checkMoves(t, w16)
		checkMoves(t, w32)
		checkMoves(t, w64)
		checkShort(t, w64)
	})
}

// TestShortSlicesPanic holds that nothing reads or writes what a slice does not have: neither where there is nothing
// behind its end, nor where somebody else's begins.
func TestShortSlicesPanic(t *testing.T) {
	const d = 8 // columns; as many rows
	for _, behind := range []int{0, 1, 64} {
		bytesOf := func(n int) []byte { return make([]byte, n, n+behind) }
		words := func(n int) []uint64 { return make([]uint64, n, n+behind) }
		for name, do := range map[string]func(){
			"AddBytes":          func() { AddBytes(make([]byte, 256), bytesOf(255), 16) },
			"SubBytes":          func() { SubBytes(make([]byte, 256), bytesOf(255), 64) },
			"PutBytes":          func() { PutBytes(bytesOf(255), make([]uint16, 128)) },
			"GetBytes":          func() { GetBytes(make([]uint16, 128), bytesOf(255)) },
			"PutShort":          func() { PutShort(bytesOf(255), make([]uint64, 64)) },
			"GetShort":          func() { GetShort(make([]uint64, 64), bytesOf(255)) },
			"Dot":               func() { Dot(make([]uint64, d), words(d-1)) },
			"MulVec":            func() { MulVec(make([]uint64, d), words(d*d-1), make([]uint64, d), 1) },
			"MulVecs":           func() { MulVecs(make([]uint64, 2*d), words(d*d-1), make([]uint64, 2*d), 2, 1) },
			"MulVecT":           func() { MulVecT(make([]uint64, d), words(d*d-1), make([]uint64, d), 1) },
			"AddSquares into":   func() { AddSquares(words(d*(d+1)/2-1), make([]uint64, d*d), d, 1) },
			"AddSquares of":     func() { AddSquares(make([]uint64, d*(d+1)/2), words(d*d-1), d, 1) },
			"AddSquares16 into": func() { AddSquares16(make([]int64, d*(d+1)/2-1, d*d), make([]int16, d*d), d, 1) },
			"AddSquares16 of":   func() { AddSquares16(make([]int64, d*(d+1)/2), make([]int16, d*d-1, d*d-1+behind), d, 1) },
			"First":             func() { First(words(d), d+1) },
		} {
			func() {
				defer func() {
					if said := fmt.Sprint(recover()); !strings.Contains(said, "capacity of") {
						t.Errorf("%s with a slice that is one too short and has space for %d more: %s", name, behind, said)
					}
				}()
				do()
			}()
		}
	}
	if got := First(make([]byte, 3, 9), 2); len(got) != 2 || cap(got) != 2 {
		t.Errorf("the first two have a capacity of %d", cap(got))
	}
}
