package enrol

import (
	"path/filepath"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// UpdateFile changes the file of a charter that its owner and the owner's node both add signatures
// to; change gets nil when there is no such file, and may be called again. Of two who change a file
// at once by UpdateFile neither writes over what the other has put there. Where the file system
// knows no locks, the moment between the last look at the file and its renaming is left to chance.
func UpdateFile(path string, change func(text []byte) ([]byte, error)) error {
	defer lockFolder(filepath.Dir(path))()
	return textfile.Update(path, keys.MaxDocument, change)
}
