package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/wording"
)

// TestHelpOfEveryCommand asks the program, each command and each command below it for help, in every way people do.
func TestHelpOfEveryCommand(t *testing.T) {
	asked := 0
	var ask func(words []string, below []*cli.Command)
	ask = func(words []string, below []*cli.Command) {
		ways := [][]string{{"--help"}, {"-h"}}
		if len(words) > 1 && len(below) == 0 {
			ways = append(ways, []string{"word", "--help"}, []string{"--help", "word"})
		}
		for _, way := range ways {
			asked++
			args := append(words[:len(words):len(words)], way...)
			var out, errOut bytes.Buffer
			code := run(t.Context(), args, &out, &errOut)
			if name := strings.Join(words, " ") + " - "; code != 0 || errOut.Len() > 0 || !strings.Contains(out.String(), name) {
				t.Errorf("%q: exit code %d, %q on standard error, want 0, nothing, and the help of %q; got %.200q", args, code,
					errOut.String(), name, out.String())
			}
		}
		var help bytes.Buffer
		run(t.Context(), append(words[:len(words):len(words)], "--help"), &help, io.Discard)
		for line := range strings.Lines(help.String()) {
			const example = "      "
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > wording.Columns &&
				!strings.HasPrefix(line, example) {
				t.Errorf("the help of %q has %d characters in the line %q", words, n, line)
			}
		}
		for _, c := range below {
			if c.Name != "help" {
				ask(append(words[:len(words):len(words)], c.Name), c.Subcommands)
			}
		}
	}
	ask([]string{"hanse"}, newApp(nil, nil).Commands)
	for _, misspelt := range [][]string{{"hanse", "keyz", "--help"}, {"hanse", "keys", "nwe", "--help"}} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), misspelt, &out, &errOut); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d; %q", misspelt, code, exitUsage, errOut.String())
		}
	}
	if asked < 150 {
		t.Errorf("asked %d times for help, want 150 or more", asked)
	}
}
