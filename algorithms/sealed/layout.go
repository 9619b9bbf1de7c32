package sealed

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages whose words a Layout knows.
const (
	ZScores       = kindZScores       // sums: a word for each bin that a party learns the z-score of
	Angles        = kindAngles        // sums: a word for each angle of each row
	Held          = kindHeld          // broadcasts: which openings each of the three holds, when a session begins
	Bound         = kindBound         // sums: the order of magnitude of the Gram matrix's norm
	RowCommitment = kindRowCommitment // broadcasts: to what each of the three adds to the coin of the rows kept out
	RowCoin       = kindRowCoin       // broadcasts: what each of the three adds to it
	Coin          = kindCoin          // broadcasts: what each of the three adds to the coin that checks the steps
	Check         = kindCheck         // direct: a component of the numbers that check the steps
	Resume        = kindResume        // broadcasts: where each of the three can go on, nothing when a job begins
	Ready         = kindReady         // broadcasts: that one of the three holds the words of the opening that is next
	Factors       = kindFactors       // direct: the cosines of all, then the sines of all
	Features      = kindReshare       // direct: a word for each feature of each row
)

// Layout tells which rows the words of a recorded message are of. It follows one session's messages in
// their order, from the job's parameters and what was broadcast, as every party can.
type Layout struct {
	roles
	params fdskl.Params
	rows   int
	batch  int // rows of one prediction; 0: a training
	resume int // broadcasts of resume points so far
	common []point
	held   [rss.Roles]held // what the three say of a prediction's openings
	heard  int             // how many of them have
	fixed  int             // the openings up to this number come without features
	next   int             // the first row that is not in the queues
	queues map[passage][][]int
}

// passage is a kind of message on one link; from and to are -1 for sums.
type passage struct {
	kind     string
	from, to int
}

// NewLayout starts the layout of a session of a training whose blocks have the usual size.
func NewLayout(p fdskl.Params, names []string, rows int) *Layout {
	return NewScoreLayout(p, names, rows, 0)
}

// NewScoreLayout starts the layout of a session of a prediction that scores batch rows at a time.
func NewScoreLayout(p fdskl.Params, names []string, rows, batch int) *Layout {
	return &Layout{roles: rolesOf(p, names, -1), params: p, rows: rows, batch: batch, queues: make(map[passage][][]int)}
}

// Broadcast takes in what a party told all.
func (l *Layout) Broadcast(kind string, payload []byte) error {
	switch {
	case kind == kindResume && l.batch == 0:
		// Takes in where one of the three can go on.
		theirs, err := decodePoints(payload)
		if err != nil {
			return fmt.Errorf("%s: %w", kindResume, err)
		}
		if l.resume == 0 {
			l.common = theirs
		}
		l.resume++
		l.common = slices.DeleteFunc(l.common, func(p point) bool { return !slices.Contains(theirs, p) })
		if l.resume < rss.Roles {
			return nil
		}
		solved := slices.ContainsFunc(l.common, func(p point) bool { return p.stage == stageSolved })
		if l.params.Loss != kernel.Square.String() && !solved {
			return nil
		}
		for _, p := range l.common {
			if p.stage > stageSums {
				l.next = l.rows
				return nil
			}
			l.next = max(l.next, p.number)
		}
		return nil
	case kind == kindHeld && l.batch > 0:
		// Takes in which openings one of the three holds: those that are fixed come from the disks.
		if len(payload) != heldSize || l.heard == rss.Roles {
			return fmt.Errorf("%s of %d bytes, want %d from each of the three", kindHeld, len(payload), heldSize)
		}
		var err error
		if l.held[l.heard], err = decodeHeld(payload, math.MaxInt32); err != nil {
			return fmt.Errorf("%s: %w", kindHeld, err)
		}
		if l.heard++; l.heard < rss.Roles {
			return nil
		}
		fixed, c := agreement(l.held)
		if c != nil {
			return fmt.Errorf("%s: opening %d has left at one of the three and is not held by another", kindHeld, c.number)
		}
		l.fixed = fixed
		if l.batch > 1 {
			l.next = int(min(int64(fixed)*int64(l.batch), int64(l.rows)))
		}
		return nil
	case kind == "request" && l.batch == 1:
		if len(payload) != 8 {
			return fmt.Errorf("a request of %d bytes, want 8", len(payload))
		}
		l.next = l.rows // no row comes without a request
		if number := int(binary.BigEndian.Uint32(payload)); number > l.fixed {
			l.fixed = number
			l.enqueue([]int{int(binary.BigEndian.Uint32(payload[4:]))})
		}
	}
	return nil
}

// Rows returns the rows that the words of the next message of a kind are of, and moves on. from and to are the ends of
// a direct message, by the job's parties; sums have none.
func (l *Layout) Rows(kind string, from, to, words int) ([]int, error) {
	each := l.params.Features // of the factors, two for each angle
	key := passage{kind, from, to}
	if kind == kindAngles {
		key, each = passage{kind, -1, -1}, l.params.Angles()
	}
	if len(l.queues[key]) == 0 {
		l.more()
	}
	queue := l.queues[key]
	if len(queue) == 0 {
		return nil, fmt.Errorf("a message %q where all rows had theirs", kind)
	}
	rows := queue[0]
	l.queues[key] = queue[1:]
	if words != len(rows)*each {
		return nil, fmt.Errorf("a message %q of %d words, want %d for %d rows", kind, words, len(rows)*each, len(rows))
	}
	return rows, nil
}

// more brings the next rows into the queues: all of a training, a batch of a prediction.
func (l *Layout) more() {
	lo, hi := l.next, l.rows
	if l.batch > 0 {
		hi = min(lo+l.batch, l.rows)
	}
	l.next = hi
	var rows []int
	for j := lo; j < hi; j++ {
		rows = append(rows, j)
	}
	l.enqueue(rows)
}

// enqueue lists the messages of rows, block by block, in the order of columns.each.
func (l *Layout) enqueue(rows []int) {
	blocks, first := l.blocks(rows)
	add := func(i int, kind string, ends func(late rss.Role) (from, to rss.Role)) {
		if i < 0 || i >= len(blocks) {
			return
		}
		key := passage{kind, -1, -1}
		if ends != nil {
			late := rss.Helper
			if (first+i)%2 == 1 {
				late = rss.Keeper
			}
			from, to := ends(late)
			key.from, key.to = l.parties[from], l.parties[to]
		}
		l.queues[key] = append(l.queues[key], blocks[i])
	}
	for i := -aheadAngles; i < len(blocks); i++ {
		add(i+aheadAngles, kindAngles, nil)
		add(i+aheadHalves, kindReshare, func(late rss.Role) (from, to rss.Role) {
			return rss.Keeper + rss.Helper - late,
				late
		})
		add(i, kindFactors, func(late rss.Role) (from, to rss.Role) { return rss.LabelHolder, late })
		add(i, kindReshare, func(late rss.Role) (from, to rss.Role) { return late, rss.Keeper + rss.Helper - late })
	}
}

// blocks cuts rows into blocks, and returns the number of the first, by which keeper and helper take turns.
func (l *Layout) blocks(rows []int) (blocks [][]int, first int) {
	size := blockRowsOf(l.params)
	if l.batch == 0 && len(rows) > 0 {
		first = rows[0] / size
	}
	for len(rows) > 0 {
		n := min(size, len(rows))
		blocks, rows = append(blocks, rows[:n]), rows[n:]
	}
	return blocks, first
}

// FeatureBits is how many bits behind the point a shared feature has.
func FeatureBits(p fdskl.Params) int {
	switch p.Ring {
	case ringCompact:
		return 14
	case ringSmall:
		return smallBits
	}
	return 20
}

// OpeningBits is how many bits of one value of a kind open that has a width in sealed jobs, and no more; 0 for other
// kinds. training tells whether the job trains.
func OpeningBits(p fdskl.Params, kind string, training bool) int {
	switch {
	case kind == kindBound, kind == kindReach:
		return orderBits
	case kind == kindScores && !training:
		return scoreWidth(p, p.ScoreBits)
	case kind == kindProgress, kind == kindPace:
		return progressBits
	case kind == kindCheck:
		return checkWidth
	case kind == kindPoints:
		return pointsWidth
	case kind == kindZScores:
		return zWidth
	case kind == kindValidation, kind == kindChoice:
		return choiceBits
	case kind == "distances":
		return fdskl.SealedWidth
	}
	return 0
}
