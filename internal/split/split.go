// Package split writes the tables and streams that the parties of a trial hold: it cuts one table, or generates data.
package split

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Options are what is asked for, as the flags of the same names of hanse split say it.
type Options struct {
	Tables                   []string // one file, or none where data is generated
	People                   int
	Algorithm                string // over clients
	Clients, Servers, Rounds int
	Parties                  int
	Names                    []string
	Label, ID, Missing       string
	NoLabel                  bool // all columns are dealt alike
	Categorical              []string
	Seed                     uint64
	TestShare                float64 // of the rows
	Overlap                  float64 // share of the rows that all parties get
	Folder                   string
	JSON                     bool

	Given    func(flag string) bool // reports whether a flag was given and is not left at its default
	Out, Err io.Writer
}

// Sizes of generated streams when the flags do not say.
const (
	Clients = 5
	Rounds  = 400
)

// Limits of generated streams.
const (
	maxClients = 1000
	maxServers = 16
	maxRounds  = 1_000_000
)

// Share is one party's part of a split table.
type Share struct {
	Party   string   `json:"party"`
	Columns []string `json:"columns"`
	Train   int      `json:"rows_train"`
	Test    int      `json:"rows_test"`
	Folder  string   `json:"folder"`
	Server  string   `json:"server,omitempty"` // of a client with a stream
}

// Report is what a split comes to, as JSON.
type Report struct {
	Table    string   `json:"table"`
	Label    string   `json:"label"`
	Seed     uint64   `json:"seed"`
	Parties  []Share  `json:"parties"`
	Constant []string `json:"constant"` // columns with one value in all rows
	// Rows that all parties have; of streams 0.
	CommonTrain int `json:"common_train"`
	CommonTest  int `json:"common_test"`
}

// Run cuts a table, or generates data, into the folders of parties.
func Run(o *Options) error {
	if o.Given("people") && o.Given("algorithm") {
		return usage.Errorf("--people is for columns of the same people and --algorithm for clients' streams: give one of " +
			"them")
	}
	if o.Given("people") {
		return splitCredit(o)
	}
	if o.Given("algorithm") {
		return splitStreams(o)
	}
	for _, name := range []string{"clients", "servers", "rounds"} {
		if o.Given(name) {
			return usage.Errorf("--%s is for the streams of an --algorithm over clients; say which, or leave it out", name)
		}
	}
	if len(o.Tables) != 1 {
		return usage.Errorf("give one table: hanse split TABLE")
	}
	path := o.Tables[0]
	names, err := partyNames(o)
	if err != nil {
		return err
	}
	source, how, err := dataset.Locate(path,
		dataset.Options{ID: o.ID, Categorical: o.Categorical, Missing: o.Missing})
	if err != nil {
		return err
	}
	how.Label = o.Label
	t, label, err := readToSplit(source, how, o.NoLabel)
	if err != nil {
		return err
	}
	columns, err := dataset.SplitColumns(t, label, len(names), o.Seed)
	if err != nil {
		return err
	}
	if t, err = asItCame(t, source, how); err != nil {
		return err
	}
	train, test := dataset.SplitRows(t.Rows(), 1-o.TestShare, o.Seed)
	if len(train) == 0 || len(test) == 0 && o.TestShare > 0 {
		return fmt.Errorf("%s: %s cannot be split: --test %g leaves %d to train with and %d to test", path,
			wording.Count(t.Rows(), "row"), o.TestShare, len(train), len(test))
	}
	toTrain := trial.RowsApart(len(train), len(names), o.Overlap, o.Seed)
	toTest := trial.RowsApart(len(test), len(names), o.Overlap, o.Seed)
	r := Report{Table: source, Label: label, Seed: o.Seed, Constant: constantColumns(t), CommonTrain: len(toTrain.Common),
		CommonTest: len(toTest.Common)}
	for i, name := range names {
		s := Share{name, columns[i], len(toTrain.At[i]), len(toTest.At[i]), filepath.Join(o.Folder, name), ""}
		// Writes a party's two tables.
		part, err := t.Only(s.Columns...)
		if err != nil {
			return err
		}
		if err := textfile.MakeFolder(s.Folder); err != nil {
			return err
		}
		options, err := optionsOf(how, part)
		if err != nil {
			return err
		}
		for file, rows := range map[string]*dataset.Table{
			"train.csv": part.Select(train).Select(toTrain.At[i]), "test.csv": part.Select(test).Select(toTest.At[i]),
		} {
			path := filepath.Join(s.Folder, file)
			if err := writeTable(path, rows); err != nil {
				return err
			}
			if len(options) == 0 {
				continue
			}
			if err := os.WriteFile(path+".toml", options, 0o600); err != nil {
				return err
			}
		}
		r.Parties = append(r.Parties, s)
	}
	return printSplit(o, r)
}

// optionsOf returns the file beside a part that says how the whole was read, empty where nothing was said. What
// separates columns, and which of them count, is settled.
func optionsOf(how dataset.Options, part *dataset.Table) ([]byte, error) {
	said := how
	said.Columns, said.Ignore, said.Delimiter, said.Refresh, said.Categorical = nil, nil, "", "", nil
	for _, name := range part.Names() {
		if slices.Contains(how.Categorical, name) {
			said.Categorical = append(said.Categorical, name)
		}
	}
	return said.TOML()
}

// overlapError refuses an overlap.
func overlapError(overlap float64) error {
	return usage.Errorf("--overlap is %g, want the share of the rows that all parties get, 0 to 1", overlap)
}

// partyNames checks the names, or makes some up.
func partyNames(o *Options) ([]string, error) {
	names, n := o.Names, o.Parties
	switch {
	case o.Folder == "":
		return nil, usage.Errorf("say where the parts go with -o FOLDER")
	case !(o.TestShare >= 0 && o.TestShare < 1):
		return nil, usage.Errorf("--test is %g, want a share of the rows, at least 0 and below 1", o.TestShare)
	case !(o.Overlap >= 0 && o.Overlap <= 1):
		return nil, overlapError(o.Overlap)
	case o.Given("parties") && n < 1:
		return nil, usage.Errorf("--parties is %d, want 1 or more", n)
	case len(names) > 0 && n != 0 && n != len(names):
		return nil, usage.Errorf("--parties is %d, but --names has %s", n, wording.Count(len(names), "name"))
	case len(names) == 0 && n == 0:
		n = 4
	}
	for i := len(names); i < n; i++ {
		names = append(names, "party"+strconv.Itoa(i+1))
	}
	for i, name := range names {
		if err := keys.CheckName(name); err != nil {
			return nil, usage.Errorf("--names: %v", err)
		}
		for _, before := range names[:i] {
			if before == name {
				return nil, usage.Errorf("--names has %q twice", name)
			}
		}
	}
	return names, nil
}

// readToSplit reads the table and settles its label: a table without one is split only where that is asked for, since
// nobody can train on its parts.
func readToSplit(source string, how dataset.Options, noLabel bool) (*dataset.Table, string, error) {
	if noLabel && how.Label != "" {
		return nil, "", usage.Errorf("--label names the label and --no-label says that there is none: give one of them")
	}
	t, err := dataset.Read(source, how)
	if err != nil {
		return nil, "", err
	}
	if how.Label != "" {
		_, err = t.Column(how.Label)
		return t, how.Label, err
	}
	if noLabel {
		return t, "", nil
	}
	if _, err := t.Column("label"); err != nil && !t.Numbered() {
		return nil, "", usage.Errorf("%w: say with --label which of them is the label, which goes to the first party, or "+
			"give --no-label to deal all alike", err)
	}
	how.Label = "label" // its cells may be missing
	t, err = dataset.Read(source, how)
	return t, how.Label, err
}

// asItCame reads a table again for its cells as they are written: numbers, dates and what stands for a missing cell are
// texts, which a node reads for what they are.
func asItCame(t *dataset.Table, source string, how dataset.Options) (*dataset.Table, error) {
	if t.Numbered() { // a LIBSVM file has numbers only
		return t, nil
	}
	how.Identify = t.Names()
	reading, err := dataset.Load(context.Background(), source, how)
	if err != nil {
		return nil, err
	}
	texts, _, err := reading.Texts(t.Names()...)
	if err != nil {
		return nil, err
	}
	raw := *t
	raw.Columns = nil
	for i, name := range t.Names() {
		raw.Columns = append(raw.Columns, dataset.TextColumn(name, texts[i]))
	}
	return &raw, nil
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
func printSplit(o *Options, r Report) error {
	if o.JSON {
		return terminal.JSON(o.Out, r)
	}
	t := wording.NewTable(o.Out, "")
	t.Row("party", "columns", "rows to train", "to test", "folder", "label")
	for i, s := range r.Parties {
		n, label := len(s.Columns), ""
		if i == 0 && r.Label != "" {
			n, label = n-1, r.Label
		}
		t.Row(s.Party, strconv.Itoa(n), strconv.Itoa(s.Train), strconv.Itoa(s.Test), s.Folder, label)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Parties[0].Train > r.CommonTrain {
		fmt.Fprintf(o.Err, "%s to train with and %d to test are common to all parties\n",
			wording.Count(r.CommonTrain, "row"), r.CommonTest)
	}
	if n := len(r.Constant); n > 0 {
		fmt.Fprintf(o.Err, "%s with one value in all rows: %s\n", wording.Count(n, "column"), strings.Join(r.Constant, ", "))
	}
	return nil
}
