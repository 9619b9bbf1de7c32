package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

// table lines up columns.
type table struct{ w *tabwriter.Writer }

// newTable makes an empty table.
func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row adds a row.
func (t table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

// flush prints the table.
func (t table) flush() error { return t.w.Flush() }

// printJSON prints one object on one line.
func printJSON(c *cli.Context, v any) error { return json.NewEncoder(c.App.Writer).Encode(v) }

// list is a list that JSON shows as [] when it is empty.
func list(l []string) []string { return append([]string{}, l...) }

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string { return cmp.Or(texts...) }

// oneArgument returns the only argument of a command; what and its sample go into the error.
func oneArgument(c *cli.Context, what, sample string) (string, error) {
	if c.NArg() != 1 {
		return "", usagef("give one %s: %s %s", what, commandLine(c), sample)
	}
	return c.Args().First(), nil
}

// commandLine is the command as a person types it: hanse charter sign.
func commandLine(c *cli.Context) string {
	var words []string
	for _, up := range c.Lineage() {
		if up.Command != nil && up.Command.Name != "" {
			words = append([]string{up.Command.Name}, words...)
		}
	}
	return strings.Join(words, " ")
}
