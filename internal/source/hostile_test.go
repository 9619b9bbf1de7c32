package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	thriftdecode "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// forge writes a Parquet file whose metadata somebody has changed.
func forge(t testing.TB, change func(*format.FileMetaData)) string {
	t.Helper()
	return forgeFile(t, writeParquet(t, filepath.Join(t.TempDir(), "forged.parquet"), people()), change)
}

// forgeFile is forge of a file that there is.
func forgeFile(t testing.TB, path string, change func(*format.FileMetaData)) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	end := len(data) - footerTail
	begin := end - int(binary.LittleEndian.Uint32(data[end:]))
	var compact thriftdecode.CompactProtocol
	var meta format.FileMetaData
	must(t, thriftdecode.Unmarshal(&compact, data[begin:end], &meta))
	change(&meta)
	footer, err := thriftdecode.Marshal(&compact, &meta)
	must(t, err)
	data = append(data[:begin], footer...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(footer)))
	must(t, os.WriteFile(path, append(data, parquetMagic...), 0o600))
	return path
}

// TestForgedParquet reads files that claim what is not so.
func TestForgedParquet(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*format.FileMetaData)
		want   string
	}{
		{"2^40 rows", func(m *format.FileMetaData) { m.NumRows = 1 << 40 },
			"the file says that it has 1099511627776 rows; the limit is 16777216"},
		{"fewer than no rows", func(m *format.FileMetaData) { m.NumRows = -1 }, "num_rows=-1 is negative"},
		{"2^40 rows of a group", func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 1 << 40 },
			`column "id": the Parquet file is damaged: a column reaches beyond it`},
		{"fewer rows than values", func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 2 },
			"a page says that it has 3 values in 2 rows"},
		{"a column of 2^40 bytes", func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[3].MetaData.TotalCompressedSize = 1 << 40
		}, "a column reaches beyond it"},
		{"a column before the file", func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[3].MetaData.DataPageOffset, m.RowGroups[0].Columns[3].MetaData.DictionaryPageOffset = -7, 0
		}, "a column reaches beyond it"},
		{"a column inside another", func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[3].MetaData.DataPageOffset += 3
		}, "damaged"},
		{"no schema", func(m *format.FileMetaData) { m.Schema = m.Schema[:1] }, "damaged"},
		{"more children than there are", func(m *format.FileMetaData) { m.Schema[0].NumChildren.V = 1 << 30 }, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(forge(t, c.change), StandardLimits())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestChunksOfFalseNames has whoever made a file call a flat column's values by a nested column's name, so that their
// pages are not held against the limits before the decoder takes memory for them.
func TestChunksOfFalseNames(t *testing.T) {
	type tagged struct {
		ID   string   `parquet:"id"`
		Tags []string `parquet:"tags,list"`
	}
	path := writeParquet(t, filepath.Join(t.TempDir(), "tags.parquet"), []tagged{{"a long id", nil}})
	small := StandardLimits()
	small.Page = 4
	for _, name := range []string{"id", "tags"} {
		forgeFile(t, path, func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.PathInSchema = []string{name}
		})
		if _, _, err := read(path, small); err == nil || !strings.Contains(err.Error(), "bytes; the limit is 4") {
			t.Errorf("values of the column id that are called %s: %v", name, err)
		}
	}
}

// TestValuesBehindTheRows reads files whose metadata claim fewer rows than their columns have: what stands behind them
// is not left out in silence.
func TestValuesBehindTheRows(t *testing.T) {
	type number struct {
		X int64 `parquet:"x"`
	}
	path := filepath.Join(t.TempDir(), "pages.parquet")
	rows := make([]number, 300)
	must(t, parquet.WriteFile(path, rows, parquet.PageBufferSize(100*8)))
	for _, n := range []int64{300, 200, 250} {
		forgeFile(t, path, func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = n, n })
		_, read, err := read(path, StandardLimits())
		if n == 300 && (err != nil || len(read) != 300) {
			t.Fatalf("%d rows, %v", len(read), err)
		}
		if want := "there are values behind its last row"; n < 300 && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d of 300 rows: %v, want %s", n, err, want)
		}
	}
}

// TestForgedLengths wants lists and texts that are longer than their file refused before a decoder takes memory.
func TestForgedLengths(t *testing.T) {
	for _, c := range []struct {
		name string
		data string
		want string
	}{
		{"a list of 2^32 structs", "\x29\xfc\xff\xff\xff\xff\x0f", "it breaks off"},
		{"a text of 2^40 bytes", "\x48\x80\x80\x80\x80\x80\x40", "it breaks off"},
		{"a map of 2^40", "\x1b\x80\x80\x80\x80\x80\x40\x88", "it breaks off"},
		{"no end", "\x15\x02", "it breaks off"},
		{"a number of 100 bits", "\x15" + strings.Repeat("\xff", 12), "it has a number of more than 64 bits"},
		{"structs in structs", strings.Repeat("\x1c", 40), "it nests deeper than 16"},
		{"lists in lists", "\x19" + strings.Repeat("\x19", 40), "it nests deeper than 16"},
		{"a kind that there is not", "\x1f\x00", "it has a value of the unknown kind 15"},
		{"2^20 + 1 elements", "\x19\xf3\x81\x80\x40" + strings.Repeat("x", 1<<20+2), "it has more than 1048576 elements"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := checkThrift([]byte(c.data)); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			data := append([]byte(parquetMagic), c.data...)
			data = append(binary.LittleEndian.AppendUint32(data, uint32(len(c.data))), parquetMagic...)
			if err := checkFooter(bytes.NewReader(data), int64(len(data))); err == nil {
				t.Error("a file with that footer passes")
			}
		})
	}
}

func TestBadParquet(t *testing.T) {
	type numbers struct {
		X float64 `parquet:"x"`
	}
	type nested struct {
		ID   string   `parquet:"id"`
		Tags []string `parquet:"tags,list"`
	}
	type inner struct {
		A int64 `parquet:"a"`
	}
	type group struct {
		ID    string `parquet:"id"`
		Where inner  `parquet:"where"`
	}
	type blob struct {
		ID      string `parquet:"id"`
		Picture []byte `parquet:"picture"`
	}
	type other struct {
		ID string `parquet:"id"`
		B  int64  `parquet:"b"`
	}
	dir := t.TempDir()
	mixed := filepath.Join(dir, "mixed")
	must(t, os.MkdirAll(filepath.Join(dir, "deep", "year=2024"), 0o700))
	must(t, os.Mkdir(mixed, 0o700))
	writeParquet(t, filepath.Join(mixed, "a.parquet"), []inner{{1}})
	writeParquet(t, filepath.Join(mixed, "b.parquet"), []other{{"x", 1}})
	small := StandardLimits()
	small.Page = 4
	for _, c := range []struct {
		name, path string
		lim        Limits
		want       string
	}{
		{"infinity below", writeParquet(t, filepath.Join(dir, "above.parquet"), []numbers{{1}, {math.Inf(1)}}),
			StandardLimits(),
			`row 2, column "x": +Inf is not a finite number; make it NULL if the value is missing`},
		{"infinity", writeParquet(t, filepath.Join(dir, "inf.parquet"), []numbers{{math.Inf(-1)}}), StandardLimits(),
			`row 1, column "x": -Inf is not a finite number`},
		{"a list", writeParquet(t, filepath.Join(dir, "list.parquet"), []nested{{"x", []string{"a"}}}), StandardLimits(),
			`column "tags" is nested; a table has one value in each cell: flatten it, or leave it out`},
		{"a group", writeParquet(t, filepath.Join(dir, "group.parquet"), []group{{"x", inner{1}}}), StandardLimits(),
			`column "where" is nested`},
		{"bytes", writeParquet(t, filepath.Join(dir, "blob.parquet"), []blob{{"x", []byte("y")}}), StandardLimits(),
			`column "picture" is of type BYTE_ARRAY, which is no number`},
		{"large pages", writeParquet(t, filepath.Join(dir, "large.parquet"), []numbers{{1}, {2}}), small,
			`a page has 16 bytes; the limit is 4: write the file with smaller pages`},
		{"parts of different tables", mixed, StandardLimits(), `b.parquet: it has other columns than the first part: "id"`},
		{"partitions", filepath.Join(dir, "deep"), StandardLimits(), `this folder has a folder "year=2024"`},
		{"an empty folder", t.TempDir(), StandardLimits(), "this is a folder without Parquet files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(c.path, c.lim)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestParquetTypes reads columns as other programs write them.
func TestParquetTypes(t *testing.T) {
	schema := parquet.NewSchema("t", parquet.Group{
		"a": parquet.Decimal(2, 9, parquet.Int32Type), "b": parquet.Decimal(0, 18, parquet.Int64Type),
		"c": parquet.Decimal(3, 20, parquet.FixedLenByteArrayType(9)), "d": parquet.Leaf(parquet.Int96Type),
		"e": parquet.Timestamp(parquet.Millisecond), "f": parquet.Timestamp(parquet.Nanosecond), "g": parquet.Uint(64),
		"h": parquet.UUID(), "i": parquet.Enum(), "j": parquet.Uint(8),
	})
	path := filepath.Join(t.TempDir(), "types.parquet")
	f, err := os.Create(path)
	must(t, err)
	w := parquet.NewWriter(f, schema)
	noon := uint64(12 * time.Hour)
	row := parquet.Row{
		parquet.Int32Value(-150), parquet.Int64Value(7),
		parquet.FixedLenByteArrayValue([]byte{255, 255, 255, 255, 255, 255, 255, 255, 254}),
		parquet.Int96Value(deprecated.Int96{uint32(noon), uint32(noon >> 32), julianEpoch + 1}),
		parquet.Int64Value(1500), parquet.Int64Value(-1), parquet.Int64Value(-1),
		parquet.FixedLenByteArrayValue([]byte("0123456789abcdef")), parquet.ByteArrayValue([]byte("glad")),
		parquet.Int32Value(200),
	}
	for i := range row {
		row[i] = row[i].Level(0, 0, i)
	}
	if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
		t.Fatal(err)
	}
	must(t, errors.Join(w.Close(), f.Close()))
	_, rows, err := read(path, StandardLimits())
	want := []string{"-1.5", "7", "-0.002", "1970-01-02T12:00:00Z", "1970-01-01T00:00:01.5Z",
		"1969-12-31T23:59:59.999999999Z", "18446744073709551615", "30313233-3435-3637-3839-616263646566", "glad", "200"}
	if err != nil || len(rows) != 1 || strings.Join(rows[0], " ") != strings.Join(want, " ") {
		t.Errorf("%q, %v\nwant %q", rows, err, want)
	}
}

// script writes a program and returns its path.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

func TestCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	parquetFile := writeParquet(t, filepath.Join(t.TempDir(), "people.parquet"), people())
	lim := StandardLimits()
	lim.Time, lim.Bytes = 500*time.Millisecond, 100
	long := StandardLimits()
	for _, c := range []struct {
		name, location, want string
		lim                  Limits
	}{
		{"failure", "exec:" + script(t, "echo id,x; echo 1,2; echo 'table  gone' >&2; exit 3"),
			"the command failed: exit status 3; it says: table gone", long},
		{"silent failure", "exec:" + script(t, "exit 1"), "the command failed: exit status 1; it says: nothing", long},
		{"failure after Parquet", "exec:" + script(t, "cat "+parquetFile+"; exit 4"), "exit status 4", long},
		{"the end of a long complaint", "exec:" + script(t, "yes complaint | head -n 100000 >&2; echo the reason >&2; exit 1"),
			"complaint the reason", long},
		{"no such command", "exec:/no/such/command", "no such file", long},
		{"no end", "exec:" + script(t, "sleep 600"), "it took longer than 500ms, the limit", lim},
		{"no end of a child", "exec:" + script(t, "sleep 600 & sleep 600"), "it took longer than 500ms, the limit", lim},
		{"no end after a line", "exec:" + script(t, "echo id,x; sleep 600"), "it took longer than 500ms, the limit", lim},
		{"Parquet without end", "exec:" + script(t, "printf PAR1; yes"), "the command writes more than 100 bytes, the limit",
			Limits{Time: time.Hour, Bytes: 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(c.location, c.lim)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("no shell", func(t *testing.T) {
		made := filepath.Join(t.TempDir(), "made")
		names, _, err := read("exec:echo 'a b',$HOME ; touch "+made, StandardLimits())
		if err != nil || strings.Join(names, "|") != "a b|$HOME ; touch "+made {
			t.Errorf("%q, %v", names, err)
		}
		if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
			t.Error("a second command ran")
		}
	})
	t.Run("text without end is read no further than asked", func(t *testing.T) {
		l, err := Parse("exec:yes")
		must(t, err)
		s, err := Open(context.Background(), l, StandardLimits())
		must(t, err)
		if _, err := io.CopyN(io.Discard, s.Text, 1<<20); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzThrift wants no panic, and of what passes that a decoder finds the same end.
func FuzzThrift(f *testing.F) {
	data, err := thriftdecode.Marshal(new(thriftdecode.CompactProtocol), &format.PageHeader{CompressedPageSize: 7})
	must(f, err)
	f.Add(data)
	f.Add([]byte("\x19\xfc\xff\xff\xff\xff\x0f"))
	f.Add([]byte("\x150\x150\x1500\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := checkThrift(data)
		if err != nil {
			return
		}
		var h format.PageHeader
		compact := new(thriftdecode.CompactProtocol)
		r := compact.NewReaderFromBytes(append([]byte(nil), data[:n]...))
		if err := thriftdecode.NewDecoder(r).Decode(&h); err == nil && r.BytesRead() != n {
			t.Errorf("the decoder reads %d of %d bytes", r.BytesRead(), n)
		}
	})
}

// FuzzParquet wants no panic and no memory for what is not there.
func FuzzParquet(f *testing.F) {
	data, err := os.ReadFile(writeParquet(f, filepath.Join(f.TempDir(), "seed.parquet"), people()))
	must(f, err)
	f.Add(data)
	lim := StandardLimits()
	lim.Rows, lim.Page = 1<<12, 1<<16
	path := filepath.Join(f.TempDir(), "fuzzed.parquet")
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(path, data, 0o600))
		s, err := openParts([]string{path}, lim)
		if err != nil {
			return
		}
		defer s.Close()
		for range 1 << 12 {
			if _, err := s.Next(); err != nil {
				return
			}
		}
	})
}

// FuzzParse wants no panic, and no password in what is shown.
func FuzzParse(f *testing.F) {
	f.Add("postgres://user:hunter2@host/db?query=SELECT 1")
	f.Add("sqlite:x.db?query=SELECT 1&password=hunter2")
	f.Add("exec:sh -c 'x'")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "query=@") {
			return
		}
		l, err := Parse(s)
		if err == nil && l.String() == "" {
			t.Error("a location without a name")
		}
	})
}

// prier is a command behind a table that writes what it finds of the node's secrets in its environment.
func prier(t *testing.T) string {
	return "exec:" + script(t, "echo id,x; echo a,$HANSE_PASSPHRASE$BANK_TOKEN; env | sed -n 's/^HANSE_[A-Z]*=/b,/p'")
}

// TestPrierLearnsNoPassphrase: a command has the environment of the node, without the node's own variables.
func TestPrierLearnsNoPassphrase(t *testing.T) {
	t.Setenv("HANSE_PASSPHRASE", "correct horse")
	t.Setenv("BANK_TOKEN", "the command's own")
	_, rows, err := read(prier(t), StandardLimits())
	if err != nil || len(rows) != 1 || rows[0][1] != "the command's own" {
		t.Errorf("%v, %v", rows, err)
	}
}
