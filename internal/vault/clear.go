package vault

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/hanse-project/hanse/internal/durable"
)

// Clear deletes all that is in the folder but what keep names: states and logs, and the files and folders that others
// put there. What is named stays as it is.
func (v *Vault) Clear(keep ...string) error {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range v.Names() {
		if !slices.Contains(keep, name) {
			errs = append(errs, v.Remove(name))
		}
	}
	for _, e := range entries {
		if name := e.Name(); name != indexFile && !slices.Contains(keep, name) {
			errs = append(errs, os.RemoveAll(v.Path(name)))
		}
	}
	return errors.Join(append(errs, durable.SyncDir(v.dir))...)
}
