package keys

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"filippo.io/age/armor"
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

// sealed reports whether the key is encrypted.
func (t keyText) sealed() bool { return bytes.HasPrefix(t.Secret, []byte(armor.Header)) }

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
			if err := t.comment(string(l)); err != nil {
				return keyText{}, fmt.Errorf("line %d: %w", line, err)
			}
		default:
			if err := t.begin(l); err != nil {
				return keyText{}, fmt.Errorf("line %d: %w", line, err)
			}
			inside = t.sealed()
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

// begin takes the first line of a key.
func (t *keyText) begin(line []byte) error {
	if t.Secret != nil {
		return errors.New("a second key: a key file holds one")
	}
	if bytes.HasPrefix(line, []byte(idPrefix)) {
		return errors.New("a public id, not a secret key")
	}
	if string(line) != armor.Header && !bytes.HasPrefix(line, []byte(secretPrefix)) {
		return errors.New("neither a comment nor a key")
	}
	t.Secret = append(bytes.Clone(line), '\n')
	return nil
}

// comment takes what the known comments say.
func (t *keyText) comment(line string) error {
	key, value, _ := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
	switch key {
	case "created":
		t.Created = value
	case "public id":
		t.ID = value
	case "name":
		t.Name = value
		return CheckName(value)
	}
	return nil
}

// open decrypts the key if need be and holds it against the comments.
func (t keyText) open(ask PassphraseFunc) (*PrivateKey, error) {
	secret := t.Secret
	if t.sealed() {
		var err error
		if secret, err = t.unlock(ask); err != nil {
			return nil, err
		}
		defer clear(secret)
	}
	key, err := parseSecret(string(bytes.TrimSuffix(secret, []byte("\n"))))
	if err != nil {
		return nil, err
	}
	if id := key.ID().String(); t.ID != "" && t.ID != id {
		return nil, fmt.Errorf("the comment says %s, but the key is that of %s: two files were mixed up", clip(t.ID), key.ID().Short())
	}
	return key, nil
}

// unlock asks for the passphrase and decrypts.
func (t keyText) unlock(ask PassphraseFunc) ([]byte, error) {
	if ask == nil {
		return nil, errors.New("it needs a passphrase, and there is nobody to ask")
	}
	passphrase, err := ask()
	if err != nil {
		return nil, fmt.Errorf("passphrase: %w", err)
	}
	return unseal(t.Secret, passphrase)
}
