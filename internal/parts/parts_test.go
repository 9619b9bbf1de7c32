package parts

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// names returns n names that begin with a text.
func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s.%d ä", prefix, i)
	}
	return list
}

// filled makes a matrix of random cells: ones of binary columns take that share of each row, and strays are few.
func filled(rows, dense, binary int, share float64) *kernel.Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	m := &kernel.Matrix{Rows: rows, Dense: names("dense", dense), Binary: names("binary", binary), Starts: []uint32{0}}
	for range rows * dense {
		m.Values = append(m.Values, r.NormFloat64())
	}
	for j := range rows {
		for c := range binary {
			if r.Float64() < share {
				m.Set = append(m.Set, uint16(c))
			}
		}
		if binary > 0 && r.IntN(100) == 0 {
			m.Strays = append(m.Strays, kernel.Stray{Row: uint32(j), Binary: uint16(r.IntN(binary)), Value: 0.5})
		}
		m.Starts = append(m.Starts, uint32(len(m.Set)))
	}
	return m
}

// drawn draws a matrix.
func drawn(t *rapid.T) *kernel.Matrix {
	dense := rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(separate-1, separate+2)).Draw(t, "dense")
	binary := rapid.IntRange(0, 5).Draw(t, "binary")
	m := &kernel.Matrix{Rows: rapid.IntRange(0, 12).Draw(t, "rows"), Dense: names("d", dense), Binary: names("b", binary),
		Starts: []uint32{0}}
	number := rapid.OneOf(rapid.Just(math.Copysign(0, -1)), rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64))
	few := rapid.SliceOfN(number, 5, 5).Draw(t, "values")
	for i := range m.Rows * dense {
		m.Values = append(m.Values, few[i*i%len(few)])
	}
	for r := range m.Rows {
		for c := range binary {
			if rapid.Bool().Draw(t, "set") {
				m.Set = append(m.Set, uint16(c))
			}
			if rapid.IntRange(0, 4).Draw(t, "stray") == 0 {
				m.Strays = append(m.Strays, kernel.Stray{Row: uint32(r), Binary: uint16(c), Value: number.Draw(t, "cell")})
			}
		}
		m.Starts = append(m.Starts, uint32(len(m.Set)))
	}
	return m
}

// requireSame compares matrices bit by bit, an empty list being none.
func requireSame(t rapid.TB, got, want *kernel.Matrix) {
	t.Helper()
	text := func(m *kernel.Matrix) string {
		bits := make([]uint64, 0, len(m.Values)+len(m.Strays))
		for _, v := range m.Values {
			bits = append(bits, math.Float64bits(v))
		}
		for _, s := range m.Strays {
			bits = append(bits, math.Float64bits(s.Value))
		}
		return fmt.Sprintf("%d %q %q %v %v %v %x", m.Rows, m.Dense, m.Binary, m.Starts, m.Set, m.Strays, bits)
	}
	if text(got) != text(want) {
		t.Fatalf("the matrix is\n%s\nwant\n%s", text(got), text(want))
	}
}

// TestWhatIsWrittenIsRead: any rows of any matrix, in groups and pages of any size, are read bit by bit, and have the
// digest that they had.
func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		lo := rapid.IntRange(0, m.Rows).Draw(t, "lo")
		hi := rapid.IntRange(lo, m.Rows).Draw(t, "hi")
		rows, err := rowsOf(m, lo, hi)
		must(t, err)
		written, err := saveRows(path, m, lo, hi)
		must(t, err)
		got, digest, err := Read(path, StandardLimits())
		must(t, err)
		requireSame(t, got, rows)
		first, checked, err := check(path)
		if err != nil || digest != written || checked != written || first != lo {
			t.Fatalf("written as %v, read as %v, checked as %v from row %d with %v", written, digest, checked, first, err)
		}

		var small bytes.Buffer
		group, page := rapid.IntRange(1, 400).Draw(t, "group"), rapid.IntRange(1, 100).Draw(t, "page")
		must(t, write(&small, rows, lo, group, page))
		again, err := read(bytes.NewReader(small.Bytes()), int64(small.Len()), StandardLimits())
		must(t, err)
		requireSame(t, again, rows)
	})
}

// TestDigestSeesAll: what differs in one bit, one place or one name has another digest.
func TestDigestSeesAll(t *testing.T) {
	base := func() *kernel.Matrix {
		return &kernel.Matrix{Rows: 2, Dense: []string{"x"}, Binary: []string{"y", "z"}, Values: []float64{1, 2},
			Starts: []uint32{0, 1, 2}, Set: []uint16{0, 1}, Strays: []kernel.Stray{{Row: 1, Binary: 0, Value: 0.5}}}
	}
	seen := make(map[keys.Hash]int)
	for i, change := range []func(m *kernel.Matrix){
		func(*kernel.Matrix) {},
		func(m *kernel.Matrix) { m.Values[1] = math.Nextafter(2, 3) },
		func(m *kernel.Matrix) { m.Starts[1] = 0 },
		func(m *kernel.Matrix) { m.Set[0] = 1 },
		func(m *kernel.Matrix) { m.Strays[0].Row = 0 },
		func(m *kernel.Matrix) { m.Strays[0].Binary = 1 },
		func(m *kernel.Matrix) { m.Strays[0].Value = 0.25 },
		func(m *kernel.Matrix) { m.Strays = nil },
		func(m *kernel.Matrix) { m.Dense[0] = "X" },
		func(m *kernel.Matrix) { m.Binary = []string{"z", "y"} },
		func(m *kernel.Matrix) { m.Binary = append(m.Binary, "w") },
	} {
		m := base()
		change(m)
		d, err := digest(m, 0, 2)
		must(t, err)
		if j, ok := seen[d]; ok {
			t.Errorf("changes %d and %d have one digest", i, j)
		}
		seen[d] = i
	}
	fixed, err := digest(base(), 0, 2)
	if want := "a9a6266356044cd1fbdaedca50802f8f2403c7900af353340aaaae148d31880a"; err != nil || fixed.String() != want {
		t.Errorf("the digest is %v (%v), and was %s", fixed, err, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	for want, change := range map[string]func(m *kernel.Matrix){
		"the normalised value is NaN": func(m *kernel.Matrix) { m.Values[2] = math.NaN() },
		"empty or occurs twice":       func(m *kernel.Matrix) { m.Dense[1] = m.Dense[0] },
		"the name is no text":         func(m *kernel.Matrix) { m.Dense[1] = "\xff" },
		"the names of the columns take": func(m *kernel.Matrix) {
			m.Dense[1] = strings.Repeat("x", headBytes)
		},
		"has no rows 0 to 4": func(m *kernel.Matrix) { m.Rows = 3 },
		"lists binary column": func(m *kernel.Matrix) {
			for i := range m.Set {
				m.Set[i] = 9
			}
		},
	} {
		m := filled(4, 2, 3, 0.9)
		change(m)
		if _, err := saveRows(path, m, 0, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	m := filled(4, 2, 3, 0.9)
	for _, r := range [][2]int{{-1, 2}, {3, 2}, {0, 5}} {
		if _, err := saveRows(path, m, r[0], r[1]); err == nil {
			t.Errorf("rows %v are written", r)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// digest is that of the rows [lo, hi) of a matrix.
func digest(m *kernel.Matrix, lo, hi int) (keys.Hash, error) {
	rows, err := rowsOf(m, lo, hi)
	if err != nil {
		return keys.Hash{}, err
	}
	return digestOf(rows), nil
}

// saveRows writes the rows [lo, hi) of a matrix and returns their digest.
func saveRows(path string, m *kernel.Matrix, lo, hi int) (keys.Hash, error) {
	rows, err := rowsOf(m, lo, hi)
	if err != nil {
		return keys.Hash{}, err
	}
	return digestOf(rows), save(path, rows, lo)
}

func TestCut(t *testing.T) {
	folder, contract := t.TempDir(), keys.HashOf("test", []byte("contract"))
	m := filled(100, 3, 4, 0.3)
	shards := [][2]int{{0, 30}, {30, 60}, {60, 100}}
	digests, err := Cut(folder, contract, m, shards, 2)
	must(t, err)
	times := make([]time.Time, len(shards))
	for i, s := range shards {
		rows, _ := rowsOf(m, s[0], s[1])
		got, digest, err := Read(Path(folder, contract, i), StandardLimits())
		if err != nil || digest != digests[i] {
			t.Fatalf("part %d: %v, digest %v, want %v", i, err, digest, digests[i])
		}
		requireSame(t, got, rows)
		times[i] = time.Unix(int64(1000+i), 0)
		must(t, os.Chtimes(Path(folder, contract, i), times[i], times[i]))
	}

	// Part 0 is the wrong one, part 1 is damaged, part 2 is as it was, and a crash has left something.
	data, err := os.ReadFile(Path(folder, contract, 2))
	must(t, err)
	must(t, os.WriteFile(Path(folder, contract, 0), data, 0o600))
	must(t, os.Truncate(Path(folder, contract, 1), 100))
	half := Path(folder, contract, 1) + ".1.tmp"
	must(t, os.WriteFile(half, nil, 0o600))
	again, err := Cut(folder, contract, m, shards, 2)
	if err != nil || !reflect.DeepEqual(again, digests) {
		t.Fatalf("%v, digests %v, want %v", err, again, digests)
	}
	for i := range shards {
		_, digest, err := Read(Path(folder, contract, i), StandardLimits())
		info, _ := os.Stat(Path(folder, contract, i))
		if err != nil || digest != digests[i] || info.ModTime().Equal(times[i]) != (i == 2) {
			t.Errorf("part %d: %v, digest %v, of %v", i, err, digest, info.ModTime())
		}
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("the half of a part is still there")
	}
	if _, err := Cut(folder, contract, m, [][2]int{{0, 101}}, 2); err == nil {
		t.Error("more rows than there are")
	}
	if _, err := Cut(folder, contract, m, make([][2]int, mostParts+1), 2); err == nil {
		t.Error("more parts than names")
	}
}

// benchmarks are the matrices that are measured: dense ones, and one as LIBSVM's a9a.
var benchmarks = []struct {
	name                string
	rows, dense, binary int
	share               float64
}{
	{"dense30", 200_000, 30, 0, 0},
	{"binary123", 200_000, 0, 123, 0.11},
	{"dense2000", 5_000, 2000, 0, 0},
	{"binary50000", 1_000, 0, 50_000, 0.01},
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			m := filled(c.rows, c.dense, c.binary, c.share)
			path := filepath.Join(b.TempDir(), "part")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := saveRows(path, m, 0, m.Rows); err != nil {
					b.Fatal(err)
				}
			}
			info, _ := os.Stat(path)
			b.ReportMetric(float64(info.Size()), "file-bytes")
		})
	}
}

// BenchmarkCut is of a party's rows in eight parts, which are written anew each time.
func BenchmarkCut(b *testing.B) {
	m := filled(400_000, 30, 0, 0)
	var shards [][2]int
	for lo := 0; lo < m.Rows; lo += m.Rows / 8 {
		shards = append(shards, [2]int{lo, lo + m.Rows/8})
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d workers", workers), func(b *testing.B) {
			folder := b.TempDir()
			for b.Loop() {
				if _, err := Cut(folder, keys.Hash{1}, m, shards, workers); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				must(b, Remove(folder, keys.Hash{1}))
				b.StartTimer()
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			m := filled(c.rows, c.dense, c.binary, c.share)
			path := filepath.Join(b.TempDir(), "part")
			if _, err := saveRows(path, m, 0, m.Rows); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Read(path, StandardLimits()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
