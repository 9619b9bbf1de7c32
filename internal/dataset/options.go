package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
	// Only lists the columns that are read, besides the label; nil reads all. Each must be there. Cells of other
	// columns are not looked at: new rows may have no label yet.
	Only []string
	// Missing says what becomes of empty cells: "refuse" (the default, also ""), "mean" or "median"
	// over the column for numbers, "level" for a level "" of its own in categorical columns.
	// "mean,level" and "median,level" do both.
	Missing string
	// Fill gives values for empty cells by numeric column and goes before Missing. It holds a
	// training table's Fills when new rows are read for prediction. Other names are ignored.
	Fill map[string]float64
	// MaxRows lowers the limit on data rows, 2^24. A longer file is refused.
	MaxRows int
}

// WithLevels returns the way to treat missing values that is like another, and also makes the empty cells of
// categorical columns a level. A way that there is not comes back as it is, to be refused when a file is read.
func WithLevels(way string) string {
	switch way {
	case "", "refuse":
		return "level"
	case "mean", "median":
		return way + ",level"
	}
	return way
}

// Imputes reports whether Missing puts something into empty cells.
func (o *Options) Imputes() bool { return o.Missing != "" && o.Missing != "refuse" }

// validate checks what can be checked without the file, and returns the parsed Missing.
func (o *Options) validate(lim *limits) (missing, error) {
	if o.MaxRows < 0 || o.MaxRows > lim.rows {
		return missing{}, fmt.Errorf("the row limit is %d; it must be between 1 and %d, or 0 for the default", o.MaxRows, lim.rows)
	}
	if o.MaxRows > 0 {
		lim.rows = o.MaxRows
	}
	if o.Label != "" && slices.Contains(o.Ignore, o.Label) {
		return missing{}, fmt.Errorf("column %s is both the label and to be ignored", quote(o.Label))
	}
	for name, v := range o.Fill {
		if math.IsNaN(v) || math.Abs(v) > maxMagnitude {
			return missing{}, fmt.Errorf("column %s: the value %v for empty cells is not a number up to 1e100", quote(name), v)
		}
	}
	return parseMissing(o.Missing)
}

// wants reports whether a column is to be read.
func (o *Options) wants(name string) bool {
	return !slices.Contains(o.Ignore, name) && (o.Only == nil || name == o.Label || slices.Contains(o.Only, name))
}

// missing is a parsed Options.Missing.
type missing struct {
	way     string                          // the option
	numbers func(present []float64) float64 // nil: refuse
	levels  bool
}

// withLevels names what also accepts the empty cells of categorical columns.
func (m missing) withLevels() string { return WithLevels(m.way) }

// withNumbers names what also accepts the empty cells of numeric columns.
func (m missing) withNumbers() string {
	if m.levels {
		return `"mean,level" or "median,level"`
	}
	return `"mean" or "median"`
}

// parseMissing reads "refuse", or one of "mean" and "median", or "level", or one of each kind.
func parseMissing(s string) (missing, error) {
	switch s {
	case "", "refuse":
		return missing{}, nil
	case "level":
		return missing{way: s, levels: true}, nil
	}
	way, rest, both := strings.Cut(s, ",")
	m := missing{way: s, levels: both}
	switch way {
	case "mean":
		m.numbers = mean
	case "median":
		m.numbers = median
	}
	if m.numbers == nil || both && rest != "level" {
		return missing{}, fmt.Errorf("unknown way %s to treat missing values; want refuse, mean, median, level, or mean,level or median,level", quote(s))
	}
	return m, nil
}

// mean returns the arithmetic mean of one or more values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// median returns the middle value, or the mean of the two in the middle; it sorts values.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
