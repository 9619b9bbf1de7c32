package psi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi/point"
)

// dummies are the elements that asker and keeper add to their lists, the same at both: a helper that leaves out a share
// f of the common rows is found out with 1 - (1 - f)^64.
const dummies = 64

// countTags is mode helper: asker and keeper send the helper a code of each element under a key of the two, and it
// counts. open has it say which these are. What the helper learns is how many there are.
func (w *pass) countTags(ctx context.Context) (open func(context.Context) ([]int, error), err error) {
	two := w.Self == w.Asker || w.Self == w.Keeper

	// The key of the two.
	half := w.secret("half key", w.number)
	halves := make([][]byte, 2)
	for n, from := range []int{w.Asker, w.Keeper} {
		received, err := w.send(ctx, w.message(stepHalfKey, w.number, from, w.Asker+w.Keeper-from, hashSize), half[:])
		if err != nil {
			return nil, err
		}
		if halves[n] = received; w.Self == from {
			halves[n] = half[:]
		}
	}

	// The tags, in an order that nobody else knows, piece by piece. The helper notes which are in both lists.
	var key keys.Hash
	var order []uint32
	if two {
		key = keys.HashOf("hanse psi tags v1", w.Contract[:], number(w.number), halves[0], halves[1])
		if order, err = permutation(w.secret("order", w.number), len(w.ids)+dummies); err != nil {
			return nil, err
		}
	}
	var found matches
	for _, from := range []int{w.Asker, w.Keeper} {
		for n := range w.pieces() {
			m := w.pieceOf(stepTags, from, w.Helper, n, w.Counts[from][w.number]+dummies, wordSize)
			var own []byte
			if w.Self == from {
				lo, hi := w.piece(len(order), n)
				own = w.tags(key, order[lo:hi])
			}
			received, err := w.send(ctx, m, own)
			if err != nil {
				return nil, err
			}
			switch {
			case w.Self != w.Helper:
			case from == w.Asker:
				found.keep(received, w.Counts[from][w.number]+dummies)
			case !found.take(w.Workers, received):
				return nil, &Deviation{from, m.Kind, twoTags}
			}
		}
		if w.Self == w.Helper && from == w.Asker && !found.index() {
			return nil, &Deviation{from, stepTags.of(w.number), twoTags}
		}
	}
	var places [2][]uint32
	if w.Self == w.Helper {
		if places = found.places(); len(places[0]) < dummies {
			return nil, &Deviation{w.Keeper, stepTags.of(w.number), "asker and keeper have no dummies in common"}
		}
	}
	w.size = max(0, len(places[0])-dummies)
	return func(ctx context.Context) ([]int, error) {
		var received []byte
		for at, to := range []int{w.Asker, w.Keeper} {
			var data []byte
			for _, place := range places[at] {
				data = binary.BigEndian.AppendUint32(data, place)
			}
			m := w.message(stepPlaces, w.number, w.Helper, to, (w.size+dummies)*placeSize)
			got, err := w.send(ctx, m, data)
			if err != nil {
				return nil, err
			}
			if to == w.Self {
				received = got
			}
		}
		if !two {
			return nil, nil
		}
		return w.places(received, order)
	}, nil
}

// tags are the codes of the own elements and of the dummies, in a given order.
func (w *pass) tags(key keys.Hash, order []uint32) []byte {
	list := make([]byte, len(order)*wordSize)
	blocks(w.Workers, len(order), func(lo, hi int) {
		mac := hmac.New(sha256.New, key[:])
		for i := lo; i < hi; i++ {
			at := int(order[i])
			if at < len(w.ids) {
				tag := Tag(mac, &w.ids[at], &w.zero[at])
				copy(list[wordSize*i:], tag[:])
				continue
			}
			mac.Reset()
			mac.Write([]byte{1})
			mac.Write(number(at - len(w.ids)))
			copy(list[wordSize*i:], mac.Sum(nil)[:wordSize])
		}
	})
	return list
}

// Tag is the code of an ID, with what the other parties' rows make of it, under the key of mac, an HMAC-SHA-256.
func Tag(mac hash.Hash, id *ID, zero *[wordSize]byte) [wordSize]byte {
	mac.Reset()
	mac.Write([]byte{0})
	mac.Write(id[:])
	mac.Write(zero[:])
	return [wordSize]byte(mac.Sum(nil)[:wordSize])
}

// twoTags says what is wrong with a list of tags.
const twoTags = "two tags are equal"

// matches are the tags that two lists have in common. The asker's list is kept, and the keeper's goes by.
type matches struct {
	list  []byte // the asker's
	known *point.Index
	other []uint32 // by place in the asker's list: where the keeper's has the tag, from 1 on
	n     int      // tags of the keeper that have come
}

// keep takes in the next piece of the asker's list of so many tags.
func (m *matches) keep(piece []byte, tags int) {
	if m.list == nil {
		m.list = make([]byte, 0, wordSize*tags)
	}
	m.list = append(m.list, piece...)
}

// index ends the asker's list. It reports false if two of its tags are equal.
func (m *matches) index() bool {
	var again int
	m.known, again = point.NewIndex(m.list, wordSize)
	m.other = make([]uint32, len(m.list)/wordSize)
	return again < 0
}

// take takes in the next piece of the keeper's list. It reports false if one of its tags stands twice in it, or came in
// an earlier piece and is in the asker's list as well.
func (m *matches) take(workers int, piece []byte) bool {
	found := make([]int32, len(piece)/wordSize)
	distinct := true
	parallel.All(workers, 2, func(i int) {
		if i == 0 {
			_, again := point.NewIndex(piece, wordSize)
			distinct = again < 0
			return
		}
		blocks(workers, len(found), func(lo, hi int) {
			for at := lo; at < hi; at++ {
				found[at] = int32(m.known.Find(piece[wordSize*at : wordSize*(at+1)]))
			}
		})
	})
	for at, place := range found {
		if place < 0 {
			continue
		}
		if m.other[place] != 0 {
			return false
		}
		m.other[place] = uint32(m.n + at + 1)
	}
	m.n += len(found)
	return distinct
}

// places are where each common tag is in the asker's list and in the keeper's, in the order of the tags.
func (m *matches) places() (found [2][]uint32) {
	for place, other := range m.other {
		if other != 0 {
			found[0] = append(found[0], uint32(place))
		}
	}
	sortByWord(m.list, found[0])
	for _, place := range found[0] {
		found[1] = append(found[1], m.other[place]-1)
	}
	return found
}

// places reads which of the own tags the helper says are common: each once, and every dummy among them.
func (w *pass) places(list []byte, order []uint32) ([]int, error) {
	deviation := func(why string) error { return &Deviation{w.Helper, stepPlaces.of(w.number), why} }
	seen := make([]bool, len(order))
	var places []int
	missing := dummies
	for at := 0; at < len(list); at += placeSize {
		i := binary.BigEndian.Uint32(list[at:])
		if int64(i) >= int64(len(order)) || seen[i] {
			return nil, deviation("a place that there is not, or twice")
		}
		seen[i] = true
		if row := int(order[i]); row < len(w.ids) {
			places = append(places, row)
		} else {
			missing--
		}
	}
	if missing != 0 {
		return nil, deviation(fmt.Sprintf("it left out %d of %d rows that asker and keeper know to be common", missing,
			dummies))
	}
	return places, nil
}
