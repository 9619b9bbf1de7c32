package keys

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age/armor"
	"github.com/hanse-project/hanse/internal/wording"
)

// keyText is a key file:
//
//	# hanse key file: keep it secret and keep a copy
//	# created: 2026-11-20T12:00:00Z
//	# name: bank
//	# public id: hanse-id1…
//	HANSE-SECRET-KEY-1…
//
// The last line is the secret key, or instead the same line encrypted with a passphrase by age
// (scrypt), in armour: "age -d" on the lines from BEGIN to END recovers it.
//
// Evolution: the prefix of the secret line says which kind of key it is and never changes its
// meaning. Comments that a reader does not know are skipped; the three above may be missing.
type keyText struct {
	Created string
	Name    string
	ID      string
	Secret  []byte // the secret line, or the armoured block, with its line end
}

// keyTitle is the first line of a key file.
const keyTitle = "# hanse key file: keep it secret and keep a copy\n"

// render writes the file.
func (t keyText) render() []byte {
	var b bytes.Buffer
	b.WriteString(keyTitle)
	fmt.Fprintf(&b, "# created: %s\n# name: %s\n# public id: %s\n", t.Created, t.Name, t.ID)
	b.Write(t.Secret)
	return b.Bytes()
}

// encrypted reports whether the key is encrypted.
func (t keyText) encrypted() bool { return bytes.HasPrefix(t.Secret, []byte(armor.Header)) }

// parseKeyText reads a file with exactly one key. The error names the line and quotes nothing.
func parseKeyText(text []byte) (keyText, error) {
	var t keyText
	inside := false // the armour
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		l := bytes.TrimSpace(raw)
		switch {
		case inside:
			t.Secret = append(append(t.Secret, l...), '\n')
			inside = string(l) != armor.Footer
		case len(l) == 0:
		case l[0] == '#':
			switch key, value, _ := strings.Cut(strings.TrimPrefix(string(l), "# "), ": "); key {
			case "created":
				t.Created = value
			case "public id":
				t.ID = value
			case "name":
				t.Name = value
				if err := CheckName(value); err != nil {
					return keyText{}, fmt.Errorf("line %d: %w", line, err)
				}
			}
		case t.Secret != nil:
			return keyText{}, fmt.Errorf("line %d: a second key: a key file holds one", line)
		case bytes.HasPrefix(l, []byte(idPrefix)):
			return keyText{}, fmt.Errorf("line %d: a public id, not a secret key", line)
		case string(l) != armor.Header && !bytes.HasPrefix(l, []byte(secretPrefix)):
			return keyText{}, fmt.Errorf("line %d: neither a comment nor a key", line)
		default:
			t.Secret = append(bytes.Clone(l), '\n')
			inside = t.encrypted()
		}
	}
	if inside {
		return keyText{}, errors.New("the encrypted key is cut short")
	}
	if t.Secret == nil {
		return keyText{}, errors.New("there is no key in it")
	}
	return t, nil
}

// open decrypts the key if need be and holds it against the comments.
func (t keyText) open(ask PassphraseFunc) (*PrivateKey, error) {
	secret := t.Secret
	if t.encrypted() {
		if ask == nil {
			return nil, errors.New("it needs a passphrase, and there is nobody to ask")
		}
		passphrase, err := ask()
		if err != nil {
			return nil, fmt.Errorf("passphrase: %w", err)
		}
		if secret, err = decrypt(t.Secret, passphrase); err != nil {
			return nil, err
		}
		defer clear(secret)
	}
	key, err := parseSecret(string(bytes.TrimSuffix(secret, []byte("\n"))))
	if err != nil {
		return nil, err
	}
	if id := key.ID().String(); t.ID != "" && t.ID != id {
		return nil, fmt.Errorf("the comment says %s, but the key is that of %s: two files were mixed up",
			wording.ClipAt(t.ID, 24),
			key.ID().Short())
	}
	return key, nil
}
