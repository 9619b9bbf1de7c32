package psi

import (
	"context"
	"crypto/hmac"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/point"
	"github.com/hanse-project/hanse/secagg/psi/words"
)

// countPoints is mode dh: asker and keeper count their common elements by points under the scalars of both. open tells
// them which these are. The other parties only count operations.
func (w *pass) countPoints(ctx context.Context) (open func(context.Context) ([]int, error), err error) {
	two := w.Self == w.Asker || w.Self == w.Keeper
	peer := w.Asker + w.Keeper - w.Self

	// The own points, in an order that stays secret.
	var own []byte
	var order []uint32
	scalar := point.NewScalar(w.secret("scalar", w.number))
	if two {
		if order, err = permutation(w.secret("order of points", w.number), len(w.ids)); err != nil {
			return nil, err
		}
		if own, err = w.blind(scalar, order); err != nil {
			return nil, err
		}
	}

	// The other's points, checked and under both scalars: each in an order that is told once all agree.
	var theirs []byte
	for _, from := range []int{w.Asker, w.Keeper} {
		m := w.message(stepPoints, w.number, from, w.Asker+w.Keeper-from, w.Counts[from][w.number]*point.Size)
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
	var doubled, sent []byte // what is sent is doubled in the order that is told later
	var known *words.Index
	told := w.secret("order", w.number)
	if two {
		if doubled, err = w.double(scalar, theirs); err != nil {
			return nil, &Deviation{peer, stepPoints.of(w.number), err.Error()}
		}
		var again int
		// Equal ones are of a point plus others of low order: each common row would count again.
		if known, again = words.New(doubled, wordSize); again >= 0 {
			return nil, &Deviation{peer, stepPoints.of(w.number), "two points are equal under this party's scalar"}
		}
		shuffle, err := permutation(told, len(doubled)/wordSize)
		if err != nil {
			return nil, err
		}
		sent = arranged(doubled, shuffle)
	}

	// The asker commits to its doubled points before it sees the keeper's: it cannot send those back.
	commit := func(list []byte) keys.Hash {
		return keys.HashOf("hanse psi doubled v1", w.Contract[:], number(w.number), list)
	}
	hash := commit(sent)
	committed, err := w.send(ctx, w.message(stepCommitted, w.number, w.Asker, w.Keeper, hashSize), hash[:])
	if err != nil {
		return nil, err
	}
	back, err := w.send(ctx, w.message(stepDoubledBack, w.number, w.Keeper, w.Asker,
		w.Counts[w.Asker][w.number]*wordSize), sent)
	if err != nil {
		return nil, err
	}
	m := w.message(stepDoubled, w.number, w.Asker, w.Keeper, w.Counts[w.Keeper][w.number]*wordSize)
	received, err := w.send(ctx, m, sent)
	if err != nil {
		return nil, err
	}
	if w.Self == w.Keeper {
		if h := commit(received); !hmac.Equal(h[:], committed) {
			return nil, &Deviation{w.Asker, m.Kind, "they are not what it had committed to"}
		}
		back = received
	}

	// Both count.
	var mine *words.Index // what the other made of the own points, in the other's order
	size := 0
	if two {
		var again int
		if mine, again = words.New(back, wordSize); again >= 0 {
			return nil, &Deviation{peer, m.Kind, "two doubled points are equal"}
		}
		for at := 0; at < len(doubled); at += wordSize {
			if mine.Find(doubled[at:at+wordSize]) >= 0 {
				size++
			}
		}
	}
	if err := w.spread(ctx, size); err != nil {
		return nil, err
	}
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
		for at, from := range shuffle { // the word at place at is of the own point at place from
			if known.Find(back[wordSize*at:wordSize*(at+1)]) >= 0 {
				places = append(places, int(order[from]))
			}
		}
		return places, nil
	}, nil
}

// blind returns the own elements as points under a scalar, in a given order.
func (w *pass) blind(scalar *point.Scalar, order []uint32) ([]byte, error) {
	wide := w.wide(order)
	points := make([]byte, len(wide)*point.Size)
	if err := point.Hash(points, wide, w.Workers); err != nil {
		return nil, err
	}
	return points, w.multiply("own points", scalar, points, func(int, []byte) {})
}

// double returns the first 16 bytes of each of the other's points under the own scalar.
func (w *pass) double(scalar *point.Scalar, points []byte) ([]byte, error) {
	words := make([]byte, len(points)/point.Size*wordSize)
	at := 0
	return words, w.multiply("points of both", scalar, points, func(_ int, part []byte) {
		for ; len(part) > 0; part = part[point.Size:] {
			at += copy(words[at:at+wordSize], part)
		}
	})
}

// portion is how many points are multiplied between two reports of progress.
const portion = 1 << 16

// multiply multiplies points in place; each hears of every portion, in order.
func (w *pass) multiply(step string, scalar *point.Scalar, points []byte, each func(at int, part []byte)) error {
	for lo := 0; lo < len(points); lo += portion * point.Size {
		part := points[lo:min(len(points), lo+portion*point.Size)]
		if err := scalar.Mul(part, part, w.Workers); err != nil {
			return err
		}
		each(lo/point.Size, part)
		w.step(step, (lo+len(part))/point.Size, len(points)/point.Size)
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
