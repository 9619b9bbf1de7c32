package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// The kinds of a surveyed column.
const (
	KindNumber   = "number"
	KindDate     = "date"
	KindCategory = "category"
	KindEmpty    = "empty"    // it has no cell
	KindConstant = "constant" // it has one value
	KindLabel    = "label"    // the first number of a LIBSVM line, which is never a feature
	KindFault    = "fault"    // it cannot be used as it is; Fault says why
)

// ColumnSurvey says what a job would make of a column.
type ColumnSurvey struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Label    bool   `json:"label,omitempty"`
	Missing  int    `json:"missing"`
	Levels   int    `json:"levels,omitempty"` // of categories, without that of missing cells
	Features int    `json:"features"`         // columns that a model would see
	Says     string `json:"says,omitempty"`   // how dates are read, or what is doubtful, with what to do about it
	Fault    string `json:"fault,omitempty"`  // why a training refuses the column
	Range    *Range `json:"range,omitempty"`  // of numbers and dates
}

// Range is what the numbers of a column are, as they are read: who knows the column sees a wrong sign or a thousandth.
type Range struct {
	Low  float64 `json:"low"`
	Mean float64 `json:"mean"`
	High float64 `json:"high"`
	Days bool    `json:"days,omitempty"` // since 1970-01-01
}

// rangeOf returns the range of numbers, of which NaN are none; nil where there are none.
func rangeOf(values []float64) *Range {
	r, n := Range{Low: math.Inf(1), High: math.Inf(-1)}, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			n++
			r.Low, r.High, r.Mean = min(r.Low, v), max(r.High, v), r.Mean+(v-r.Mean)/n
		}
	}
	if n == 0 {
		return nil
	}
	return &r
}

// Survey says what jobs would make of a table that is read with some options.
type Survey struct {
	Source  string         `json:"source"`
	ID      string         `json:"id"`
	Rows    int            `json:"rows"`
	First   bool           `json:"first,omitempty"`   // these are the first rows, and there may be more
	Missing string         `json:"missing"`           // what becomes of missing cells
	Says    []string       `json:"says,omitempty"`    // of the whole table: what is left out, and what it says of itself
	Refused []string       `json:"refused,omitempty"` // why no job can use the table, whatever its columns are
	Columns []ColumnSurvey `json:"columns"`
	// Options are lines for the file beside the table, File, that read it as it seems to be meant, and leave out what can
	// only be mended.
	Options []string `json:"options,omitempty"`
	File    string   `json:"file,omitempty"`
	Choice  string   `json:"choice,omitempty"` // what to write where it could be read in two ways
	Besides string   `json:"-"`                // what becomes of the options that the table has
	// IDs says how ids are written that another party may write otherwise; of a column that the charter's recipes are
	// about it says nothing.
	IDs []IDDoubt `json:"ids,omitempty"`
}

// Survey looks at each column as a training with these options would. The error is of the whole table: it cannot be
// used. There is a survey all the same where the table's other rows can be read.
func (r *Reading) Survey(o Options) (*Survey, error) {
	lim := r.lim
	m, err := o.validate(&lim)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	s := &Survey{Source: r.Path, Missing: m.way}
	var broken error
	if r.svm != nil {
		t, err := r.Table(o)
		if err != nil {
			return nil, err
		}
		s.ID, s.Rows = "the number of the row", t.Rows()
		if o.Label == "" {
			s.Columns = append(s.Columns, ColumnSurvey{Name: svmLabel, Kind: KindLabel})
		}
		for i := range t.Columns {
			c := &t.Columns[i]
			column := ColumnSurvey{Name: c.Name, Kind: KindNumber, Features: 1, Label: c.Name == svmLabel,
				Range: rangeOf(c.Values)}
			switch {
			case column.Label:
				column.Features = 0
			case slices.Min(c.Values) == slices.Max(c.Values):
				column.Kind, column.Features, column.Says = KindConstant, 0, "it has one value and is left out"
			}
			s.Columns = append(s.Columns, column)
		}
	} else {
		f := r.csv
		if err := f.head.checkOptions(&o); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Path, err)
		}
		if broken = cmp.Or(r.broken, f.twice); broken != nil {
			broken = fmt.Errorf("%s: %w", r.Path, broken)
			s.Refused = f.unusable()
			if len(f.flaws) == 0 && r.broken != nil {
				s.Refused = append(s.Refused, r.broken.Error())
			}
		}
		s.ID, s.Rows = "line", len(f.ids)
		if f.head.id >= 0 {
			s.ID = f.head.names[f.head.id]
		}
		s.Says = f.says()
		if look := r.LookAtIDs(); look != nil && !slices.Contains(o.Identify, look.Column) {
			s.IDs = look.Doubts
		}
		f.surveyColumns(s, &o, m)
	}
	s.First = o.First > 0 && s.Rows == o.First
	return s, broken
}

// Suppose says of a table that was read with options which its owner has not given that it needs them.
func (s *Survey) Suppose(with Supposed) {
	if len(with.why) == 0 {
		return
	}
	s.Refused = append(with.why, s.Refused...)
	s.Options = append(with.lines, s.Options...)
	ignored := func(line string) bool { return strings.HasPrefix(line, "ignore = ") }
	if len(with.Ignore) > len(with.home.ignore) && !slices.ContainsFunc(s.Options, ignored) {
		s.Options = append(s.Options, optionList("ignore", with.Ignore))
	}
	s.File, s.Besides = cmp.Or(with.home.file, optionsOf), with.home.besides(s.Options)
}

// surveyColumns looks at all columns, and says which options read them.
func (f *csvFile) surveyColumns(s *Survey, o *Options, m missing) {
	a := f.advise(o, m)
	ignore := slices.Clone(o.Ignore)
	for known := -1; len(ignore) > known; { // lines about single columns have what is left out
		known, f.opts.home.ignore, s.Columns = len(ignore), ignore, nil
		for _, c := range f.columns {
			if c == nil || !o.wants(c.name) {
				continue
			}
			column := c.survey(c.useOf(o, m), s.Rows)
			s.Columns = append(s.Columns, column)
			_, wrong := c.kind(c.useOf(o, m))
			// Cells are to be mended, and the column is of use.
			single := wrong != nil && wrong.mend == "" || strings.HasSuffix(column.Says+column.Fault, mendCells)
			if (column.Fault != "" || c.odd || c.mend) && !c.cured && !single && !column.Label {
				ignore = union(ignore, []string{c.name})
			}
		}
	}
	lines := a.lines
	if len(ignore) > len(o.Ignore) {
		lines = append(lines, optionList("ignore", ignore))
	}
	if a.choice != "" {
		s.Choice = a.choice
	}
	s.Options, s.File, s.Besides = lines, cmp.Or(a.file, optionsOf), a.besides(lines)
}

// Advice says in one sentence which options read the table; "" where there are none.
func (s *Survey) Advice() string {
	if len(s.Options) == 0 {
		return ""
	}
	return home{file: s.File}.put(s.Options...) + strings.TrimSuffix(", "+s.Besides, ", ")
}

// survey looks at one column.
func (c *cells) survey(u use, rows int) ColumnSurvey {
	s := ColumnSurvey{Name: c.name, Label: u.label, Missing: c.holes}
	kind, wrong := c.kind(u)
	switch {
	case c.holes == rows && c.fault == nil:
		s.Kind, s.Says = KindEmpty, "it is empty and left out"
		return s
	case wrong != nil:
		s.Kind, s.Fault = KindFault, wrong.err.Error()
		return s
	}
	column, err := c.column(u, rows, "")
	if err != nil {
		s.Kind, s.Fault = KindFault, err.Error()
		return s
	}
	indicator := 0
	if c.holes > 0 && u.missing.way == Level || c.holes > 0 && kind == Categorical {
		indicator = 1
	}
	if one := !c.over && (len(c.texts) == 1 || len(column.Levels) == 1); one && !u.label {
		s.Kind, s.Says, s.Features = KindConstant, "it has one value and is left out", indicator
		if kind == Categorical && indicator > 0 {
			s.Kind, s.Says, s.Levels, s.Features = KindCategory, "", 1, 2
		} else if indicator > 0 {
			s.Says = "it has one value: what counts is whether its cells are missing"
		}
		return s
	}
	if kind == Categorical {
		s.Kind, s.Levels, s.Features = KindCategory, len(column.Levels), len(column.Levels)+indicator
		alike := cmp.Or(writtenTwice(c.texts), nearlyAlike(c.texts))
		texts := c.doubtfulTexts()
		if u.label {
			s.Features, s.Says = 0, cmp.Or(c.said, alike, strings.TrimSuffix(texts, orIgnore))
			return s
		}
		c.mend = strings.HasSuffix(texts, orIgnore)
		doubt := cmp.Or(alike, texts)
		if c.said != "" && alike != "" {
			doubt = c.said + "; " + alike
		}
		if !tooManyLevels(s.Levels, rows-c.holes) || u.listed {
			if s.Says = doubt; doubt == "" && c.numbersRows(rows) {
				s.Says = "it has another text in every row, as names have: " + c.home.ignoring(c.name)
			}
			return s
		}
		switch s.Kind, s.Features = KindFault, 0; {
		case c.study().are() && c.said != "":
			s.Fault = c.mixed().err.Error()
		case doubt != "":
			s.Fault = fmt.Sprintf("column %s: %s", quote(c.name), doubt)
		default:
			s.Fault = levelsFault(c.name, s.Levels, rows-c.holes, "ignore it, or list it in categorical if these are categories")
		}
		return s
	}
	s.Kind, s.Features, s.Range = KindNumber, 1+indicator, rangeOf(c.asNumbers(u.order))
	if u.label {
		s.Features = 0
	}
	switch {
	case len(c.units) > 1:
		s.Says = fmt.Sprintf("its cells have the units %s, and but their numbers are read: unless these "+
			"mean the same, first write all cells in one unit", wording.List(quoted(c.units), "and"))
	case u.order != "":
		s.Kind, s.Says = KindDate, inWords(u.order)+", in days since 1970-01-01"
		s.Range.Days = true
		if c.said != "" {
			s.Says += "; " + c.said
		}
	case c.said != "":
		s.Says = c.said
	case !u.label && c.numbersRows(rows):
		s.Says = "it has another whole number in every row, as ids have: " + c.home.ignoring(c.name) + " if it is one"
	default:
		s.Says = c.doubtfulNumbers(column.Values)
	}
	return s
}

// fewLevels are so few that a categorical column of a small table may have them, whatever its rows.
const fewLevels = 20

// tooManyLevels reports whether a column that nobody called categorical has so many levels that a row says hardly more
// than its own: more than a tenth of the rows, and in small tables more than 20, or more than half the rows.
func tooManyLevels(levels, rows int) bool {
	return levels > max(rows/10, fewLevels) || levels > max(rows/2, fewLevels/2)
}

// levelsFault is the error for such a column; doubt is what it seems to hold, with what to do about it, where it does.
func levelsFault(name string, levels, rows int, doubt string) string {
	return fmt.Sprintf("column %s has %d different texts in %s with a cell, and each would be a feature: %s", quote(name),
		levels, wording.Count(rows, "row"), doubt)
}

// CheckLevels refuses the columns of texts that nobody called categorical and that have too many to be categories:
// names, free text, and dates that could not be read.
func (t *Table) CheckLevels() error {
	var faults []func() string
	var names, nameless []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Kind != Categorical || c.Listed {
			continue
		}
		occurs, levels, rows := make([]bool, len(c.Levels)), 0, 0
		for _, code := range c.Codes {
			if code < 0 {
				continue
			}
			rows++
			if !occurs[code] {
				occurs[code] = true
				levels++
			}
		}
		if !tooManyLevels(levels, rows) {
			continue
		}
		if names = append(names, c.Name); c.doubt == "" {
			nameless = append(nameless, c.Name)
		}
		faults = append(faults, func() string {
			switch {
			case c.doubt == "":
				return levelsFault(c.Name, levels, rows, t.home.ignoring(nameless...)+", or list it in categorical there if these "+
					"are categories")
			case strings.HasSuffix(c.doubt, mendCells):
				return levelsFault(c.Name, levels, rows, c.doubt)
			case c.mend != "":
				return levelsFault(c.Name, levels, rows, c.doubt+": "+c.mend)
			}
			return levelsFault(c.Name, levels, rows, c.doubt+": "+t.home.ignoring(c.Name))
		})
	}
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return t.errorf("%s", faults[0]())
	}
	return t.errorf("%s; so it is with %s", faults[0](), listNames(names[1:]))
}

// leastNumbered is from how many rows on a column with another value in each is doubtful.
const leastNumbered = 20

// numbersRows reports whether a column has another text, or another whole number as ids have, in every row.
func (c *cells) numbersRows(rows int) bool {
	if c.holes > 0 || rows < leastNumbered || !c.over && len(c.texts) < rows {
		return false
	}
	if kind, _ := c.kind(use{}); kind == Categorical {
		return true
	}
	values := c.asNumbers("")
	if slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) }) {
		return false
	}
	named := slices.ContainsFunc(words(c.name), func(w string) bool {
		return slices.Contains([]string{"id", "nr", "no", "number", "key", "phone", "iban", "account"}, strings.ToLower(w))
	})
	if !named && slices.Max(values)-slices.Min(values) != float64(rows-1) {
		return false
	}
	sorted := slices.Sorted(slices.Values(values))
	return len(slices.Compact(sorted)) == rows
}

// Faults returns what a training refuses, a sentence each.
func (s *Survey) Faults() []string {
	all := slices.Clone(s.Refused)
	for _, c := range s.Columns {
		if c.Fault != "" {
			all = append(all, c.Fault)
		}
	}
	return all
}

// Notes says in sentences what a person should know before the table is used: how its ids are written, what is missing
// and what becomes of it, which columns are left out or dates, what is doubtful, and what a training refuses.
func (s *Survey) Notes() []string {
	var missing []string
	notes := append(s.Faults(), s.Says...)
	for _, d := range s.IDs {
		notes = append(notes, d.Says)
	}
	for _, c := range s.Columns {
		if c.Says != "" {
			notes = append(notes, fmt.Sprintf("column %s: %s", quote(c.Name), c.Says))
		}
	}
	for _, c := range s.Columns {
		if c.Missing > 0 && c.Kind != KindEmpty && c.Kind != KindFault && !c.Label {
			missing = append(missing, fmt.Sprintf("%s %d", quote(c.Name), c.Missing))
		}
	}
	if n := len(missing); n > 0 {
		const most = 6
		list := strings.Join(missing[:min(n, most)], ", ")
		if n > most {
			list += fmt.Sprintf(" and %s more", wording.Count(n-most, "column"))
		}
		notes = append(notes, fmt.Sprintf("missing cells: %s; %s", list, fate(s.Missing)))
	}
	if s.Choice != "" {
		notes = append(notes, s.Choice)
	}
	return notes
}

// fate says what becomes of missing cells.
func fate(way string) string {
	numbers, _, both := strings.Cut(way, ",")
	switch {
	case way == Level:
		return "numbers get the median and a column that says so, texts a level of their own"
	case way == Refuse:
		return "a training refuses them"
	case both:
		return "numbers get the " + numbers + ", texts a level of their own"
	}
	return "numbers get the " + numbers + ", and texts are refused"
}
