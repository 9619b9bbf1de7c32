package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
)

// header is the first line of a CSV file.
type header struct {
	names    []string
	nameless []int // which columns of the file have no name, counted from 0
	id       int   // index of the id column; -1: rows are called by their lines
}

// IndexName is what a first column without a name is called, as pandas and R write the numbers of rows.
const IndexName = "index"

// newHeader checks the cells of the first line and finds the columns that the options name. Columns without a name are
// in nameless: spreadsheets write empty ones.
func (p *parser) newHeader(cells []string) (*header, error) {
	if len(cells) > p.lim.columns {
		return nil, fmt.Errorf("line 1 has %d columns; the limit is %d", len(cells), p.lim.columns)
	}
	h := &header{}
	if len(cells) == 1 {
		if err := p.oneColumn(cells[0]); err != nil {
			return nil, err
		}
	}
	apostrophes := func(c string) bool {
		c = strings.TrimSpace(c)
		return len(c) > 1 && c[0] == '\'' && c[len(c)-1] == '\''
	}
	if len(cells) > 0 && !slices.ContainsFunc(cells, func(c string) bool { return !apostrophes(c) }) {
		return nil, fmt.Errorf("line 1: the names stand between apostrophes, as in %s: write none, or \" in their place",
			quote(cells[0]))
	}
	for i, c := range cells {
		name := strings.Clone(strings.TrimSpace(c))
		if i == 0 && name == "" && (p.opts.ID == IndexName || slices.Contains(p.opts.Ignore, IndexName)) {
			name = IndexName
		}
		if name == "" && i > 0 {
			h.nameless = append(h.nameless, i)
			continue
		}
		if err := p.checkName(i, name); err != nil {
			return nil, err
		}
		h.names = append(h.names, name)
	}
	var err error
	if h.id, err = h.findID(&p.opts); err != nil {
		return nil, cmp.Or(h.noHeader(&p.opts), err)
	}
	first := make(map[string]int, len(h.names))
	for i, name := range h.names {
		j, twice := first[name]
		if twice && (!slices.Contains(p.opts.Ignore, name) || i == h.id || j == h.id) {
			return nil, &optionError{fmt.Errorf("line 1: columns %d and %d are both called %s: give one of them another name, "+
				"or leave both out: %s", h.position(j), h.position(i), quote(name), p.opts.home.ignoring(name)),
				fmt.Sprintf("line 1: columns %d and %d are both called %s: give one of them another name, or ignore both",
					h.position(j), h.position(i), quote(name)), Options{Ignore: []string{name}}}
		}
		first[name] = i
	}
	return h, h.checkOptions(&p.opts)
}

// oneColumn refuses a first line of one column that seems to be several.
func (p *parser) oneColumn(name string) error {
	for _, d := range delimiters {
		switch {
		case !strings.Contains(name, d.sign):
		case p.opts.comma() == rune(d.sign[0]):
			return fmt.Errorf("line 1 is one column, %s: its %q stand within quotes: take the quotes off the lines", quote(name),
				d.sign)
		default:
			return &optionError{fmt.Errorf("line 1 is one column, %s: if columns are separated by %q, %s", quote(name), d.sign,
				p.opts.home.put(optionLine("delimiter", d.word))),
				fmt.Sprintf("line 1 is one column: its columns are separated by %q", d.sign), Options{Delimiter: d.word}}
		}
	}
	separated := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("^~:", r) })
	blanks := strings.Fields(name) // one of "ID number" is one
	if len(separated) > 1 && slices.ContainsFunc(separated, isID) || len(blanks) > 2 && isID(blanks[0]) {
		return fmt.Errorf("line 1 is one column, %s: if it is several, write a comma between them, and in all other lines",
			quote(name))
	}
	return nil
}

// named returns the cells of a row that stand below a name, in place. Where there is none there must be no cell: beyond
// the header, and below a column without a name. kind is that of a flaw.
func (h *header) named(cells []string) (below []string, kind string, err error) {
	wide := len(h.names) + len(h.nameless)
	last := len(cells)
	for last > wide && strings.TrimSpace(cells[last-1]) == "" {
		last--
	}
	if least := h.position(len(h.names) - 1); last > wide || last < least {
		return nil, flawWidth, fmt.Errorf("has %s; the header has %d", wording.Count(len(cells), "cell"), wide)
	}
	if len(h.nameless) == 0 {
		return cells[:last], "", nil
	}
	kept, nameless := cells[:0], h.nameless // which is sorted, and may be long
	for i, c := range cells[:last] {
		if len(nameless) == 0 || i != nameless[0] {
			kept = append(kept, c)
			continue
		}
		nameless = nameless[1:]
		if strings.TrimSpace(c) != "" {
			return nil, flawNameless, fmt.Errorf("has %s in column %d, which has no name: give it one in line 1", quote(c), i+1)
		}
	}
	return kept, "", nil
}

// position returns which column of the file a name is of, counted from 1.
func (h *header) position(i int) int {
	for _, at := range h.nameless {
		if at <= i {
			i++
		}
	}
	return i + 1
}

// noHeader says what line 1 is where it has no id column and does not look like names; nil where it does.
func (h *header) noHeader(o *Options) error {
	if strings.HasPrefix(h.names[0], "#") {
		return fmt.Errorf("line 1, %s, is a comment; a table begins with the names of its columns: take the line out",
			quote(h.names[0]))
	}
	for i, name := range h.names {
		if _, c := parseNumber(name); c != isText {
			return &IDError{fmt.Errorf("line 1: column %d is called %s, and none is called \"id\": if line 1 is data, write "+
				"a line with names above it; else say which column has the ids: %s, if it is that", h.position(i), quote(name),
				o.home.put(optionLine("id", h.names[0])))}
		}
	}
	return nil
}

// checkName checks the name of column i, which is empty of the first alone.
func (p *parser) checkName(i int, name string) error {
	if name == "" {
		return &optionError{fmt.Errorf("line 1: column 1 has no name, as where pandas or R wrote the rows' index: leave it "+
			"out: %s; only where these numbers say whose a row is take it as the id column, with %s",
			p.opts.home.ignoring(IndexName), optionLine("id", IndexName)),
			"line 1: column 1 has no name, as where pandas or R wrote the rows' index", Options{Ignore: []string{IndexName}}}
	}
	if len(name) > p.lim.cell {
		return fmt.Errorf("line 1: the name of column %d has %d bytes; the limit is %d", i+1, len(name), p.lim.cell)
	}
	if why := checkText(name); why != "" {
		return fmt.Errorf("line 1: the name of column %d, %s, %s", i+1, quote(name), why)
	}
	return nil
}

// findID returns the index of the id column; see Options.ID. A file without one, whose rows other columns identify, has
// -1.
func (h *header) findID(o *Options) (int, error) {
	want := o.ID
	if want != "" {
		if i := slices.Index(h.names, want); i >= 0 {
			return i, nil
		}
		return 0, h.absent("id", want)
	}
	for _, is := range []func(string) bool{isID, hasIDWord} {
		switch found := h.matching(is); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return 0, &IDError{fmt.Errorf("columns %s and %s could both be the id: %s, or %s", quote(h.names[found[0]]),
				quote(h.names[found[1]]), o.home.put(optionLine("id", h.names[found[0]])), optionLine("id", h.names[found[1]]))}
		}
	}
	for _, name := range o.Identify {
		if slices.Contains(h.names, name) {
			return -1, nil
		}
	}
	further := ""
	if len(h.names) == 1 && len(h.nameless) > 0 {
		further = "; if the names stand further below, take the lines above them out"
	}
	first := h.names[0]
	if first == IndexName && len(h.names) > 1 {
		first = h.names[1]
	}
	return 0, &IDError{fmt.Errorf("no column is called \"id\": say which of %s has the ids: %s, if it is that%s",
		listNames(h.names), o.home.put(optionLine("id", first)), further)}
}

// optionError is the error of a table that is read with some more options, as far as they go.
type optionError struct {
	error
	short string // what is wrong, less the options
	with  Options
}

// Unwrap returns the error's text as an error.
func (e *optionError) Unwrap() error { return e.error }

// IDError is the error of a table whose ids are none: no column was found, a row has none, or two have the same. A
// stream of rows may be such a table.
type IDError struct{ error }

// Unwrap returns the error's text as an error.
func (e *IDError) Unwrap() error { return e.error }

// matching returns the columns whose names satisfy is.
func (h *header) matching(is func(string) bool) []int {
	var found []int
	for i, name := range h.names {
		if is(name) {
			found = append(found, i)
		}
	}
	return found
}

// checkOptions checks that the columns the options name are there and have one role each.
func (h *header) checkOptions(o *Options) error {
	if o.Label != "" && !slices.Contains(h.names, o.Label) {
		return h.absent("label", o.Label)
	}
	for _, name := range slices.Concat(o.Only, o.Columns) {
		if !slices.Contains(h.names, name) {
			return fmt.Errorf("no column %s; the columns are %s", quote(name), listNames(h.names))
		}
	}
	for _, name := range o.Categorical {
		if !slices.Contains(h.names, name) {
			return h.absent("categorical", name)
		}
	}
	for _, name := range o.Ignore {
		if !slices.Contains(h.names, name) {
			return h.absent("ignored", name)
		}
	}
	if h.id < 0 {
		return nil
	}
	id := h.names[h.id]
	if id == o.Label || slices.Contains(o.Categorical, id) || slices.Contains(o.Ignore, id) {
		return fmt.Errorf("column %s is the id; it cannot be the label, categorical or ignored as well", quote(id))
	}
	return nil
}

// absent is the error for a column that is named but not there.
func (h *header) absent(role, name string) error {
	return fmt.Errorf("no %s column %s; the columns are %s", role, quote(name), listNames(h.names))
}

// isID reports whether a column is called "id", in any case.
func isID(name string) bool { return strings.EqualFold(name, "id") }

// hasIDWord reports whether "id" is a word of name: customer_id, CustomerID, ID number.
func hasIDWord(name string) bool {
	return slices.ContainsFunc(words(name), isID)
}

// words splits a name at everything but letters, and where a small letter meets a capital.
func words(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if !unicode.IsLetter(r) {
			r = ' '
		} else if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		small = unicode.IsLower(r)
	}
	return strings.Fields(b.String())
}

// errNoRows is the error for a file that ends after its header.
var errNoRows = errors.New("the file has a header but no rows")
