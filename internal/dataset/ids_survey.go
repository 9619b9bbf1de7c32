package dataset

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hanse-project/hanse/internal/wording"
)

// Ids that a program wrote as numbers are no faults of a table: each is another text, and nothing is wrong until
// another party's table has the same people under other texts. So what may be written otherwise elsewhere is said
// beforehand.

// The kinds of an IDDoubt.
const (
	DoubtPoint    = "point"    // whole numbers with ".0", as 1.0
	DoubtExponent = "exponent" // numbers with an exponent, as 1e+05, among numbers
	DoubtGroups   = "groups"   // numbers with points or commas that may be decimals or thousands, as 1.000
	DoubtZeros    = "zeros"    // whole numbers with zeros in front, beside others that have none
	DoubtBlanks   = "blanks"   // blanks inside
	DoubtCase     = "case"     // ids that are equal but for capitals
	DoubtTotal    = "total"    // a word that spreadsheets have in front of sums, among numbers
)

// IDDoubt is a way in which ids of a table are written that another party may not write.
type IDDoubt struct {
	Column string `json:"column"`
	Kind   string `json:"kind"`
	Rows   int    `json:"rows"`
	Of     int    `json:"of"`             // rows with an id
	Line   int    `json:"line,omitempty"` // of the first; 0 where the table is no text
	Row    int    `json:"row,omitempty"`  // of the first, where the table is no text
	Says   string `json:"says"`           // a sentence, with what to do
}

// IDLook is what the ids in one column of a table look like.
type IDLook struct {
	Column string
	Of     int // rows with an id
	Doubts []IDDoubt
	Shape  string // what they are all together: "3 ids, whole numbers of 1 to 3 digits"
	Padded bool   // all are whole numbers with zeros in front, which is no doubt until another table has them without
}

// Sentences says what the ids look like, a doubt in each, or what they are where there is none.
func (l *IDLook) Sentences() []string {
	if len(l.Doubts) == 0 {
		return []string{fmt.Sprintf("ids in %s: %s", quote(l.Column), l.Shape)}
	}
	var all []string
	for _, d := range l.Doubts {
		all = append(all, d.Says)
	}
	return all
}

// what to do about ids, by the kind of doubt.
const (
	asText = "write the column as text, or give it the recipe number in the charter"
	alike  = "write all alike"
)

// doubtWords are what a doubt says of one id and of several, what stands behind, and what to do.
var doubtWords = map[string]struct{ one, many, behind, do string }{
	DoubtPoint: {`is a whole number with ".0"`, `are whole numbers with ".0"`,
		", as programs write them where a cell was missing", asText},
	DoubtExponent: {"is a number with an exponent", "are numbers with an exponent",
		", as programs write long ones", asText},
	DoubtGroups: {"has a point or a comma that may stand for decimals or for thousands",
		"have points or commas that may stand for decimals or for thousands", "",
		"write the column as text, in plain digits"},
	DoubtZeros: {"has zeros in front", "have zeros in front", ", and others have none",
		alike + ", or give the column the recipe number in the charter"},
	DoubtBlanks: {"has a blank inside", "have blanks inside", "", "write the column without them"},
	DoubtTotal:  {"is a word that stands before sums", "are words that stand before sums", "", "leave the row out"},
	DoubtCase: {"equals another but for capitals", "equal others but for capitals", "",
		alike + ", or give the column the recipe casefold in the charter"},
}

// totals are words that spreadsheets have in front of sums and means.
var totals = map[string]bool{
	"total": true, "totals": true, "grand total": true, "sum": true, "average": true, "mean": true, "count": true,
	"summe": true, "gesamt": true, "gesamtsumme": true, "mittelwert": true, "somme": true, "moyenne": true, "totale": true,
	"suma": true, "média": true, "totaal": true, "合计": true, "总计": true,
}

// mostCompared is how many cells of a kind are tried under a recipe: where it makes all of so many alike, it does so
// with the others.
const mostCompared = 10_000

var (
	exponential = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]*)?[eE][+-]?[0-9]+$`)
	groups      = regexp.MustCompile(`^[+-]?[0-9]{1,3}([.,][0-9]{3})+([.,]0*)?$|^[+-]?[0-9]+,0+$`)
)

// doubter counts the cells of one kind.
type doubter struct {
	rows, line int
	differ     bool // some of them are other ids than if they were written plainly
	compared   int
}

// add counts a cell that would be plain if it were written otherwise.
func (d *doubter) add(line int, same func() bool) {
	d.rows++
	if d.line == 0 || line < d.line {
		d.line = line
	}
	if !d.differ && d.compared < mostCompared {
		d.compared++
		d.differ = !same()
	}
}

// lookAtIDs looks at the cells of a column that identifies rows; lines are those of the file, or numbers of rows where
// the table is no text. Empty cells are not looked at. same says of two texts whether they become the same id; nil:
// where they are equal. There is no doubt of a kind of which all are the same id as if they were written plainly.
func lookAtIDs(column string, cells []string, lines []int32, text bool, same func(a, b string) bool) *IDLook {
	if same == nil {
		same = func(a, b string) bool { return a == b }
	}
	look := &IDLook{Column: column}
	found := make(map[string]*doubter)
	for kind := range doubtWords {
		found[kind] = new(doubter)
	}
	var shape idShape
	var blanksOfTexts doubter // of cells with letters
	folded := newFolded()
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		look.Of++
		line := int(lines[i])
		plain, whole := wording.Whole(cell)
		shape.add(cell)
		as := func(other string) func() bool { return func() bool { return same(cell, other) } }
		switch {
		case strings.ContainsAny(cell, "eE") && exponential.MatchString(cell):
			found[DoubtExponent].add(line, func() bool { return whole && same(cell, plain) })
		case whole && strings.Contains(cell, "."):
			found[DoubtPoint].add(line, as(plain))
		case whole && len(cell) > 1 && cell[0] == '0':
			found[DoubtZeros].add(line, as(plain))
		case strings.ContainsAny(cell, ".,") && groups.MatchString(cell):
			found[DoubtGroups].add(line, as(strings.NewReplacer(".", "", ",", "").Replace(cell)))
		case strings.ContainsFunc(cell, unicode.IsSpace):
			without := strings.Join(strings.Fields(cell), "")
			switch digits, others := count(without); {
			case others == 0:
				found[DoubtBlanks].add(line, as(without))
			case digits > others:
				blanksOfTexts.add(line, as(without))
			}
		default:
			shape.unbroken = shape.unbroken || !whole
		}
		if totals[strings.ToLower(strings.TrimRight(cell, ":"))] {
			found[DoubtTotal].add(line, func() bool { return false })
		}
		if other, is := folded.other(cell); is {
			found[DoubtCase].add(line, as(other))
		}
	}
	if shape.unbroken { // some ids of letters and digits have blanks, and others have none
		b := found[DoubtBlanks]
		if b.line == 0 || blanksOfTexts.line > 0 && blanksOfTexts.line < b.line {
			b.line = blanksOfTexts.line
		}
		b.rows, b.differ = b.rows+blanksOfTexts.rows, b.differ || blanksOfTexts.differ
	}
	found[DoubtZeros].differ = found[DoubtZeros].differ && shape.plain > 0 && shape.shortest != shape.longest
	found[DoubtTotal].differ = found[DoubtTotal].differ && 2*shape.wordy < look.Of
	found[DoubtExponent].differ = found[DoubtExponent].differ && !shape.letters // 12E45 is a text beside 12F45
	for _, kind := range []string{DoubtPoint, DoubtExponent, DoubtGroups, DoubtZeros, DoubtBlanks, DoubtCase,
		DoubtTotal} {
		if d := found[kind]; d.differ {
			look.Doubts = append(look.Doubts, d.doubt(kind, look, text))
		}
	}
	look.Shape, look.Padded = shape.String(), shape.padded()
	return look
}

// doubt puts a count into words.
func (d *doubter) doubt(kind string, look *IDLook, text bool) IDDoubt {
	doubt := IDDoubt{Column: look.Column, Kind: kind, Rows: d.rows, Of: look.Of, Line: d.line}
	where := fmt.Sprintf("line %d", d.line)
	if !text {
		doubt.Line, doubt.Row = 0, d.line
		where = fmt.Sprintf("row %d", d.line)
	}
	w := doubtWords[kind]
	is, what := w.many, fmt.Sprintf("%d of %s", d.rows, wording.Count(look.Of, "id"))
	switch {
	case d.rows == 1:
		is, where = w.one, "in "+where
	case d.rows == look.Of:
		what, where = fmt.Sprintf("all %s", wording.Count(look.Of, "id")), "the first in "+where
	default:
		where = "the first in " + where
	}
	doubt.Says = fmt.Sprintf("ids in %s: %s %s, %s%s: %s", quote(look.Column), what, is, where, w.behind, w.do)
	return doubt
}

// count counts the digits of a text, and its other characters.
func count(text string) (digits, others int) {
	for _, c := range text {
		if unicode.IsDigit(c) {
			digits++
		} else {
			others++
		}
	}
	return digits, others
}

// idShape is what ids are all together.
type idShape struct {
	whole, texts      int  // ids that are digits alone, and others
	plain             int  // of the whole ones, those without zeros in front, but 0 itself
	shortest, longest int  // digits of the whole ones
	least, most       int  // characters of all
	letters           bool // an id has one that is no exponent's
	capitals, small   bool // a text has such a letter
	wordy             int  // ids without a digit
	unbroken          bool // there is an id of more than digits, and without blanks
}

// add takes one id in.
func (s *idShape) add(id string) {
	n := utf8.RuneCountInString(id)
	if s.whole+s.texts == 0 || n < s.least {
		s.least = n
	}
	s.most = max(s.most, n)
	if digits, others := count(id); others > 0 {
		s.texts++
		s.capitals = s.capitals || strings.ContainsFunc(id, unicode.IsUpper)
		s.small = s.small || strings.ContainsFunc(id, unicode.IsLower)
		if digits == 0 {
			s.wordy++
		}
		s.letters = s.letters || strings.ContainsFunc(id, func(c rune) bool {
			return unicode.IsLetter(c) && c != 'e' && c != 'E'
		})
		return
	}
	if s.whole++; s.whole == 1 || n < s.shortest {
		s.shortest = n
	}
	s.longest = max(s.longest, n)
	if id[0] != '0' {
		s.plain++
	}
}

// padded reports whether all are whole numbers with zeros in front.
func (s *idShape) padded() bool { return s.whole > 0 && s.texts+s.plain == 0 }

// String says what they are.
func (s *idShape) String() string {
	kind, unit := "whole numbers", "digit"
	least, most := s.shortest, s.longest
	switch {
	case s.whole+s.texts == 0:
		return "none"
	case s.texts > 0:
		kind, unit, least, most = "texts", "character", s.least, s.most
	case s.padded():
		kind = "whole numbers with zeros in front,"
	}
	all := fmt.Sprintf("%s, %s of ", wording.Count(s.whole+s.texts, "id"), kind)
	if least != most {
		all += fmt.Sprintf("%d to ", least)
	}
	all += wording.Count(most, unit)
	switch {
	case s.capitals && s.small:
		return all + ", capitals and small letters"
	case s.capitals:
		return all + ", all letters capitals"
	case s.small:
		return all + ", all letters small"
	}
	return all
}

// folded remembers texts by what they are without capitals: a hash, so that many ids take little memory.
type folded struct {
	seed  maphash.Seed
	first map[uint64]string
}

func newFolded() *folded { return &folded{maphash.MakeSeed(), make(map[uint64]string)} }

// other returns another text that was seen before and is equal but for capitals.
func (f *folded) other(text string) (string, bool) {
	if !strings.ContainsFunc(text, unicode.IsLetter) {
		return "", false
	}
	h := maphash.String(f.seed, strings.ToLower(strings.ToUpper(text)))
	first, known := f.first[h]
	if !known {
		f.first[h] = text
		return "", false
	}
	return first, first != text
}

// LookAtIDs looks at the id column of a table, as it stands; nil where the rows have no id of their own.
func (r *Reading) LookAtIDs() *IDLook {
	if r.csv == nil || r.csv.head.id < 0 {
		return nil
	}
	f := r.csv
	return lookAtIDs(f.head.names[f.head.id], f.ids, f.lines, f.typed == nil, nil)
}

// LookAt looks at a column that was read as Identify, or at the id column, under a recipe: see lookAtIDs.
func (r *Reading) LookAt(column string, same func(a, b string) bool) (*IDLook, error) {
	columns, _, err := r.Texts(column)
	if err != nil {
		return nil, err
	}
	return lookAtIDs(column, columns[0], r.csv.lines, r.csv.typed == nil, same), nil
}
