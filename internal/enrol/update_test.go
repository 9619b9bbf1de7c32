package enrol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Whatever many writers add to a file at once is in it at the end.
func TestUpdateFileLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "charter.toml")
	const writers, lines = 8, 12
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range lines {
				line := fmt.Sprintf("%d-%d\n", w, i)
				err := UpdateFile(path, func(text []byte) ([]byte, error) { return append(text, line...), nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text := string(must(os.ReadFile(path))(t))
	if got := strings.Count(text, "\n"); got != writers*lines {
		t.Errorf("%d lines are left of %d", got, writers*lines)
	}
	if entries := must(os.ReadDir(filepath.Dir(path)))(t); len(entries) != 1 {
		t.Errorf("the folder has %v besides", entries)
	}
}

// A file in a folder that is not there is an error, not a wait.
func TestUpdateFileWithoutFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "charter.toml")
	err := UpdateFile(path, func([]byte) ([]byte, error) { return []byte("x"), nil })
	wantError(t, err, path+": no such file or directory")
}
