package dataset

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/hanse-project/hanse/keys"
)

// bufferSize is how much is read ahead of the parser, in bytes.
const bufferSize = 64 << 10

var (
	errLongRecord = errors.New("row too long")
	errLongText   = errors.New("text too long")
)

// text is a file's content, decompressed and without its byte order mark. Its length is limited: a
// parser that has not finished a row after limits.record bytes gets an error, so that a quote
// without its partner or a gzip bomb does not fill the memory.
type text struct {
	*bufio.Reader
	from io.Reader
	lim  *limits
	left int   // bytes until the limit of a row
	all  int64 // bytes until the file is too long
}

// newText looks through gzip and past a byte order mark.
func newText(r io.Reader, lim *limits) (*text, error) {
	raw := bufio.NewReaderSize(r, bufferSize)
	t := &text{from: raw, lim: lim, all: lim.text}
	if head, _ := raw.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		gz, err := gzip.NewReader(raw)
		if err != nil {
			return nil, err
		}
		t.from = gz
	}
	t.slacken()
	t.Reader = bufio.NewReaderSize(boundedReader{t}, bufferSize)
	return t, t.skipMark()
}

// headSize is how much of a file is looked at to tell what it is, in bytes.
const headSize = 4096

// utf16 says what a file in UTF-16 is, and what to do with it.
const utf16 = "UTF-16, as Excel's Unicode text is; save it as CSV in UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 " +
	"OLD > NEW"

// foreign are the first bytes of files that are no tables as text, and what to do with one. Some of them are a word
// that a column may be called: those files have bytes in them that no text has.
var foreign = []struct {
	begins, is string
	word       bool
}{
	{"PK\x03\x04", "a zip archive, as Excel's .xlsx is; save the sheet as CSV in UTF-8", false},
	{"\xd0\xcf\x11\xe0", "one of an old Excel (.xls); save the sheet as CSV in UTF-8", false},
	{"SQLite format 3\x00", "a SQLite database; give it as sqlite:FILE?query=SELECT …", false},
	{"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it, or give it as exec:zstdcat FILE", false},
	{"\xfd7zXZ", "compressed by xz; unpack it, or give it as exec:xzcat FILE", false},
	{"BZh", "compressed by bzip2; unpack it, or give it as exec:bzcat FILE", true},
	{"\xff\xfe\x00\x00", utf32, false},
	{"\x00\x00\xfe\xff", utf32, false},
	{"\xff\xfe", utf16, false},
	{"\xfe\xff", utf16, false},
	{"ARROW1", "Arrow (Feather); write it as Parquet or CSV", true},
	{"FEA1", "Feather; write it as Parquet or CSV", true},
	{"\xff\xff\xff\xff", "a stream of Arrow; write it as Parquet or CSV", false},
	{"ORC", "ORC; write it as Parquet or CSV", true},
	{"Obj\x01", "Avro; write it as Parquet or CSV", false},
	{"\x89HDF", "HDF5; write it as Parquet or CSV", false},
	{"$FL2", "one of SPSS; save it as CSV in UTF-8", true},
	{"<stata_dta>", "one of Stata; save it as CSV in UTF-8", false},
	{"HEADER RECORD*******LIB", "a transport file of SAS; save it as CSV in UTF-8", false},
	{sas7bdat, "one of SAS; save it as CSV in UTF-8", false},
	{"RDX2\n", savedByR, false}, {"RDX3\n", savedByR, false}, {"RDA2\n", savedByR, false}, {"RDA3\n", savedByR, false},
	{"X\n\x00", savedByR, false}, {"A\n2\n", savedByR, false}, {"A\n3\n", savedByR, false},
	{"\x80\x04\x95", "a pickle of Python; write it as Parquet or CSV", false},
	{"%PDF", "PDF; want the table that it was made from, as CSV in UTF-8", false},
	{"{\\rtf", "RTF; save it as CSV in UTF-8", false},
	{"@relation", "ARFF, as Weka writes; save it as CSV in UTF-8", false},
	{"@RELATION", "ARFF, as Weka writes; save it as CSV in UTF-8", false},
	{"INSERT INTO ", sqlText, false},
	{"CREATE TABLE ", sqlText, false},
	{"version https://git-lfs", "a pointer of Git LFS in the place of the file; fetch that with git lfs pull", false},
	{"<?xml", "XML; save it as CSV in UTF-8", false},
	{"<!DOCTYPE", "a page of the web (HTML), as a server sends in place of a file; fetch the file again", false},
	{"<html", "a page of the web (HTML), as a server sends in place of a file; fetch the file again", false},
}

// What several of them are.
const (
	utf32    = "UTF-32; save it as CSV in UTF-8, or convert it: iconv -f UTF-32 -t UTF-8 OLD > NEW"
	savedByR = "one of R; write it with write.csv(x, FILE, row.names = FALSE)"
	sas7bdat = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xc2\xea\x81\x60"
	sqlText  = "SQL; fill a database with it, and give that as sqlite:FILE?query=SELECT …, or write CSV"
)

// skipMark skips a UTF-8 byte order mark, and refuses an empty file and what is no table.
func (t *text) skipMark() error {
	head, err := t.Peek(headSize)
	if len(head) == 0 {
		if err == io.EOF {
			return errors.New("the file is empty")
		}
		return err
	}
	whole := head[:max(0, len(head)-utf8.UTFMax)] // a sign may be cut at the end
	noText := bytes.ContainsFunc(whole, func(r rune) bool { return r == utf8.RuneError || r < '\t' })
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.begins)) && (noText || !f.word) {
			return fmt.Errorf("the file is %s", f.is)
		}
	}
	if zeros := bytes.Count(head, []byte{0}); 3*zeros > len(head) && len(head)-zeros >= zeros-1 {
		return fmt.Errorf("the file is %s", utf16)
	}
	if json(head) {
		return errors.New("the file is JSON; write it as CSV, or give a command that does: exec:PROGRAM FILE")
	}
	if bytes.IndexByte(head, 0) >= 0 && !utf8.Valid(head) {
		return errors.New("the file is not text; want CSV or LIBSVM, also gzipped, or Parquet")
	}
	if at := bytes.IndexByte(head, '\r'); at >= 0 && at < len(head)-1 && bytes.IndexByte(head, '\n') < 0 {
		return errors.New("the file has lines that end in CR alone, as those of old Macs do; save it as CSV in UTF-8, or " +
			"convert it: tr '\\r' '\\n'")
	}
	if err := keys.CheckKind(head, "hanse-table-v1"); err != nil {
		return err
	}
	if mark := []byte("\ufeff"); bytes.HasPrefix(head, mark) {
		t.Discard(len(mark))
	}
	return nil
}

// json reports whether a file begins as JSON does: with an object, or with a list of objects, lists, texts or numbers.
// A header may begin with a bracket, too, as SQL Server quotes names.
func json(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 {
		return false
	}
	within := bytes.TrimLeft(head[1:], " \t\r\n")
	switch head[0] {
	case '{':
		return len(within) == 0 || within[0] == '"' || within[0] == '}'
	case '[':
		return len(within) == 0 || bytes.ContainsRune([]byte(`{["-0123456789`), rune(within[0]))
	}
	return false
}

// slacken gives the parser a whole row's length again.
func (t *text) slacken() { t.left = t.lim.record + bufferSize }

// boundedReader is the bounded reader below a text's buffer.
type boundedReader struct{ t *text }

// Read implements io.Reader.
func (l boundedReader) Read(p []byte) (int, error) {
	t := l.t
	if t.left <= 0 {
		return 0, errLongRecord
	}
	if t.all <= 0 {
		return 0, errLongText
	}
	n, err := t.from.Read(p[:min(len(p), t.left)])
	t.left -= n
	t.all -= int64(n)
	return n, err
}

// sniff tells LIBSVM from CSV by the first line: a number, then words with a colon in them.
func (t *text) sniff() format {
	head, _ := t.Peek(bufferSize)
	line, _, _ := strings.Cut(strings.TrimLeft(string(head), "\r\n"), "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return asCSV
	}
	if _, c := parseNumber(words[0]); c == isText {
		return asCSV
	}
	for _, w := range words[1:] {
		if !strings.Contains(w, ":") {
			return asCSV
		}
	}
	return asLIBSVM
}

// explain turns an error of a reader into a sentence. rows is the number of whole rows before it.
func explain(err error, rows int) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, errLongRecord):
		if rows == 0 {
			return errors.New("the header or the first row is too long; does a quote lack its partner?")
		}
		return fmt.Errorf("the row after row %d is too long; does a quote lack its partner?", rows)
	case errors.Is(err, errLongText):
		return fmt.Errorf("the text is too long: the limit is reached after row %d", rows)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the gzip stream breaks off after row %d; copy the file again", rows)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("the gzip stream is damaged after row %d; copy the file again", rows)
	}
	return err
}

// encodingOf says what a text that is no UTF-8 can be, and how its file becomes UTF-8.
func encodingOf(s string) string {
	name, run := "WINDOWS-1252", 0
	text, err := simplifiedchinese.GB18030.NewDecoder().String(s)
	for _, r := range text {
		// An umlaut and the letter behind it read as one sign of Chinese, too: two of them side by side are a word.
		if run++; !unicode.Is(unicode.Han, r) {
			run = 0
		}
		if run > 1 && err == nil && !strings.ContainsRune(text, utf8.RuneError) {
			name = "GB18030"
		}
	}
	others := ""
	if name == "WINDOWS-1252" { // which of the two it is no file says
		others = ", with WINDOWS-1250 in Poland, Czechia or Hungary"
	}
	return fmt.Sprintf(", and looks like %s: save the file as UTF-8, or convert it: iconv -f %s -t UTF-8 OLD > NEW%s",
		name, name, others)
}

// checkText says what is wrong with a name, an id or a level, or "". A mark such as U+FEFF
// inside a text cannot be seen and would keep equal ids apart.
func checkText(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8" + encodingOf(s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\ufeff' {
			return "holds a control character"
		}
	}
	return ""
}
