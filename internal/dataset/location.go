package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/keys"
)

// written are the options of a table as its owner writes them in a file beside it, SOURCE.toml, and, but for the
// quotes, behind a question mark in its location: train.csv?id=customer&categorical=region,product. Evolution: keys are
// added; none changes its meaning.
type written struct {
	ID          string    `toml:"id,omitempty"`
	Categorical []string  `toml:"categorical,omitempty"`
	Missing     string    `toml:"missing,omitempty"`
	NA          *[]string `toml:"na,omitempty"` // [] leaves the empty cell alone as missing
	Columns     []string  `toml:"columns,omitempty"`
	Ignore      []string  `toml:"ignore,omitempty"`
	Levels      string    `toml:"levels,omitempty"`
	Dates       string    `toml:"dates,omitempty"`
	Refresh     string    `toml:"refresh,omitempty"` // of a table that is no file
	Delimiter   string    `toml:"delimiter,omitempty"`
	Decimal     string    `toml:"decimal,omitempty"`
	Thousands   string    `toml:"thousands,omitempty"`
	Units       []string  `toml:"units,omitempty"`
}

// execPrefix begins the location of a command, whose question marks are the command's.
const execPrefix = "exec:"

// ParseLocation takes the options of a table from its location, SOURCE?KEY=VALUE&..., and leaves the rest to the
// source: keys that are not ours stay where they are. Lists have commas between, and a comma in a name is %2C.
func ParseLocation(location string) (source string, o Options, err error) {
	path, query, found := strings.Cut(location, "?")
	if !found || strings.HasPrefix(location, execPrefix) {
		return location, o, nil
	}
	var w written
	var rest []string
	said := make(map[string]bool)
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		one, list := w.field(key)
		if one == nil && list == nil {
			rest = append(rest, part)
			continue
		}
		if said[key] {
			return "", o, named(path, fmt.Errorf("%s is given twice", key))
		}
		said[key] = true
		words := []string{value}
		if list != nil {
			words = strings.Split(value, ",")
		}
		for i, word := range words {
			if words[i], err = url.PathUnescape(word); err != nil {
				return "", o, named(path, fmt.Errorf("%s has %s: a percent sign is written %%25", key, quote(word)))
			}
			if why := checkText(words[i]); why != "" {
				return "", o, named(path, fmt.Errorf("%s has %s, which %s", key, quote(word), why))
			}
			if words[i] == "" && key != "na" {
				return "", o, named(path, fmt.Errorf("%s has an empty word; leave it out, or give a value", key))
			}
		}
		if one != nil {
			*one = words[0]
		} else {
			*list = words
		}
	}
	if source = path; len(rest) > 0 {
		source += "?" + strings.Join(rest, "&")
	}
	o = w.options()
	o.home.location = slices.Sorted(maps.Keys(said))
	return source, o, nil
}

// field returns where the value of a key goes; both are nil where the key is not ours.
func (w *written) field(key string) (one *string, list *[]string) {
	switch key {
	case "id":
		return &w.ID, nil
	case "missing":
		return &w.Missing, nil
	case "levels":
		return &w.Levels, nil
	case "dates":
		return &w.Dates, nil
	case "refresh":
		return &w.Refresh, nil
	case "delimiter":
		return &w.Delimiter, nil
	case "decimal":
		return &w.Decimal, nil
	case "thousands":
		return &w.Thousands, nil
	case "units":
		return nil, &w.Units
	case "categorical":
		return nil, &w.Categorical
	case "columns":
		return nil, &w.Columns
	case "ignore":
		return nil, &w.Ignore
	case "na":
		w.NA = new([]string)
		return nil, w.NA
	}
	return nil, nil
}

// options returns what is written.
func (w *written) options() Options {
	o := Options{ID: w.ID, Categorical: w.Categorical, Missing: w.Missing, Columns: w.Columns, Ignore: w.Ignore,
		Levels: w.Levels, Dates: w.Dates, Refresh: w.Refresh, Delimiter: w.Delimiter, Decimal: w.Decimal,
		Thousands: w.Thousands, Units: w.Units}
	if w.NA != nil {
		o.NA = append([]string{}, *w.NA...)
	}
	return o
}

// TOML returns the options as a file beside a table has them.
func (o Options) TOML() ([]byte, error) {
	w := written{ID: o.ID, Categorical: o.Categorical, Missing: o.Missing, Columns: o.Columns, Ignore: o.Ignore,
		Levels: o.Levels, Dates: o.Dates, Refresh: o.Refresh, Delimiter: o.Delimiter, Decimal: o.Decimal,
		Thousands: o.Thousands, Units: o.Units}
	if o.NA != nil {
		w.NA = &o.NA
	}
	return toml.Marshal(w)
}

// maxOptions is the largest file of options that is read, in bytes.
const maxOptions = 1 << 20

// Beside returns the options in the file beside a table, SOURCE.toml, zero ones where there is no such file.
func Beside(source string) (o Options, err error) {
	path, _, _ := strings.Cut(source, "?")
	path += ".toml"
	if o.home.file = path; strings.HasPrefix(source, execPrefix) {
		o.home.file = "FILE.toml, beside a file to which the command's rows are written"
		return o, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOptions+1))
	if err != nil {
		return o, err
	}
	if len(text) > maxOptions {
		return o, fmt.Errorf("%s has more than %d bytes: this is no file of a table's options", path, maxOptions)
	}
	if o, err = parseWritten(string(text)); err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	var keys map[string]any
	if err := toml.Unmarshal(text, &keys); err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	o.home = home{file: path, written: slices.Sorted(maps.Keys(keys))}
	return o, nil
}

// parseWritten reads a file of options; keys that there are not are refused.
func parseWritten(text string) (Options, error) {
	var w written
	if err := keys.DecodeStrict("options of a table", []byte(text), &w); err != nil {
		return Options{}, fmt.Errorf("%w; a table has id, categorical, missing, na, columns, ignore, levels, dates, "+
			"delimiter, decimal, thousands, units and refresh", err)
	}
	return w.options(), nil
}

// Locate takes a location apart: the source, and its options, those in the location before those in the file beside it,
// and these before the given defaults. They are checked as far as they can be without the table.
func Locate(location string, defaults Options) (source string, o Options, err error) {
	source, o, err = ParseLocation(location)
	if err != nil {
		return "", o, err
	}
	beside, err := Beside(source)
	if err != nil {
		return "", o, err
	}
	o = o.Or(beside)
	if o.Refresh != "" && isFile(source) {
		return "", o, named(source, errors.New("refresh is of databases and commands: a file is looked at whenever it is "+
			"used; leave it out"))
	}
	o = o.Or(defaults)
	o.home.ignore, o.home.categorical, o.home.missing = o.Ignore, o.Categorical, o.NA
	lim := standardLimits()
	if _, err := o.validate(&lim); err != nil {
		return "", o, named(source, err)
	}
	return source, o, nil
}

// isFile reports whether a table is a file or a folder.
func isFile(location string) bool {
	l, err := source.Parse(location)
	return err == nil && l.IsFile()
}

// Or returns the options with those of others in place of what an owner can say and has not.
func (o Options) Or(others Options) Options {
	o.ID, o.Missing = cmp.Or(o.ID, others.ID), cmp.Or(o.Missing, others.Missing)
	o.Levels, o.Dates = cmp.Or(o.Levels, others.Levels), cmp.Or(o.Dates, others.Dates)
	o.Refresh, o.Delimiter = cmp.Or(o.Refresh, others.Refresh), cmp.Or(o.Delimiter, others.Delimiter)
	o.Decimal, o.Thousands = cmp.Or(o.Decimal, others.Decimal), cmp.Or(o.Thousands, others.Thousands)
	if o.home.file == "" {
		o.home.file, o.home.written = others.home.file, others.home.written
	}
	for _, list := range []struct {
		own   *[]string
		other []string
	}{
		{&o.Categorical, others.Categorical}, {&o.Columns, others.Columns}, {&o.Ignore, others.Ignore}, {&o.NA, others.NA},
		{&o.Units, others.Units},
	} {
		if *list.own == nil {
			*list.own = slices.Clone(list.other)
		}
	}
	return o
}
