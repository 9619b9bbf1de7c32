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
)

// open returns a vault in a new folder.
func open(t *testing.T) *Vault {
	t.Helper()
	v, err := Open(filepath.Join(t.TempDir(), "vault"))
	if err != nil {
		t.Fatal(err)
	}
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
	v := open(t)
	if data, err := v.Load("state"); data != nil || err != nil {
		t.Errorf("a state that is not there gives %q and %v", data, err)
	}
	for _, text := range []string{"one", "", "three"} {
		if err := v.Save("state", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := v.Load("state"); string(data) != text || err != nil {
			t.Errorf("state is %q and %v, want %q", data, err, text)
		}
	}
	if err := v.Remove("state"); err != nil {
		t.Fatal(err)
	}
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
	v := open(t)
	whole := [][]byte{[]byte("first"), []byte("second record"), []byte("3")}
	ends := []int{0}
	for _, r := range whole {
		if err := v.Append("log", r); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, ends[len(ends)-1]+recordHead+len(r))
	}
	text, err := os.ReadFile(v.Path("log"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range text {
		fresh := open(t)
		for _, tail := range [][]byte{nil, make([]byte, 100)} { // zeros are what a power cut may leave
			if err := os.WriteFile(fresh.Path("log"), append(bytes.Clone(text[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			want := 0
			for ends[want+1] <= cut {
				want++
			}
			if got := records(t, fresh, "log", -1); len(got) != want && tail == nil {
				t.Fatalf("cut at %d: %d records, want %d", cut, len(got), want)
			}
		}
		if err := fresh.Append("log", []byte("after")); err != nil {
			t.Fatal(err)
		}
		got := records(t, fresh, "log", -1)
		if string(got[len(got)-1]) != "after" {
			t.Fatalf("cut at %d: the last record is %q", cut, got[len(got)-1])
		}
	}
}

// TestFlippedBits changes every byte of a log: no changed record comes back.
func TestFlippedBits(t *testing.T) {
	v := open(t)
	if err := v.Append("log", []byte("a record")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(v.Path("log"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 0x10
		if err := os.WriteFile(v.Path("log"), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := records(t, v, "log", -1); len(got) != 0 {
			t.Errorf("byte %d changed and %q came back", i, got)
		}
	}
}

func TestRecordsInOrderAndCutOff(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, err := Open(t.TempDir())
		if err != nil {
			rt.Fatal(err)
		}
		defer v.Close()
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 300), 0, 8).Draw(rt, "records")
		for _, r := range want {
			if err := v.Append("log", r); err != nil {
				rt.Fatal(err)
			}
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

// TestFullDisk appends to a device that is always full.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	v := open(t)
	if err := os.Symlink("/dev/full", v.Path("log")); err != nil {
		t.Fatal(err)
	}
	err := v.Append("log", []byte("record"))
	var failed *WriteError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), "no space left on device; free some space and the job goes on from there") {
		t.Errorf("error is %v", err)
	}
}

func TestSaveLeavesTheOldState(t *testing.T) {
	v := open(t)
	if err := v.Save("state", []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(v.Path("busy"), 0o700); err != nil {
		t.Fatal(err)
	}
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
	v := open(t)
	for _, size := range []int{0, maxRecord + 1} {
		if err := v.Append("log", make([]byte, size)); err == nil {
			t.Errorf("a record of %d bytes was taken", size)
		}
	}
	if err := os.WriteFile(v.Path("log"), []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := records(t, v, "log", -1); len(got) != 0 {
		t.Errorf("a record of 4 GB came back: %d", len(got))
	}
}
