package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCallsRunDown holds how many of a hundred calls between the files of a folder may run back up.
func TestCallsRunDown(t *testing.T) {
	for path, most := range map[string]float64{
		"internal/node": 5, "internal/node/job": 15, "peer": 5, "internal/shards": 15,
	} {
		f, err := read(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		if f.share() > most {
			t.Errorf("more than %.0f %% run back up:\n%s", most, f)
		}
	}
}

// TestWhatRunsBackUpIsFound: three files of which two call each other, through a method, a value and a call.
func TestWhatRunsBackUpIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"top.go":       "package p\n\nimport \"unknown/thing\"\n\nfunc top(n *node) { n.middle(); _ = bottom; thing.Do() }\n",
		"middle.go":    "package p\n\ntype node struct{}\n\nfunc (n *node) middle() { bottom() }\n",
		"bottom.go":    "package p\n\nfunc bottom() { top(nil) }\n",
		"else_test.go": "package p\n\nfunc else_() { top(nil) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]string{{"bottom.go", "top.go"}}
	if got := f.back(f.files); len(f.calls) != 4 || !slices.Equal(got, want) {
		t.Errorf("of %v %v run back up, want %v:\n%s", f.calls, got, want, f)
	}
	if _, err := read(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has calls")
	}
}
