package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say how a file is to be read. The zero value reads any file that needs no choice.
type Options struct {
	// ID names the id column of a CSV file. Empty means the column called "id" in any case, or
	// else the only one with "id" as a word of its name (customer_id, CustomerID).
	// LIBSVM files have no id column: a row's id is its number, counted from 1.
	ID string
	// Label names the label column, whose cells may be empty: those rows are not labelled here.
	// It is never imputed.
	Label string
	// Categorical lists columns that hold codes or texts even where they look like numbers.
	Categorical []string
	// Ignore lists columns that are not read at all; each must be there, lest a typing error lets
	// a column in.
	Ignore []string
	// Identify lists columns that say whose a row is, as phone numbers do: they are kept as texts for Reading.Texts, and
	// never are columns of a Table. One that the file does not have is no mistake.
	Identify []string
	// Only lists the columns that are read, besides the label; nil reads all. Each must be there. Cells of other
	// columns are not looked at: new rows may have no label yet.
	Only []string
	// Columns lists the only columns of the owner's that jobs may use; nil: all. The id column need not be among them, nor
	// the label. Each must be there.
	Columns []string
	// Missing says what becomes of missing cells in a training, which fits it on its own rows: "level" (the default, also
	// "") makes them a level of their own, beside which numbers are given the column's median; "mean" or "median" are
	// for numbers alone; "mean,level" and "median,level" have levels of categorical columns besides, and no trace in
	// columns of numbers; "refuse" refuses them.
	Missing string
	// NA lists the texts that stand for a missing cell besides the empty one; nil: DefaultNA.
	NA []string
	// Levels says what becomes of a level at prediction that training never saw: "other" (the default, also "") is none
	// of the known, "error" refuses it.
	Levels string
	// Dates says how dates are read that could be day/month/year or month/day/year: "dmy" or "mdy". By default ("") a
	// column of them is one of dates where its cells can be read in one way alone; "text" leaves all dates as texts.
	Dates string
	// Delimiter is what separates the columns of a text: "," (the default, also ""), ";", "|" or "tab". A first line such
	// as sep=; says it as well, and so does a name that ends in .tsv.
	Delimiter string
	// Decimal is what stands before a number's decimals in a text: "." (the default, also "") or ",".
	Decimal string
	// Thousands is what may stand between a number's thousands in a text: ",", ".", "'" or "space"; by default nothing.
	Thousands string
	// Units lists what is taken off the front and the back of a number in a text, such as "$", "%" or "EUR"; "()" is of
	// numbers below zero in brackets. A per cent is not divided by a hundred.
	Units []string
	// Inherited is that Delimiter, Decimal, Thousands and Units are those of another table, as one that a model was
	// trained on: they count of a text alone, and what the text says of itself comes first.
	Inherited bool
	// DateOrders names the columns of dates and how each is read, in place of finding out; nil finds out. It holds a
	// training table's DateOrders when new rows are read for prediction.
	DateOrders map[string]string
	// Refresh says when a table that is no file is read anew, beside what jobs and the owner ask for: after a duration
	// such as "24h"; "manual", when its owner says so and not even when the node starts; by default ("") when the node
	// starts. What is read does not depend on it.
	Refresh string
	// First reads so many data rows and no more; 0 reads all. A table of a prefix is for looking at, not for a job.
	First int
	// MaxRows lowers the limit on data rows, 2^24. A longer file is refused.
	MaxRows int

	home home // where advice has options written, as Locate knows it
}

// DefaultNA lists what pandas, R, SQL dumps and people write where a cell is missing.
func DefaultNA() []string {
	return []string{
		"NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT", "null", "NULL", "Null",
		"None", "?", ".", "\\N", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
	}
}

// Manual is the Refresh of a table that is read when its owner says so.
const Manual = "manual"

// leastRefresh is the shortest time between two readings that an owner can ask for.
const leastRefresh = time.Minute

// RefreshEvery returns the duration in Options.Refresh, 0 where there is none.
func RefreshEvery(refresh string) (time.Duration, error) {
	if refresh == "" || refresh == Manual {
		return 0, nil
	}
	d, err := time.ParseDuration(refresh)
	if err != nil || d < leastRefresh {
		return 0, fmt.Errorf("refresh is %s; want a duration of one minute or more, such as 24h, or %s", quote(refresh),
			Manual)
	}
	return d, nil
}

// Ways to treat missing cells, and levels at prediction that training never saw.
const (
	Refuse      = "refuse"
	Level       = "level"
	OtherLevel  = "other"
	StrictLevel = "error"
)

// validate checks what can be checked without the file, and returns the parsed Missing.
func (o *Options) validate(lim *limits) (missing, error) {
	if o.MaxRows < 0 || o.MaxRows > lim.rows {
		return missing{}, fmt.Errorf("the row limit is %d; it must be between 1 and %d, or 0 for the default", o.MaxRows,
			lim.rows)
	}
	if o.MaxRows > 0 {
		lim.rows = o.MaxRows
	}
	if o.Label != "" && slices.Contains(o.Ignore, o.Label) {
		return missing{}, fmt.Errorf("column %s is both the label and to be ignored", quote(o.Label))
	}
	if o.Label != "" && slices.Contains(o.Identify, o.Label) {
		return missing{}, fmt.Errorf("column %s is the label, and the charter's ids are made of it: it cannot be both",
			quote(o.Label))
	}
	if o.First < 0 {
		return missing{}, fmt.Errorf("the first %d rows are asked for; want 1 or more, or 0 for all", o.First)
	}
	if o.Levels != "" && o.Levels != OtherLevel && o.Levels != StrictLevel {
		return missing{}, fmt.Errorf("unknown way %s to treat levels that training never saw; want other or error",
			quote(o.Levels))
	}
	for _, err := range []error{checkDates(o), o.checkNotation()} {
		if err != nil {
			return missing{}, err
		}
	}
	if _, err := RefreshEvery(o.Refresh); err != nil {
		return missing{}, err
	}

	// Reads "refuse", or one of "mean" and "median", or "level", or one of each kind.
	s := cmp.Or(o.Missing, Level)
	switch s {
	case Refuse:
		return missing{way: s}, nil
	case Level:
		return missing{way: s, numbers: true, levels: true}, nil
	}
	way, rest, both := strings.Cut(s, ",")
	if way != "mean" && way != "median" || both && rest != Level {
		return missing{}, fmt.Errorf("unknown way %s to treat missing values; want refuse, mean, median, level, or "+
			"mean,level or median,level", quote(s))
	}
	return missing{way: s, numbers: true, levels: both}, nil
}

// wants reports whether a column is to be read.
func (o *Options) wants(name string) bool {
	return !slices.Contains(o.Ignore, name) && !slices.Contains(o.Identify, name) &&
		(name == o.Label || (o.Columns == nil || slices.Contains(o.Columns, name)) &&
			(o.Only == nil || slices.Contains(o.Only, name)))
}

// ForLoading returns those of the options that a Reading depends on: what a file holds, not what becomes of it.
func (o *Options) ForLoading() Options {
	return Options{ID: o.ID, Ignore: o.Ignore, Identify: o.Identify, NA: o.NA, Dates: o.Dates, Delimiter: o.Delimiter,
		Decimal: o.Decimal, Thousands: o.Thousands, Units: o.Units, Inherited: o.Inherited, First: o.First,
		MaxRows: o.MaxRows, home: o.home}
}

// missingWords returns what stands for a missing cell, beside the empty one.
func (o *Options) missingWords() map[string]bool {
	words := o.NA
	if words == nil {
		words = DefaultNA()
	}
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[strings.TrimSpace(w)] = true
	}
	return set
}

// missing is a parsed Options.Missing: of which columns missing cells are accepted.
type missing struct {
	way             string
	numbers, levels bool
}
