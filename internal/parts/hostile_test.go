package parts

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	thriftdecode "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hanse-project/hanse/internal/source"
)

// encoded is a matrix as a file has it.
func encoded(t testing.TB, rows, dense, binaries int) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, write(&b, filled(rows, dense, binaries, 0.5), 7, 200, 50))
	return b.Bytes()
}

// forged is a file of four rows, whose metadata somebody has changed.
func forged(t testing.TB, change func(*format.FileMetaData)) []byte {
	t.Helper()
	data := encoded(t, 4, 2, 3)
	end := len(data) - 8
	begin := end - int(binary.LittleEndian.Uint32(data[end:]))
	var compact thriftdecode.CompactProtocol
	var meta format.FileMetaData
	must(t, thriftdecode.Unmarshal(&compact, data[begin:end], &meta))
	change(&meta)
	footer, err := thriftdecode.Marshal(&compact, &meta)
	must(t, err)
	data = append(data[:begin], footer...)
	return append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
}

// headed is a file with another head.
func headed(t testing.TB, head string) []byte {
	return forged(t, func(m *format.FileMetaData) { m.KeyValueMetadata[0].Value = head })
}

// celled is a file of one row with these cells.
func celled(t testing.TB, h head, options []parquet.WriterOption, cells ...parquet.Value) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := begun(&b, h, options...)
	must(t, err)
	for c, v := range cells {
		if _, err := w.ColumnWriters()[c].WriteRowValues([]parquet.Value{v}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

// packed is a file that unpacks to far more than it has.
func packed(t testing.TB) []byte {
	return celled(t, head{Version: version, Binary: names("b", 9)},
		[]parquet.WriterOption{parquet.Compression(&parquet.Gzip)},
		parquet.ByteArrayValue(make([]byte, 1<<20)), parquet.ByteArrayValue(nil))
}

// row is a file of one row with one dense column and two binary ones.
func row(t testing.TB, dense float64, set, strays string) []byte {
	return celled(t, head{Version: version, Dense: names("d", 1), Binary: names("b", 2)}, nil,
		parquet.DoubleValue(dense), parquet.ByteArrayValue([]byte(set)), parquet.ByteArrayValue([]byte(strays)))
}

// bounds are the limits that hostile files are read under.
var bounds = Limits{Rows: 1 << 16, Bytes: 1 << 20}

// readSafely reads a part from memory as Read does from a file.
func readSafely(data []byte) error {
	return source.Safely(func() error {
		_, err := read(bytes.NewReader(data), int64(len(data)), bounds)
		return err
	})
}

func TestHostileParts(t *testing.T) {
	half := string(binary.LittleEndian.AppendUint64([]byte{1, 0}, math.Float64bits(0.5)))
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "breaks off"},
		{"half a file", encoded(t, 4, 2, 3)[:600], "breaks off"},
		{"more bytes than the limit", make([]byte, 1<<20+1), "it has 1048577 bytes; the limit is 1048576"},
		{"more rows than the limit", forged(t, func(m *format.FileMetaData) { m.NumRows = 1 << 30 }),
			"it has 1073741824 rows; the limit is 65536"},
		{"more rows than its bytes", forged(t, func(m *format.FileMetaData) { m.NumRows = 1 << 15 }),
			"it says that it has 32768 rows, which take 786432 bytes; it has"},
		{"more rows than its groups", forged(t, func(m *format.FileMetaData) { m.NumRows++ }), "its groups have"},
		{"fewer rows than its groups", forged(t, func(m *format.FileMetaData) { m.NumRows-- }), "its groups have"},
		{"a group with fewer rows", forged(t, func(m *format.FileMetaData) {
			m.RowGroups[0].NumRows, m.NumRows = m.RowGroups[0].NumRows-1, m.NumRows-1
		}), "values in"},
		{"a group with more rows", forged(t, func(m *format.FileMetaData) {
			m.RowGroups[0].NumRows, m.NumRows = m.RowGroups[0].NumRows+1, m.NumRows+1
		}), "damaged"},
		{"a column's pages elsewhere", forged(t, func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.DataPageOffset = m.RowGroups[0].Columns[2].MetaData.DataPageOffset
			m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = m.RowGroups[0].Columns[2].MetaData.TotalCompressedSize
		}), "damaged"},
		{"no head", forged(t, func(m *format.FileMetaData) { m.KeyValueMetadata = nil }), "it is no part"},
		{"a head that is no JSON", headed(t, "{"), "its head is damaged"},
		{"a head with more", headed(t, `{"version":1,"extra":1}`), "unknown field"},
		{"a later version", headed(t, `{"version":2}`), "it is of version 2; this program reads version 1"},
		{"a first row before all", headed(t, `{"version":1,"first":-1}`), "its first row is number -1"},
		{"other columns", headed(t, `{"version":1,"dense":["a"]}`), "it has other columns than its head says"},
		{"two columns of a name", headed(t, `{"version":1,"dense":["a","a"],"binary":["b","c","d"]}`), "occurs twice"},
		{"too few binary columns", headed(t, `{"version":1,"dense":["a","b"]}`), "lists binary column"},
		{"too many columns", headed(t, `{"version":1,"dense":["`+strings.Repeat(`","`, 1<<16)+`"]}`),
			"65537 dense and 0 binary columns; at most 65535"},
		{"gzip", packed(t), "it unpacks to more than it has"},
		{"as it should be", row(t, 1, "\x01\x00", half), ""},
		{"no number", row(t, math.NaN(), "", ""), "the normalised value is NaN"},
		{"half a place", row(t, 1, "\x01", ""), "a cell has 1 bytes, which come in 2"},
		{"a place beyond", row(t, 1, "\x02\x00", ""), "lists binary column 2"},
		{"half a stray cell", row(t, 1, "", half[:5]), "a cell has 5 bytes, which come in 10"},
		{"a stray cell beyond", row(t, 1, "", "\x02"+half[1:]), "has a stray cell at row 1, binary column 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := readSafely(c.data)
			if c.want == "" && err == nil {
				return
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	if _, _, err := Read(filepath.Join(t.TempDir(), "absent"), bounds); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestEveryByteMatters: a file with any byte changed is refused, or has rows that are valid.
func TestEveryByteMatters(t *testing.T) {
	data := encoded(t, 4, 2, 3)
	for i := range data {
		for _, flip := range []byte{1, 0x80, 0xff} {
			changed := bytes.Clone(data)
			changed[i] ^= flip
			checkPart(t, changed)
		}
	}
}

// checkPart wants a file to be refused, or its rows to be written and read again as they are.
func checkPart(t testing.TB, data []byte) {
	t.Helper()
	var again bytes.Buffer
	err := source.Safely(func() error {
		m, err := read(bytes.NewReader(data), int64(len(data)), bounds)
		if err != nil {
			return err
		}
		if err := write(&again, m, 0, groupBytes, pageBytes); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		same, err := read(bytes.NewReader(again.Bytes()), int64(again.Len()), Limits{Rows: m.Rows, Bytes: math.MaxInt64})
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if digestOf(same) != digestOf(m) {
			t.Fatal("what is read again has another digest")
		}
		return nil
	})
	if err == io.EOF {
		t.Fatal("a damaged file ends with no word")
	}
}

func FuzzPart(f *testing.F) {
	f.Add(encoded(f, 4, 2, 3))
	f.Add(encoded(f, 0, 0, 0))
	f.Add(encoded(f, 3, separate+1, 1))
	f.Add(forged(f, func(m *format.FileMetaData) { m.RowGroups[0].NumRows++ }))
	f.Add(headed(f, `{"version":1,"dense":["a","a"]}`))
	f.Add(packed(f))
	f.Add(row(f, math.NaN(), "\x01", "\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { checkPart(t, data) })
}
