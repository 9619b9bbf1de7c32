// Package tablecheck shows what jobs would make of a table. It needs no network, and nothing leaves the machine.
package tablecheck

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// Options are what is asked for, as the flags of the same names of hanse table check say it.
type Options struct {
	Table       string // [NAME=]FILE[?KEY=VALUE&...]
	ID, Missing string
	Categorical []string
	Label       string
	JSON        bool
	Out         io.Writer
}

// Report is what there is to say about a table, as JSON.
type Report struct {
	*dataset.Survey
	Features int      `json:"features"` // columns that a model would see of this table
	Label    *Label   `json:"label,omitempty"`
	Notes    []string `json:"notes"` // sentences
}

// Label says what a label's column holds.
type Label struct {
	Column    string   `json:"column"`
	Unlabeled int      `json:"unlabeled"` // rows
	Classes   []Class  `json:"classes,omitempty"`
	Low       *float64 `json:"low,omitempty"` // of numbers that are too many for classes
	Mean      *float64 `json:"mean,omitempty"`
	High      *float64 `json:"high,omitempty"`
}

// Class is one of a label's values.
type Class struct {
	Value string  `json:"value"`
	Rows  int     `json:"rows"`
	Share float64 `json:"share"` // of the labelled rows
}

// Run checks a table and prints a Report. What a training would refuse is an error, once the report is printed.
func Run(o *Options) error {
	location := o.Table
	if name, rest, ok := strings.Cut(location, "="); ok && !strings.ContainsAny(name, "?/.:") {
		location = rest
	}
	source, how, err := dataset.Locate(location,
		dataset.Options{ID: o.ID, Missing: o.Missing, Categorical: o.Categorical})
	if err != nil {
		return err
	}
	how.Label = o.Label
	reading, supposed, err := dataset.LoadSupposing(context.Background(), source, how)
	if err != nil {
		return err
	}
	how = supposed.Options
	r := Report{Notes: []string{}}
	var broken error
	if r.Survey, broken = reading.Survey(how); r.Survey == nil {
		return broken
	}
	r.Survey.Suppose(supposed)
	for _, c := range r.Columns {
		r.Features += c.Features
	}
	var doubt string
	if o.Label != "" && broken == nil {
		r.Label, doubt = r.lookAtLabel(reading, how)
	}
	r.Notes = append(r.Notes, r.Survey.Notes()...)
	if look := reading.LookAtIDs(); look != nil && look.Padded && len(look.Doubts) == 0 {
		r.Notes = append(r.Notes, look.Sentences()[0]+": another party may keep them as "+
			"numbers, without the zeros; the recipe number in the charter makes both alike")
	}
	if doubt != "" {
		r.Notes = append(r.Notes, doubt)
	}
	if o.JSON {
		err = terminal.JSON(o.Out, r)
	} else {
		err = r.print(o.Out)
	}
	switch n := len(r.Faults()); {
	case err != nil || n == 0:
		return err
	case len(r.Refused) > 0:
		return fmt.Errorf("%s: no job can use this table, as is said above", r.Source)
	default:
		return fmt.Errorf("%s: a training would refuse %s, as is said above", r.Source, wording.Count(n, "column"))
	}
}

// lookAtLabel looks at the label's column alone. What is wrong with it is a fault of its column: why its cells are not
// read, or else what they cannot be learnt for.
func (r *Report) lookAtLabel(reading *dataset.Reading, how dataset.Options) (l *Label, doubt string) {
	at := slices.IndexFunc(r.Columns, func(c dataset.ColumnSurvey) bool { return c.Label })
	if at < 0 || r.Columns[at].Fault != "" {
		return nil, ""
	}
	how.Only = []string{}
	table, err := reading.Table(how)
	if err == nil {
		l, doubt, err = labelOf(table, how.Label)
	}
	if err == nil {
		return l, doubt
	}
	c := &r.Columns[at]
	c.Kind, c.Fault = dataset.KindFault, strings.TrimPrefix(err.Error(), r.Source+": ")
	if c.Says != "" {
		c.Fault, c.Says = fmt.Sprintf("label %q: %s", c.Name, c.Says), ""
	}
	return nil, ""
}

// farLabels is how many deviations from their mean labels of a sealed training may be, less than it.
const farLabels = 16

// farLabel names the label that is farthest from all others, where it is so far that a sealed training refuses it, as a
// price with two noughts too many.
func farLabel(t *dataset.Table, c *dataset.Column) string {
	var values []float64
	for _, v := range c.Values {
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	mean, deviation := stat.PopMeanStdDev(values, nil)
	count, farthest := 0, 0
	away := func(row int) float64 { return math.Abs(c.Values[row]-mean) / deviation }
	for row, v := range c.Values {
		if math.IsNaN(v) || deviation == 0 {
			continue
		}
		if away(row) >= farLabels {
			count++
		}
		if math.IsNaN(c.Values[farthest]) || away(row) > away(farthest) {
			farthest = row
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("label %q: %s %d deviations or more from the mean, the farthest %g at id %q: mend the cell, clip "+
		"it, or leave its row out; a sealed training refuses it, unless its job has a larger score_range", c.Name,
		wording.Count(count, "row"), farLabels, c.Values[farthest], t.IDs[farthest])
}

// labelOf counts a label's values, and says what is doubtful about them.
func labelOf(t *dataset.Table, name string) (l *Label, doubt string, err error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, "", err
	}
	kind, _, err := t.TargetOf(name)
	if err != nil {
		return nil, "", err
	}
	l = &Label{Column: name}
	counts := make(map[string]int)
	var values []float64
	for row := range t.Rows() {
		switch {
		case c.Kind == dataset.Categorical && c.Codes[row] >= 0:
			counts[c.Levels[c.Codes[row]]]++
		case c.Kind == dataset.Numeric && !math.IsNaN(c.Values[row]):
			values = append(values, c.Values[row])
			if kind == dataset.Classification {
				counts[strconv.FormatFloat(c.Values[row], 'g', -1, 64)]++
			}
		default:
			l.Unlabeled++
		}
	}
	labelled := t.Rows() - l.Unlabeled
	if labelled == 0 {
		return nil, "", fmt.Errorf("%s: label column %q is empty: no row is labelled here", t.Path, name)
	}
	if kind == dataset.Regression {
		low, high, mean := slices.Min(values), slices.Max(values), 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		l.Low, l.Mean, l.High = &low, &mean, &high
		return l, farLabel(t, c), nil
	}
	for value, rows := range counts {
		l.Classes = append(l.Classes, Class{value, rows, float64(rows) / float64(labelled)})
	}
	slices.SortFunc(l.Classes, func(a, b Class) int { return strings.Compare(a.Value, b.Value) })
	return l, "", nil
}

// nameWidth is how much of a column's name is shown in the table, in characters.
const nameWidth = 34

// print prints a report on lines of at most 80 characters.
func (r *Report) print(out io.Writer) error {
	columns := slices.DeleteFunc(slices.Clone(r.Columns), func(c dataset.ColumnSurvey) bool { return c.Label })
	terminal.Sentence(out, "", fmt.Sprintf("%s: %s, ids in %q, %s, %s to a model", r.Source,
		wording.Count(r.Rows, "row"), r.ID, wording.Count(len(columns), "column"), wording.Count(r.Features, "feature")))
	fmt.Fprintln(out)
	t := wording.NewTable(out, "")
	t.Row("column", "kind", "missing", "levels", "features", "values")
	for i := 0; i < len(columns); i++ {
		c, shown := columns[i], terminal.Printable(columns[i].Name)
		name := wording.ClipAt(shown, nameWidth)
		same := i
		for same+1 < len(columns) && alike(c, columns[same+1]) {
			same++
		}
		if more := same - i; more >= leastAlike && len(columns) > mostShown {
			name = fmt.Sprintf("%s and %d more like it", wording.ClipAt(shown, nameWidth/2), more)
			c.Features *= more + 1
			c.Range = nil
			i = same
		}
		levels := ""
		if c.Levels > 0 {
			levels = strconv.Itoa(c.Levels)
		}
		t.Row(name, c.Kind, strconv.Itoa(c.Missing), levels, strconv.Itoa(c.Features), rangeText(c.Range))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l := r.Label; l != nil {
		fmt.Fprintln(out)
		terminal.Sentence(out, "", l.String())
	}
	for i, note := range r.Notes {
		if i == 0 {
			fmt.Fprintln(out)
		}
		terminal.Sentence(out, "", note)
	}
	if len(r.Options) > 0 {
		fmt.Fprintln(out)
		where := r.File
		if r.Besides != "" {
			where += ", " + r.Besides
		}
		terminal.Sentence(out, "", fmt.Sprintf("to read the table so, put into %s:", where))
		fmt.Fprintln(out)
		for _, line := range r.Options {
			fmt.Fprintln(out, "  "+foldList(line))
		}
	}
	return nil
}

// rangeText shows the ends of a range.
func rangeText(r *dataset.Range) string {
	if r == nil {
		return ""
	}
	if r.Days {
		day := func(v float64) string { return time.Unix(int64(v*24*60*60), 0).UTC().Format(time.DateOnly) }
		return day(r.Low) + " to " + day(r.High)
	}
	number := func(v float64) string {
		if math.Abs(v) >= 1e6 && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return number(r.Low) + " to " + number(r.High)
}

// foldList breaks a long list of an option between its words, as TOML allows.
func foldList(line string) string {
	const most = 76
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.SplitAfter(line, `", `) {
		n := utf8.RuneCountInString(word)
		if i > 0 && width+n > most {
			b.WriteString("\n    ")
			width = 2
		}
		b.WriteString(word)
		width += n
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// Of a table of more than mostShown columns, leastAlike columns of numbers, with nothing to say of any, are one line.
const (
	mostShown  = 40
	leastAlike = 8
)

// alike reports whether two columns have nothing but their names apart.
func alike(a, b dataset.ColumnSurvey) bool {
	b.Name, b.Range = a.Name, a.Range
	return a == b && a.Missing == 0 && a.Levels == 0 && a.Says == "" && a.Fault == ""
}

// String says what a label's column holds.
func (l *Label) String() string {
	var parts []string
	for _, c := range l.Classes {
		parts = append(parts, fmt.Sprintf("%q in %s, %s", c.Value, wording.Count(c.Rows, "row"),
			terminal.Percent(c.Share)))
	}
	text := fmt.Sprintf("label %q: %s", l.Column, strings.Join(parts, "; "))
	if l.Mean != nil {
		text = fmt.Sprintf("label %q: numbers from %g to %g, mean %.6g", l.Column, *l.Low, *l.High, *l.Mean)
	}
	if l.Unlabeled > 0 {
		text += fmt.Sprintf("; %s without a label", wording.Count(l.Unlabeled, "row"))
	}
	return text
}
