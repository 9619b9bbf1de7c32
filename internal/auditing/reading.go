package auditing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/vertical"
)

// Words say how tables are read. Each is [PARTY=]WORD and holds, without a party, for all tables that it fits.
type Words struct{ ID, Categorical, Missing []string }

// everybody stands for all parties that have no word of their own.
const everybody = ""

// readings says how every party's table is read, as its node reads it.
type readings struct {
	id, missing map[string]string   // by party
	categorical map[string][]string // by party
}

// newReadings takes words apart. The parties are the job's; data are the tables that are given, each PARTY=FILE.
func newReadings(w Words, parties, data []string) (*readings, error) {
	r := &readings{
		id: make(map[string]string), missing: make(map[string]string),
		categorical: make(map[string][]string),
	}
	for i, given := range [][]string{w.ID, w.Categorical, w.Missing} {
		flag := []string{"id", "categorical", "missing"}[i]
		for _, v := range given {
			party, word := everybody, v
			if name, rest, ok := strings.Cut(v, "="); ok && slices.Contains(parties, name) {
				party, word = name, rest
			} else if ok && flag == "missing" {
				return nil, usage.Errorf("--missing %s: want HOW, or PARTY=HOW with one of the parties %s",
					v, strings.Join(parties, ", "))
			}
			isGiven := func(d string) bool { return strings.HasPrefix(d, party+"=") }
			if party != everybody && !slices.ContainsFunc(data, isGiven) {
				return nil, usage.Errorf("--%s %s: no table of %s is given; give it with --data %s=FILE",
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
		return usage.Errorf("--%s is given twice for %s, as %s and %s", flag, cmp.Or(party, "all parties"), one[party], word)
	case one != nil:
		one[party] = word
	}
	return nil
}

// of returns how a party's table is read: as its location says; as flags say of the party; as the party's part of the
// model says, where it is here, and else as the file beside the table says, or flags of all tables.
func (r *readings) of(party, source string, said dataset.Options, part *joint.Model) (dataset.Options, error) {
	o := said.Or(dataset.Options{ID: r.id[party], Missing: r.missing[party],
		Categorical: slices.Clone(r.categorical[party])})
	if part != nil {
		return o.Or(vertical.TrainingOptions(part.Reading)), nil
	}
	beside, err := dataset.Beside(source)
	if err != nil {
		return o, err
	}
	o = o.Or(beside)
	o.Missing = cmp.Or(o.Missing, r.missing[everybody])
	if r.id[everybody] == "" && len(r.categorical[everybody]) == 0 {
		return o, nil
	}
	names, err := dataset.Header(source, o)
	if err != nil {
		return o, err
	}
	if o.ID == "" && slices.Contains(names, r.id[everybody]) {
		o.ID = r.id[everybody]
	}
	if said.Categorical != nil || beside.Categorical != nil {
		return o, nil
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
		_, location, ok := strings.Cut(d, "=")
		if !ok {
			continue // refused where the table is read
		}
		source, o, err := dataset.Locate(location, dataset.Options{})
		if err != nil {
			return err
		}
		names, err := dataset.Header(source, o)
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
				return usage.Errorf("%s %s: no table that is given with --data has that column; want COLUMN, or PARTY=COLUMN",
					flag, name)
			}
		}
	}
	return nil
}
