package vault

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// later makes of a file one of the next version of its format: the number goes up, and what follows is not laid out as
// this program has it.
func later(t *testing.T, path, magic string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	head := []byte(magic)
	head[len(head)-2]++ // the number, before the line's end
	data = append(append(head, 0, 0, 0, 1), data[len(magic):]...)
	must(t, os.WriteFile(path, data, 0o600))
	return data
}

// laterVault is a vault, all of whose names can be made anew, with a state and a log of the next version.
func laterVault(t *testing.T) (v *Vault, state, log []byte) {
	t.Helper()
	o := Options{Owner: keys.HashOf("test"), Rebuildable: func(string) bool { return true }}
	dir := t.TempDir()
	v, err := Open(dir, o)
	must(t, err)
	must(t, v.Save("state", []byte("a state")))
	must(t, v.Append("log", []byte("a record")))
	must(t, v.Close())
	state, log = later(t, v.Path("state"), magic), later(t, v.Path("log"), logMagic)
	if v, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	return v, state, log
}

// TestWhatAnotherVersionWroteStays: a state and a log of a later version are told as such and stay as they are, though
// all of this vault can be made anew. Where the number alone is another, a bit flipped in it.
func TestWhatAnotherVersionWroteStays(t *testing.T) {
	v, state, log := laterVault(t)
	var other *VersionError
	if _, err := v.Load("state"); !errors.As(err, &other) || !strings.HasSuffix(err.Error(), "state was made by another "+
		`version of hanse: that program reads it (it is in format "hanse-envelope-v2", this program reads `+
		`"hanse-envelope-v1")`) {
		t.Errorf("the state: %v", err)
	}
	if n, err := v.Records("log", -1, func([]byte) error { return nil }); n != 0 || !errors.As(err, &other) ||
		!strings.HasSuffix(err.Error(), `(it is in format "hanse-log-v2", this program reads "hanse-log-v1")`) {
		t.Errorf("the log: %d records, %v", n, err)
	}
	if err := v.Append("log", []byte("a record")); !errors.As(err, &other) {
		t.Errorf("a record more: %v", err)
	}
	for name, want := range map[string][]byte{"state": state, "log": log} {
		if data, err := os.ReadFile(v.Path(name)); !bytes.Equal(data, want) {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
	for name, magic := range map[string]string{"state": magic, "log": logMagic} {
		data := bytes.Clone(map[string][]byte{"state": state, "log": log}[name])
		flipped := append(data[:len(magic):len(magic)], data[len(magic)+4:]...)
		must(t, os.WriteFile(v.Path(name), flipped, 0o600))
	}
	if data, err := v.Load("state"); data != nil || err != nil {
		t.Errorf("a state with a flipped bit: %q, %v", data, err)
	}
	if n, err := v.Records("log", -1, func([]byte) error { return nil }); n != 0 || err != nil {
		t.Errorf("a log with a flipped bit: %d, %v", n, err)
	}
}
