package psi

import (
	"context"
	"crypto/hmac"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// countPoints is mode dh: asker and keeper count their common elements by points under the scalars of both. open tells
// them which these are. The other parties only count operations.
func (w *pass) countPoints(ctx context.Context) (open func(context.Context) ([]int, error), err error) {
	two := w.Self == w.Asker || w.Self == w.Keeper
	peer := w.Asker + w.Keeper - w.Self

	// The own points go in an order that stays secret, and the other's come, piece by piece in turn: the two work at the
	// same time, and hold the points of one piece. Checked and under both scalars, the other's stay.
	var order []uint32
	if two {
		if order, err = permutation(w.secret("order of points", w.number), len(w.ids)); err != nil {
			return nil, err
		}
	}
	scalar := point.NewScalar(w.secret("scalar", w.number))
	var doubled []byte
	for n := range w.pieces() {
		var own, theirs []byte
		if two {
			if own, err = w.blind(scalar, order, n); err != nil {
				return nil, err
			}
		}
		for _, from := range []int{w.Asker, w.Keeper} {
			m := w.pieceOf(stepPoints, from, w.Asker+w.Keeper-from, n, w.Counts[from][w.number], point.Size)
			received, err := w.send(ctx, m, own)
			if err != nil {
				return nil, err
			}
			if m.To == w.Self {
				if err := point.Check(received); err != nil {
					return nil, &Deviation{from, m.Kind, err.Error()}
				}
				theirs = received
			}
		}
		if two {
			if doubled, err = w.double(scalar, theirs, doubled); err != nil {
				return nil, &Deviation{peer, stepPoints.of(w.number), err.Error()}
			}
		}
	}
	told := w.secret("order", w.number)
	var known *point.Index
	var shuffle []uint32 // what is sent is doubled in the order that is told later
	if two {
		var again int
		// Equal ones are of a point plus others of low order: each common row would count again.
		if known, again = point.NewIndex(doubled, wordSize); again >= 0 {
			return nil, &Deviation{peer, stepPoints.of(w.number), "two points are equal under this party's scalar"}
		}
		if shuffle, err = permutation(told, len(doubled)/wordSize); err != nil {
			return nil, err
		}
	}
	sent := func(n int) []byte {
		lo, hi := w.piece(len(shuffle), n)
		return arranged(doubled, shuffle[lo:hi])
	}

	// The asker commits to its doubled points before it sees the keeper's: it cannot send those back.
	hash := doubledHash{pieces: w.pieces()}
	var commitment keys.Hash
	if w.Self == w.Asker {
		for n := range w.pieces() {
			hash.add(sent(n))
		}
		commitment = hash.sum(w.Contract, w.number)
	}
	committed, err := w.send(ctx, w.message(stepCommitted, w.number, w.Asker, w.Keeper, hashSize), commitment[:])
	if err != nil {
		return nil, err
	}
	common := commonWords{known: known, seen: make([]bool, len(doubled)/wordSize)}
	for _, step := range []step{stepDoubledBack, stepDoubled} {
		from, to := w.Keeper, w.Asker
		if step == stepDoubled {
			from, to = to, from
		}
		for n := range w.pieces() {
			m := w.pieceOf(step, from, to, n, w.Counts[w.Asker+w.Keeper-from][w.number], wordSize)
			var own []byte
			if w.Self == from {
				own = sent(n)
			}
			received, err := w.send(ctx, m, own)
			if err != nil {
				return nil, err
			}
			if w.Self != to {
				continue
			}
			if w.Self == w.Keeper {
				hash.add(received)
			}
			if !common.find(received) {
				return nil, &Deviation{peer, m.Kind, "two doubled points are equal"}
			}
		}
	}
	if w.Self == w.Keeper {
		if h := hash.sum(w.Contract, w.number); !hmac.Equal(h[:], committed) {
			return nil, &Deviation{w.Asker, stepDoubled.of(w.number), "they are not what it had committed to"}
		}
	}

	// Both count. Nothing but where the common words are is needed any more.
	matched := common.at
	w.size = len(matched)
	return func(ctx context.Context) ([]int, error) {
		var secret []byte
		for _, from := range []int{w.Asker, w.Keeper} {
			received, err := w.send(ctx, w.message(stepOrder, w.number, from, w.Asker+w.Keeper-from, hashSize), told[:])
			if err != nil {
				return nil, err
			}
			if received != nil {
				secret = received
			}
		}
		if !two {
			return nil, nil
		}
		shuffle, err := permutation([32]byte(secret), len(w.ids))
		if err != nil {
			return nil, err
		}
		var places []int
		for _, at := range matched { // the word at place at is of the own point at place shuffle[at]
			places = append(places, int(order[shuffle[at]]))
		}
		return places, nil
	}, nil
}

// commonWords finds the words of one list in another one, which comes piece by piece and is not kept.
type commonWords struct {
	known *point.Index
	seen  []bool   // by place in the known list
	at    []uint32 // places, in the list that comes, of the words that the known list has
	n     uint32   // words that have come
}

// find takes in the next piece. It reports false if one of its words stands twice in it, or came in an earlier piece
// and is in the known list as well: words that the known list does not have count nowhere.
func (c *commonWords) find(piece []byte) bool {
	if _, again := point.NewIndex(piece, wordSize); again >= 0 {
		return false
	}
	for ; len(piece) > 0; piece = piece[wordSize:] {
		if place := c.known.Find(piece[:wordSize]); place >= 0 {
			if c.seen[place] {
				return false
			}
			c.seen[place], c.at = true, append(c.at, c.n)
		}
		c.n++
	}
	return true
}

// pieceOf is the message with a piece of a list of so many words, each of word bytes.
func (w *pass) pieceOf(at step, from, to, piece, list, word int) Message {
	m := w.message(at, w.number, from, to, w.pieceSize(list, piece, word))
	m.Piece = piece
	return m
}

// blind returns a piece of the own elements in a given order, as points under a scalar.
func (w *pass) blind(scalar *point.Scalar, order []uint32, piece int) ([]byte, error) {
	lo, hi := w.piece(len(order), piece)
	wide := w.wide(order[lo:hi])
	points := make([]byte, len(wide)*point.Size)
	if err := point.Hash(points, wide, w.Workers); err != nil {
		return nil, err
	}
	return points, w.multiply(scalar, points, func(done int, _ []byte) { w.step("own points", lo+done, len(order)) })
}

// double appends the first 16 bytes of each of the other's points under the own scalar to the list of those before.
func (w *pass) double(scalar *point.Scalar, points, list []byte) ([]byte, error) {
	all := w.Counts[w.Asker+w.Keeper-w.Self][w.number]
	if list == nil {
		list = make([]byte, 0, wordSize*all)
	}
	err := w.multiply(scalar, points, func(_ int, part []byte) {
		for ; len(part) > 0; part = part[point.Size:] {
			list = append(list, part[:wordSize]...)
		}
		w.step("points of both", len(list)/wordSize, all)
	})
	return list, err
}

// portion is how many points are multiplied between two reports of progress, and how many tags are made at a time where
// none is kept.
const portion = 1 << 16

// multiply multiplies points in place; each hears of every portion, in order, and of how many points are done.
func (w *pass) multiply(scalar *point.Scalar, points []byte, each func(done int, part []byte)) error {
	for lo := 0; lo < len(points); lo += portion * point.Size {
		part := points[lo:min(len(points), lo+portion*point.Size)]
		if err := scalar.Mul(part, part, w.Workers); err != nil {
			return err
		}
		each((lo+len(part))/point.Size, part)
	}
	return nil
}

// arranged returns a list of words in the order of a permutation.
func arranged(list []byte, order []uint32) []byte {
	out := make([]byte, 0, len(list))
	for _, at := range order {
		out = append(out, list[wordSize*int(at):wordSize*(int(at)+1)]...)
	}
	return out
}
