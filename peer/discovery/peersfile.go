package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// PeersFile is the name of the file where addresses stay that led to a member before. It is a
// convenience: without it members are found by other means, if more slowly.
const PeersFile = "peers.toml"

// maxPeersFile is the largest file that is read: 4096 members with 8 addresses of 256 bytes.
const maxPeersFile = 8 << 20

// peersForm is the file's TOML form.
//
// Evolution: a key that is no longer understood makes the file be ignored and written anew.
type peersForm struct {
	Peer []peerForm `toml:"peer"`
}

type peerForm struct {
	ID        keys.ID  `toml:"id"`
	Addresses []string `toml:"addresses"`
}

// readPeers reads the file; one that does not exist is empty.
func readPeers(path string) (map[keys.ID][]string, error) {
	r, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxPeersFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPeersFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxPeersFile)
	}
	return parsePeers(path, text)
}

// parsePeers reads the file's text. The addresses in it are checked where they are used.
func parsePeers(path string, text []byte) (map[keys.ID][]string, error) {
	var form peersForm
	if err := keys.DecodeStrict(path, text, &form); err != nil {
		return nil, err
	}
	out := make(map[keys.ID][]string, len(form.Peer))
	for _, p := range form.Peer {
		if p.ID.IsZero() || len(p.Addresses) > addressesKept {
			return nil, fmt.Errorf("%s: the entry of %s has %d addresses, want an id and at most %d",
				path, p.ID.Short(), len(p.Addresses), addressesKept)
		}
		out[p.ID] = p.Addresses
	}
	return out, nil
}

// render writes the file's text, sorted by id.
func (b *AddressBook) render() []byte {
	var out bytes.Buffer
	out.WriteString("# Addresses at which members of the charter were reached, the latest first.\n" +
		"# Kept by the node; it may be deleted while the node does not run.\n")
	ids := make([]keys.ID, 0, len(b.members))
	for id, e := range b.members {
		if len(e.worked) > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, keys.ID.Compare)
	for _, id := range ids {
		fmt.Fprintf(&out, "\n[[peer]]\nid = %q\naddresses = [", id)
		for i, a := range b.members[id].worked {
			if i > 0 {
				out.WriteString(", ")
			}
			fmt.Fprintf(&out, "%q", a)
		}
		out.WriteString("]\n")
	}
	return out.Bytes()
}
