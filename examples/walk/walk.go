// Package walk runs the pages of the examples as a reader would, who pastes their commands into a shell.
package walk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// fenced finds a page's blocks of code and their languages.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// named finds the ports that a page names.
var named = regexp.MustCompile(`/tcp/(\d+)`)

// turns is how many days the walks are spread over.
const turns = 3

// Page pastes every sh block of the test's README.md, in order, into one shell that stands in a copy of the test's
// folder, and returns what they print. Each command must succeed. They run as they stand on the page, but for the
// ports, which others may be using.
//
// What blocks without a language show must have been printed, line by line, whatever the blanks in it; "..." stands
// for any words of a line and, alone on one, for lines.
//
// Every day has some of the walks, turn of turns: one that has its turn another day is skipped.
func Page(t *testing.T, turn int) string {
	t.Helper()
	drawn.Turn(t, turn, turns)
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands, shown strings.Builder
	for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
		switch block[1] {
		case "sh":
			commands.WriteString(block[2])
		case "":
			shown.WriteString(block[2])
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "members")); err != nil { // of a reader who works in the folder itself
		t.Fatal(err)
	}
	out := shell(t, dir, withFreePorts(t, commands.String()))
	printed := strings.Join(strings.Fields(out), " ")
	for line := range strings.Lines(shown.String()) {
		if line = strings.Join(strings.Fields(line), " "); line == "" || line == "..." {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.{1,200}?`)
		if !regexp.MustCompile(pattern).MatchString(printed) {
			t.Errorf("the page shows the line %q, which no command printed", line)
		}
	}
	if t.Failed() {
		t.Logf("the commands printed\n%s", out)
	}
	return out
}

// withFreePorts puts free ports in the place of those that commands name.
func withFreePorts(t *testing.T, commands string) string {
	t.Helper()
	ports := named.FindAllString(commands, -1)
	free, err := localnet.FreePorts(len(ports))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free.Close)
	for i, port := range ports {
		commands = strings.Replace(commands, port+"\n", fmt.Sprintf("/tcp/%d\n", free.Numbers[i]), 1)
	}
	return commands
}

// program builds the program, once for all walks, and returns its folder. Tests are run again where it has changed.
func program(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(needs.Root(t), "dist", "walk")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock")) // of walks side by side
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "install", "github.com/hanse-project/hanse/cmd/hanse")
	build.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "hanse")); err != nil { // go test notes what a test looked at
		t.Fatal(err)
	}
	return dir
}

// shell runs commands in a folder with the program in its path, and ends what they leave running. Nodes find how fast
// the machine is beside the program.
func shell(t *testing.T, dir, commands string) string {
	t.Helper()
	bin := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	script := "set -eum\ntrap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n" + commands
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(bin, "cache"),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the walk ended with %v\n%s\n%s", err, out, logs(dir))
	}
	return string(out)
}

// logs returns what the nodes said.
func logs(dir string) string {
	var b strings.Builder
	paths, _ := filepath.Glob(filepath.Join(dir, "members", "*", "node.log"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		b.WriteString(path + "\n" + string(text))
	}
	return b.String()
}
