package sets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file below a folder and returns its path.
func put(t testing.TB, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantError ends the test unless the error holds a text.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want %q", err, want)
	}
}

// TestEverySetIsWhole has no set without a name of its own, files, sizes, a paper and a source.
func TestEverySetIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || len(s.Files) == 0 || s.Rows < 1 || s.Columns < 1 || s.Task == "" || len(s.Papers) == 0 ||
			s.Source == "" {
			t.Errorf("set %+v lacks something or is there twice", s)
		}
		seen[s.Name] = true
		again, err := Named(s.Name)
		if err != nil || again.Source != s.Source {
			t.Errorf("%s: %+v, %v", s.Name, again, err)
		}
	}
	_, err := Named("iris")
	wantError(t, err, `there is no set "iris"; there are gisette, phishing`)
}

// TestFilesAreFoundPackedOrNot in the set's folder before the data folder.
func TestFilesAreFoundPackedOrNot(t *testing.T) {
	data := t.TempDir()
	s, err := Named("gisette")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Find(data)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want one of a file that is not there", err)
	}
	wantError(t, err, `the set "gisette" is not here: `+filepath.Join(data, "gisette")+
		" has no gisette_scale or gisette, plain, .gz or .bz2; get it from: LIBSVM's data page")
	want := put(t, data, "gisette", "") // nor is the set's file its folder
	if got, err := s.Find(data); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("found %v, %v, want %s", got, err, want)
	}
	if err := os.Remove(want); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(data, "gisette"),
		0o755); err != nil { // the set's folder is no file of that name
		t.Fatal(err)
	}
	for _, name := range []string{"gisette.gz", "gisette_scale.bz2", "gisette/gisette", "gisette/gisette_scale.bz2"} {
		want := put(t, data, name, "")
		if got, err := s.Find(data); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("found %v, %v, want %s", got, err, want)
		}
	}
}
