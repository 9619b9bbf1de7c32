package fdskl

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Angle names one angle of a job: omega_i . x_j + b_i for row j and frequency i.
type Angle struct{ Row, Frequency int }

// AngleSum is one sum of angles.
type AngleSum struct {
	Angles   []Angle // by the words of its vector
	Root     int     // the party they open to
	Excluded int     // the party l' of a published sum, else -1
}

// Layout tells which angle each word of a recorded vector is. It follows one session's operations in
// their order, from the job's parameters and what was broadcast, as every party can.
type Layout struct {
	params  Params
	privacy string
	names   []string
	actives []int
	rows    int
	batch   int // rows of one sum of the fixed schedule

	turn      int           // position of the active party whose angles open next
	next      []int         // fixed, by active: the next row
	group     int           // published: the next party whose phase may remain
	remains   map[int][]int // published: see remainingPhases, by root
	resume    []float64     // iterations or blocks that all active parties told so far have; nil before the first
	iteration int           // growing: iterations begun
	picked    []int         // growing: the rows of the batch; prediction: the row asked for
	features  []int         // growing, by active: how many belong to it so far
	opened    [][]int       // growing, by active and row: how many of them are open
}

// NewLayout starts the layout of a session of a training.
func NewLayout(p Params, privacy string, names []string, rows int) *Layout {
	l := NewScoreLayout(p, privacy, names, rows, blockRows(rows, blockBytes, p.Angles()))
	if p.Schedule == DoublyStochastic {
		l.features = make([]int, len(l.actives))
		for range l.actives {
			l.opened = append(l.opened, make([]int, rows))
		}
	}
	return l
}

// NewScoreLayout starts the layout of a session of a prediction that scores batch rows at a time.
func NewScoreLayout(p Params, privacy string, names []string, rows, batch int) *Layout {
	l := &Layout{params: p, privacy: privacy, names: names, rows: rows, batch: batch, next: make([]int, len(p.Active)),
		remains: make(map[int][]int)}
	for _, a := range p.Active {
		l.actives = append(l.actives, slices.Index(names, a))
	}
	return l
}

// Broadcast takes in what a party told all.
func (l *Layout) Broadcast(kind string, payload []byte) error {
	switch kind {
	case KindResumePoint:
		return l.resumeAt(payload)
	case KindBatch:
		if err := l.pick(payload, l.params.Batch, binary.LittleEndian); err != nil {
			return err
		}
		l.turn = 0
		for _, j := range l.picked {
			if j >= l.rows {
				return fmt.Errorf("a batch with row %d of %d", j, l.rows)
			}
		}
		if l.opened == nil {
			return fmt.Errorf("a batch in a job whose features do not grow")
		}
		l.addBlock()
		return nil
	case KindRequest: // its number, then the row's
		if len(payload) != 8 {
			return fmt.Errorf("a request of %d bytes, want 8", len(payload))
		}
		return l.pick(payload[4:], 1, binary.BigEndian)
	}
	return nil
}

// pick takes in the rows that the next sums are about, at most so many.
func (l *Layout) pick(payload []byte, most int, order binary.ByteOrder) error {
	if len(payload)%4 != 0 || len(payload)/4 > most {
		return fmt.Errorf("row numbers of %d bytes, want 4 for each of at most %d", len(payload), most)
	}
	l.picked = l.picked[:0]
	for ; len(payload) > 0; payload = payload[4:] {
		l.picked = append(l.picked, int(order.Uint32(payload)))
	}
	return nil
}

// resumeAt takes in what one active party says of its saved work: the number of its blocks, or the
// iterations of its checkpoints.
func (l *Layout) resumeAt(payload []byte) error {
	if len(payload) == 0 || len(payload)%8 != 0 {
		return fmt.Errorf("a resume point of %d bytes", len(payload))
	}
	var theirs []float64
	for ; len(payload) > 0; payload = payload[8:] {
		v := math.Float64frombits(binary.LittleEndian.Uint64(payload))
		if !(v >= 0 && v <= float64(max(l.rows, l.params.Iterations))) {
			return fmt.Errorf("a resume point at %v", v)
		}
		theirs = append(theirs, v)
	}
	if l.opened == nil { // the fixed schedule goes on from the smallest
		l.resume = []float64{min(theirs[0], append(l.resume, theirs[0])[0])}
		for k := range l.next {
			l.next[k] = int(l.resume[0]) * l.batch
		}
		return nil
	}
	if l.resume == nil {
		l.resume = theirs
	}
	l.resume = slices.DeleteFunc(l.resume, func(n float64) bool { return !slices.Contains(theirs, n) })
	clear(l.features)
	l.iteration = 0
	for range int(slices.Max(append([]float64{0}, l.resume...))) {
		l.addBlock()
	}
	return nil
}

// addBlock adds an iteration's features to its leader's.
func (l *Layout) addBlock() {
	l.features[l.iteration%len(l.actives)] += l.params.BlockFeatures
	l.iteration++
}

// Angles returns what the words of the next sum of angles are, and moves on. The second sum of a
// published pair has the same angles as the first and is not asked for.
func (l *Layout) Angles(words int) (AngleSum, error) {
	s, last := AngleSum{Excluded: -1}, true
	for range l.actives {
		if n := l.count(l.turn); n > mostAngles {
			return s, fmt.Errorf("a sum of more than %d angles", mostAngles)
		} else if n > 0 {
			break
		}
		l.turn = (l.turn + 1) % len(l.actives) // a growing schedule opens nothing to who lacks nothing
	}
	s.Angles = l.pending(l.turn)
	s.Root = l.actives[l.turn]
	if l.privacy == Published {
		last = l.nextGroup(&s)
	}
	if len(s.Angles) != words || words == 0 {
		return s, fmt.Errorf("a sum of %d angles, want %d", words, len(s.Angles))
	}
	if last {
		l.advance()
	}
	return s, nil
}

// mostAngles bounds the angles of one sum that are listed.
const mostAngles = 1 << 26

// count returns how many angles are pending for the k-th active party.
func (l *Layout) count(k int) int {
	n := 0
	if l.opened != nil {
		for _, j := range l.picked {
			n += l.features[k] - l.opened[k][j]
		}
		return n
	}
	for _, r := range runsOf(l.params, k) {
		n += r.Count
	}
	if l.picked != nil {
		return n * len(l.picked)
	}
	return n * max(0, min(l.batch, l.rows-l.next[k]))
}

// pending lists the angles that open next to the k-th active party.
func (l *Layout) pending(k int) []Angle {
	list := make([]Angle, 0, l.count(k))
	if l.opened != nil {
		for _, j := range l.picked {
			for f := l.opened[k][j]; f < l.features[k]; f++ {
				list = append(list, Angle{Row: j, Frequency: l.global(k, f)})
			}
		}
		return list
	}
	rows := l.picked
	if rows == nil {
		for j := l.next[k]; j < min(l.next[k]+l.batch, l.rows); j++ {
			rows = append(rows, j)
		}
	}
	for _, j := range rows {
		for _, r := range runsOf(l.params, k) {
			for i := range r.Count {
				list = append(list, Angle{Row: j, Frequency: r.First + i})
			}
		}
	}
	return list
}

// global returns the job-wide number of the k-th active party's feature f.
func (l *Layout) global(k, f int) int {
	r := l.params.BlockFeatures
	return (f/r*len(l.actives)+k)*r + f%r
}

// nextGroup keeps the angles whose remaining phase is the next party's that has any, and says whether
// no later party has.
func (l *Layout) nextGroup(s *AngleSum) (last bool) {
	remains, ok := l.remains[s.Root]
	if !ok {
		remains = remainingPhases(l.params, len(l.names), s.Root)
		l.remains[s.Root] = remains
	}
	groups := make([][]Angle, len(l.names))
	for _, a := range s.Angles {
		p := remains[a.Frequency]
		groups[p] = append(groups[p], a)
	}
	s.Angles, last = nil, true
	for p := l.group; p < len(groups); p++ {
		switch {
		case len(groups[p]) > 0 && s.Angles == nil:
			s.Angles, s.Excluded, l.group = groups[p], p, p+1
		case len(groups[p]) > 0:
			last = false
		}
	}
	if last {
		l.group = 0
	}
	return last
}

// advance notes that the pending angles are open, and goes on to the next active party.
func (l *Layout) advance() {
	k := l.turn
	l.turn = (k + 1) % len(l.actives)
	if l.opened == nil {
		l.next[k] = min(l.next[k]+l.batch, l.rows)
		return
	}
	for _, j := range l.picked {
		l.opened[k][j] = l.features[k]
	}
}
