// Package charterfile reads charters and cards from files, adds signatures to them, and shows them to people and
// programs.
package charterfile

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// MaxCard is the longest card or invitation that is read, in bytes; a full one has less than 4 KiB.
const MaxCard = 64 << 10

// ReadCard reads a member's card.
func ReadCard(path string) (keys.Card, error) {
	text, err := textfile.Read(path, MaxCard)
	if err != nil {
		return keys.Card{}, err
	}
	card, err := keys.ParseCard(text)
	if err != nil {
		return keys.Card{}, fmt.Errorf("%s: %w", path, err)
	}
	return card, nil
}

// Read reads a charter that need not be complete.
func Read(path string) (*keys.SignedCharter, error) {
	text, err := textfile.Read(path, keys.MaxDocument)
	if err != nil {
		return nil, err
	}
	charter, err := keys.ParseCharter(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return charter, nil
}

// ReadInForce reads a charter that is in force: see enrol.ReadInForce.
func ReadInForce(path string) (*keys.SignedCharter, error) { return enrol.ReadInForce(path) }

// Store adds a charter's signatures to the file that it was read from. A node that carries the charter round may have
// added others since.
func Store(charter *keys.SignedCharter, path string) error {
	return enrol.UpdateFile(path, func(text []byte) ([]byte, error) {
		now, err := keys.ParseCharter(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if now.Digest() != charter.Digest() {
			return nil, fmt.Errorf("%s: it has become another text since it was read, with the hash %s: nothing was signed",
				path, now.Digest().Short())
		}
		for id, sig := range now.Signatures {
			if err := charter.AddSignature(id, sig); err != nil {
				return nil, err
			}
		}
		return charter.Text(), nil
	})
}

// Merge adds the signatures of another copy of the same text, and names their members.
func Merge(charter *keys.SignedCharter, path, otherPath string) (added []string, err error) {
	other, err := Read(otherPath)
	if err != nil {
		return nil, err
	}
	if other.Digest() != charter.Digest() {
		return nil, fmt.Errorf("%s is another text than %s, so that its signatures do not count there: "+
			"the hashes are %s and %s", otherPath, path, other.Digest().Short(), charter.Digest().Short())
	}
	for _, m := range charter.Members {
		if !other.SignedBy(m.ID) || charter.SignedBy(m.ID) {
			continue
		}
		if err := charter.AddSignature(m.ID, other.Signatures[m.ID]); err != nil {
			return added, err
		}
		added = append(added, m.Name)
	}
	return added, nil
}
