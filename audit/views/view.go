package views

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The views of a party on a sum of angles.
const (
	ViewActive = "active party" // the totals that open to it
	ViewParent = "tree parent"  // what its children in the tree send it
)

// equation is one angle as a party sees it, for all rows: its frequency, and whose columns are in it.
type equation struct {
	frequency int
	child     int  // the party that sent it, or ownTotal
	sine      bool // by its sine, of an angle that is known by sine and cosine
}

// origin is what equations of all frequencies have in common.
type origin struct {
	child int
	sine  bool
}

// ownTotal stands in place of a child for the total of a sum.
const ownTotal = -1

// partyView collects what one view of a party shows: for each equation the value at each sampled row.
type partyView struct {
	party  int
	view   string
	most   int               // equations of one child that are kept; 0 means all
	words  contract.Encoding // of the values; Bytes before the first
	noise  float64           // rounding of a value, in turns
	exact  bool              // values are reals; otherwise they are known modulo one turn
	rows   []int             // sampled, ascending
	place  map[int]int
	of     map[origin][]int // by origin, then frequency: the equation's place from 1 on; 0 where there is none
	seen   map[int]int      // by child: equations that are kept
	system []equation
	from   [][]int     // by equation: the parties whose columns are in it
	values [][]float64 // by equation, then sampled row: turns; NaN where nothing was seen
}

// newView starts an empty view on the given rows.
func newView(party int, view string, rows []int) *partyView {
	s := &partyView{party: party, view: view, rows: rows, place: make(map[int]int, len(rows)),
		of: make(map[origin][]int), seen: make(map[int]int)}
	for k, j := range rows {
		s.place[j] = k
	}
	return s
}

// add takes in a part of a vector: the angles that its words are, whose columns are in them, and the words.
func (s *partyView) add(angles []trace.Angle, child int, from []int, encoding contract.Encoding, words []byte) {
	if s.words == contract.Bytes {
		s.words = encoding
	}
	if s.words != encoding {
		return
	}
	s.exact = encoding == contract.Float64
	size := encoding.WordSize()
	s.noise = 0
	if !s.exact {
		s.noise = math.Ldexp(1, -8*size)
	}
	row, k, ok := -1, 0, false
	for i, a := range angles {
		if a.Row != row {
			row = a.Row
			k, ok = s.place[row]
		}
		if !ok || (i+1)*size > len(words) {
			continue
		}
		if column := s.at(equation{a.Frequency, child, false}, from); column != nil {
			column[k] = turns(encoding, words[i*size:])
		}
	}
}

// at returns the values of an equation, which is begun if it is new; nil when there is no room for it.
func (s *partyView) at(e equation, from []int) []float64 {
	known := s.of[origin{e.child, e.sine}]
	if e.frequency < len(known) && known[e.frequency] > 0 {
		return s.values[known[e.frequency]-1]
	}
	if s.most > 0 && s.seen[e.child] == s.most {
		return nil
	}
	s.seen[e.child]++
	column := make([]float64, len(s.rows))
	for k := range column {
		column[k] = math.NaN()
	}
	s.append(e, from, column)
	return column
}

// append adds an equation.
func (s *partyView) append(e equation, from []int, column []float64) {
	s.system, s.from, s.values = append(s.system, e), append(s.from, from), append(s.values, column)
	o := origin{e.child, e.sine}
	known := s.of[o]
	if more := e.frequency + 1 - len(known); more > 0 {
		known = append(known, make([]int, more)...)
	}
	known[e.frequency] = len(s.system)
	s.of[o] = known
}

// children lists the parties that sent what the view has, when there are several.
func (s *partyView) children() []int {
	if len(s.seen) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(s.seen))
}

// only returns the part of the view that one child sent.
func (s *partyView) only(child int) *partyView {
	part := *s
	part.of, part.seen = map[origin][]int{}, map[int]int{child: s.seen[child]}
	part.system, part.from, part.values = nil, nil, nil
	for i, e := range s.system {
		if e.child == child {
			part.append(e, s.from[i], s.values[i])
		}
	}
	return &part
}

// farthest is how many turns from 0 a real angle may be: no sum of a job comes near it.
const farthest = 1 << 32

// turns reads one word as turns; NaN when it is no angle.
func turns(encoding contract.Encoding, word []byte) float64 {
	switch encoding {
	case contract.Turns16:
		return float64(binary.LittleEndian.Uint16(word)) / (1 << 16)
	case contract.Turns32:
		return float64(binary.LittleEndian.Uint32(word)) / (1 << 32)
	case contract.Float64:
		v := math.Float64frombits(binary.LittleEndian.Uint64(word)) / (2 * math.Pi)
		if !(math.Abs(v) <= farthest) {
			return math.NaN()
		}
		return v
	}
	return math.Ldexp(float64(binary.LittleEndian.Uint64(word)), -64)
}

// fewestRows is how many rows a system needs before more equations are preferred to more rows.
const fewestRows = 64

// whole returns a part of the view without holes: the equations that at least fewestRows rows have
// (or all rows that were seen, if those are fewer), and the rows that have all of those.
func (s *partyView) whole() (equations, rows []int) {
	seen, most := make([]int, len(s.values)), 0
	for i, column := range s.values {
		for _, v := range column {
			if !math.IsNaN(v) {
				seen[i]++
			}
		}
		most = max(most, seen[i])
	}
	for i, n := range seen {
		if n >= min(fewestRows, most) {
			equations = append(equations, i)
		}
	}
	for k := range s.rows {
		if s.complete(equations, k) {
			rows = append(rows, k)
		}
	}
	return equations, rows
}

// complete reports whether a row has all the given equations, and there are some.
func (s *partyView) complete(equations []int, k int) bool {
	for _, i := range equations {
		if math.IsNaN(s.values[i][k]) {
			return false
		}
	}
	return len(equations) > 0
}
