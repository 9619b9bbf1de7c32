// Package idcheck shows what the identifiers of a charter make of a table: examples, what has no id, and what is there
// twice. It needs no network.
package idcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Options are what is asked for, as the flags of the same names of hanse ids check say it.
type Options struct {
	Table   string   // a CSV file
	Charter string   // a charter's file, signed or not
	IDs     []string // names of identifiers; none: all of the charter
	ID      string   // the id column; empty: the one called id
	JSON    bool
	Out     io.Writer
}

const (
	// examples is how many rows are shown of each identifier.
	examples = 10
	// oddExamples is how many of them are shown because they have no id, be they where they may.
	oddExamples = 3
)

// Report is what there is to say about a table, as JSON.
type Report struct {
	Table   string `json:"table"`
	Charter string `json:"charter"`
	Version int    `json:"version"`
	Keys    []Key  `json:"keys"`
	Skipped []Skip `json:"skipped,omitempty"`
}

// Skip is an identifier of the charter that the table cannot have.
type Skip struct {
	IDs     string   `json:"ids"`
	Missing []string `json:"missing"` // columns that the table lacks
}

// Key is what one identifier makes of the table.
type Key struct {
	IDs        string     `json:"ids"`
	Rows       int        `json:"rows"`
	WithID     int        `json:"with_id"`
	Empty      Left       `json:"empty"`
	Unreadable Left       `json:"unreadable"`
	Duplicates Duplicates `json:"duplicates"`
	// Doubts are how cells are written that other members may write otherwise, where the recipe does not make them alike.
	Doubts   []dataset.IDDoubt `json:"doubts,omitempty"`
	Examples []Example         `json:"examples"`
}

// Left counts rows that have no id.
type Left struct {
	Rows  int   `json:"rows"`
	Lines []int `json:"lines"` // the first of them
}

// Duplicates counts rows whose id an earlier row has.
type Duplicates struct {
	Rows  int      `json:"rows"`
	Lines [][2]int `json:"lines"` // of the first of them: the earlier row's line and its own
}

// Example is one row.
type Example struct {
	Line  int    `json:"line"`
	Cells []Cell `json:"cells"`
}

// Cell is one cell of an Example.
type Cell struct {
	Column string `json:"column"`
	Cell   string `json:"cell"`
	Normal string `json:"normal"`           // empty where the cell is, or has none
	Error  string `json:"reason,omitempty"` // why it has none
}

// Run checks a table and prints a Report. Duplicates and doubts are an error, once the report is printed.
func Run(o *Options) error {
	charter, err := charterfile.Read(o.Charter)
	if err != nil {
		return err
	}
	place, how, err := dataset.Locate(o.Table, dataset.Options{ID: o.ID})
	if err != nil {
		return err
	}
	location, err := source.Parse(place)
	if err != nil {
		return err
	}
	table := location.String()
	r := Report{Table: table, Charter: charter.Name, Version: charter.Version, Keys: []Key{}}
	list, err := chosen(o, &charter.Charter)
	if err != nil {
		return err
	}
	names, err := dataset.Header(place, how)
	if err != nil {
		return err
	}
	if names == nil {
		return fmt.Errorf("%s: a LIBSVM file has row numbers alone, and no columns that identify its rows", table)
	}
	list = slices.DeleteFunc(list, func(id keys.Identifier) bool {
		skip := Skip{IDs: id.Name}
		for _, column := range id.Columns {
			if !slices.Contains(names, column.Name) {
				skip.Missing = append(skip.Missing, column.Name)
			}
		}
		if skip.Missing != nil {
			r.Skipped = append(r.Skipped, skip)
		}
		return skip.Missing != nil
	})
	if len(r.Skipped) > 0 && (len(o.IDs) > 0 || len(list) == 0) {
		first := r.Skipped[0]
		return fmt.Errorf("%s: ids.%s: no column %s; the columns are %s", table, first.IDs,
			strconv.Quote(first.Missing[0]), wording.Line(strings.Join(names, ", "), 400))
	}
	how.Identify = alignment.Columns(list)
	reading, err := dataset.Load(context.Background(), place, how)
	if err != nil {
		return err
	}
	var wrong []error
	for _, id := range list {
		key, err := check(charter.Digest(), id, reading)
		if err != nil {
			return err
		}
		if n := key.Duplicates.Rows; n > 0 {
			wrong = append(wrong, fmt.Errorf("%s: ids.%s: %s the id of an earlier row: an alignment wants one row for each id",
				table, id.Name, have(n)))
		}
		if len(key.Doubts) > 0 {
			wrong = append(wrong, fmt.Errorf("%s: ids.%s: an alignment may miss rows: the recipe does not make alike how ids "+
				"are written, as is said above", table, id.Name))
		}
		r.Keys = append(r.Keys, *key)
	}
	if o.JSON {
		err = terminal.JSON(o.Out, r)
	} else {
		err = r.show(o.Out, &charter.Charter)
	}
	return errors.Join(append(wrong, err)...)
}

// chosen returns the identifiers that are asked for.
func chosen(o *Options, charter *keys.Charter) ([]keys.Identifier, error) {
	var all []string
	for _, id := range charter.Identifiers {
		all = append(all, id.Name)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: charter %q has no [ids]: rows are called by their id column as it stands; "+
			"hanse charter change --ids gives some", o.Charter, charter.Name)
	}
	if len(o.IDs) == 0 {
		return slices.Clone(charter.Identifiers), nil
	}
	var list []keys.Identifier
	for i, name := range o.IDs {
		id, ok := charter.Identifier(name)
		switch {
		case !ok:
			return nil, usage.Errorf("--ids %s: charter %q has %s", wording.Clip(name), charter.Name, wording.List(all, "and"))
		case slices.Contains(o.IDs[:i], name):
			return nil, usage.Errorf("--ids has %s twice", name)
		}
		list = append(list, id)
	}
	return list, nil
}

// check makes the ids of a table under one identifier, its rows in the order of the file.
func check(charter keys.Hash, id keys.Identifier, reading *dataset.Reading) (*Key, error) {
	recipe, err := ids.New(charter, id, 0)
	if err != nil {
		return nil, err
	}
	columns, lines, err := reading.Texts(alignment.Columns([]keys.Identifier{id})...)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return lines[a] - lines[b] })
	rows := &ids.Rows{Columns: make([][]string, len(columns))}
	for _, row := range order {
		rows.Lines = append(rows.Lines, lines[row])
		for i := range columns {
			rows.Columns[i] = append(rows.Columns[i], columns[i][row])
		}
	}
	list, err := recipe.Rows(rows)
	var twice *ids.DuplicateError
	if err != nil && !errors.As(err, &twice) {
		return nil, err
	}
	k := &Key{
		IDs: id.Name, Rows: len(lines), WithID: len(lines) - list.Empty.Count - list.Unreadable.Count,
		Empty: Left{list.Empty.Count, list.Empty.Lines}, Unreadable: Left{list.Unreadable.Count, list.Unreadable.Lines},
	}
	if twice != nil {
		k.Duplicates = Duplicates{twice.Count, twice.Lines}
	}

	for i, column := range id.Columns {
		if column.Date != "" { // what is no date has no id, and is counted
			continue
		}
		look, err := reading.LookAt(column.Name, func(a, b string) bool { return recipe.Alike(i, a, b) })
		if err != nil {
			return nil, err
		}
		k.Doubts = append(k.Doubts, look.Doubts...)
	}

	// The first rows, and some of those without an id.
	odd := list.Unreadable.Lines[:min(oddExamples, len(list.Unreadable.Lines))]
	var shown []int
	for row := 0; row < len(rows.Lines) && len(shown) < examples-len(odd); row++ {
		if !slices.Contains(odd, rows.Lines[row]) {
			shown = append(shown, row)
		}
	}
	for _, line := range odd {
		row, _ := slices.BinarySearch(rows.Lines, line)
		shown = append(shown, row)
	}
	slices.Sort(shown)
	for _, row := range shown {
		example := Example{Line: rows.Lines[row]}
		for i, column := range id.Columns {
			c := Cell{Column: column.Name, Cell: rows.Columns[i][row]}
			if c.Normal, err = recipe.Normal(i, c.Cell); err != nil {
				c.Error = err.Error()
			}
			example.Cells = append(example.Cells, c)
		}
		k.Examples = append(k.Examples, example)
	}
	return k, nil
}

// have says what so many rows do with a thing.
func have(n int) string {
	if n == 1 {
		return "1 row has"
	}
	return fmt.Sprintf("%d rows have", n)
}

// Widths of what came from the table, in characters of a terminal. With a line's number of eight digits they fill a
// line of 80.
const (
	columnWidth = 14
	cellWidth   = 25
	normalWidth = 27
)

// show prints the report for people.
func (r *Report) show(w io.Writer, charter *keys.Charter) error {
	for i, k := range r.Keys {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "ids.%s\n", k.IDs)
		id, _ := charter.Identifier(k.IDs)
		for _, column := range id.Columns {
			terminal.Sentence(w, "  ", column.String())
		}
		t := wording.NewTable(w, "")
		t.Row("line", "column", "cell", "normal form")
		for _, e := range k.Examples {
			line := strconv.Itoa(e.Line)
			for _, c := range e.Cells {
				normal := quoted(c.Normal, normalWidth)
				switch {
				case c.Error != "":
					normal = "none"
				case c.Normal == "":
					normal = "empty"
				}
				t.Row(line, clipped(wording.Line(c.Column, 200), columnWidth), quoted(c.Cell, cellWidth), normal)
				line = ""
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		k.showReasons(w)
		k.showCounts(w)
	}
	for _, s := range r.Skipped {
		fmt.Fprintln(w)
		terminal.Sentence(w, "", fmt.Sprintf("ids.%s: not of this table, which has no column %s", s.IDs,
			wording.List(s.Missing, "and")))
	}
	return nil
}

// showReasons prints why cells of the examples have no normal form, each reason once.
func (k *Key) showReasons(w io.Writer) {
	type reason struct{ column, why string }
	lines := make(map[reason][]string)
	var order []reason
	for _, e := range k.Examples {
		for _, c := range e.Cells {
			if c.Error == "" {
				continue
			}
			r := reason{c.Column, c.Error}
			if lines[r] == nil {
				order = append(order, r)
			}
			lines[r] = append(lines[r], strconv.Itoa(e.Line))
		}
	}
	for _, r := range order {
		terminal.Sentence(w, "", fmt.Sprintf("line %s, %s: %s", wording.List(lines[r], "and"), r.column, r.why))
	}
}

// showCounts prints how many rows have an id, and where the others are.
func (k *Key) showCounts(w io.Writer) {
	fmt.Fprintf(w, "%s with an id, of %s\n", wording.Count(k.WithID, "row"), wording.Count(k.Rows, "row"))
	for _, left := range []struct {
		Left
		why string
	}{{k.Empty, "an empty cell"}, {k.Unreadable, "a cell that cannot be read"}} {
		if left.Rows > 0 {
			var lines []string
			for _, line := range left.Lines {
				lines = append(lines, strconv.Itoa(line))
			}
			if more := left.Rows - len(lines); more > 0 {
				lines = append(lines, fmt.Sprintf("%d more", more))
			}
			terminal.Sentence(w, "", fmt.Sprintf("%s %s and no id, in line %s", have(left.Rows), left.why,
				wording.List(lines, "and")))
		}
	}
	for _, d := range k.Doubts {
		terminal.Sentence(w, "", d.Says)
	}
	if k.Duplicates.Rows == 0 {
		fmt.Fprintln(w, "no id is there twice")
		return
	}
	var pairs []string
	for _, pair := range k.Duplicates.Lines {
		pairs = append(pairs, fmt.Sprintf("line %d that of line %d", pair[1], pair[0]))
	}
	if more := k.Duplicates.Rows - len(pairs); more > 0 {
		pairs = append(pairs, fmt.Sprintf("and %d more", more))
	}
	terminal.Sentence(w, "", fmt.Sprintf("%s the id of an earlier row: %s", have(k.Duplicates.Rows),
		strings.Join(pairs, ", ")))
}

// quoted shows a text with its blanks, and with what cannot be seen written out.
func quoted(s string, most int) string {
	s = wording.ClipAt(s, 4*most)
	return clipped(strconv.Quote(strings.ToValidUTF8(s, "\ufffd")), most)
}

// clipped cuts printable text to a width on a terminal, where some characters take two places.
func clipped(s string, most int) string {
	at, used := 0, 0
	for i, r := range s {
		wide := 1
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			wide = 2
		}
		if used += wide; used <= most-1 {
			at = i + utf8.RuneLen(r)
		}
	}
	if used <= most {
		return s
	}
	return s[:at] + "…"
}
