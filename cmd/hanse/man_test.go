//go:build !urfave_cli_no_docs

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

//go:generate go test -run ^TestManPage$ -write-man .

// writeMan has TestManPage write the page.
var writeMan = flag.Bool("write-man", false, "write the man page anew")

// TestManPage holds the man page against the commands' own help, of which it is made.
func TestManPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "hanse.1")
	app := newApp(io.Discard, io.Discard)
	app.Description = strings.ReplaceAll(app.Description, "\n   ", "\n    ") // four blanks make code of a line
	for _, c := range app.Commands {
		describe(c)
	}
	text, err := app.ToManWithSection(1)
	must(t, err)
	page := []byte(strings.ReplaceAll(text, `\fP="":`, `\fP \fIVALUE\fP:`))
	if *writeMan {
		must(t, os.WriteFile(path, page, 0o644))
	}
	old, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(old, page) {
		t.Errorf("%s is not what the commands say (%v): run go generate ./cmd/hanse", path, err)
	}
}

// describe has the page show the whole help of a command and of those below it: the library leaves descriptions out.
func describe(c *cli.Command) {
	c.UsageText = c.Description
	for _, sub := range c.Subcommands {
		describe(sub)
	}
}
