package vault

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// RemoveAll deletes all states and logs whose names begin with a prefix, and what a killed Save left of them. A folder
// is not touched.
func (v *Vault) RemoveAll(prefix string) error {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		err = errors.Join(err, v.Remove(e.Name()))
	}
	return err
}
