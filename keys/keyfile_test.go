package keys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age/armor"
)

// quick is a work factor for tests only.
const quick = 2

// answer gives the same passphrase each time it is asked.
func answer(s string) PassphraseFunc {
	return func() ([]byte, error) { return []byte(s), nil }
}

// mustNotAsk fails the test when a file without a passphrase asks for one.
func mustNotAsk(t *testing.T) PassphraseFunc {
	return func() ([]byte, error) {
		t.Error("asked for a passphrase")
		return nil, errors.New("asked")
	}
}

// written returns the path of a new file with the text.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "member.key")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// goldenKeyText is a key file without a passphrase.
func goldenKeyText() keyText {
	return keyText{Created: "2026-11-20T12:00:00Z", Name: "bank", ID: goldenID, Secret: []byte(goldenSecret + "\n")}
}

func TestKeyFile(t *testing.T) {
	for _, passphrase := range []string{"", "correct horse"} {
		path := filepath.Join(t.TempDir(), "bank.key")
		k := keyNamed("bank")
		must(t, createKeyFile(path, "bank", k, []byte(passphrase), quick))
		ask := answer(passphrase)
		if passphrase == "" {
			ask = mustNotAsk(t)
		}
		f, err := LoadKeyFile(path, ask)
		must(t, err)
		if f.Key.ID() != k.ID() || f.Name != "bank" {
			t.Errorf("read back %+v", f)
		}
		checkSecrecy(t, path, passphrase != "")
	}
}

// checkSecrecy looks at the file itself.
func checkSecrecy(t *testing.T, path string, encrypted bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if bytes.Contains(text, []byte(secretPrefix)) == encrypted {
		t.Errorf("the secret stands there in the clear: %v", !encrypted)
	}
	info, err := os.Stat(path)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
}

// The work factor that members really get, once: it takes a second or so.
func TestKeyFileWorkFactor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bank.key")
	must(t, CreateKeyFile(path, "bank", keyNamed("bank"), []byte("correct horse")))
	text, err := os.ReadFile(path)
	must(t, err)
	kt, err := parseKeyText(text)
	must(t, err)
	block := new(bytes.Buffer)
	if _, err := block.ReadFrom(armor.NewReader(bytes.NewReader(kt.Secret))); err != nil {
		t.Fatal(err)
	}
	stanza := strings.Split(block.String(), "\n")[1]
	if !strings.HasPrefix(stanza, "-> scrypt ") || !strings.HasSuffix(stanza, " 18") {
		t.Errorf("the file is encrypted by %q", stanza)
	}
}

func TestKeyFileGolden(t *testing.T) {
	golden(t, "key.txt", goldenKeyText().render())
	for _, name := range []string{"key.txt", "key-passphrase.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		f, err := LoadKeyFile(written(t, string(text)), answer("correct horse"))
		must(t, err)
		if f.Key.ID().String() != goldenID || f.Name != "bank" {
			t.Errorf("%s: read %+v", name, f)
		}
	}
}

func TestKeyFileIsNeverOverwritten(t *testing.T) {
	path := written(t, "precious")
	err := CreateKeyFile(path, "bank", keyNamed("bank"), nil)
	wantError(t, err, `key file "`+path+`": file already exists, and a key file is never overwritten: choose another name or move it away`)
	if !errors.Is(err, fs.ErrExist) {
		t.Error("the error does not wrap fs.ErrExist")
	}
	if text, _ := os.ReadFile(path); string(text) != "precious" {
		t.Error("the file is overwritten")
	}
}

func TestCreateKeyFileErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nowhere", "bank.key")
	wantError(t, CreateKeyFile(path, "bank", keyNamed("bank"), nil), `key file "`+path+`": no such file or directory`)
	wantError(t, CreateKeyFile(path, "Bank", keyNamed("bank"), nil), `key file "`+path+`": malformed name "Bank": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`)
}

// TestKeyFileOpenToOthers: a neighbour on the machine could have read it, so it is not used.
func TestKeyFileOpenToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no such bits
	}
	for mode, shown := range map[os.FileMode]string{0o644: "0644", 0o640: "0640", 0o602: "0602"} {
		path := written(t, string(goldenKeyText().render()))
		must(t, os.Chmod(path, mode))
		_, err := LoadKeyFile(path, nil)
		wantError(t, err, `key file "`+path+`": it is open to other users of this machine (mode `+shown+`), `+
			`so it is not used: run "chmod 600 `+path+`"`)
	}
}

func TestLoadKeyFileErrors(t *testing.T) {
	sealed, err := encrypt([]byte(goldenSecret+"\n"), []byte("correct horse"), quick)
	must(t, err)
	locked := string(sealed)
	gone := errors.New("no terminal")
	for _, c := range []struct {
		text string
		ask  PassphraseFunc
		want string
	}{
		{"", nil, "there is no key in it"},
		{"# only comments\n\n", nil, "there is no key in it"},
		{goldenSecret + "\n\n" + goldenSecret, nil, "line 3: a second key: a key file holds one"},
		{locked + goldenSecret, nil, "line 9: a second key: a key file holds one"},
		{goldenSecret + "\n" + locked, nil, "line 2: a second key: a key file holds one"},
		{"# x\n" + goldenID, nil, "line 2: a public id, not a secret key"},
		{`format = "hanse-card-v1"`, nil, "line 1: neither a comment nor a key"},
		{strings.ToLower(goldenSecret), nil, "line 1: neither a comment nor a key"},
		{goldenSecret[:60], nil, "malformed secret key: want 58 characters of base32 after the prefix"},
		{goldenSecret[:60] + "A" + goldenSecret[61:], nil, "malformed secret key: the checksum does not fit, so a character is mistyped"},
		{"# name: the bank\n" + goldenSecret, nil, `line 1: malformed name "the bank": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
		{"# public id: " + keyNamed("telco").ID().String() + "\n" + goldenSecret, nil,
			"the comment says " + keyNamed("telco").ID().String()[:24] +
				"…, but the key is that of " + goldenID[:17] + ": two files were mixed up"},
		{strings.Repeat("#\n", maxKeyFile), nil, "more than 16384 bytes: this is no key file"},
		{locked, nil, "it needs a passphrase, and there is nobody to ask"},
		{locked, func() ([]byte, error) { return nil, gone }, "passphrase: no terminal"},
		{locked, answer("correct house"), "wrong passphrase"},
		{locked, answer(""), "wrong passphrase: it is empty"},
		{locked[:120], answer("correct horse"), "the encrypted key is cut short"},
		{armor.Header + "\nAAAA\n" + armor.Footer + "\n", answer("x"), `the encrypted key is damaged: unexpected EOF reading intro: "\x00\x00\x00"`},
	} {
		path := written(t, c.text)
		f, err := LoadKeyFile(path, c.ask)
		wantError(t, err, `key file "`+path+`": `+c.want)
		if f != nil {
			t.Error("a partial result is kept")
		}
		if errors.Is(err, ErrPassphrase) != strings.HasPrefix(c.want, "wrong passphrase") {
			t.Errorf("%v: wraps ErrPassphrase: %v", err, errors.Is(err, ErrPassphrase))
		}
	}
}

func TestLoadKeyFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadKeyFile(dir, nil)
	wantError(t, err, `key file "`+dir+`": it is a directory`)
	path := filepath.Join(dir, "none")
	_, err = LoadKeyFile(path, nil)
	wantError(t, err, `key file "`+path+`": no such file or directory`)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the error does not wrap fs.ErrNotExist")
	}
}

// A link somebody put there beforehand does not lead the secret elsewhere.
func TestWriteNewFollowsNoLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), path))
	if err := writeNew(path, []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a symbolic link is followed: %v", err)
	}
}
