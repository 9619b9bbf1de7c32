package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// deployed reads a file of the folder deploy.
func deployed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(path)))
	must(t, err)
	return string(text)
}

// TestSystemdUnit holds the node's unit against the program's flags and, where systemd is, against systemd.
func TestSystemdUnit(t *testing.T) {
	unit := deployed(t, "systemd/hanse-node.service")
	const start = "ExecStart=/usr/local/bin/"
	_, line, ok := strings.Cut(unit, "\n"+start)
	line, _, _ = strings.Cut(line, "\n")
	_, flags, found := strings.Cut(deployed(t, "systemd/node.env"), "\nNODE_FLAGS=")
	if !ok || !found || !strings.HasSuffix(line, " $NODE_FLAGS") {
		t.Fatalf("the unit starts %q, with the flags %q", line, flags)
	}
	if !strings.Contains(unit, fmt.Sprintf("\nRestartPreventExitStatus=%d %d\n", exitUsage, exitMoved)) {
		t.Error("the unit starts a node again whose command line is wrong, or whose folder is gone")
	}
	steps, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	must(t, err)
	if strings.Contains(unit, "\nDocumentation=man:hanse(1)\n") !=
		strings.Contains(string(steps), "docs/hanse.1 /usr/local/share/man/man1/hanse.1\n") {
		t.Error("the unit names a page that no step installs")
	}
	line = strings.TrimSuffix(line, "$NODE_FLAGS") + flags
	checkCommands(t, newApp(io.Discard, io.Discard), "hanse-node.service", line)

	analyze := needs.Program(t, "apt-get install systemd", "systemd-analyze")
	self, err := os.Executable() // systemd wants a program to be where the unit says it is
	must(t, err)
	path := filepath.Join(t.TempDir(), "hanse-node.service")
	unit = strings.Replace(unit, start+"hanse", "ExecStart="+self, 1)
	must(t, os.WriteFile(path, []byte(unit), 0o644))
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--threshold=20", path}, // tenths of what systemd calls exposure
	} {
		// verify warns of what it does not know and is content
		if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || args[0] == "verify" &&
			strings.Contains(string(out), "hanse-node.service:") {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestContainerFile holds the image's recipe against the tree and the program: what it copies is there, what it makes
// is a target, what it starts is a command with such flags, and that is not root.
func TestContainerFile(t *testing.T) {
	text := deployed(t, "container/Dockerfile")
	var entry, command []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]+) (.*)$`).FindAllStringSubmatch(text, -1) {
		var err error
		switch words := strings.Fields(m[2]); {
		case m[1] == "COPY" && !strings.HasPrefix(words[0], "--from"):
			for _, name := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
					t.Errorf("it copies %s: %v", name, err)
				}
			}
		case m[1] == "ENTRYPOINT":
			err = json.Unmarshal([]byte(m[2]), &entry)
		case m[1] == "CMD":
			err = json.Unmarshal([]byte(m[2]), &command)
		}
		if err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
	}
	if len(entry) != 1 || len(command) == 0 || !strings.Contains(text, " "+entry[0]+"\n") {
		t.Fatalf("it starts %q with %q", entry, command)
	}
	checkCommands(t, newApp(io.Discard, io.Discard), "Dockerfile", "hanse "+strings.Join(command, " "))
	_, last, _ := strings.Cut(text, "\nFROM scratch\n")
	if !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).MatchString(last) {
		t.Error("the image runs as root, or is not an empty one with the program in it")
	}
	goVersion := regexp.MustCompile(`golang:(\d+\.\d+)`).FindStringSubmatch(text)
	module, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil || goVersion == nil || !strings.Contains(string(module), "\ngo "+goVersion[1]+".") {
		t.Errorf("the image is built with Go %q, not with that of go.mod (%v)", goVersion, err)
	}
}
