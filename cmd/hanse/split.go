package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// splitCommand cuts one table into vertical parts for trials.
func splitCommand() *cli.Command {
	return &cli.Command{
		Name:      "split",
		Usage:     "cut one table into the tables of several parties, for trials",
		ArgsUsage: "TABLE",
		Description: `Deals the columns to parties and the rows to training and test, as if each party
had known its columns all along. The first party has the label. The same seed
gives the same split.

   hanse split credit.csv --label default --names bank,insurer,telco,retailer -o trial
   hanse split a9a.gz --parties 4 -o trial
   hanse split --people 2000 -o trial
   hanse split --people 2000 --names north,east,south,west -o trial

writes trial/bank/train.csv, trial/bank/test.csv, trial/insurer/train.csv and so on.
CSV (with a header and an id column) and LIBSVM are read, also gzipped. For jobs over
clients' streams

   hanse split --algorithm pofmkl --clients 5 --rounds 400 -o trial
   hanse split --algorithm gfml --servers 3 --clients 3 -o trial

generates the streams of hanse demo, trial/park-01/train.csv and so on; test.csv has the
rows that come after.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "people", Usage: "without a table: generate the demo's credit data set of `N` people, for four parties"},
			&cli.StringFlag{Name: "algorithm", Usage: "without a table: generate the demo's streams of an `ALGORITHM` over " +
				"clients: pofmkl, gfml or ofmsft"},
			&cli.IntFlag{Name: "clients", Value: splitClients, Usage: "`N` clients of each server, with --algorithm"},
			&cli.IntFlag{Name: "servers", Value: 1, Usage: "`N` servers, with --algorithm gfml"},
			&cli.IntFlag{Name: "rounds", Value: splitRounds, Usage: "`N` rows of each client, those to test with among them, " +
				"with --algorithm"},
			&cli.IntFlag{Name: "parties", Usage: "how many parties there are, `N` (default: as many as names, or 4)"},
			&cli.StringSliceFlag{Name: "names", Usage: "the parties' `NAMES`, with commas between (default: party1, party2, …; with --people bank, insurer, telco, retailer)"},
			&cli.StringFlag{Name: "label", Usage: "the label `COLUMN`, which goes to the first party (default: label, where there is one)"},
			&cli.StringFlag{Name: "id", Usage: "the id `COLUMN` of CSV files (default: the one called id)"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMN` that holds codes though it looks like numbers; the node of the party that gets it wants the flag too"},
			&cli.StringFlag{Name: "missing", Usage: "what an empty cell becomes, `HOW`: refuse, mean or median (numbers), level (texts and codes), or both as mean,level; a level stays an empty cell, so that nodes want the flag too", Value: "refuse"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "the public `SEED` of the shuffle"},
			&cli.Float64Flag{Name: "test", Value: 0.25, Usage: "the `SHARE` of the rows to test with, at least 0 and below 1"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "the `FOLDER` to write into"},
			jsonFlag(),
		},
		Action: anyOrder(runSplit),
	}
}

// share is one party's part of a split table.
type share struct {
	Party   string   `json:"party"`
	Columns []string `json:"columns"`
	Train   int      `json:"rows_train"`
	Test    int      `json:"rows_test"`
	Folder  string   `json:"folder"`
	Server  string   `json:"server,omitempty"` // of a client with a stream
}

// splitReport is what split says in JSON.
type splitReport struct {
	Table    string   `json:"table"`
	Label    string   `json:"label"`
	Seed     uint64   `json:"seed"`
	Parties  []share  `json:"parties"`
	Constant []string `json:"constant"` // columns with one value in all rows
}

// runSplit cuts a table.
func runSplit(c *cli.Context) error {
	if c.IsSet("people") && c.IsSet("algorithm") {
		return usagef("--people is for columns of the same people and --algorithm for clients' streams: give one of them")
	}
	if c.IsSet("people") {
		return splitCredit(c)
	}
	if c.IsSet("algorithm") {
		return splitStreams(c)
	}
	for _, name := range []string{"clients", "servers", "rounds"} {
		if c.IsSet(name) {
			return usagef("--%s is for the streams of an --algorithm over clients; say which, or leave it out", name)
		}
	}
	path, err := oneArgument(c, "table", "TABLE")
	if err != nil {
		return err
	}
	names, err := partyNames(c)
	if err != nil {
		return err
	}
	t, label, err := readToSplit(c, path)
	if err != nil {
		return err
	}
	columns, err := dataset.SplitColumns(t, label, len(names), c.Uint64("seed"))
	if err != nil {
		return err
	}
	train, test := dataset.SplitRows(t.Rows(), 1-c.Float64("test"), c.Uint64("seed"))
	if len(train) == 0 || len(test) == 0 && c.Float64("test") > 0 {
		return fmt.Errorf("%s: %s cannot be split: --test %g leaves %d to train with and %d to test", path, plural(t.Rows(), "row"), c.Float64("test"), len(train), len(test))
	}
	r := splitReport{Table: path, Label: label, Seed: c.Uint64("seed"), Constant: constantColumns(t)}
	for i, name := range names {
		s := share{name, columns[i], len(train), len(test), filepath.Join(c.String("out"), name), ""}
		if err := writeShare(t, s, train, test); err != nil {
			return err
		}
		r.Parties = append(r.Parties, s)
	}
	return printSplit(c, r)
}

// partyNames checks the names, or makes some up.
func partyNames(c *cli.Context) ([]string, error) {
	names, n := c.StringSlice("names"), c.Int("parties")
	switch {
	case c.String("out") == "":
		return nil, usagef("say where the parts go with -o FOLDER")
	case !(c.Float64("test") >= 0 && c.Float64("test") < 1):
		return nil, usagef("--test is %g, want a share of the rows, at least 0 and below 1", c.Float64("test"))
	case c.IsSet("parties") && n < 1:
		return nil, usagef("--parties is %d, want 1 or more", n)
	case len(names) > 0 && n != 0 && n != len(names):
		return nil, usagef("--parties is %d, but --names has %s", n, plural(len(names), "name"))
	case len(names) == 0 && n == 0:
		n = 4
	}
	for i := len(names); i < n; i++ {
		names = append(names, "party"+strconv.Itoa(i+1))
	}
	for i, name := range names {
		if err := keys.CheckName(name); err != nil {
			return nil, usagef("--names: %v", err)
		}
		for _, before := range names[:i] {
			if before == name {
				return nil, usagef("--names has %q twice", name)
			}
		}
	}
	return names, nil
}

// readToSplit reads the table and settles its label.
func readToSplit(c *cli.Context, path string) (*dataset.Table, string, error) {
	label := c.String("label")
	o := dataset.Options{
		ID: c.String("id"), Label: label, Categorical: c.StringSlice("categorical"), Missing: c.String("missing"),
	}
	t, err := dataset.Read(path, o)
	if err != nil {
		return nil, "", err
	}
	if label != "" {
		_, err = t.Column(label)
		return t, label, err
	}
	if _, err := t.Column("label"); err != nil {
		return t, "", nil
	}
	if o.Label = "label"; o.Imputes() { // but not the labels
		t, err = dataset.Read(path, o)
	}
	return t, o.Label, err
}

// constantColumns lists columns that say nothing.
func constantColumns(t *dataset.Table) []string {
	constant := []string{}
	for _, col := range t.Columns {
		if isConstant(col.Values) && isConstant(col.Codes) {
			constant = append(constant, col.Name)
		}
	}
	return constant
}

// isConstant reports whether no value differs from the first.
func isConstant[T comparable](values []T) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// writeShare writes a party's two tables.
func writeShare(t *dataset.Table, s share, train, test []int) error {
	part, err := t.Only(s.Columns...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	if err := writeTable(filepath.Join(s.Folder, "train.csv"), part.Select(train)); err != nil {
		return err
	}
	return writeTable(filepath.Join(s.Folder, "test.csv"), part.Select(test))
}

// writeTable writes a CSV file; a half-written one is removed.
func writeTable(path string, t *dataset.Table) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = t.WriteCSV(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// printSplit says who has what.
func printSplit(c *cli.Context, r splitReport) error {
	if c.Bool("json") {
		return printJSON(c, r)
	}
	t := newTable(c.App.Writer)
	t.row("party", "columns", "rows to train", "to test", "folder", "label")
	for i, s := range r.Parties {
		n, label := len(s.Columns), ""
		if i == 0 && r.Label != "" {
			n, label = n-1, r.Label
		}
		t.row(s.Party, strconv.Itoa(n), strconv.Itoa(s.Train), strconv.Itoa(s.Test), s.Folder, label)
	}
	if err := t.flush(); err != nil {
		return err
	}
	reportConstant(c.App.ErrWriter, r.Constant)
	return nil
}

// reportConstant tells of columns that can be left out.
func reportConstant(w io.Writer, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(w, "%s with one value in all rows: %s\n", plural(len(names), "column"), strings.Join(names, ", "))
	}
}
