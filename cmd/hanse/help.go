package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/wording"
)

// The library has no other way to print help than by its own variable.
func init() { cli.HelpPrinter = printHelp }

var (
	// gapInHelp is what stands between a flag or a command and what it is for.
	gapInHelp = regexp.MustCompile(` {2,}`)
	// twiceInHelp is how the library says that a flag may come again.
	twiceInHelp = regexp.MustCompile(` \[ --?.* \]$`)
)

// printHelp prints a help text as the library makes it, in lines that fit a terminal: sentences are broken, lists are
// tables, examples stay as they are.
func printHelp(out io.Writer, template string, data any) {
	const indent = "   "
	var text bytes.Buffer
	cli.HelpPrinterCustom(&text, template, data, nil)
	var sentence []string
	list := wording.NewTable(out, indent)
	end := func() {
		if len(sentence) > 0 {
			fmt.Fprint(out, wording.Wrap(wording.Columns, indent, strings.Join(sentence, " ")))
		}
		if list.Rows() > 0 {
			list.Flush()
		}
		sentence, list = nil, wording.NewTable(out, indent)
	}
	section := ""
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, " \n")
		words := strings.TrimPrefix(line, indent)
		switch {
		case words == line: // a heading, or nothing
			end()
			section = line
			fmt.Fprintln(out, line)
		case strings.HasPrefix(words, " "):
			end()
			fmt.Fprintln(out, line)
		case strings.HasSuffix(section, "OPTIONS:") || section == "COMMANDS:":
			if flag := gapInHelp.FindStringIndex(words); flag != nil {
				list.Row(twiceInHelp.ReplaceAllString(words[:flag[0]], " ..."),
					strings.TrimSuffix(words[flag[1]:], " (default: false)"))
			} else {
				list.Row(words, "")
			}
		default:
			sentence = append(sentence, words)
		}
	}
	end()
}
