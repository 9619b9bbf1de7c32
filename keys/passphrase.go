package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// ErrPassphrase is wrapped by the error for a passphrase that does not fit.
var ErrPassphrase = errors.New("wrong passphrase")

const (
	// scryptWork is the logarithm of scrypt's work factor for new files: 256 MiB and about a
	// second for each guess.
	scryptWork = 18
	// maxScryptWork bounds what reading a file may cost: 1 GiB and a few seconds.
	maxScryptWork = 20
	// maxEncrypted is the longest text in an encrypted block, in bytes.
	maxEncrypted = 1 << 10
)

// encrypt encrypts text with a passphrase, in armour.
func encrypt(text, passphrase []byte, work int) ([]byte, error) {
	recipient, err := age.NewScryptRecipient(string(passphrase))
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(work)
	var b bytes.Buffer
	armoured := armor.NewWriter(&b)
	w, err := age.Encrypt(armoured, recipient)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := armoured.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decrypt undoes seal.
func decrypt(block, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrPassphrase)
	}
	identity, err := age.NewScryptIdentity(string(passphrase))
	if err != nil {
		return nil, err
	}
	identity.SetMaxWorkFactor(maxScryptWork)
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(block)), identity)
	if err != nil {
		// A wrong passphrase is told from a damaged block and from one for another kind of key.
		if none, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
			if slices.Equal(none.StanzaTypes, []string{"scrypt"}) {
				return nil, ErrPassphrase
			}
			return nil, errors.New("the key is not encrypted with a passphrase")
		}
		detail := strings.TrimPrefix(err.Error(), "failed to read header: ")
		return nil, fmt.Errorf("the encrypted key is damaged: %s", strings.TrimPrefix(detail, "parsing age header: "))
	}
	text, err := io.ReadAll(io.LimitReader(r, maxEncrypted+1))
	if err != nil {
		return nil, fmt.Errorf("the encrypted key is damaged: %w", err)
	}
	if len(text) > maxEncrypted {
		return nil, fmt.Errorf("the encrypted text has more than %d bytes: this is no key", maxEncrypted)
	}
	return text, nil
}
