package peer

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// stateFile is the path of peers.toml, where addresses stay that led to a member before. The
// file is a convenience: without it members are found by other means, if more slowly.
type stateFile string

const (
	stateName = "peers.toml"
	maxState  = 8 << 20 // 4096 members with 8 addresses of 256 bytes
)

// stateForm is the file's TOML form.
//
// Evolution: a key that is no longer understood makes the file be ignored and written anew.
type stateForm struct {
	Peer []statePeer `toml:"peer"`
}

type statePeer struct {
	ID        keys.ID  `toml:"id"`
	Addresses []string `toml:"addresses"`
}

// openStateFile makes the folder if need be.
func openStateFile(dir string) (stateFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the folder for learned addresses: %w", err)
	}
	return stateFile(filepath.Join(dir, stateName)), nil
}

// load reads the file; one that does not exist is empty.
func (f stateFile) load() (map[keys.ID][]string, error) {
	r, err := os.Open(string(f))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxState+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxState {
		return nil, fmt.Errorf("%s has more than %d bytes", f, maxState)
	}
	return parseState(string(f), text)
}

// parseState reads the file's text. The addresses in it are checked where they are used.
func parseState(what string, text []byte) (map[keys.ID][]string, error) {
	var form stateForm
	if err := keys.DecodeStrict(what, text, &form); err != nil {
		return nil, err
	}
	out := make(map[keys.ID][]string, len(form.Peer))
	for _, p := range form.Peer {
		if p.ID.IsZero() || len(p.Addresses) > addressesKept {
			return nil, fmt.Errorf("%s: the entry of %s has %d addresses, want an id and at most %d", what, p.ID.Short(), len(p.Addresses), addressesKept)
		}
		out[p.ID] = p.Addresses
	}
	return out, nil
}

// save replaces the file in one step, so that a crash leaves the old one or the new one.
func (f stateFile) save(entries map[keys.ID]*entry) error {
	next := string(f) + ".new"
	w, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(renderState(entries))
	if err == nil {
		err = w.Sync()
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(next, string(f))
	}
	if err != nil {
		os.Remove(next)
		return err
	}
	return syncDir(filepath.Dir(string(f)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// renderState writes the file's text, sorted by id.
func renderState(entries map[keys.ID]*entry) []byte {
	var b bytes.Buffer
	b.WriteString("# Addresses at which members of the charter were reached, the latest first.\n" +
		"# Kept by the node; it may be deleted while the node does not run.\n")
	ids := make([]keys.ID, 0, len(entries))
	for id, e := range entries {
		if len(e.proved) > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, keys.ID.Compare)
	for _, id := range ids {
		fmt.Fprintf(&b, "\n[[peer]]\nid = %q\naddresses = [", id)
		for i, a := range entries[id].proved {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q", a)
		}
		b.WriteString("]\n")
	}
	return b.Bytes()
}
