package enrol

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// proposalsDir is the folder of proposals in a node's folder.
const proposalsDir = "proposals"

// proposalFile is the name of a proposal's file.
func proposalFile(c *keys.SignedCharter) string {
	return fmt.Sprintf("%s-v%d-%s.toml", c.Name, c.Version, c.Digest().Short())
}

// Propose puts a version that somebody has signed into the folder of a member's node, which carries
// it to the others, and returns the file. Signatures are added to one that is there already.
func Propose(dir string, c *keys.SignedCharter) (string, error) {
	if len(c.Signatures) == 0 {
		return "", fmt.Errorf("charter %q: nobody has signed version %d: sign it first, with hanse charter sign", c.Name,
			c.Version)
	}
	folder := filepath.Join(dir, proposalsDir)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(folder, proposalFile(c))
	return path, UpdateFile(path, func(text []byte) ([]byte, error) {
		if there, err := keys.ParseCharter(text); err == nil && there.Digest() == c.Digest() {
			for id, sig := range there.Signatures {
				if err := c.AddSignature(id, sig); err != nil {
					return nil, err
				}
			}
		}
		return c.Text(), nil
	})
}

// readCharter reads a charter, whoever has signed it.
func readCharter(path string) (*keys.SignedCharter, error) {
	text, err := textfile.Read(path, keys.MaxDocument)
	if err != nil {
		return nil, err
	}
	c, err := keys.ParseCharter(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadInForce reads the charter in a file, which is in force: all its members have signed it or, where it revokes one,
// as many as the version before asks for. That version is then kept beside it, as a node leaves it there, and is in
// force by the same rule.
func ReadInForce(path string) (*keys.SignedCharter, error) {
	c, err := readCharter(path)
	if err != nil {
		return nil, err
	}
	if err := prove(path, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// prove shows that a version is in force, by those that stand beside the charter's file.
func prove(charterFile string, c *keys.SignedCharter) error {
	unsigned := c.Complete()
	if unsigned == nil || c.Version == 1 || len(c.Revoked) == 0 {
		return unsigned
	}
	version := fmt.Sprintf("v%d", c.Version-1)
	for _, name := range []string{version, version + "-" + c.Parent.Short()} {
		parent, err := readCharter(keptFile(charterFile, name))
		if err == nil && parent.Digest() == c.Parent && prove(charterFile, parent) == nil && c.After(parent) {
			return c.Complete()
		}
	}
	return unsigned
}

// files are what the owner works with: the proposals' and the charter's.
type files struct {
	*versions
	seen map[string]string // what was last read from each file, by path
}

// look reads what the owner may have changed.
func (f *files) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readProposals()
	f.readCharterFile()
}

// readProposals takes over what has changed in the folder: proposals put there, signed, or deleted
// by the owner. f.mu is held.
func (f *files) readProposals() {
	folder := filepath.Join(f.config.Dir, proposalsDir)
	entries, err := os.ReadDir(folder)
	if err != nil {
		f.warnOnce(folder, err)
		return
	}
	found := make(map[string]bool)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".toml") && !strings.HasPrefix(name, ".") { // whole files
			path := filepath.Join(folder, name)
			found[path] = true
			f.readProposal(path)
		}
	}
	for h, p := range f.proposals {
		if p.path != "" && !found[p.path] {
			f.config.Log.Info(fmt.Sprintf("%s is gone: the proposal is withdrawn here", p.path))
			f.drop(h)
			clear(f.seen) // there may be a second copy
		}
	}
}

// readProposal takes over one file, if it is not as it was. f.mu is held.
func (f *files) readProposal(path string) {
	text, err := textfile.Read(path, keys.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		f.warnOnce(path, err)
		return
	}
	if f.seen[path] == string(text) {
		return
	}
	f.seen[path] = string(text)
	c, err := keys.ParseCharter(text)
	if err == nil {
		err = f.takeFile(path, c)
	}
	if err != nil {
		f.config.Log.Warn(fmt.Sprintf("%s is left alone: %v", path, err))
	}
}

// takeFile opens the proposal in a file, or adds the signatures in it. f.mu is held.
func (f *files) takeFile(path string, c *keys.SignedCharter) error {
	if c.Digest() == f.charter.Digest() {
		return os.Remove(path) // in force: the node died before it could, or a copy came late
	}
	c.After(f.charter)
	p := f.proposals[c.Digest()]
	fresh := p == nil
	if fresh {
		if err := f.mayOpen(c); err != nil {
			return err
		}
		p = f.open(c, path, keys.ID{})
	}
	news, err := f.accept(p, f.holdBack(p, c.Signatures))
	if err != nil {
		return err
	}
	if fresh {
		f.announce(p)
	} else if len(news) > 0 {
		f.report(p, news)
	}
	return f.save(p)
}

// save brings a proposal's file up to date. What the owner has done to it since it was last read
// counts first. f.mu is held.
func (f *files) save(p *proposal) error {
	if p.path == "" || f.seen[p.path] == string(p.charter.Text()) {
		return nil
	}
	err := UpdateFile(p.path, func(text []byte) ([]byte, error) {
		if f.seen[p.path] == string(text) {
			return p.charter.Text(), nil
		}
		if c, err := keys.ParseCharter(text); err == nil && c.Digest() == p.charter.Digest() {
			if news, err := f.accept(p, f.holdBack(p, c.Signatures)); err == nil && len(news) > 0 {
				f.report(p, news)
			}
		}
		return p.charter.Text(), nil
	})
	if err == nil {
		f.seen[p.path] = string(p.charter.Text())
	}
	return err
}

// merge adds signatures to a proposal and to its file. f.mu is held.
func (f *files) merge(p *proposal, signatures map[keys.ID][]byte) error {
	news, err := f.accept(p, signatures)
	if err != nil {
		return refuse(fault.CodeSignature, err)
	}
	if len(news) > 0 {
		f.report(p, news)
	}
	return f.save(p)
}

// readCharterFile takes over a complete next version that the owner has put in the place of the
// charter. f.mu is held.
func (f *files) readCharterFile() {
	path := f.config.CharterFile
	text, err := textfile.Read(path, keys.MaxDocument)
	if err != nil {
		f.warnOnce(path, err)
		return
	}
	if f.seen[path] == string(text) {
		return
	}
	f.seen[path] = string(text)
	if bytes.Equal(text, f.charter.Text()) { // the signatures of a large charter take a while
		return
	}
	c, err := keys.ParseCharter(text)
	if err == nil && c.Digest() == f.charter.Digest() {
		return
	}
	if err == nil {
		err = f.install(c)
	}
	if err != nil {
		f.config.Log.Warn(fmt.Sprintf("%s is not used, version %d stays in force: %v", path, f.charter.Version, err))
	}
}

// warnOnce logs an error about a file until it changes. f.mu is held.
func (f *files) warnOnce(path string, err error) {
	if note := "error: " + err.Error(); f.seen[path] != note {
		f.seen[path] = note
		f.config.Log.Warn(err.Error())
	}
}

// UpdateFile changes the file of a charter that its owner and the owner's node both add signatures
// to; change gets nil when there is no such file, and may be called again. Of two who change a file
// at once by UpdateFile neither writes over what the other has put there. Where the file system
// knows no locks, the moment between the last look at the file and its renaming is left to chance.
func UpdateFile(path string, change func(text []byte) ([]byte, error)) error {
	defer lockFolder(filepath.Dir(path))()
	return textfile.Update(path, keys.MaxDocument, change)
}
