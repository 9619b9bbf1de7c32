package enrol

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// adopt puts versions that all have signed into force, one after the other.
func (e *Enrolment) adopt() {
	for {
		c := e.files.adoptNext()
		if c == nil {
			return
		}
		if e.config.Changed != nil {
			e.config.Changed(c)
		}
		e.mu.Lock()
		e.files.dropInvitations() // not before the network knows the newcomer as a member
		e.mu.Unlock()
	}
}

// adoptNext puts one version into force and returns it, nil if none is complete. The files come
// first: when the node dies in between, it starts with the one or the other version.
func (f *files) adoptNext() *keys.SignedCharter {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p *proposal
	for _, open := range f.proposals {
		if open.charter.Complete() == nil {
			p = open
			break
		}
	}
	if p == nil {
		return nil
	}
	if err := f.replaceCharterFile(p.charter); err != nil {
		f.warnOnce(f.config.CharterFile,
			fmt.Errorf("charter version %d is complete but not in force, its file cannot be written: %w", p.charter.Version,
				err))
		return nil
	}
	f.config.Log.Info(fmt.Sprintf("charter version %d is in force: %s", p.charter.Version, f.changes(p)))
	// What cannot come into force any more goes, and the file of what has.
	for _, p := range f.settle(p) {
		if p != f.settled {
			f.config.Log.Info(fmt.Sprintf("the proposal %s is dropped: another version %d is in force", filepath.Base(p.path),
				p.charter.Version))
		}
		if p.path != "" {
			os.Remove(p.path) // one that stays is left alone as no longer following
		}
	}
	clear(f.seen) // all files are read anew
	return snapshot(p.charter)
}

// replaceCharterFile keeps the charter in force under another name and writes the new one in its
// place. f.mu is held.
func (f *files) replaceCharterFile(c *keys.SignedCharter) error {
	kept := keptFile(f.config.CharterFile, fmt.Sprintf("v%d", f.charter.Version))
	err := textfile.Create(kept, f.charter.Text())
	if errors.Is(err, fs.ErrExist) {
		// It may be the very charter, or something of the owner's that is not to be written over.
		there, unreadable := readCharter(kept)
		if err = nil; unreadable != nil || there.Digest() != f.charter.Digest() {
			err = textfile.Replace(keptFile(f.config.CharterFile,
				fmt.Sprintf("v%d-%s", f.charter.Version, f.charter.Digest().Short())),
				f.charter.Text())
		}
	}
	if err != nil {
		return err
	}
	return textfile.Replace(f.config.CharterFile, c.Text())
}

// keptFile is where a version stands that is in force no longer.
func keptFile(charterFile, version string) string {
	ext := filepath.Ext(charterFile)
	return strings.TrimSuffix(charterFile, ext) + "-" + version + ext
}

// version returns the version of a number that is or was in force here, nil if there is none. f.mu
// is held.
func (f *files) version(n int) *keys.SignedCharter {
	if n == f.charter.Version {
		return f.charter
	}
	if n < 1 || n > f.charter.Version {
		return nil
	}
	c, err := readCharter(keptFile(f.config.CharterFile, fmt.Sprintf("v%d", n)))
	if err != nil || c.Name != f.charter.Name || c.Version != n {
		return nil
	}
	return c
}

// snapshot copies a charter whose signatures may still change.
func snapshot(c *keys.SignedCharter) *keys.SignedCharter {
	s := newProposal(c, "", keys.ID{}).charter
	maps.Copy(s.Signatures, c.Signatures)
	return s
}
