package rehearsal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// result is a rehearsal of two parties.
func result(n int) *Result {
	likeness := keys.HashOf("test", []byte(fmt.Sprint(n)))
	return &Result{Job: "credit", Algorithm: "fdskl", Task: "train", Privacy: "sealed", Rows: 100, Likeness: likeness,
		Rehearsed: likeness, At: time.Date(2026, 11, 23, 20, 15, 0, 0, time.UTC), Cores: 2, Seconds: 1.25,
		Parties: []Party{{Name: "bank", Sent: 12_345_678, Received: 2}, {Name: "telco"}},
		Audit:   Audit{Verdict: "clean", Summary: "No attack gained anything."}}
}

func TestWhatIsKeptIsFoundByItsLikenessAlone(t *testing.T) {
	dir := t.TempDir()
	if Any(dir) {
		t.Error("a new folder has a rehearsal")
	}
	for n := range 2 {
		if err := Keep(dir, result(n)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Find(dir, result(1).Likeness)
	if err != nil || r == nil || r.Likeness != result(1).Likeness || !Any(dir) {
		t.Fatalf("found %+v, error %v", r, err)
	}
	const want = "rehearsed here on 2026-11-23 20:15 UTC on made-up data of the same shape: 1.2 s in the session, 12.3 MB " +
		"sent and 2 B received by bank; 2 nodes shared one machine; audit clean"
	if got := r.Sentence("bank"); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	if r, err := Find(dir, result(2).Likeness); err != nil || r != nil {
		t.Errorf("of another likeness there is %+v, error %v", r, err)
	}
	// A file under another likeness's name is not taken for that one's.
	text, err := os.ReadFile(pathOf(dir, result(1).Likeness))
	if err == nil {
		err = os.WriteFile(pathOf(dir, result(2).Likeness), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Find(dir, result(2).Likeness); err == nil {
		t.Errorf("another likeness's file gives %+v", r)
	}
}

func TestARehearsalOfAnotherContractIsNotKept(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"ran another":   func(r *Result) { r.Rehearsed = keys.HashOf("test", []byte("other")) },
		"neither when":  func(r *Result) { r.At = time.Time{} },
		"that no job":   func(r *Result) { r.Parties[1].Name = "\x1b[31mtelco" },
		"want words":    func(r *Result) { r.Audit.Verdict = "clean\x1b[2J" },
		"at most":       func(r *Result) { r.Audit.Summary = strings.Repeat("x", MaxResult) },
		"a party \"tel": func(r *Result) { r.Parties[1].Name, r.Parties[1].Sent = "telco", -1 },
	} {
		r := result(1)
		change(r)
		dir := t.TempDir()
		if err := Keep(dir, r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
		if Any(dir) && name != "at most" {
			t.Errorf("%s: something is kept", name)
		}
	}
}

func TestTheOldestAreDropped(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{3, 1, 4, 2} {
		if err := Keep(dir, result(n)); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)
		if err := os.Chtimes(pathOf(dir, result(n).Likeness), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := drop(filepath.Join(dir, Folder), 2); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
		if r, err := Find(dir, result(n).Likeness); err != nil || (r != nil) != want {
			t.Errorf("rehearsal %d is there: %v; error %v", n, r != nil, err)
		}
	}
}

// FuzzRead wants no panic, and what is read to be what would be kept.
func FuzzRead(f *testing.F) {
	text, err := json.Marshal(result(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"job":"a","seconds":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		r.Sentence("bank")
		if err := r.check(); err != nil {
			t.Errorf("%q was read, and is refused: %v", text, err)
		}
	})
}
