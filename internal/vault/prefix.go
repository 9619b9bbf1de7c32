package vault

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// RemoveAll deletes all states and logs whose names begin with a prefix, what a killed Save left of them, and what was
// set aside. A folder is not touched.
func (v *Vault) RemoveAll(prefix string) error {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names := v.Names()
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			err = errors.Join(err, v.Remove(name))
		}
	}
	return err
}
