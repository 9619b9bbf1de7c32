package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/dataset"
)

// words is the value of a flag that may be given several times and is not cut at commas.
type words []string

// Set implements flag.Value.
func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// String implements flag.Value.
func (w *words) String() string { return strings.Join(*w, " ") }

// readingFlags say how the tables of an audit are read: for one party, or for all to whose table a word applies.
func readingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{
			Name: "id", Value: new(words), DefaultText: "the one called id",
			Usage: "the id column of CSV files, `[PARTY=]COLUMN`; without a party, of all tables that have it",
		},
		&cli.GenericFlag{
			Name: "categorical", Value: new(words), DefaultText: "none",
			Usage: "`[PARTY=]COLUMN` that holds codes though it looks like numbers; without a party, in all tables " +
				"that have it",
		},
		&cli.GenericFlag{
			Name: "missing", Value: new(words), DefaultText: "refuse",
			Usage: "what an empty cell became, `[PARTY=]HOW`: refuse, mean or median (numbers), level (texts and codes), or both as mean,level; " +
				"without a party, in all other tables",
		},
	}
}

// everybody stands for all parties that have no word of their own.
const everybody = ""

// readings says how every party's table is read, as its node reads it.
type readings struct {
	id, missing map[string]string   // by party
	categorical map[string][]string // by party
}

// newReadings takes the flags apart. The parties are the job's; data are the tables that are given, each PARTY=FILE.
func newReadings(c *cli.Context, parties, data []string) (*readings, error) {
	r := &readings{
		id: make(map[string]string), missing: make(map[string]string),
		categorical: make(map[string][]string),
	}
	for _, flag := range []string{"id", "categorical", "missing"} {
		for _, v := range *c.Generic(flag).(*words) {
			party, word := everybody, v
			if name, rest, ok := strings.Cut(v, "="); ok && slices.Contains(parties, name) {
				party, word = name, rest
			} else if ok && flag == "missing" {
				return nil, usagef("--missing %s: want HOW, or PARTY=HOW with one of the parties %s",
					v, strings.Join(parties, ", "))
			}
			given := func(d string) bool { return strings.HasPrefix(d, party+"=") }
			if party != everybody && !slices.ContainsFunc(data, given) {
				return nil, usagef("--%s %s: no table of %s is given; give it with --data %s=FILE",
					flag, v, party, party)
			}
			if err := r.add(flag, party, word); err != nil {
				return nil, err
			}
		}
	}
	return r, r.check(data)
}

// add takes one word.
func (r *readings) add(flag, party, word string) error {
	one := map[string]map[string]string{"id": r.id, "missing": r.missing}[flag]
	switch {
	case flag == "categorical" && !slices.Contains(r.categorical[party], word):
		r.categorical[party] = append(r.categorical[party], word)
	case one != nil && one[party] != "" && one[party] != word:
		return usagef("--%s is given twice for %s, as %s and %s", flag, cmp.Or(party, "all parties"), one[party], word)
	case one != nil:
		one[party] = word
	}
	return nil
}

// of returns how a party's file is read.
func (r *readings) of(party, path string) (dataset.Options, error) {
	o := dataset.Options{ID: r.id[party], Missing: cmp.Or(r.missing[party], r.missing[everybody])}
	o.Categorical = slices.Clone(r.categorical[party])
	if r.id[everybody] == "" && len(r.categorical[everybody]) == 0 {
		return o, nil
	}
	names, err := dataset.Header(path)
	if err != nil {
		return o, err
	}
	if o.ID == "" && slices.Contains(names, r.id[everybody]) {
		o.ID = r.id[everybody]
	}
	for _, name := range r.categorical[everybody] {
		if name != o.ID && slices.Contains(names, name) && !slices.Contains(o.Categorical, name) {
			o.Categorical = append(o.Categorical, name)
		}
	}
	return o, nil
}

// check refuses a column for everybody that none of the tables has: a typing error would pass unseen.
func (r *readings) check(data []string) error {
	if r.id[everybody] == "" && len(r.categorical[everybody]) == 0 {
		return nil
	}
	var all []string
	for _, d := range data {
		_, path, ok := strings.Cut(d, "=")
		if !ok {
			continue // refused where the table is read
		}
		names, err := dataset.Header(path)
		if err != nil {
			return err
		}
		all = append(all, names...)
	}
	columns := map[string][]string{"--categorical": r.categorical[everybody]}
	if id := r.id[everybody]; id != "" {
		columns["--id"] = []string{id}
	}
	for flag, names := range columns {
		for _, name := range names {
			if !slices.Contains(all, name) {
				return usagef("%s %s: no table that is given with --data has that column; want COLUMN, or PARTY=COLUMN",
					flag, name)
			}
		}
	}
	return nil
}
