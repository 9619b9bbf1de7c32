package vault

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// TestWhatIsNoFileIsDamaged, and is not waited for or read: a folder, and a file longer than any state.
func TestWhatIsNoFileIsDamaged(t *testing.T) {
	dir := t.TempDir()
	folder, long := filepath.Join(dir, "folder"), filepath.Join(dir, "long")
	must(t, os.Mkdir(folder, 0o700))
	f, err := os.Create(long)
	must(t, err)
	must(t, errors.Join(f.Truncate(MaxState+1), f.Close()))
	for _, path := range []string{folder, long} {
		var damaged *DamagedError
		if _, err := ReadFile(path, keys.Hash{}); !errors.As(err, &damaged) {
			t.Errorf("%s: error is %v, want that it is damaged", filepath.Base(path), err)
		}
	}
}
