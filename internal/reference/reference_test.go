package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFaultsAreFound: under their references, also after the book was opened anew and its file was full.
func TestFaultsAreFound(t *testing.T) {
	dir := t.TempDir()
	b := Open(dir)
	text := strings.Repeat("x", maxText-10)
	first := b.Add(Entry{At: time.Now(), To: "bank", On: "job/describe", Code: "table", Text: "row 17 has the label 3"})
	for i := range maxFile / maxText {
		b.Add(Entry{To: fmt.Sprint(i), Text: text})
	}
	last := b.Add(Entry{To: "telco", Text: "the disk is full\x1b[2J"})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = Open(dir)
	defer b.Close()
	for ref, want := range map[string]string{first: "row 17 has the label 3", last: "the disk is full [2J"} {
		found, err := b.Find(ref)
		if err != nil || len(found) == 0 || !strings.Contains(found[0].String(), want) {
			t.Errorf("under %s stand %v, %v, want %q", ref, found, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, fullName)); err != nil {
		t.Errorf("the file never was full: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || info.Size() > maxFile || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %v, %v", info, err)
	}
}

// TestAFullDiskLosesNothingAtOnce: what cannot be written is found as long as the node runs, and does not grow.
func TestAFullDiskLosesNothingAtOnce(t *testing.T) {
	b := Open(filepath.Join(t.TempDir(), "gone"))
	for i := range 2 * maxFile / 16 / maxText {
		b.Add(Entry{To: fmt.Sprint(i), Text: strings.Repeat("x", maxText)})
	}
	ref := b.Add(Entry{Text: "the latest"})
	if found, err := b.Find(ref); err != nil || len(found) != 1 || found[0].Text != "the latest" {
		t.Errorf("found %v, %v", found, err)
	}
	if len(b.last) > maxFile/16 {
		t.Errorf("%d bytes are kept", len(b.last))
	}
}

// TestACutLineIsPassedOver: a crash in the middle of a line loses that line alone.
func TestACutLineIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	b := Open(dir)
	ref := b.Add(Entry{Text: "whole"})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileName), append(data, `{"ref":"`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Open(dir).Find(ref); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestNobodyFillsTheLog: of one member's faults so many are kept at once, of others' too.
func TestNobodyFillsTheLog(t *testing.T) {
	b := Open(t.TempDir())
	defer b.Close()
	kept := 0
	for range 10 * addBurst {
		if b.Add(Entry{To: "stuffer", Text: "garbage"}) != "" {
			kept++
		}
	}
	if kept > addBurst+5 {
		t.Errorf("%d faults of one member are kept", kept)
	}
	if b.Add(Entry{To: "bank", Text: "a real one"}) == "" {
		t.Error("another member's fault is not kept")
	}
	for i := range 3 * maxTold {
		b.Add(Entry{To: fmt.Sprint(i)})
	}
	if len(b.told) > maxTold+1 {
		t.Errorf("%d members are counted", len(b.told))
	}
}
