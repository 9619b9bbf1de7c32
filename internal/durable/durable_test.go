package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWriteFileReplacesAndLeavesNothingBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"one", "", "a longer text"} {
		if err := WriteFile(path, []byte(text[:len(text)/2]), []byte(text[len(text)/2:])); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); string(data) != text || err != nil {
			t.Errorf("the file has %q and %v, want %q", data, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v), want 0600", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are in the folder, want 1", len(left))
	}
}

func TestWriteFileThatFailsLeavesTheOldBytes(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "taken"), []byte("x")); err == nil {
		t.Error("a file replaced a folder")
	}
	path, broken := filepath.Join(dir, "state"), errors.New("broken")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	err := Write(path, func(w io.Writer) error {
		_, err := w.Write([]byte("half"))
		return errors.Join(err, broken)
	})
	if data, _ := os.ReadFile(path); !errors.Is(err, broken) || string(data) != "old" {
		t.Errorf("the file has %q after %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+Suffix)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSweepRemovesHalfWrittenFilesAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"state", "state.123" + Suffix, "tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "job.9"+Suffix, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	swept, err := Sweep(dir)
	slices.Sort(swept)
	if err != nil || !slices.Equal(swept, []string{"job.9" + Suffix, "state.123" + Suffix}) {
		t.Errorf("swept %v and %v", swept, err)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 {
		t.Errorf("%d entries are left, want state and tmp", len(left))
	}
	if swept, err := Sweep(filepath.Join(dir, "absent")); swept != nil || err != nil {
		t.Errorf("a folder that is not there: %v and %v", swept, err)
	}
}
