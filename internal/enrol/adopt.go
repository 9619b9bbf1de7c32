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
		c := e.adoptNext()
		if c == nil {
			return
		}
		if e.config.Changed != nil {
			e.config.Changed(c)
		}
		e.mu.Lock()
		e.dropInvitations() // not before the network knows the newcomer as a member
		e.mu.Unlock()
	}
}

// adoptNext puts one version into force and returns it, nil if none is complete. The files come
// first: when the node dies in between, it starts with the one or the other version.
func (e *Enrolment) adoptNext() *keys.SignedCharter {
	e.mu.Lock()
	defer e.mu.Unlock()
	var p *proposal
	for _, open := range e.proposals {
		if open.charter.Complete() == nil {
			p = open
			break
		}
	}
	if p == nil {
		return nil
	}
	if err := e.replaceCharterFile(p.charter); err != nil {
		e.warnOnce(e.config.CharterFile,
			fmt.Errorf("charter version %d is complete but not in force, its file cannot be written: %w", p.charter.Version,
				err))
		return nil
	}
	e.config.Log.Info(fmt.Sprintf("charter version %d is in force: %s", p.charter.Version, e.changes(p)))
	e.charter, e.settled = p.charter, p
	// What cannot come into force any more goes, and the file of what has.
	for h, p := range e.proposals {
		if p != e.settled {
			e.config.Log.Info(fmt.Sprintf("the proposal %s is dropped: another version %d is in force", filepath.Base(p.path),
				p.charter.Version))
		}
		if p.path != "" {
			os.Remove(p.path) // one that stays is left alone as no longer following
		}
		delete(e.proposals, h)
	}
	clear(e.seen) // all files are read anew
	return snapshot(p.charter)
}

// replaceCharterFile keeps the charter in force under another name and writes the new one in its
// place. e.mu is held.
func (e *Enrolment) replaceCharterFile(c *keys.SignedCharter) error {
	kept := keptFile(e.config.CharterFile, fmt.Sprintf("v%d", e.charter.Version))
	err := textfile.Create(kept, e.charter.Text())
	if errors.Is(err, fs.ErrExist) {
		// It may be the very charter, or something of the owner's that is not to be written over.
		there, unreadable := readCharter(kept)
		if err = nil; unreadable != nil || there.Digest() != e.charter.Digest() {
			err = textfile.Replace(keptFile(e.config.CharterFile,
				fmt.Sprintf("v%d-%s", e.charter.Version, e.charter.Digest().Short())),
				e.charter.Text())
		}
	}
	if err != nil {
		return err
	}
	return textfile.Replace(e.config.CharterFile, c.Text())
}

// keptFile is where a version stands that is in force no longer.
func keptFile(charterFile, version string) string {
	ext := filepath.Ext(charterFile)
	return strings.TrimSuffix(charterFile, ext) + "-" + version + ext
}

// version returns the version of a number that is or was in force here, nil if there is none. e.mu
// is held.
func (e *Enrolment) version(n int) *keys.SignedCharter {
	if n == e.charter.Version {
		return e.charter
	}
	if n < 1 || n > e.charter.Version {
		return nil
	}
	c, err := readCharter(keptFile(e.config.CharterFile, fmt.Sprintf("v%d", n)))
	if err != nil || c.Name != e.charter.Name || c.Version != n {
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
