package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestThePage runs the program, which must print what the page shows.
func TestThePage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "\n\n```\n")
	shown, _, ok := strings.Cut(shown, "```")
	if !ok {
		t.Fatal("the page shows no output")
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	if err != nil || string(out) != shown {
		t.Errorf("it printed (%v)\n%s\nand the page shows\n%s", err, out, shown)
	}
}
