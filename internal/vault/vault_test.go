package vault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// owner is the contract that the tests' vaults are for.
var owner = keys.HashOf("test", []byte("a job"))

// fresh returns a vault in a new folder.
func fresh(t *testing.T) *Vault { return freshWith(t, Options{Owner: owner}) }

// freshWith is fresh with options.
func freshWith(t *testing.T, o Options) *Vault {
	t.Helper()
	v, err := Open(filepath.Join(t.TempDir(), "vault"), o)
	must(t, err)
	t.Cleanup(func() { v.Close() })
	return v
}

// records reads a log whole.
func records(t *testing.T, v *Vault, name string, most int) [][]byte {
	t.Helper()
	var all [][]byte
	n, err := v.Records(name, most, func(r []byte) error {
		all = append(all, bytes.Clone(r))
		return nil
	})
	if err != nil || n != len(all) {
		t.Fatalf("%d records and %v, want %d", n, err, len(all))
	}
	return all
}

func TestSaveAndLoad(t *testing.T) {
	v := fresh(t)
	if data, err := v.Load("state"); data != nil || err != nil {
		t.Errorf("a state that is not there gives %q and %v", data, err)
	}
	for _, text := range []string{"one", "", "three"} {
		must(t, v.Save("state", []byte(text)))
		if data, err := v.Load("state"); string(data) != text || err != nil {
			t.Errorf("state is %q and %v, want %q", data, err, text)
		}
	}
	must(t, v.Remove("state"))
	if err := v.Remove("state"); err != nil {
		t.Errorf("removing twice: %v", err)
	}
	info, err := os.Stat(filepath.Dir(v.Path("state")))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode is %v, want 0700", info.Mode())
	}
}

// TestCutLogs cuts a log at every byte, as a crash would: what comes back are the records that were
// whole, and appending goes on behind them.
func TestCutLogs(t *testing.T) {
	v := fresh(t)
	whole := [][]byte{[]byte("first"), []byte("second record"), []byte("3")}
	ends := []int{len(logMagic)}
	for _, r := range whole {
		must(t, v.Append("log", r))
		ends = append(ends, ends[len(ends)-1]+recordHead+len(r))
	}
	text, err := os.ReadFile(v.Path("log"))
	must(t, err)
	for cut := len(logMagic); cut < len(text); cut++ {
		copied := freshWith(t, Options{Owner: owner, Rebuildable: func(string) bool { return true }})
		for _, tail := range [][]byte{nil, make([]byte, 100)} { // zeros are what a power cut may leave
			must(t, os.WriteFile(copied.Path("log"), append(bytes.Clone(text[:cut]), tail...), 0o600))
			want := 0
			for ends[want+1] <= cut {
				want++
			}
			if got := records(t, copied, "log", -1); len(got) != want && tail == nil {
				t.Fatalf("cut at %d: %d records, want %d", cut, len(got), want)
			}
		}
		must(t, copied.Append("log", []byte("after")))
		got := records(t, copied, "log", -1)
		if string(got[len(got)-1]) != "after" {
			t.Fatalf("cut at %d: the last record is %q", cut, got[len(got)-1])
		}
	}
}

// TestFlippedBits changes every byte of a log: no changed record comes back. Where the log can be rebuilt it ends
// before the change, elsewhere the change is an error that names the file.
func TestFlippedBits(t *testing.T) {
	var told []string
	rebuilt := freshWith(t, Options{Owner: owner, Rebuildable: func(string) bool { return true },
		Damaged: func(s string) { told = append(told, s) }})
	strict := fresh(t)
	for _, v := range []*Vault{rebuilt, strict} {
		for _, r := range []string{"a record", "another"} {
			must(t, v.Append("log", []byte(r)))
		}
	}
	text, err := os.ReadFile(strict.Path("log"))
	must(t, err)
	first := len(logMagic) + recordHead + len("a record")
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 0x10
		for _, v := range []*Vault{rebuilt, strict} {
			must(t, os.WriteFile(v.Path("log"), changed, 0o600))
		}
		if _, err := strict.Records("log", -1, func([]byte) error { return nil }); err == nil {
			t.Errorf("byte %d changed and nothing was said", i)
		}
		if now, err := os.ReadFile(strict.Path("log")); err != nil || !bytes.Equal(now, changed) {
			t.Errorf("byte %d changed and the file was changed more (%v)", i, err)
		}
		want := 0
		if i >= first {
			want = 1
		}
		told = nil
		got := records(t, rebuilt, "log", -1)
		if len(got) != want {
			t.Errorf("byte %d changed and %q came back, want %d records", i, got, want)
		}
		var damaged *DamagedError
		_, err := strict.Records("log", -1, func([]byte) error { return nil })
		if isDamage := errors.As(err, &damaged); isDamage != (len(told) == 1) || err != nil && !isDamage {
			t.Errorf("byte %d changed: the error is %v, and rebuilding said %q", i, err, told)
		}
	}
}

// TestEveryByteOfAStateIsChecked changes, cuts and swaps a state: nothing comes back but a named error.
func TestEveryByteOfAStateIsChecked(t *testing.T) {
	v := fresh(t)
	must(t, v.Save("state", []byte("what was learned")))
	text, err := os.ReadFile(v.Path("state"))
	must(t, err)
	try := func(what string, changed []byte, want string) {
		t.Helper()
		must(t, os.WriteFile(v.Path("state"), changed, 0o600))
		var damaged *DamagedError
		data, err := v.Load("state")
		if !errors.As(err, &damaged) || data != nil || damaged.Path != v.Path("state") ||
			!strings.Contains(damaged.Why, want) {
			t.Errorf("%s: loaded %q and %v, want it damaged: %s", what, data, err, want)
		}
	}
	for i := range text {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[i] ^= 1 << bit
			try(fmt.Sprintf("bit %d of byte %d", bit, i), changed, "")
		}
		try(fmt.Sprintf("cut at %d", i), text[:i], "")
	}
	try("emptied", nil, "it is empty")
	try("longer", append(bytes.Clone(text), 0), "its head says 16")
	try("another's", Envelope(keys.HashOf("test", []byte("another job")), "state", []byte("x")), "it belongs to contract")
	try("another file's", Envelope(owner, "phase", []byte("x")), `it is a "phase", want a "state"`)
	try("no version's", []byte("hanse-envelope-vx\nwhatever"), "it does not begin as what this program writes")
	must(t, os.Remove(v.Path("state")))
	var damaged *DamagedError
	if _, err := v.Load("state"); !errors.As(err, &damaged) || damaged.Why != "it was saved there and is gone" {
		t.Errorf("deleted: %v", err)
	}
}

func TestDamagedStatesThatCanBeRebuiltAreSetAside(t *testing.T) {
	var told []string
	v := freshWith(t, Options{Owner: owner, Rebuildable: func(name string) bool { return name == "solver" },
		Damaged: func(s string) { told = append(told, s) }})
	for _, name := range []string{"solver", "phase"} {
		must(t, v.Save(name, []byte("old")))
		must(t, os.WriteFile(v.Path(name), []byte("rotten"), 0o600))
	}
	if data, err := v.Load("solver"); data != nil || err != nil {
		t.Errorf("a damaged solver state gives %q and %v, want nothing", data, err)
	}
	want := v.Path("solver") + " is damaged: it does not begin as what this program writes; it was set aside as " +
		"solver.damaged"
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q", told, want)
	}
	if _, err := v.Load("phase"); err == nil {
		t.Error("a damaged phase was taken")
	}
	must(t, v.Save("solver", []byte("new")))
	if data, err := v.Load("solver"); string(data) != "new" || err != nil {
		t.Errorf("saved anew it is %q and %v", data, err)
	}
}

// TestIndexOutlivesTheVault opens the folder again: what was deleted meanwhile is missed, and a damaged index is made
// anew.
func TestIndexOutlivesTheVault(t *testing.T) {
	dir := t.TempDir()
	reopen := func() *Vault {
		v, err := Open(dir, Options{Owner: owner})
		must(t, err)
		t.Cleanup(func() { v.Close() })
		return v
	}
	v := reopen()
	for _, name := range []string{"b", "a", "c"} {
		must(t, v.Save(name, []byte(name)))
	}
	must(t, errors.Join(v.Append("log", []byte("x")), v.Remove("c"), os.Remove(v.Path("a")),
		os.Remove(v.Path("log"))))
	v = reopen()
	var damaged *DamagedError
	if _, err := v.Load("a"); !errors.As(err, &damaged) {
		t.Errorf("a deleted state: %v", err)
	}
	if _, err := v.Records("log", -1, nil); !errors.As(err, &damaged) {
		t.Errorf("a deleted log: %v", err)
	}
	if data, err := v.Load("c"); data != nil || err != nil {
		t.Errorf("a removed state: %q and %v", data, err)
	}
	for _, rotten := range [][]byte{nil, []byte("x")} {
		must(t, os.WriteFile(v.Path(indexFile), rotten, 0o600))
		v = reopen()
		if data, err := v.Load("b"); string(data) != "b" || err != nil || !v.Has("b") || v.Has("a") {
			t.Errorf("behind a damaged index: %q, %v, has b %v, has a %v", data, err, v.Has("b"), v.Has("a"))
		}
	}
}

// FuzzEnvelope opens bytes of anybody's: what opens is an envelope of just these bytes.
func FuzzEnvelope(f *testing.F) {
	f.Add(Envelope(owner, "state", []byte("data")))
	f.Add([]byte(magic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		data, why, _ := open(owner, "state", b)
		if why == "" && !bytes.Equal(Envelope(owner, "state", data), b) {
			t.Errorf("%q opened and is another envelope than that of its data", b)
		}
	})
}

func TestRecordsInOrderAndCutOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, err := Open(t.TempDir(), Options{Owner: owner})
		must(rt, err)
		defer v.Close()
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 300), 0, 8).Draw(rt, "records")
		for _, r := range want {
			must(rt, v.Append("log", r))
		}
		most := rapid.IntRange(0, 10).Draw(rt, "most")
		got := records(t, v, "log", most)
		if fmt.Sprint(got) != fmt.Sprint(want[:min(most, len(want))]) {
			rt.Fatalf("records are %v, want the first %d of %v", got, most, want)
		}
		if again := records(t, v, "log", -1); len(again) != len(got) {
			rt.Fatalf("%d records after the cut, want %d", len(again), len(got))
		}
	})
}

// TestFailedWrites lets every write fail, before it is done and after: what is read then is the old state or the new.
func TestFailedWrites(t *testing.T) {
	for _, stored := range []bool{false, true} {
		writes, failAt := 0, 0
		v := freshWith(t, Options{Owner: owner, Fault: func(string) (bool, error) {
			if writes++; writes == failAt {
				return stored, syscall.ENOSPC
			}
			return false, nil
		}})
		must(t, v.Save("state", []byte("old")))
		failAt = writes + 1
		err := v.Save("state", []byte("new"))
		var failed *WriteError
		if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) ||
			!strings.HasSuffix(err.Error(), "no space left on device; free some space and the job goes on from there") {
			t.Errorf("error is %v", err)
		}
		want := map[bool]string{false: "old", true: "new"}[stored]
		if data, err := v.Load("state"); string(data) != want || err != nil {
			t.Errorf("stored %v: the state is %q and %v, want %q", stored, data, err, want)
		}
		must(t, v.Append("log", []byte("one")))
		failAt = writes + 1
		if err := v.Append("log", []byte("two")); !errors.As(err, &failed) {
			t.Errorf("error is %v", err)
		}
		must(t, v.Append("log", []byte("three")))
		wantLog := map[bool]string{false: "[one three]", true: "[one two three]"}[stored]
		if got := fmt.Sprintf("%s", records(t, v, "log", -1)); got != wantLog {
			t.Errorf("stored %v: the log has %s, want %s", stored, got, wantLog)
		}
	}
}

func TestSaveLeavesTheOldState(t *testing.T) {
	v := fresh(t)
	must(t, v.Save("state", []byte("old")))
	must(t, os.Mkdir(v.Path("busy"), 0o700))
	var failed *WriteError
	if err := v.Save("busy", []byte("new")); !errors.As(err, &failed) { // a file cannot replace a folder
		t.Errorf("error is %v, want a WriteError", err)
	}
	left, err := filepath.Glob(v.Path("*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
	if data, _ := v.Load("state"); string(data) != "old" {
		t.Errorf("the other state is %q", data)
	}
}

func TestRecordLimits(t *testing.T) {
	v := fresh(t)
	for _, size := range []int{0, maxRecord + 1} {
		if err := v.Append("log", make([]byte, size)); err == nil {
			t.Errorf("a record of %d bytes was taken", size)
		}
	}
	huge := append([]byte(logMagic), bytes.Repeat([]byte{0xff}, recordHead)...)
	must(t, os.WriteFile(v.Path("log"), huge, 0o600))
	var damaged *DamagedError
	if _, err := v.Records("log", -1, nil); !errors.As(err, &damaged) {
		t.Errorf("a record of 4 GB: %v", err)
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
