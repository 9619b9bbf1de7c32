package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Angle names one angle of a job: omega_i . x_j + b_i for row j and frequency i.
type Angle struct{ Row, Frequency int }

// About is what the words of a message are of.
type About struct {
	Rows     []int   // that the words are of, in their order
	Angles   []Angle // of a sum of angles: by its words
	Root     int     // of a sum of angles: the party that it opens to
	Excluded int     // the party l' of a published sum, else -1
}

// Rows lists n rows from the first on.
func Rows(first, n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = first + i
	}
	return rows
}

// Follower says what the messages of a session are of, as every party can: it runs a part on what was told in the
// session, as far as the messages have come. It is for one goroutine, and ends with Close.
type Follower struct {
	heard   []string // kinds of broadcasts on which the part waits
	step    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	told    []telling
	queues  map[passage][]message
	waiting bool // the part waits for a broadcast
	ended   bool
	err     error // why the part ended
}

// telling is a broadcast that the part has not come to yet.
type telling struct {
	kind    string
	payload []byte
}

// passage is a kind of message on one link; from and to are -1 for sums.
type passage struct {
	kind     string
	from, to int
}

// message is one that no record was asked for yet.
type message struct {
	words int
	about func() About
}

// errLeft ends a part that nobody follows any more.
var errLeft = errors.New("nobody follows")

// Follow follows a session in which the part is run on the Network. heard are the kinds of broadcasts that decide over
// what later messages are of.
func (n *Network) Follow(heard []string, part func() error) *Follower {
	f := &Follower{heard: heard, queues: make(map[passage][]message)}
	n.follow = f
	f.step, f.stop = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		f.err = part()
		f.ended = true
	})
	return f
}

// Close ends the part.
func (f *Follower) Close() {
	if f != nil {
		f.stop()
	}
}

// pass takes in a message of the part.
func (f *Follower) pass(p passage, words int, about func() About) error {
	if p.to < 0 {
		p.from = -1
	}
	f.queues[p] = append(f.queues[p], message{words, about})
	if !f.yield(struct{}{}) {
		return errLeft
	}
	return nil
}

// await returns the next broadcast, which must be of a kind, once it was told.
func (f *Follower) await(kind string) ([]byte, error) {
	for len(f.told) == 0 {
		f.waiting = true
		if !f.yield(struct{}{}) {
			return nil, errLeft
		}
	}
	f.waiting = false
	next := f.told[0]
	f.told = f.told[1:]
	if next.kind != kind {
		return nil, fmt.Errorf("%q was told where %q is due", next.kind, kind)
	}
	return next.payload, nil
}

// Broadcast takes in what a party told all. Kinds that decide nothing are passed over. Every party has its part in
// every sum, so that each must have come that is due before.
func (f *Follower) Broadcast(kind string, payload []byte) error {
	if !slices.Contains(f.heard, kind) {
		return nil
	}
	f.told = append(f.told, telling{kind, payload})
	for len(f.told) > 0 && !f.ended {
		if due := f.due(); due > 0 {
			return fmt.Errorf("%q was told where %d sums are due", kind, due)
		}
		f.step()
	}
	if f.err == nil && len(f.told) > 0 {
		return fmt.Errorf("%q was told where nothing is due any more", kind)
	}
	return f.err
}

// mostAhead is of how many sums a message between two parties is ahead at most: no part begins as many before it ends
// the first.
const mostAhead = 16

// due counts the sums that no record was asked for yet.
func (f *Follower) due() (n int) {
	for p, list := range f.queues {
		if p.to < 0 {
			n += len(list)
		}
	}
	return n
}

// Next returns what the words of the next message of a kind are of, and moves on. from and to are the ends of a direct
// message, by the job's parties; sums have none, -1. words is how many the message has, -1 where nobody knows.
func (f *Follower) Next(kind string, from, to, words int) (About, error) {
	p := passage{kind, from, to}
	for len(f.queues[p]) == 0 {
		if f.ended || f.waiting {
			return About{}, cmp.Or(f.err, fmt.Errorf("a message %q where all rows had theirs", kind))
		}
		if due := f.due(); to < 0 && due > 0 || due > mostAhead {
			return About{}, fmt.Errorf("a message %q where %d sums are due", kind, due)
		}
		f.step()
	}
	next := f.queues[p][0]
	f.queues[p] = f.queues[p][1:]
	switch {
	case words >= 0 && words != next.words && to < 0:
		return About{}, fmt.Errorf("a sum of %d angles, want %d", words, next.words)
	case words >= 0 && words != next.words:
		return About{}, fmt.Errorf("a message %q of %d words, want %d", kind, words, next.words)
	}
	return next.about(), nil
}

// A receiver of a prediction that answers single rows asks for them in broadcasts: the request's number, and the row's.
const (
	KindRequest   = "request"
	RequestSize   = 8
	EndOfRequests = ^uint32(0) // the row number that ends them
)

// EachRequest calls f for each request of a session, with its number and its row of so many.
func (n *Network) EachRequest(rows int, f func(number, row int) error) error {
	for {
		payload, err := n.follow.await(KindRequest)
		if err != nil {
			return err
		}
		if len(payload) != RequestSize {
			return fmt.Errorf("a request of %d bytes, want %d", len(payload), RequestSize)
		}
		number, row := binary.BigEndian.Uint32(payload), binary.BigEndian.Uint32(payload[4:])
		if row == EndOfRequests {
			return nil
		}
		if int64(row) >= int64(rows) {
			return fmt.Errorf("a request for row %d of %d", row, rows)
		}
		if err := f(int(number), int(row)); err != nil {
			return err
		}
	}
}
