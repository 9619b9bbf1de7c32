package split

import (
	"math"
	"path/filepath"
	"strconv"

	"github.com/hanse-project/hanse/internal/credit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
)

// creditParties is how many parties the generated columns are made for.
const creditParties = 4

// splitCredit writes the generated credit data set as its four parties hold it, under the names that are given.
func splitCredit(o *Options) error {
	if err := checkSplitCredit(o); err != nil {
		return err
	}
	n, test, seed := o.People, o.TestShare, o.Seed
	d := trial.CreditSplit(n, 1-test, seed)
	if o.Given("names") {
		names, err := partyNames(o)
		if err != nil {
			return err
		}
		if len(names) != creditParties {
			return usage.Errorf("--names has %s, but the generated columns are those of %d parties",
				wording.Count(len(names), "name"), creditParties)
		}
		d.Names = names
	}
	toTrain, toTest := d.Train[0].Rows(), d.Test[0].Rows()
	if toTrain == 0 || toTest == 0 && test > 0 {
		return usage.Errorf("--people %d cannot be split: --test %g leaves %d to train with and %d to test",
			n, test, toTrain, toTest)
	}
	d, common := d.Apart(o.Overlap, seed)
	if err := d.Write(o.Folder); err != nil {
		return err
	}
	r := Report{Label: d.Label, Seed: seed, Constant: []string{}, CommonTrain: common.Train[0].Rows(),
		CommonTest: common.Test[0].Rows()}
	for i, name := range d.Names {
		whole, err := dataset.Join(d.Train[i], d.Test[i])
		if err != nil {
			return err
		}
		r.Constant = append(r.Constant, constantColumns(whole)...)
		folder := filepath.Join(o.Folder, name)
		r.Parties = append(r.Parties,
			Share{name, whole.Names(), d.Train[i].Rows(), d.Test[i].Rows(), folder, ""})
	}
	return printSplit(o, r)
}

// checkSplitCredit refuses what does not go with generated data.
func checkSplitCredit(o *Options) error {
	switch {
	case len(o.Tables) > 0:
		return usage.Errorf("give a table or --people, not both")
	case o.People < 1 || o.People > credit.MaxPeople:
		return usage.Errorf("--people is %d, want 1 to %d", o.People, credit.MaxPeople)
	case o.Folder == "":
		return usage.Errorf("give the folder to write into: hanse split --people %d --out FOLDER", o.People)
	case !(o.TestShare >= 0 && o.TestShare < 1):
		return usage.Errorf("--test is %g, want a share of the rows, at least 0 and below 1", o.TestShare)
	case !(o.Overlap >= 0 && o.Overlap <= 1):
		return overlapError(o.Overlap)
	case o.Given("parties") && o.Parties != creditParties:
		return usage.Errorf("--parties is %d, but the generated columns are those of %d parties",
			o.Parties, creditParties)
	}
	for _, name := range []string{"label", "no-label", "id", "categorical", "missing"} {
		if o.Given(name) {
			return usage.Errorf("--%s says how a table is read, and --people reads none; give a table, or leave it out", name)
		}
	}
	return nil
}

// splitStreams writes the generated streams of an algorithm over clients: each client's first rows to learn from, and
// those after them to test with.
func splitStreams(o *Options) error {
	trial, unknown := online.TrialOf(o.Algorithm)
	if err := checkSplitStreams(o, trial); err != nil {
		return err
	}
	if unknown != nil {
		return usage.Errorf("--%v", unknown)
	}
	rounds, seed := o.Rounds, o.Seed
	train := rounds - int(math.Round(o.TestShare*float64(rounds)))
	size := online.Options{Servers: o.Servers, Clients: o.Clients, Rounds: rounds, Seed: seed}
	f := trial.Streams(size)
	r := Report{Seed: seed, Constant: []string{}}
	for s, server := range f.Servers {
		for _, name := range f.Clients[s] {
			stream, folder := f.Streams[name], filepath.Join(o.Folder, name)
			if err := textfile.MakeFolder(folder); err != nil {
				return err
			}
			if err := stream.Rows(0, train).Write(filepath.Join(folder, "train.csv")); err != nil {
				return err
			}
			if err := stream.Rows(train, rounds).Write(filepath.Join(folder, "test.csv")); err != nil {
				return err
			}
			r.Label = stream.Label
			r.Parties = append(r.Parties, Share{name, stream.Columns, train, rounds - train, folder, server})
		}
	}
	if o.JSON {
		return terminal.JSON(o.Out, r)
	}
	t := wording.NewTable(o.Out, "")
	t.Row("client", "of", "inputs", "label", "rows to learn", "to test", "folder")
	for _, s := range r.Parties {
		inputs := strconv.Itoa(len(s.Columns))
		t.Row(s.Party, s.Server, inputs, r.Label, strconv.Itoa(s.Train), strconv.Itoa(s.Test), s.Folder)
	}
	return t.Flush()
}

// checkSplitStreams refuses what does not go with generated streams.
func checkSplitStreams(o *Options, trial online.Trial) error {
	for _, size := range []struct {
		name    string
		n, most int
	}{{"clients", o.Clients, maxClients}, {"servers", o.Servers, maxServers}, {"rounds", o.Rounds, maxRounds}} {
		if size.n < 1 || size.n > size.most {
			return usage.Errorf("--%s is %d, want 1 to %d", size.name, size.n, size.most)
		}
	}
	switch {
	case len(o.Tables) > 0:
		return usage.Errorf("give a table or --algorithm, not both")
	case o.Folder == "":
		return usage.Errorf("give the folder to write into: hanse split --algorithm %s --out FOLDER", o.Algorithm)
	case !(o.TestShare >= 0 && o.TestShare < 1):
		return usage.Errorf("--test is %g, want a share of the rows, at least 0 and below 1", o.TestShare)
	case trial.Servers < 2 && o.Servers != 1:
		return usage.Errorf("--servers is %d: %s has one server", o.Servers, o.Algorithm)
	}
	for _, name := range []string{"label", "no-label", "id", "categorical", "missing", "names", "parties", "overlap"} {
		if o.Given(name) {
			return usage.Errorf("--%s says how a table is read or dealt out, and --algorithm reads none; "+
				"give a table, or leave it out", name)
		}
	}
	return nil
}
