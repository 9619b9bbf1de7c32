package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
)

// creditParties is how many parties the generated columns are made for.
const creditParties = 4

// splitCredit writes the generated credit data set as its four parties hold it, under the names that are given.
func splitCredit(c *cli.Context) error {
	if err := checkSplitCredit(c); err != nil {
		return err
	}
	n, test, seed := c.Int("people"), c.Float64("test"), c.Uint64("seed")
	d := trial.CreditSplit(n, 1-test, seed)
	if c.IsSet("names") {
		names, err := partyNames(c)
		if err != nil {
			return err
		}
		if len(names) != creditParties {
			return usagef("--names has %s, but the generated columns are those of %d parties",
				plural(len(names), "name"), creditParties)
		}
		d.Names = names
	}
	toTrain, toTest := d.Train[0].Rows(), d.Test[0].Rows()
	if toTrain == 0 || toTest == 0 && test > 0 {
		return usagef("--people %d cannot be split: --test %g leaves %d to train with and %d to test",
			n, test, toTrain, toTest)
	}
	if err := d.Write(c.String("out")); err != nil {
		return err
	}
	r := splitReport{Label: d.Label, Seed: seed, Constant: []string{}}
	for i, name := range d.Names {
		whole, err := dataset.Join(d.Train[i], d.Test[i])
		if err != nil {
			return err
		}
		r.Constant = append(r.Constant, constantColumns(whole)...)
		folder := filepath.Join(c.String("out"), name)
		r.Parties = append(r.Parties, share{name, whole.Names(), toTrain, toTest, folder, ""})
	}
	return printSplit(c, r)
}

// checkSplitCredit refuses what does not go with generated data.
func checkSplitCredit(c *cli.Context) error {
	switch {
	case c.Args().Present():
		return usagef("give a table or --people, not both")
	case c.Int("people") < 1:
		return usagef("--people is %d, want 1 or more", c.Int("people"))
	case c.String("out") == "":
		return usagef("give the folder to write into: hanse split --people %d --out FOLDER", c.Int("people"))
	case !(c.Float64("test") >= 0 && c.Float64("test") < 1):
		return usagef("--test is %g, want a share of the rows, at least 0 and below 1", c.Float64("test"))
	case c.IsSet("parties") && c.Int("parties") != creditParties:
		return usagef("--parties is %d, but the generated columns are those of %d parties",
			c.Int("parties"), creditParties)
	}
	for _, name := range []string{"label", "id", "categorical", "missing"} {
		if c.IsSet(name) {
			return usagef("--%s says how a table is read, and --people reads none; give a table, or leave it out", name)
		}
	}
	return nil
}
