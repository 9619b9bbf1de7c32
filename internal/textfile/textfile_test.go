package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) || err.Error() != path+": no such file or directory" {
		t.Errorf("got %v", err)
	}
	write(t, path, "0123456789")
	if text, err := Read(path, 10); err != nil || string(text) != "0123456789" {
		t.Errorf("got %q, %v", text, err)
	}
	wantError(t, second(Read(path, 9)), path+": it has more than 9 bytes, which no such file has")
	wantError(t, second(Read(filepath.Dir(path), 9)), filepath.Dir(path)+": it is a directory")
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	if err := Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	err := Create(path, []byte("two"))
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v does not wrap fs.ErrExist", err)
	}
	wantError(t, err, path+": file already exists")
	wantText(t, path, "one")
	missing := filepath.Join(filepath.Dir(path), "no", "a.toml")
	wantError(t, Create(missing, nil), missing+": no such file or directory")
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	for _, text := range []string{"one", "two", ""} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantText(t, path, text)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte("three")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the permissions are %v, %v", info.Mode(), err)
		}
	}
	missing := filepath.Join(filepath.Dir(path), "no", "a.toml")
	wantError(t, Replace(missing, nil), missing+": no such file or directory")
	wantAlone(t, path)
}

func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	add := func(word string) func([]byte) ([]byte, error) {
		return func(text []byte) ([]byte, error) { return append(text, word...), nil }
	}
	for _, word := range []string{"a", "b", ""} {
		if err := Update(path, 100, add(word)); err != nil {
			t.Fatal(err)
		}
	}
	wantText(t, path, "ab")
	refused := errors.New("refused")
	if err := Update(path, 100, func([]byte) ([]byte, error) { return []byte("x"), refused }); err != refused {
		t.Errorf("got %v", err)
	}
	wantError(t, Update(path, 1, add("c")), path+": it has more than 1 bytes, which no such file has")
	wantText(t, path, "ab")
	wantAlone(t, path)
}

// A change that comes between reading and renaming is seen.
func TestUpdateOvertaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	write(t, path, "a")
	calls := 0
	err := Update(path, 100, func(text []byte) ([]byte, error) {
		if calls++; calls <= 3 {
			write(t, path, string(text)+strconv.Itoa(calls))
		}
		return append(text, 'z'), nil
	})
	if err != nil || calls != 4 {
		t.Errorf("%d calls, %v", calls, err)
	}
	wantText(t, path, "a123z")
	wantAlone(t, path)
}

// Readers beside a writer see whole texts.
func TestReplaceIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	write(t, path, strings.Repeat("0", 1<<16))
	var readers sync.WaitGroup
	done := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			text, err := Read(path, 1<<20)
			if err != nil || len(text) != 1<<16 || strings.Trim(string(text), string(text[:1])) != "" {
				t.Errorf("read %d bytes, %v", len(text), err)
				return
			}
		}
	})
	for i := range 20 {
		if err := Replace(path, []byte(strings.Repeat(strconv.Itoa(i%10), 1<<16))); err != nil {
			t.Error(err)
		}
	}
	close(done)
	readers.Wait()
}

// second drops a result.
func second[T any](_ T, err error) error { return err }

// write writes a file as another program would.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantText compares a file.
func wantText(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("the file has %q, %v, want %q", text, err, want)
	}
}

// wantAlone checks that no temporary file is left.
func wantAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// wantError compares the whole message.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
