package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// Names inside a node's folder of what hanse audit reads beside the jobs.
const (
	chartersDir  = "charters"      // a text for each charter that was in force here, named by its digest
	identityFile = "identity.toml" // who the folder belongs to
)

// identityFormat is the first field of an identity.
const identityFormat = "hanse-identity-v1"

// maxIdentity is the longest text of an identity, in bytes.
const maxIdentity = 16 << 10

// charterSuffix ends the names of charters.
const charterSuffix = ".toml"

// Identity says whose a node's folder is. It is for the owner's own commands, and proves nothing to others.
type Identity struct {
	Format  string `toml:"format"`
	ID      string `toml:"id"`
	KeyFile string `toml:"key,omitempty"` // where the node was given its key
}

// keepIdentity notes in the folder whose it is.
func keepIdentity(dir string, id keys.ID, keyFile string) error {
	if keyFile != "" {
		path, err := filepath.Abs(keyFile)
		if err != nil {
			return err
		}
		keyFile = path
	}
	text, err := toml.Marshal(Identity{identityFormat, id.String(), keyFile})
	if err != nil {
		return err
	}
	const says = "# Whose folder this is, for hanse audit. The node writes it when it starts.\n"
	return keep(filepath.Join(dir, identityFile), append([]byte(says), text...))
}

// keep writes a file unless it is there with that text.
func keep(path string, text []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return durable.WriteFile(path, text)
}

// ReadIdentity returns whose a node's folder is; the error is fs.ErrNotExist in a folder that no node has started on.
func ReadIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityFile)
	text, err := textfile.Read(path, maxIdentity)
	if err != nil {
		return Identity{}, err
	}
	var i Identity
	if err := keys.DecodeStrict(path, text, &i); err != nil {
		return Identity{}, err
	}
	if _, err := keys.ParseID(i.ID); err != nil || i.Format != identityFormat {
		return Identity{}, fmt.Errorf("%s is no identity of format %q", path, identityFormat)
	}
	return i, nil
}

// keepCharter keeps a charter that is in force: contracts outlive the charters under which they were agreed.
func keepCharter(dir string, c *keys.SignedCharter) error {
	folder := filepath.Join(dir, chartersDir)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if before := c.Before(); before != nil { // without it this one proves nothing
		if err := keepCharter(dir, before); err != nil {
			return err
		}
	}
	return keep(filepath.Join(folder, c.Digest().String()+charterSuffix), c.Text())
}

// KeptCharter returns the charter of a digest from a node's folder, nil when it is not there. It was in force: all have
// signed it who must.
func KeptCharter(dir, digest string) (*keys.SignedCharter, error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(digest)); err != nil {
		return nil, fmt.Errorf("the digest of a charter: %w", err)
	}
	path := filepath.Join(dir, chartersDir, h.String()+charterSuffix)
	text, err := textfile.Read(path, keys.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := keys.ParseCharter(text)
	if err == nil && c.Complete() != nil && c.Version > 1 { // enough may have revoked a member
		parent, _ := KeptCharter(dir, c.Parent.String())
		c.After(parent)
	}
	if err == nil {
		_, err = c.InForce()
	}
	if err == nil && c.Digest() != h {
		err = fmt.Errorf("its digest is %s", c.Digest().Short())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// LatestCharter returns the charter of the highest version that a node's folder has, nil when it has none.
func LatestCharter(dir string) (*keys.SignedCharter, error) {
	entries, err := os.ReadDir(filepath.Join(dir, chartersDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var latest *keys.SignedCharter
	for _, e := range entries {
		digest, ok := strings.CutSuffix(e.Name(), charterSuffix)
		if !ok {
			continue
		}
		c, err := KeptCharter(dir, digest)
		if err == nil && c != nil && (latest == nil || c.Version > latest.Version) {
			latest = c
		}
	}
	return latest, nil
}
