package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// documents are the pages whose commands must exist.
var documents = []string{
	"README.md", "examples/credit/README.md", "examples/pofmkl/README.md", "examples/gfml/README.md",
	"examples/ofmsft/README.md",
	"docs/glm.md", "docs/model-format.md", "docs/consent.md", "docs/performance.md", "docs/policy.md", "docs/tables.md",
	"docs/install.md", "docs/shards.md", "docs/day-one.md",
}

// flagWord finds the long flags of a command line.
var flagWord = regexp.MustCompile(`--([a-z][a-z-]*)`)

// TestDocumentedCommandsExist checks every line of the documents and of the commands' own help that
// starts with "hanse": the command is there and has these flags.
func TestDocumentedCommandsExist(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		must(t, err)
		checkCommands(t, app, name, string(text))
	}
	for _, c := range app.Commands {
		checkHelp(t, app, c)
	}
}

// checkHelp checks a command's description and those below it.
func checkHelp(t *testing.T, app *cli.App, c *cli.Command) {
	t.Helper()
	checkCommands(t, app, "help of "+c.Name, c.Description)
	if len(c.Subcommands) == 0 && !strings.Contains(c.Description, "hanse "+c.Name) && !strings.Contains(c.Description,
		" "+c.Name+" ") {
		t.Errorf("the help of %s has no example", c.Name)
	}
	for _, sub := range c.Subcommands {
		checkHelp(t, app, sub)
	}
}

// checkCommands checks the command lines of a text.
func checkCommands(t *testing.T, app *cli.App, where, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\\\n", " ")
	text = strings.ReplaceAll(text, "go run ./cmd/hanse ", "hanse ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.SplitN(line, " #", 2)[0])
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "hanse" || strings.HasPrefix(words[1], "-") {
			continue
		}
		checkCommand(t, app, where, line, words[1:])
	}
}

// checkCommand checks one command line.
func checkCommand(t *testing.T, app *cli.App, where, line string, words []string) {
	t.Helper()
	c := app.Command(words[0])
	if c == nil {
		t.Errorf("%s: %q: there is no command %q", where, line, words[0])
		return
	}
	for _, sub := range c.Subcommands {
		if len(words) > 1 && sub.HasName(words[1]) {
			c = sub
			break
		}
	}
	// Values fit their flags: quotes, pipes and what stands for more words are the shell's.
	plain, _, _ := strings.Cut(strings.NewReplacer("'", "", `"`, "", "[", "", "]", "").Replace(line), "|")
	flags, _, _ := sortArguments(c.Flags, strings.Fields(plain))
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range c.Flags {
		must(t, f.Apply(set))
	}
	if err := set.Parse(flags); err != nil && !strings.Contains(err.Error(), "not defined") {
		t.Errorf("%s: %q: %v", where, line, err)
	}
	for _, m := range flagWord.FindAllStringSubmatch(line, -1) {
		if !slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), m[1]) }) {
			t.Errorf("%s: %q: %s has no flag --%s", where, line, c.Name, m[1])
		}
	}
}

// fenced finds a page's blocks of code and their languages.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocksOf returns what the blocks of code in a section say: the commands for a shell, and what the others show.
func blocksOf(section string) (commands, shown string) {
	for _, block := range fenced.FindAllStringSubmatch(section, -1) {
		if block[1] == "sh" {
			commands += block[2]
		} else {
			shown += block[2]
		}
	}
	return commands, shown
}

// sectionOf returns a section of a page, without its heading; another one follows it.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
	must(t, err)
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, found := strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	return section
}

// TestTourOfTheReadme pastes the commands of the README's tour into one shell that stands in an empty folder. They
// are run as printed, but for the ports, which others may be using. What the page shows as printed by them is
// held against what they print.
func TestTourOfTheReadme(t *testing.T) {
	t.Parallel()
	commands, shown := blocksOf(sectionOf(t, "README.md", "A tour in five minutes"))
	// What the first line would fetch from the network is built from this checkout instead, and stands in the PATH.
	const install = "go install github.com/hanse-project/hanse/cmd/hanse@latest\n"
	tourOf, found := strings.CutPrefix(commands, install)
	if !found {
		t.Fatalf("the tour does not begin with %q", install)
	}
	dir := t.TempDir()
	printed := runTour(t, dir, withFreePorts(t, "command -v hanse\n"+tourOf))
	out := oneLine(printed)
	for line := range strings.Lines(shown) {
		if line = oneLine(line); line != "..." && !strings.Contains(out, line) {
			t.Errorf("the README shows the line %q, which no command printed", line)
		}
	}
	if t.Failed() {
		t.Logf("they printed\n%s", printed)
	}
	if !strings.Contains(out, "PARTIAL: Not read: the transcripts of ") || !strings.Contains(out,
		"the report is as it was signed") {
		t.Errorf("the audit did not end well:\n%s", out)
	}
	scores, err := os.ReadFile(filepath.Join(dir, "scores.csv"))
	if rows := strings.Count(string(scores), "\n") - 1; err != nil || rows != 450 {
		t.Errorf("the scores file has %d rows, want the bank's 450 (%v)", rows, err)
	}
	for _, name := range []string{"audit.html", "park.csv", "park-model/model.json", "park-model/model.safetensors"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// TestWalkOfShards pastes the commands of the walk in docs/shards.md into one shell, and holds what the page shows
// against what they print.
func TestWalkOfShards(t *testing.T) {
	drawn.Turn(t, 2, 3)
	t.Parallel()
	commands, shown := blocksOf(sectionOf(t, "docs/shards.md", "By hand"))
	printed := oneLine(runTour(t, t.TempDir(), withFreePorts(t, commands)))
	for line := range strings.Lines(shown) {
		if line = oneLine(line); !strings.Contains(printed, line) {
			t.Errorf("the page shows the line %q, which no command printed:\n%s", line, printed)
		}
	}
	if !strings.Contains(printed, "see the model with") {
		t.Errorf("the training did not end well:\n%s", printed)
	}
}

// TestANewKeyRunsAsPrinted: the scenario of a member with a new key runs each command that docs/life.md prints for it,
// up to where the page leaves something out.
func TestANewKeyRunsAsPrinted(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", "newkey.txtar"))
	must(t, err)
	run := strings.NewReplacer("at-telco/", "", "'", "", " --policy policy.toml", "").Replace(string(script))
	commands, _ := blocksOf(sectionOf(t, "docs/life.md", "A new key for a member"))
	for line := range strings.Lines(commands) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.NewReplacer("\"", "", "/dns4/telco.example/tcp/4001", "/ip4/127.0.0.1/tcp/$PORT3").Replace(line)
		line, _, _ = strings.Cut(line, "hanse-id1...")
		line = strings.Replace(strings.TrimSpace(line), "keys new ", "keys new --no-passphrase ", 1)
		if !strings.Contains(run, line) {
			t.Errorf("the scenario does not run %q", line)
		}
	}
	if strings.Count(commands, "\n") < 8 {
		t.Errorf("the page prints %q: is the search broken?", commands)
	}
}

// oneLine makes one blank of each run of them, for comparisons.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// withFreePorts puts free ports in the place of those that the tour names.
func withFreePorts(t *testing.T, commands string) string {
	t.Helper()
	named := regexp.MustCompile(`/tcp/(\d+)`).FindAllStringSubmatch(commands, -1)
	free, err := localnet.FreePorts(len(named))
	must(t, err)
	t.Cleanup(free.Close)
	for i, m := range named {
		commands = strings.ReplaceAll(commands, m[0], fmt.Sprintf("/tcp/%d", free.Numbers[i]))
		commands = strings.ReplaceAll(commands, "127.0.0.1:"+m[1], fmt.Sprintf("127.0.0.1:%d", free.Numbers[i]))
	}
	return commands
}

// runTour runs commands in one shell and returns what they print. Each must succeed; no process outlives the test.
func runTour(t *testing.T, dir, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	script := "set -eum\ntrap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n" + commands
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Cancel = func() error { return shell.Process.Signal(syscall.SIGTERM) }
	shell.WaitDelay = 10 * time.Second
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(program(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, path := range logs {
			text, _ := os.ReadFile(path)
			out = fmt.Appendf(out, "\n%s:\n%s", filepath.Base(path), text)
		}
		t.Fatalf("the tour ended with %v\n%s", err, out)
	}
	return string(out)
}
