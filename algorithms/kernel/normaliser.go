package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Scaling says how a column enters the design.
type Scaling string

// The scalings. A job chooses among the first four; the others follow from the column.
const (
	Auto     Scaling = "auto"     // log where a few outliers squeeze the rest, else minmax; never of a fitted Scale
	MinMax   Scaling = "minmax"   // to [0, 1] by the training rows' range
	Standard Scaling = "standard" // to mean 0 and deviation 1 on the training rows
	Rank     Scaling = "rank"     // mid-rank among the training rows, in (0, 1)
	Log      Scaling = "log"      // to [0, 1] by the range of asinh((x - median) / half the middle half's width)
	OneHot   Scaling = "onehot"   // one binary column per level
	Dropped  Scaling = "dropped"  // constant on the training rows, left out
)

// ParseScaling reads the name of a scaling for numeric columns.
func ParseScaling(s string) (Scaling, error) {
	names := []string{string(Auto), string(MinMax), string(Standard), string(Rank)}
	_, err := parseName("scaling", names, s)
	return Scaling(s), err
}

// Normaliser turns a party's columns into a Matrix. It is fitted on training rows only, is the
// party's own, and is stored with the party's part of the model.
type Normaliser struct {
	Columns []Scale
}

// Scale is what a Normaliser knows about one column.
type Scale struct {
	Column  string
	Scaling Scaling
	Shift   float64   // MinMax, Standard, Log: x becomes (x - Shift) / Divisor
	Divisor float64   // MinMax, Standard, Log: positive
	Binary  bool      // MinMax: the training rows hold two values only
	Knots   []float64 // Rank: the distinct training values, ascending
	Ranks   []float64 // Rank: their mid-ranks, ascending, in (0, 1)
	Levels  []string  // OneHot: the levels that occur in the training rows; "" is the level of missing cells

	// Of the training rows' (x - Shift) / Divisor, of Log their asinh, which Low and Low + Span then make 0 and 1.
	Low  float64 `cbor:",omitempty"` // Standard, Log: the least
	Span float64 `cbor:",omitempty"` // Standard, Log: how far above it the largest is; 0: Standard does not tell

	Fill      *float64 `cbor:",omitempty"` // numbers: what a missing cell is given; nil where none may be missing
	Indicator bool     `cbor:",omitempty"` // numbers: whether a cell is missing is a binary column of its own
	Strict    bool     `cbor:",omitempty"` // OneHot: a level that training did not meet is an error, not all zeros
	Bins      *Bins    `cbor:",omitempty"` // Binned
}

// maxKnots bounds the distinct values of a ranked column.
const maxKnots = 1 << 24

// Validate checks a normaliser that comes from a file.
func (n *Normaliser) Validate() error {
	if len(n.Columns) > MaxColumns {
		return fmt.Errorf("the normaliser has %d columns: at most %d fit", len(n.Columns), MaxColumns)
	}
	for i := range n.Columns {
		if err := n.Columns[i].validate(); err != nil {
			return fmt.Errorf("normaliser, column %q: %w", n.Columns[i].Column, err)
		}
	}
	dense, binary := n.Names()
	if len(dense) > MaxColumns || len(binary) > MaxColumns {
		return fmt.Errorf("the normaliser makes %d dense and %d binary columns: at most %d of each fit", len(dense),
			len(binary), MaxColumns)
	}
	return validateNames(dense, binary)
}

// validate checks the fields that the scaling uses.
func (s *Scale) validate() error {
	switch {
	case s.Fill != nil && (s.Scaling == OneHot || !parameters.IsFinite(*s.Fill)):
		return fmt.Errorf("it gives %v to missing cells: want a finite number, in a column of numbers", *s.Fill)
	case s.Indicator && s.Scaling == OneHot:
		return fmt.Errorf("missing cells are a level and a column of their own: want one of them")
	}
	switch s.Scaling {
	case MinMax, Standard, Log:
		if log := s.Scaling == Log; log && !(parameters.IsFinite(s.Low) && parameters.IsFinite(s.Span) && s.Span > 0) {
			return fmt.Errorf("low %v and span %v must be finite, and the span positive", s.Low, s.Span)
		}
		if s.Scaling == Standard && !(parameters.IsFinite(s.Low) && parameters.IsFinite(s.Span) && s.Span >= 0) {
			return fmt.Errorf("low %v and span %v must be finite, and the span not negative", s.Low, s.Span)
		}
		if !parameters.IsFinite(s.Shift) || !parameters.IsFinite(s.Divisor) || s.Divisor <= 0 {
			return fmt.Errorf("shift %v and divisor %v must be finite, and the divisor positive", s.Shift, s.Divisor)
		}
		if s.Binary && s.Scaling != MinMax {
			return fmt.Errorf("only scaling %q makes binary columns", MinMax)
		}
		return nil
	case Rank:

		// Checks that knots and ranks are finite and strictly ascending.
		if len(s.Knots) < 2 || len(s.Knots) > maxKnots || len(s.Ranks) != len(s.Knots) {
			return fmt.Errorf("it has %d knots and %d ranks: want as many of each, from 2 to %d", len(s.Knots), len(s.Ranks),
				maxKnots)
		}
		for i, k := range s.Knots {
			r := s.Ranks[i]
			if !parameters.IsFinite(k) || !(r > 0 && r < 1) {
				return fmt.Errorf("knot %d is %v with rank %v: want a finite knot and a rank in (0, 1)", i+1, k, r)
			}
			if i > 0 && (k <= s.Knots[i-1] || r <= s.Ranks[i-1]) {
				return fmt.Errorf("knot %d does not lie above the one before", i+1)
			}
		}
		return nil
	case OneHot:
		if len(s.Levels) < 2 {
			return fmt.Errorf("it has %d levels: want two or more", len(s.Levels))
		}

		// Refuses repeated levels. One of them may be empty: the level of empty cells.
		seen := make(map[string]bool, len(s.Levels))
		for _, level := range s.Levels {
			if seen[level] {
				return fmt.Errorf("level %.40q occurs twice", level)
			}
			seen[level] = true
		}
		return nil
	case Binned:
		return s.Bins.validate()
	case Dropped:
		return nil
	}
	return fmt.Errorf("unknown scaling %.40q", s.Scaling)
}

// Names returns the design columns that Apply makes: "column" for numbers, "column=level" for
// categories, "column=" for whether a cell is missing. Frequencies are drawn by these names.
func (n *Normaliser) Names() (dense, binary []string) {
	for i := range n.Columns {
		s := &n.Columns[i]
		switch {
		case s.Scaling == Binned:
			for _, label := range s.Bins.Labels() {
				binary = append(binary, s.Column+"="+label)
			}
		case s.Scaling == OneHot:
			for _, level := range s.Levels {
				binary = append(binary, s.Column+"="+level)
			}
		case s.Binary:
			binary = append(binary, s.Column)
		case s.Scaling != Dropped:
			dense = append(dense, s.Column)
		}
		if s.Indicator {
			binary = append(binary, s.Column+"=")
		}
	}
	return dense, binary
}

// Unseen says of one column in how many rows there is what training did not meet: a level, or a number beyond those of
// the training rows.
type Unseen struct {
	Column string   `json:"column"`
	Rows   int      `json:"rows"`
	Levels []string `json:"levels,omitempty"` // categories: the first few of them; "" is a missing cell
	Range  *Range   `json:"range,omitempty"`  // numbers
}

// Range is which numbers of a column training met, and the one of other rows that is farthest from those.
type Range struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Farthest float64 `json:"farthest"`
	Days     bool    `json:"days,omitempty"` // they are days since 1970-01-01

	beyond float64 // how far it is, in widths of the range
}

// Notable reports whether it is more than what a few of so many rows like the training's have: levels are, and numbers
// where one lies half the range's width beyond it, or one row of twenty does.
func (u Unseen) Notable(rows int) bool {
	return u.Range == nil || u.Range.beyond > 0.5 || 20*u.Rows > rows
}

// String says how many rows have such a cell.
func (u Unseen) String() string {
	rows := "1 row"
	if u.Rows != 1 {
		rows = fmt.Sprintf("%d rows", u.Rows)
	}
	if u.Range != nil {
		return fmt.Sprintf("column %q: %s with numbers that training never saw (%s)", u.Column, rows, u.Range)
	}
	var levels []string
	for _, l := range u.Levels {
		if l == "" {
			l = "a missing cell"
		} else {
			l = strconv.Quote(l)
		}
		levels = append(levels, l)
	}
	return fmt.Sprintf("column %q: %s with what training never saw (%s), scored as none of its levels", u.Column, rows,
		strings.Join(levels, ", "))
}

// String says which number is the farthest, and which training had.
func (r Range) String() string {
	text := func(v float64) string {
		if day := time.Unix(0, 0).UTC().AddDate(0, 0, int(math.Floor(v))); r.Days && day.Year() < 10_000 {
			return day.Format(time.DateOnly)
		}
		if a := math.Abs(v); a >= 1e5 && a < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return fmt.Sprintf("%s; it had %s to %s", text(r.Farthest), text(r.Low), text(r.High))
}

// Unseen counts the rows of a table in which training did not meet what stands in a column, for all columns that have
// any such, those of numbers behind the others and the farthest number first. The last bins of numbers have no end.
func (n *Normaliser) Unseen(columns []Column) []Unseen {
	var levels, numbers []Unseen
	for i := range n.Columns {
		s := &n.Columns[i]
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == s.Column })
		if at < 0 {
			continue
		}
		c := &columns[at]
		if s.Scaling == Binned {
			s = &Scale{Column: s.Column, Scaling: OneHot, Levels: slices.Concat(s.Bins.Levels...)}
		}
		switch {
		case c.categorical() && s.Scaling == OneHot:
			if u := s.unseenLevels(c); u.Rows > 0 {
				levels = append(levels, u)
			}
		case !c.categorical():
			if u := s.unseenNumbers(c); u.Rows > 0 {
				numbers = append(numbers, u)
			}
		}
	}
	slices.SortStableFunc(numbers, func(a, b Unseen) int { return cmp.Compare(b.Range.beyond, a.Range.beyond) })
	return append(levels, numbers...)
}

// unseenLevels counts the rows with levels that training did not meet.
func (s *Scale) unseenLevels(c *Column) Unseen {
	const most = 3
	found := Unseen{Column: s.Column}
	place := s.places(c)
	for _, code := range c.Codes {
		if place[code+1] >= 0 {
			continue
		}
		found.Rows++
		level := c.level(code)
		if len(found.Levels) < most && !slices.Contains(found.Levels, level) {
			found.Levels = append(found.Levels, level)
		}
	}
	return found
}

// unseenNumbers counts the rows with numbers beyond those of the training rows; of two-valued columns, with others than
// the two.
func (s *Scale) unseenNumbers(c *Column) Unseen {
	found := Unseen{Column: s.Column}
	low, high, known := s.trained()
	if !known {
		return found
	}
	width := high - low
	const ulps = 1e-9 // what rounding may make of the ends, in widths
	for _, v := range c.Values {
		beyond := max(low-v, v-high) / width
		if math.IsNaN(v) || beyond <= ulps && !(s.Binary && -beyond > ulps) {
			continue
		}
		if found.Rows++; found.Range == nil || beyond > found.Range.beyond {
			found.Range = &Range{Low: low, High: high, Farthest: v, beyond: beyond}
		}
	}
	return found
}

// trained returns the least and the largest number of the training rows, where the scale tells.
func (s *Scale) trained() (low, high float64, known bool) {
	switch s.Scaling {
	case MinMax:
		return s.Shift, s.Shift + s.Divisor, true
	case Standard:
		return s.Shift + s.Low*s.Divisor, s.Shift + (s.Low+s.Span)*s.Divisor, s.Span > 0
	case Log:
		return s.Shift + math.Sinh(s.Low)*s.Divisor, s.Shift + math.Sinh(s.Low+s.Span)*s.Divisor, true
	case Rank:
		return s.Knots[0], s.Knots[len(s.Knots)-1], true
	}
	return 0, 0, false
}

// places returns where among a scale's levels those of a column are, -1 for one that is not there: of code k at k+1, of
// missing cells at 0.
func (s *Scale) places(c *Column) []int32 {
	places := []int32{int32(slices.Index(s.Levels, ""))}
	for _, level := range c.Levels {
		places = append(places, int32(slices.Index(s.Levels, level)))
	}
	return places
}

// unseen is the error text for a level that training did not meet.
func unseen(level string, levels []string) string {
	const most = 8
	shown := slices.Clone(levels[:min(most, len(levels))])
	for i := range shown {
		shown[i] = cmp.Or(shown[i], "(empty)")
	}
	known := strings.Join(shown, ", ")
	if len(levels) > most {
		known += ", …"
	}
	if level == "" {
		return fmt.Sprintf("the cell is missing, as none was in the training rows, which have %s: fill it", known)
	}
	return fmt.Sprintf("level %.40q does not occur in the training rows, which have %s", level, known)
}
