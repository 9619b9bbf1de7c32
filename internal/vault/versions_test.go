package vault

import (
	"bytes"
	"os"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// later makes of a file one of the next version of its format: the number goes up, and what follows is not laid out as
// this program has it.
func later(t *testing.T, path, magic string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := []byte(magic)
	head[len(head)-2]++ // the number, before the line's end
	data = append(append(head, 0, 0, 0, 1), data[len(magic):]...)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

// laterVault is a vault, all of whose names can be made anew, with a state and a log of the next version.
func laterVault(t *testing.T) (v *Vault, state, log []byte) {
	t.Helper()
	o := Options{Owner: keys.HashOf("test"), Rebuildable: func(string) bool { return true }}
	dir := t.TempDir()
	v, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Save("state", []byte("a state")); err != nil {
		t.Fatal(err)
	}
	if err := v.Append("log", []byte("a record")); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	state, log = later(t, v.Path("state"), magic), later(t, v.Path("log"), logMagic)
	if v, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	return v, state, log
}

// TestWhatAnotherVersionWroteIsLost documents what is so today: a state of a later version is set aside as damaged, and
// a log of one is emptied. The ledger of what all jobs have told is such a log.
func TestWhatAnotherVersionWroteIsLost(t *testing.T) {
	v, _, log := laterVault(t)
	if data, err := v.Load("state"); data != nil || err != nil {
		t.Errorf("the state is %q, %v", data, err)
	}
	if _, err := os.Stat(v.Path("state")); err == nil {
		t.Error("the state is in its place")
	}
	if n, err := v.Records("log", -1, func([]byte) error { return nil }); n != 0 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
	if data, err := os.ReadFile(v.Path("log")); err != nil || bytes.Equal(data, log) || len(data) > 0 {
		t.Errorf("the log has %q, %v", data, err)
	}
}
