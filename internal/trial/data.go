// Package trial sets up whole federations on one machine for demonstrations and measurements:
// tables cut into vertical parts, key files, a charter, and the baselines that a federation's
// model is compared with.
package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hanse-project/hanse/internal/credit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/vertical"
)

// TrainShare is the share of rows to train on; the others are for testing.
const TrainShare = 0.75

// Data is a data set cut for a trial: the same rows at every party, split into training and test.
type Data struct {
	Names []string // parties; the first one has the label
	Label string
	Train []*dataset.Table
	Test  []*dataset.Table

	read dataset.Options // how the files were read that the tables come from
}

// Credit generates the credit data set for four parties; see package credit.
func Credit(people int, seed uint64) *Data { return CreditSplit(people, TrainShare, seed) }

// CreditSplit is Credit with another share of the rows to train on.
func CreditSplit(people int, trainShare float64, seed uint64) *Data {
	d := &Data{Label: credit.Label}
	train, test := dataset.SplitRows(people, trainShare, seed)
	for _, p := range credit.Generate(people, seed) {
		t := byID(p.Table)
		d.Names = append(d.Names, p.Name)
		d.Train = append(d.Train, t.Select(train))
		d.Test = append(d.Test, t.Select(test))
	}
	return d
}

// Files reads a table from files, stacked, and deals its columns to parties. What stands behind a question mark in a
// location, or in a file beside it, goes before o. Without a label in o it is the column with a telling name, or else
// the last.
func Files(locations []string, o dataset.Options, parties int, seed uint64) (*Data, error) {
	whole, read, err := join(locations, o)
	if err != nil {
		return nil, err
	}
	if o.Label == "" {
		o.Label = labelOf(whole)
		if whole, read, err = join(locations, o); err != nil { // its cells may be missing
			return nil, err
		}
	}
	label := o.Label
	if err := whole.Without(label).CheckLevels(); err != nil {
		return nil, err
	}
	hands, err := dataset.SplitColumns(whole, label, parties, seed)
	if err != nil {
		return nil, err
	}
	d := &Data{Names: PartyNames(parties), Label: label, read: read}
	d.read.ID = whole.IDName
	train, test := dataset.SplitRows(whole.Rows(), TrainShare, seed)
	for _, hand := range hands {
		part, err := whole.Only(hand...)
		if err != nil {
			return nil, err
		}
		d.Train, d.Test = append(d.Train, part.Select(train)), append(d.Test, part.Select(test))
	}
	return d, nil
}

// join reads a table from files, stacked, and returns how the first was read.
func join(locations []string, o dataset.Options) (whole *dataset.Table, first dataset.Options, err error) {
	var parts []*dataset.Table
	for i, location := range locations {
		place, how, err := dataset.Locate(location, o)
		if err != nil {
			return nil, first, err
		}
		if how.Label = o.Label; i == 0 {
			first = how
		}
		t, err := dataset.Read(place, how)
		if err != nil {
			return nil, first, err
		}
		parts = append(parts, t)
	}
	whole, err = dataset.Join(parts...)
	return whole, first, err
}

// Options says how a party's files, as Write writes them, are to be read so that the party's tables come back. It
// leaves the label out, which a job names. Texts are listed besides codes, as a few rows of them may all be missing.
func (d *Data) Options(party int) dataset.Options {
	o := dataset.Options{ID: d.read.ID, Missing: d.read.Missing, NA: d.read.NA, Levels: d.read.Levels}
	for _, c := range d.Train[party].Columns {
		if c.Kind == dataset.Categorical {
			o.Categorical = append(o.Categorical, c.Name)
		}
	}
	return o
}

// labelOf guesses the label's column: one with a telling name, or else the last.
func labelOf(t *dataset.Table) string {
	names := t.Names()
	if t.Numbered() {
		return "label" // of a LIBSVM file, which shows it only to who asks
	}
	for _, want := range []string{"label", "target", "class", "y"} {
		if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, want) }); i >= 0 {
			return names[i]
		}
	}
	return names[len(names)-1]
}

// PartyNames names the parties of a trial.
func PartyNames(n int) []string {
	names := []string{"bank", "insurer", "telco", "retailer"}
	for i := len(names); i < n; i++ {
		names = append(names, fmt.Sprintf("party-%d", i+1))
	}
	return names[:n]
}

// byID returns a table with its rows sorted by id.
func byID(t *dataset.Table) *dataset.Table {
	order := make([]int, t.Rows())
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(a, b int) bool { return t.IDs[order[a]] < t.IDs[order[b]] })
	return t.Select(order)
}

// Target says what the training rows' labels are, classes or numbers, unless target says it, and how many classes there
// are, 0 for numbers.
func (d *Data) Target(target string) (string, int, error) {
	return vertical.TargetOf(d.Train[0], d.Label, target)
}

// Write writes every party's train.csv and test.csv below dir, and beside them how they are read.
func (d *Data) Write(dir string) error {
	for i, name := range d.Names {
		options, err := d.Options(i).TOML()
		if err != nil {
			return err
		}
		for file, t := range map[string]*dataset.Table{"train.csv": d.Train[i], "test.csv": d.Test[i]} {
			path := filepath.Join(dir, name, file)
			if err := writeTable(path, t); err != nil {
				return err
			}
			if len(options) == 0 {
				continue
			}
			if err := os.WriteFile(path+".toml", options, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTable writes one CSV file.
func writeTable(path string, t *dataset.Table) (err error) {
	if err := textfile.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return t.WriteCSV(f)
}
