package keys

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// block encrypts text by age, as somebody else could.
func block(t *testing.T, text string, to age.Recipient) string {
	t.Helper()
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, to)
	must(t, err)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	must(t, errors.Join(w.Close(), a.Close()))
	return b.String()
}

func TestForeignBlocks(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	must(t, err)
	passphrase, err := age.NewScryptRecipient("x")
	must(t, err)
	passphrase.SetWorkFactor(quick)
	for _, c := range []struct{ text, want string }{
		{block(t, goldenSecret, other.Recipient()), "the key is not encrypted with a passphrase"},
		{block(t, "hello", passphrase), `malformed secret key: it must start with "HANSE-SECRET-KEY-1"`},
		{block(t, strings.Repeat("a", maxEncrypted+1), passphrase), "the encrypted text has more than 1024 bytes: this is no key"},
	} {
		path := written(t, c.text)
		_, err := LoadKeyFile(path, answer("x"))
		wantError(t, err, `key file "`+path+`": `+c.want)
	}
	path := written(t, block(t, goldenSecret, passphrase))
	if _, err := LoadKeyFile(path, answer("x")); err != nil {
		t.Error("a block made by age itself is refused:", err)
	}
}

// A file may ask for no more work than maxScryptWork: the refusal comes before the work.
func TestKeyFileWithTooMuchWork(t *testing.T) {
	header := "age-encryption.org/v1\n-> scrypt " + strings.Repeat("A", 22) + " 30\n" + strings.Repeat("A",
		43) + "\n--- " + strings.Repeat("A", 43) + "\n" + strings.Repeat("x", 40)
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	if _, err := a.Write([]byte(header)); err != nil {
		t.Fatal(err)
	}
	must(t, a.Close())
	path := written(t, b.String())
	_, err := LoadKeyFile(path, answer("x"))
	wantError(t, err, `key file "`+path+`": the encrypted key is damaged: scrypt work factor too large: 30`)
}

// A changed key file never gives another key.
func TestKeyFileTampering(t *testing.T) {
	sealed, err := encrypt([]byte(goldenSecret+"\n"), []byte("x"), quick)
	must(t, err)
	plain, locked := goldenKeyText(), goldenKeyText()
	locked.Secret = sealed
	for _, text := range []keyText{plain, locked} {
		tamper(text.render(), func(what string, changed []byte) {
			kt, err := parseKeyText(changed)
			if err != nil {
				return
			}
			if k, err := kt.open(answer("x")); err == nil && k.ID().String() != goldenID {
				t.Errorf("%s: another key", what)
			}
		})
	}
}

// Whatever is read as a key file is rendered and read the same.
func FuzzParseKeyText(f *testing.F) {
	f.Add(goldenKeyText().render())
	f.Add([]byte("# name: a\n" + armor.Header + "\nAAAA\n" + armor.Footer + "\n"))
	f.Add([]byte(goldenSecret))
	f.Fuzz(func(t *testing.T, text []byte) {
		kt, err := parseKeyText(text)
		if err != nil || kt.Name == "" {
			return
		}
		back, err := parseKeyText(kt.render())
		if err != nil || back.Name != kt.Name || back.ID != kt.ID || back.Created != kt.Created ||
			!bytes.Equal(back.Secret, kt.Secret) {
			t.Fatalf("%q gives %+v, rendered it gives %+v, %v", text, kt, back, err)
		}
	})
}
