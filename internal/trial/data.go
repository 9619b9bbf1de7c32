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

// Files reads a table from files, stacked, and deals its columns to parties. Without a label in
// o it is the column with a telling name, or else the last.
func Files(paths []string, o dataset.Options, parties int, seed uint64) (*Data, error) {
	whole, err := join(paths, o)
	if err != nil {
		return nil, err
	}
	if o.Label == "" {
		o.Label = labelOf(whole)
		if o.Imputes() { // but not the labels
			if whole, err = join(paths, o); err != nil {
				return nil, err
			}
		}
	}
	label := o.Label
	hands, err := dataset.SplitColumns(whole, label, parties, seed)
	if err != nil {
		return nil, err
	}
	d := &Data{Names: PartyNames(parties), Label: label, read: o}
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

// join reads a table from files, stacked.
func join(paths []string, o dataset.Options) (*dataset.Table, error) {
	var parts []*dataset.Table
	for _, path := range paths {
		t, err := dataset.Read(path, o)
		if err != nil {
			return nil, err
		}
		parts = append(parts, t)
	}
	return dataset.Join(parts...)
}

// Options says how a party's files, as Write writes them, are to be read so that the party's tables come back. It
// leaves the label out, which a job names. Texts are listed besides codes, as a few rows of them may all be empty.
func (d *Data) Options(party int) dataset.Options {
	o := dataset.Options{ID: d.read.ID, Missing: d.read.Missing}
	for _, c := range d.Train[party].Columns {
		if c.Kind == dataset.Categorical && !strings.Contains(c.Name, ",") { // flags are cut at commas
			o.Categorical = append(o.Categorical, c.Name)
		}
	}
	return o
}

// labelOf guesses the label's column: one with a telling name, or else the last.
func labelOf(t *dataset.Table) string {
	names := t.Names()
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

// Classes returns how many different labels the training rows have; at most 3 are counted.
func (d *Data) Classes() int {
	c, err := d.Train[0].Column(d.Label)
	if err != nil {
		return 0
	}
	seen := make(map[float64]bool)
	for i := range d.Train[0].Rows() {
		if c.Kind == dataset.Categorical {
			seen[float64(c.Codes[i])] = true
		} else {
			seen[c.Values[i]] = true
		}
		if len(seen) == 3 {
			break
		}
	}
	return len(seen)
}

// Write writes every party's train.csv and test.csv below dir.
func (d *Data) Write(dir string) error {
	for i, name := range d.Names {
		for file, t := range map[string]*dataset.Table{"train.csv": d.Train[i], "test.csv": d.Test[i]} {
			if err := writeTable(filepath.Join(dir, name, file), t); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTable writes one CSV file.
func writeTable(path string, t *dataset.Table) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
