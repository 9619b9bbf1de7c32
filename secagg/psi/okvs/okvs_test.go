package okvs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
)

// draw is n keys and values, and a reader of free slots, all of one number.
func draw(number uint64, n int) (ids [][32]byte, values [][16]byte, fill *rand.ChaCha8) {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], number)
	fill = rand.NewChaCha8(seed)
	ids, values = make([][32]byte, n), make([][16]byte, n)
	for i := range ids {
		fill.Read(ids[i][:])
		fill.Read(values[i][:])
	}
	return ids, values, fill
}

// plainBand is the slots that the value of a key is the sum of, with blocks as CBC and big numbers have them.
func plainBand(seed, key [32]byte, slots, width int) []bool {
	both := keys.HashOf("hanse okvs bands v1", seed[:])
	encrypt := func(aesKey, text []byte) []byte {
		block, err := aes.NewCipher(aesKey)
		if err != nil {
			panic(err)
		}
		out := make([]byte, len(text))
		cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(out, text)
		return out[len(out)-16:]
	}
	tag := encrypt(both[:16], key[:])
	expand := func(counter byte) []byte {
		text := slices.Clone(tag)
		text[15] ^= counter
		return encrypt(both[16:], text)
	}
	number := expand(0)[:8]
	slices.Reverse(number)
	start := new(big.Int).SetBytes(number)
	start.Mul(start, big.NewInt(int64(slots-width+1)))
	start.Rsh(start, 64)
	random := append(expand(1), expand(2)...)
	row := make([]bool, slots)
	for i := range width {
		row[int(start.Int64())+i] = random[i/8]>>(i%8)&1 == 1
	}
	return row
}

// plainGet is Get by plainBand.
func plainGet(seed [32]byte, table []byte, key [32]byte, width int) (value [16]byte) {
	for i, take := range plainBand(seed, key, len(table)/16, width) {
		if take {
			for b := range value {
				value[b] ^= table[16*i+b]
			}
		}
	}
	return value
}

// solvable says by Gauss's elimination of the whole matrix whether a table exists.
func solvable(seed [32]byte, ids [][32]byte, values [][16]byte, width int) bool {
	slots := length(len(ids), width)
	matrix := make([][]bool, len(ids))
	for i := range matrix {
		matrix[i] = plainBand(seed, ids[i], slots, width)
		for bit := range 128 {
			matrix[i] = append(matrix[i], values[i][bit/8]>>(bit%8)&1 == 1)
		}
	}
	rank := 0
	for column := range slots {
		pivot := slices.IndexFunc(matrix[rank:], func(row []bool) bool { return row[column] })
		if pivot < 0 {
			continue
		}
		matrix[rank], matrix[rank+pivot] = matrix[rank+pivot], matrix[rank]
		for i := range matrix {
			if i != rank && matrix[i][column] {
				for j := range matrix[i] {
					matrix[i][j] = matrix[i][j] != matrix[rank][j]
				}
			}
		}
		rank++
	}
	return !slices.ContainsFunc(matrix[rank:], func(row []bool) bool { return slices.Contains(row, true) })
}

// TestEncodeEqualsDenseElimination: a table comes out exactly where Gauss's elimination of the whole matrix finds one,
// at widths small enough that it often does not, and all keys decode to their values. Values of one bit make
// dependent rows agree now and then.
func TestEncodeEqualsDenseElimination(t *testing.T) {
	found := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int{1, 5, 8, 12, 16, 63, 64, 65, 130, 256}).Draw(t, "width")
		n := rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(20, 60)).Draw(t, "n")
		ids, values, fill := draw(rapid.Uint64().Draw(t, "number"), n)
		if rapid.Bool().Draw(t, "values of one bit") {
			for i := range values {
				values[i] = [16]byte{3: values[i][0] & 1}
			}
		}
		seed := [32]byte{byte(rapid.IntRange(0, 255).Draw(t, "seed"))}
		table, err := encode(seed, ids, values, fill, width)
		if err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if want := solvable(seed, ids, values, width); (err == nil) != want {
			t.Fatalf("%d keys, width %d: %v; a table exists: %v", n, width, err, want)
		}
		found[err == nil]++
		if err != nil {
			return
		}
		for i := range ids {
			if got := plainGet(seed, table, ids[i], width); got != values[i] {
				t.Fatalf("key %d of %d decodes to %x, not %x", i, n, got, values[i])
			}
		}
	})
	if found[true] == 0 || found[false] == 0 {
		t.Errorf("%d systems with and %d without a solution: the test compares one answer only", found[true], found[false])
	}
}

// TestKeysDecode: every key has its value, whatever else is in the table, and the table's length depends on the number
// of keys alone.
func TestKeysDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 2000)).Draw(t, "n")
		ids, values, fill := draw(rapid.Uint64().Draw(t, "number"), n)
		for i := range n / 10 { // keys that differ in one bit
			ids[i] = ids[n-1-i]
			ids[i][i%32] ^= 1
		}
		seed := sha256.Sum256([]byte{byte(n)})
		table, err := Encode(seed, ids, values, fill)
		must(t, err)
		if len(table) != 16*(n+n/10+256) || len(table) != 16*Length(n) {
			t.Fatalf("%d keys have a table of %d bytes", n, len(table))
		}
		opened, err := Open(seed, table)
		must(t, err)
		for i := range ids {
			if got := opened.Get(ids[i]); got != values[i] {
				t.Fatalf("key %d of %d decodes to %x, not %x", i, n, got, values[i])
			}
		}
	})
}

// bystander has a table, its seed and all other keys that it can think of, but none of those that were encoded. It
// counts the bytes that they decode to.
type bystander struct{ table *Table }

func (b bystander) bytes(others [][32]byte) []int64 {
	counts := make([]int64, 256)
	for i := range others {
		for _, v := range b.table.Get(others[i]) {
			counts[v]++
		}
	}
	return counts
}

// TestOtherKeysDecodeAtRandom gives all keys the value zero, the worst there is to hide: what is random comes from the
// free slots alone. With a fill of zeros the bystander sees zeros.
func TestOtherKeysDecodeAtRandom(t *testing.T) {
	ids, _, fill := draw(3, 5000)
	others, _, _ := draw(4, 20_000)
	for _, random := range []bool{true, false} {
		from := io.Reader(fill)
		if !random {
			from = zeros{}
		}
		table, err := Encode([32]byte{1}, ids, make([][16]byte, len(ids)), from)
		must(t, err)
		opened, err := Open([32]byte{1}, table)
		must(t, err)
		if p := drawn.ChiSquareUniform(bystander{opened}.bytes(others)); (p > 1e-6) != random {
			t.Errorf("random free slots: %v; chi-square probability %.2g", random, p)
		}
	}
}

// zeros is a fill that hides nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// reader sees tables of the same keys under many seeds, with random values, and tells what each slot looks like.
type reader struct {
	slots [][]int64 // of each slot, how often its first four bits had each value
}

func (r reader) see(table []byte) {
	for slot := range r.slots {
		r.slots[slot][table[16*slot]&15]++
	}
}

// TestTablesOfRandomValuesAreUniform: no slot shows whether it was free, or of which key. Free slots of zeros do.
func TestTablesOfRandomValuesAreUniform(t *testing.T) {
	const n, tables = 40, 800
	for _, random := range []bool{true, false} {
		seen := reader{make([][]int64, Length(n))}
		for slot := range seen.slots {
			seen.slots[slot] = make([]int64, 16)
		}
		ids, _, _ := draw(5, n)
		for i := range uint64(tables) {
			_, values, fill := draw(100+i, n)
			from := io.Reader(fill)
			if !random {
				from = zeros{}
			}
			table, err := Encode([32]byte{byte(i), byte(i >> 8)}, ids, values, from)
			must(t, err)
			seen.see(table)
		}
		lowest := 1.0
		for _, counts := range seen.slots {
			lowest = min(lowest, drawn.ChiSquareUniform(counts))
		}
		if (lowest > 1e-6) != random {
			t.Errorf("random free slots: %v; the least uniform slot has chi-square probability %.2g", random, lowest)
		}
	}
}

// TestEqualKeys: keys given twice have a table where their values are equal, and otherwise an error that no other seed
// would mend.
func TestEqualKeys(t *testing.T) {
	ids, values, fill := draw(6, 1000)
	ids[700], values[700] = ids[20], values[20]
	table, err := Encode([32]byte{}, ids, values, fill)
	must(t, err)
	if got := plainGet([32]byte{}, table, ids[20], width); got != values[20] {
		t.Errorf("the key that is there twice decodes to %x, not %x", got, values[20])
	}
	values[700][15] ^= 1
	all := make([][32]byte, len(ids))
	for _, keys := range [][][32]byte{ids, all} {
		_, err := Encode([32]byte{}, keys, values, fill)
		if err == nil || errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "two of the keys are equal") {
			t.Errorf("equal keys with different values: %v", err)
		}
	}
}

// TestBadArguments: too few values, and a fill that ends.
func TestBadArguments(t *testing.T) {
	ids, values, fill := draw(7, 10)
	_, err := Encode([32]byte{}, ids, values[:9], fill)
	if err == nil || !strings.Contains(err.Error(), "9 values for 10") {
		t.Error(err)
	}
	_, err = Encode([32]byte{}, ids, values, io.LimitReader(fill, int64(16*Length(10)-1)))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TestHostileLengths: Open takes the lengths that Length has and no other.
func TestHostileLengths(t *testing.T) {
	table := make([]byte, 16*Length(300))
	valid := make(map[int]bool)
	for n := range 301 {
		valid[16*Length(n)] = true
	}
	for size := range len(table) + 1 {
		opened, err := Open([32]byte{}, table[:size])
		if (err == nil) != valid[size] {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if err == nil {
			opened.Get([32]byte{byte(size), byte(size >> 8)})
		}
	}
}

// TestGetTogether decodes at the same time what was encoded; the race detector watches.
func TestGetTogether(t *testing.T) {
	ids, values, fill := draw(8, 3000)
	table, err := Encode([32]byte{}, ids, values, fill)
	must(t, err)
	opened, err := Open([32]byte{}, table)
	must(t, err)
	if err := parallel.Each(4, len(ids), func(_, i int) error {
		if got := opened.Get(ids[i]); got != values[i] {
			return fmt.Errorf("key %d decodes to %x, not %x", i, got, values[i])
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestTableStays pins a table: both ends of a link must read bands the same way, whatever their version.
func TestTableStays(t *testing.T) {
	ids, values, fill := draw(9, 500)
	table, err := Encode([32]byte{9}, ids, values, fill)
	must(t, err)
	const want = "b46dcbe8540bff7acd96ff156f57e998bb5aa719f71489a6cd89facdcf24d9ae"
	if got := fmt.Sprintf("%x", sha256.Sum256(table)); got != want {
		t.Errorf("the table's SHA-256 is %s, not %s", got, want)
	}
}

// FuzzGet: whatever Open takes has a length of Length, and decodes any key as plainly computed.
func FuzzGet(f *testing.F) {
	ids, values, fill := draw(10, 20)
	table, err := Encode([32]byte{1}, ids, values, fill)
	must(f, err)
	f.Add([]byte{1}, table, ids[0][:])
	f.Add([]byte{2}, table[:16*256], []byte{})
	f.Add([]byte{3}, table[:len(table)-1], []byte{255})
	f.Fuzz(func(t *testing.T, seedBytes, table, keyBytes []byte) {
		var seed, key [32]byte
		copy(seed[:], seedBytes)
		copy(key[:], keyBytes)
		opened, err := Open(seed, table)
		if err != nil {
			return
		}
		n := sort.Search(len(table), func(n int) bool { return 16*Length(n) >= len(table) })
		if 16*Length(n) != len(table) {
			t.Fatalf("a table of %d bytes was opened: %d keys have %d", len(table), n, 16*Length(n))
		}
		if got, want := opened.Get(key), plainGet(seed, table, key, width); got != want {
			t.Fatalf("%x, plainly %x", got, want)
		}
	})
}

// TestFailuresAtSmallWidths counts systems without a table where they are frequent, and holds them to a loose form of
// the law in the package comment: at most 2^-(3.5 + 0.27 w) expected failures a key. The seeds are fixed.
func TestFailuresAtSmallWidths(t *testing.T) {
	const n, tries = 1 << 11, 100
	ids, values, fill := draw(11, n)
	before := tries + 1
	for _, width := range []int{24, 32, 40, 48} {
		failed := 0
		for try := range tries {
			_, err := encode([32]byte{byte(width), byte(try)}, ids, values, fill, width)
			if errors.Is(err, ErrFull) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		most := tries * -math.Expm1(-n*math.Exp2(-3.5-0.27*float64(width)))
		t.Logf("width %d: %d of %d failed, bound %.1f", width, failed, tries, most)
		if float64(failed) > most {
			t.Errorf("width %d: %d of %d systems have no table, at most %.1f were to be expected", width, failed, tries, most)
		}
		if failed > before {
			t.Errorf("width %d: %d failures, more than the %d of the width before", width, failed, before)
		}
		before = failed
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
