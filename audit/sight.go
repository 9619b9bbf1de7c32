package audit

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// The views of a party on a sum of angles.
const (
	viewActive = "active party" // the totals that open to it
	viewParent = "tree parent"  // what its children in the tree send it
)

// equation is one angle as a party sees it, for all rows: a feature, and whose columns are in it.
type equation struct {
	feature int
	child   int // the party that sent it, or ownTotal
}

// ownTotal stands in place of a child for the total of a sum.
const ownTotal = -1

// sight collects what one view of a party shows: for each equation the value at each sampled row.
type sight struct {
	party  int
	view   string
	most   int               // equations of one child that are kept; 0 means all
	words  protocol.Encoding // of the values; Bytes before the first
	noise  float64           // rounding of a value, in turns
	exact  bool              // values are reals; otherwise they are known modulo one turn
	rows   []int             // sampled, ascending
	place  map[int]int
	of     map[equation]int
	seen   map[int]int // by child: equations that are kept
	system []equation
	from   [][]int     // by equation: the parties whose columns are in it
	values [][]float64 // by equation, then sampled row: turns; NaN where nothing was seen
}

// newSight starts an empty view on the given rows.
func newSight(party int, view string, rows []int) *sight {
	s := &sight{party: party, view: view, rows: rows, place: make(map[int]int, len(rows)), of: make(map[equation]int), seen: make(map[int]int)}
	for k, j := range rows {
		s.place[j] = k
	}
	return s
}

// add takes in a part of a vector: the angles that its words are, whose columns are in them, and the words.
func (s *sight) add(angles []fdskl.Angle, child int, from []int, encoding protocol.Encoding, words []byte) {
	if s.words == protocol.Bytes {
		s.words = encoding
	}
	if s.words != encoding {
		return
	}
	s.exact = encoding == protocol.Float64
	size := encoding.WordSize()
	s.noise = 0
	if !s.exact {
		s.noise = math.Ldexp(1, -8*size)
	}
	for i, a := range angles {
		k, ok := s.place[a.Row]
		if !ok || (i+1)*size > len(words) {
			continue
		}
		if column := s.at(equation{a.Feature, child}, from); column != nil {
			column[k] = turns(encoding, words[i*size:])
		}
	}
}

// at returns the values of an equation, which is begun if it is new; nil when there is no room for it.
func (s *sight) at(e equation, from []int) []float64 {
	i, ok := s.of[e]
	if !ok && s.most > 0 && s.seen[e.child] == s.most {
		return nil
	}
	if !ok {
		s.seen[e.child]++
		i = len(s.system)
		s.of[e] = i
		s.system = append(s.system, e)
		s.from = append(s.from, from)
		column := make([]float64, len(s.rows))
		for k := range column {
			column[k] = math.NaN()
		}
		s.values = append(s.values, column)
	}
	return s.values[i]
}

// defaultRows is how many rows an attack works on unless told otherwise.
const defaultRows = 4096

// checkRows is the name of the check that attacks work on as many rows as they do unless told otherwise.
const checkRows = "rows"

// sampled says how many rows attacks left out because they were told to work on fewer than they do by themselves.
func (a *auditor) sampled() {
	total, most := jobRows(a.in.Contract), a.in.Rows
	if usual := min(total, defaultRows); 0 < most && most < usual {
		a.report.Checks = append(a.report.Checks, Check{Name: checkRows, Verdict: Skipped, Detail: fmt.Sprintf(
			"attacks were to work on %d of %d rows, and they work on %d unless told otherwise: with so few they may "+
				"find nothing", most, total, usual)})
	}
}

// sampleRows draws the rows that attacks work on, ascending: the same for every view.
func sampleRows(total, most int) []int {
	if most <= 0 {
		most = defaultRows
	}
	rng := rand.New(rand.NewPCG(1, uint64(total)))
	chosen := make(map[int]bool)
	for j := max(0, total-most); j < total; j++ { // Floyd: each set of rows is equally likely
		pick := rng.IntN(j + 1)
		if chosen[pick] {
			pick = j
		}
		chosen[pick] = true
	}
	return slices.Sorted(maps.Keys(chosen))
}

// children lists the parties that sent what the sight has, when there are several.
func (s *sight) children() []int {
	if len(s.seen) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(s.seen))
}

// only returns the part of the sight that one child sent.
func (s *sight) only(child int) *sight {
	part := *s
	part.of, part.seen = map[equation]int{}, map[int]int{child: s.seen[child]}
	part.system, part.from, part.values = nil, nil, nil
	for i, e := range s.system {
		if e.child == child {
			part.of[e] = len(part.system)
			part.system, part.from, part.values = append(part.system, e), append(part.from, s.from[i]), append(part.values, s.values[i])
		}
	}
	return &part
}

// farthest is how many turns from 0 a real angle may be: no sum of a job comes near it.
const farthest = 1 << 32

// turns reads one word as turns; NaN when it is no angle.
func turns(encoding protocol.Encoding, word []byte) float64 {
	switch encoding {
	case protocol.Turns16:
		return float64(binary.LittleEndian.Uint16(word)) / (1 << 16)
	case protocol.Turns32:
		return float64(binary.LittleEndian.Uint32(word)) / (1 << 32)
	case protocol.Float64:
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

// whole returns a part of the sight without holes: the equations that at least fewestRows rows have
// (or all rows that were seen, if those are fewer), and the rows that have all of those.
func (s *sight) whole() (equations, rows []int) {
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
func (s *sight) complete(equations []int, k int) bool {
	for _, i := range equations {
		if math.IsNaN(s.values[i][k]) {
			return false
		}
	}
	return len(equations) > 0
}
