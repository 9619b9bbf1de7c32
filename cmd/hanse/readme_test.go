package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// documents are the pages whose commands must exist.
var documents = []string{"README.md", "examples/credit/README.md", "docs/performance.md"}

// flagWord finds the long flags of a command line.
var flagWord = regexp.MustCompile(`--([a-z][a-z-]*)`)

// TestDocumentedCommandsExist checks every line of the documents and of the commands' own help that
// starts with "hanse": the command is there and has these flags.
func TestDocumentedCommandsExist(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
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
	if len(c.Subcommands) == 0 && !strings.Contains(c.Description, "hanse "+c.Name) && !strings.Contains(c.Description, " "+c.Name+" ") {
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
	for _, m := range flagWord.FindAllStringSubmatch(line, -1) {
		if !slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), m[1]) }) {
			t.Errorf("%s: %q: %s has no flag --%s", where, line, c.Name, m[1])
		}
	}
}
