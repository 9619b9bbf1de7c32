package vault

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRemoveAllTakesWhatBeginsSo(t *testing.T) {
	dir := t.TempDir()
	v, err := Open(dir, Options{})
	must(t, err)
	for _, name := range []string{"part-a", "part-b", "other"} {
		must(t, v.Save(name, []byte{1}))
	}
	must(t, v.Append("part-log", []byte{1}))
	must(t, os.WriteFile(filepath.Join(dir, "part-a.123.tmp"), []byte{1}, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "part-folder"), 0o700))
	must(t, v.RemoveAll("part-"))
	entries, err := os.ReadDir(dir)
	must(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"index", "other", "part-folder"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if err := v.Append("part-log", []byte{2}); err != nil { // the file that was open is another
		t.Fatal(err)
	}
	if n, err := v.Records("part-log", -1, func([]byte) error { return nil }); n != 1 || err != nil {
		t.Errorf("%d records and error %v, want 1", n, err)
	}
	must(t, os.RemoveAll(dir))
	if err := v.RemoveAll("part-"); err != nil {
		t.Error(err)
	}
}
