// Package credit is a walk through a federation by hand; its test runs it.
package credit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalk runs every sh block of the README, in order, in one shell.
func TestWalk(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "hanse"), "../../cmd/hanse").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	script := "set -eum\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + blocks(string(text), "sh")
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the walk ended with %v\n%s\n%s", err, out, logs(cmd.Dir))
	}
	for _, want := range []string{"bank learned", "id,score,default\n", "credit-scores", "done", "CLEAN: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the walk did not print %q:\n%s", want, out)
		}
	}
}

// blocks joins the fenced code blocks of a language.
func blocks(text, language string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "```"+language:
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			b.WriteString(line)
		}
	}
	return b.String()
}

// logs returns what the nodes said.
func logs(dir string) string {
	var b strings.Builder
	paths, _ := filepath.Glob(filepath.Join(dir, "league", "*", "node.log"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		b.WriteString(path + "\n" + string(text))
	}
	return b.String()
}
