package dataset

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/wording"
)

// csvFile is a CSV file, or another table of cells, while it is read.
type csvFile struct {
	*parser
	src     *text
	rows    *csv.Reader
	typed   *source.Source // in the place of text
	content *digest
	head    *header
	ids     []string
	texts   texts      // where ids and marks are
	lines   []int32    // line of text of each row
	columns []*cells   // by column of the file; nil where it is the id or not read
	marks   [][]string // by column, the cells of those that identify rows
	kept    int        // columns that are not nil
	twice   error      // an id that occurs twice
	flaws   []flaw     // rows that are left out as they cannot be read, which the table cannot be used with
	skipped []int      // their numbers
	before  int        // lines before the header
	blank   int        // rows without any cell, which are left out
	rivals  []rival    // other signs that may separate the columns
}

// rival is a sign that stands in the header as often as what separates the columns, or more often.
type rival struct {
	sign, word string
	count      int
}

// delimiters are the signs that can separate columns, and what the option calls them.
var delimiters = []rival{
	{sign: ";", word: ";"}, {sign: "\t", word: tab}, {sign: "|", word: "|"}, {sign: ",", word: ","},
}

// in says how often the sign stands in the cells of a row.
func (r *rival) in(row []string) (count int) {
	for _, cell := range row {
		count += strings.Count(strings.TrimSpace(cell), r.sign)
	}
	return count
}

// rivalsIn finds the rivals of what separates the columns, unless the owner or the file has said what does.
func (f *csvFile) rivalsIn(header []string) {
	if f.typed != nil || f.before > 0 || f.opts.separates() || len(header) == 1 {
		return
	}
	for _, r := range delimiters {
		if r.count = r.in(header); r.count > 0 && r.count >= len(header)-1 {
			f.rivals = append(f.rivals, r)
		}
	}
}

// separatedOtherwise says that a rival stands as often in each row as in the header, so that the columns are probably
// other ones.
func (f *csvFile) separatedOtherwise() error {
	if len(f.rivals) == 0 || len(f.ids)+len(f.skipped) == 0 {
		return nil
	}
	r, own := f.rivals[0], ""
	for _, d := range delimiters {
		if d.sign == string(f.rows.Comma) {
			own = d.word
		}
	}
	times := fmt.Sprintf("%d times", r.count)
	if r.count == 1 {
		times = "once"
	}
	short := fmt.Sprintf("line 1 and each row have %q %s in what is read as cells, so that it seems to separate the "+
		"columns", r.sign, times)
	long := fmt.Errorf("%s: %s, or %s if it does not", short, f.opts.home.put(optionLine("delimiter", r.word)),
		optionLine("delimiter", own))
	return &optionError{long, short, Options{Delimiter: r.word}}
}

// flaw is what is wrong with rows, each of which can be skipped.
type flaw struct {
	kind string
	at   place // of the first
	err  error
	rows int
}

// Kinds of a flaw.
const (
	flawWidth    = "width"
	flawNameless = "nameless"
	flawNoID     = "no id"
	flawID       = "id"
)

// skip leaves a row out, and notes why.
func (f *csvFile) skip(kind string, at place, err error) {
	f.skipped = append(f.skipped, at.row)
	if i := slices.IndexFunc(f.flaws, func(known flaw) bool { return known.kind == kind }); i >= 0 {
		f.flaws[i].rows++
		return
	}
	f.flaws = append(f.flaws, flaw{kind, at, err, 1})
}

// texts copies short texts, many to one piece of memory: each by itself takes sixteen bytes or more.
type texts struct{ piece strings.Builder }

// textsPiece is the length of a piece, in bytes.
const textsPiece = 1 << 16

// clone returns a copy of a text. It keeps its piece in memory.
func (t *texts) clone(s string) string {
	if t.piece.Cap()-t.piece.Len() < len(s) {
		t.piece.Reset()
		t.piece.Grow(max(textsPiece, len(s)))
	}
	at := t.piece.Len()
	t.piece.WriteString(s)
	return t.piece.String()[at:]
}

// errEmptyFile is the error for a file without even a header.
var errEmptyFile = errors.New("the file is empty")

// newCSV starts the reading of a CSV file, or of a TSV file.
func newCSV(p *parser, src *text, as format) *csvFile {
	f := &csvFile{parser: p, src: src, rows: csv.NewReader(src)}
	f.rows.FieldsPerRecord = -1
	f.rows.ReuseRecord = true
	f.rows.Comma = p.opts.comma()
	if as == asTSV && !p.opts.separates() {
		f.rows.Comma = '\t'
	}
	return f
}

// separatedBy takes the line off a file's front in which a spreadsheet says what separates its columns: sep=;
func (f *csvFile) separatedBy() error {
	const longest = len(`"sep=;"` + "\r\n")
	head, _ := f.src.Peek(longest)
	line, _, found := strings.Cut(string(head), "\n")
	said, is := strings.CutPrefix(strings.ToLower(strings.Trim(strings.TrimSuffix(line, "\r"), `"`)), "sep=")
	if !found || !is {
		return nil
	}
	o := Options{Delimiter: said}
	if said == "" || o.comma() == 0 {
		return fmt.Errorf("line 1, %s, says what separates the columns, and it is none of , ; | and the tab", quote(line))
	}
	if f.opts.separates() && f.opts.comma() != o.comma() {
		return fmt.Errorf("line 1 says %s, and the table's options have delimiter = %q", quote(line), f.opts.Delimiter)
	}
	f.rows.Comma = o.comma()
	f.before = 1
	_, err := f.src.Discard(len(line) + 1)
	return err
}

// readHeader reads the first line and begins each column that is kept.
func (f *csvFile) readHeader() error {
	var line []string
	var err error
	if f.typed != nil {
		line = f.typed.Columns
	} else if err = f.separatedBy(); err != nil {
		return err
	} else if line, err = f.next(); err == io.EOF {
		return errEmptyFile
	}
	if err != nil {
		return err
	}
	f.rivalsIn(line)
	for _, r := range f.rivals { // no name has a tab
		if r.word == tab {
			short := "line 1 has tabs in what is read as names, so that they seem to separate the columns"
			return &optionError{fmt.Errorf("%s: %s", short, f.opts.home.put(optionLine("delimiter", tab))), short,
				Options{Delimiter: tab}}
		}
	}
	if f.head, err = f.newHeader(line); err != nil {
		return err
	}
	f.content = newDigest(f.head.names, f.head.id, f.numbered)
	f.columns, f.marks = make([]*cells, len(f.head.names)), make([][]string, len(f.head.names))
	for i, name := range f.head.names {
		if i != f.head.id && slices.Contains(f.opts.Identify, name) && !slices.Contains(f.opts.Ignore, name) {
			f.marks[i] = []string{}
			f.kept++
		}
		if i == f.head.id || !f.opts.wants(name) {
			continue
		}
		f.columns[i] = &cells{name: name, home: &f.opts.home, maxLevels: f.lim.levels, na: f.na, missed: f.missed,
			numbered: f.numbered,
			code:     make(map[string]uint16), dates: dates{want: f.opts.Dates}}
		f.kept++
	}
	return nil
}

// readRows reads the rows until the file ends.
func (f *csvFile) readRows() error {
	for {
		cells, err := f.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if f.typed == nil && !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			f.blank++ // as spreadsheets write below a table
			continue
		}
		if f.opts.First > 0 && len(f.ids) == f.opts.First {
			break
		}
		f.rivals = slices.DeleteFunc(f.rivals, func(r rival) bool { return r.in(cells) != r.count })
		// Takes one row apart.
		at := place{row: len(f.ids) + len(f.skipped) + 1}
		if f.typed == nil {
			at.line, _ = f.rows.FieldPos(0)
			at.line += f.before
		}
		if at.row > f.lim.rows {
			return fmt.Errorf("there are more than %d rows, the limit", f.lim.rows)
		}
		if at.row*f.kept > f.lim.cells {
			return fmt.Errorf("%v: the table is too large: the limit is %d cells", at, f.lim.cells)
		}
		kind := ""
		if cells, kind, err = f.head.named(cells); err != nil {
			f.skip(kind, at, fmt.Errorf("%v %w", at, err))
			continue
		}
		for i, c := range cells {
			if len(c) > f.lim.cell {
				return fmt.Errorf("%v, column %s: the cell has %d bytes; the limit is %d", at, quote(f.head.names[i]), len(c),
					f.lim.cell)
			}
		}
		id := ""
		if f.head.id >= 0 {
			if f.typed != nil {
				if err := f.typed.Faults[f.head.position(f.head.id)-1]; err != nil {
					return err
				}
			}
			if id = strings.TrimSpace(cells[f.head.id]); id == "" {
				f.skip(flawNoID, at, &IDError{fmt.Errorf("%v, column %s: the id is empty", at, quote(f.head.names[f.head.id]))})
				continue
			}
			if why := checkText(id); why != "" {
				f.skip(flawID, at, fmt.Errorf("%v, column %s: the id %s %s", at, quote(f.head.names[f.head.id]), quote(id), why))
				continue
			}
		}
		for i, c := range cells {
			if column := f.columns[i]; column != nil {
				column.add(strings.TrimSpace(c), at)
			}
			if f.marks[i] != nil {
				f.marks[i] = append(f.marks[i], f.texts.clone(strings.TrimSpace(c)))
			}
		}
		f.lines = append(f.lines, int32(cmp.Or(at.line, at.row)))
		if f.head.id < 0 {
			f.content.add(strconv.Itoa(at.row), cells)
			f.ids = append(f.ids, fmt.Sprintf("line %d", cmp.Or(at.line, at.row)))
			continue
		}
		f.content.add(id, cells)
		f.ids = append(f.ids, f.texts.clone(id))
	}
	if len(f.ids) == 0 && len(f.flaws) == 0 {
		return errNoRows
	}
	if err := f.separatedOtherwise(); err != nil {
		return err
	}
	if f.typed == nil {
		return nil
	}
	// Of a column with a fault nothing is known, and the others are as they are.
	for i := range f.head.names {
		err := f.typed.Faults[f.head.position(i)-1]
		switch {
		case err == nil:
		case f.marks[i] != nil:
			return err
		case f.columns[i] != nil:
			f.columns[i].fault = &cellError{at: place{row: 1}, err: err}
		}
	}
	return nil
}

// says tells what of the file is left out, and what it says of itself.
func (f *csvFile) says() []string {
	var all []string
	if f.before > 0 {
		all = append(all, fmt.Sprintf("line 1 is a spreadsheet's, which says that %q separates the columns", f.rows.Comma))
	}
	if n := len(f.head.nameless); n > 0 {
		all = append(all, fmt.Sprintf("%s without a name and without a cell, the first of them column %d: left out",
			wording.Count(n, "column"), f.head.nameless[0]+1))
	}
	if f.blank > 0 {
		all = append(all, fmt.Sprintf("%s without any cell: left out", wording.Count(f.blank, "row")))
	}
	return all
}

// next returns the cells of the next line that is not blank; they are valid until the next call.
func (f *csvFile) next() ([]string, error) {
	if f.typed != nil {
		return f.typed.Next()
	}
	f.src.slacken()
	cells, err := f.rows.Read()
	if err == nil || err == io.EOF {
		return cells, err
	}
	if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
		switch bad.Err {
		case csv.ErrBareQuote:
			return nil, fmt.Errorf("line %d: a quote stands inside a cell that does not begin with one: "+
				`write "5"" pipe" for 5" pipe`, bad.Line+f.before)
		case csv.ErrQuote:
			return nil, fmt.Errorf("line %d: a quoted cell does not end as it should: a quote within is "+
				`written twice, as in "5"" pipe"`, bad.StartLine+f.before)
		}
	}
	return nil, explain(err, len(f.ids))
}

// sort brings the rows into the order of their ids; those that are called by their lines are in it.
func (f *csvFile) sort() {
	if f.head.id < 0 {
		return
	}
	order, err := sortedRows(f.ids, func(i int) string { return f.place(i).String() })
	if f.twice = err; err != nil {
		return
	}
	f.ids, f.lines = gather(f.ids, order), gather(f.lines, order)
	for i, mark := range f.marks {
		if mark != nil {
			f.marks[i] = gather(mark, order)
		}
	}
	for _, c := range f.columns {
		if c != nil {
			c.code = nil
			if c.values != nil {
				c.values = gather(c.values, order)
			} else if !c.over {
				c.codes = gather(c.codes, order)
			}
		}
	}
}

// place is where row i stands, before the rows are sorted.
func (f *csvFile) place(i int) place {
	if f.typed != nil {
		return place{row: int(f.lines[i])}
	}
	row := i + 1
	for _, skipped := range f.skipped {
		if skipped <= row {
			row++
		}
	}
	return place{row, int(f.lines[i])}
}

// mostDoubles is how many ids that occur twice are told where.
const mostDoubles = 3

// doubles says how many ids occur more than once, in how many rows, and where the first are.
func (f *csvFile) doubles() string {
	rows := make(map[string][]int, len(f.ids))
	for i, id := range f.ids {
		rows[id] = append(rows[id], i)
	}
	ids, all := 0, 0
	var first []string
	for i, id := range f.ids {
		list := rows[id]
		if len(list) < 2 || list[0] != i {
			continue
		}
		ids++
		all += len(list)
		if len(first) < mostDoubles {
			first = append(first, fmt.Sprintf("%v and %v", f.place(list[0]), f.place(list[1])))
		}
	}
	return fmt.Sprintf("column %s: %s more than once, in %s: %s; a table has one row for each id: make one of theirs, "+
		"with sums, means or the latest", quote(f.head.names[f.head.id]),
		map[bool]string{true: "1 id occurs", false: fmt.Sprintf("%d ids occur", ids)}[ids == 1], wording.Count(all, "row"),
		strings.Join(first, "; "))
}

// unusable says all that is wrong with the table as a whole, a sentence each.
func (f *csvFile) unusable() []string {
	var all []string
	for _, flaw := range f.flaws {
		said := flaw.err.Error()
		switch {
		case flaw.rows > 1 && flaw.kind == flawWidth:
			said += fmt.Sprintf("; %d rows have too few or too many", flaw.rows)
		case flaw.rows > 1:
			said += fmt.Sprintf("; so it is in %d rows", flaw.rows)
		}
		all = append(all, said)
	}
	if f.twice != nil {
		all = append(all, f.doubles())
	}
	return all
}

// table makes the table that the options describe. Of several errors the one that stands first in the file counts;
// broken is that from which on it could not be read.
func (f *csvFile) table(o *Options, m missing, broken error) (*Table, error) {
	if err := f.head.checkOptions(o); err != nil {
		return nil, err
	}
	uses := make([]use, len(f.columns))
	hardly := false // a column is faulty, or new and of texts
	for i, c := range f.columns {
		if c == nil || !o.wants(c.name) {
			continue
		}
		uses[i] = c.useOf(o, m)
		kind, err := c.kind(uses[i])
		hardly = hardly || err != nil || kind == Categorical && !uses[i].listed && c.levels == nil
	}
	a := &advice{}
	if hardly {
		a = f.advise(o, m)
	}
	var worst *cellError
	var in *cells
	for i, c := range f.columns {
		if c == nil || !o.wants(c.name) {
			continue
		}
		if _, err := c.kind(uses[i]); err != nil && (worst == nil || err.at.row < worst.at.row) {
			worst, in = err, c
		}
	}
	switch {
	case len(f.flaws) > 0 && (worst == nil || f.flaws[0].at.row < worst.at.row):
		return nil, f.flaws[0].err
	case worst != nil && in.cured:
		return nil, fmt.Errorf("%w: %s", worst.err, a.on(in))
	case worst != nil && worst.mend != "":
		return nil, fmt.Errorf("%w: %s", worst.err, worst.mend)
	case worst != nil:
		return nil, worst.err
	case broken != nil:
		return nil, broken
	case f.twice != nil:
		return nil, f.twice
	}
	t := &Table{IDName: "line", IDs: f.ids, Missing: o.Missing, Levels: o.Levels, home: o.home}
	if f.head.id >= 0 {
		t.IDName = f.head.names[f.head.id]
	}
	for i, c := range f.columns {
		if c == nil || !o.wants(c.name) {
			continue
		}
		mend := ""
		if c.cured {
			mend = a.on(c)
		}
		column, err := c.column(uses[i], len(f.ids), mend)
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, column)
		if order := uses[i].order; order != "" {
			if t.DateOrders == nil {
				t.DateOrders = make(map[string]string)
			}
			t.DateOrders[c.name] = order
		}
	}
	return t, nil
}
