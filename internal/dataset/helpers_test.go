package dataset

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readString parses text as a file of that format would be.
func readString(content string, as format, o Options) (*Table, error) {
	return parse(strings.NewReader(content), as, o, standardLimits())
}

// mustRead is readString for content that must be accepted.
func mustRead(t testing.TB, content string, as format, o Options) *Table {
	t.Helper()
	table, err := readString(content, as, o)
	if err != nil {
		t.Fatalf("reading %q: %v", content, err)
	}
	return table
}

// mustColumn returns a column that must be there.
func mustColumn(t testing.TB, table *Table, name string) *Column {
	t.Helper()
	c, err := table.Column(name)
	must(t, err)
	return c
}

// wantError compares an error's whole text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %q", want)
	}
	if err.Error() != want {
		t.Fatalf("error\n  got  %s\n  want %s", err, want)
	}
}

// gzipped compresses content.
func gzipped(t testing.TB, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// writeFile puts content into a fresh file of that name and returns its path.
func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}
