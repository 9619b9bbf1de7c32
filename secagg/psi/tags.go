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
	"github.com/hanse-project/hanse/secagg/psi/words"
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

	// The tags, in an order that nobody else knows.
	var own []byte
	var order []uint32
	n := len(w.ids)
	if two {
		key := keys.HashOf("hanse psi tags v1", w.Contract[:], number(w.number), halves[0], halves[1])
		if order, err = permutation(w.secret("order", w.number), n+dummies); err != nil {
			return nil, err
		}
		own = w.tags(key, order)
	}
	lists := make([][]byte, 2)
	for at, from := range []int{w.Asker, w.Keeper} {
		m := w.message(stepTags, w.number, from, w.Helper, (w.Counts[from][w.number]+dummies)*wordSize)
		if lists[at], err = w.send(ctx, m, own); err != nil {
			return nil, err
		}
	}

	// The helper counts, and notes where each common tag is in both lists, in the order of the tags.
	var found [2][]uint32
	if w.Self == w.Helper {
		if found, err = w.match(lists); err != nil {
			return nil, err
		}
	}
	if err := w.spread(ctx, len(found[0])-dummies); err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]int, error) {
		var received []byte
		for at, to := range []int{w.Asker, w.Keeper} {
			var data []byte
			for _, place := range found[at] {
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

// match finds the tags that two lists have in common.
func (w *pass) match(lists [][]byte) (found [2][]uint32, err error) {
	var first *words.Index
	var again [2]int
	parallel.All(w.Workers, 2, func(i int) {
		x, at := words.New(lists[i], wordSize)
		if again[i] = at; i == 0 {
			first = x
		}
	})
	for i, from := range []int{w.Asker, w.Keeper} {
		if again[i] >= 0 {
			return found, &Deviation{from, stepTags.of(w.number), "two tags are equal"}
		}
	}
	places := make([]int32, len(lists[1])/wordSize) // of the keeper's tags in the asker's list
	blocks(w.Workers, len(places), func(lo, hi int) {
		for at := lo; at < hi; at++ {
			places[at] = int32(first.Find(lists[1][wordSize*at : wordSize*(at+1)]))
		}
	})
	for at, place := range places {
		if place >= 0 {
			found[1] = append(found[1], uint32(at))
		}
	}
	sortByWord(lists[1], found[1])
	for _, at := range found[1] {
		found[0] = append(found[0], uint32(places[at]))
	}
	if len(found[0]) < dummies {
		return found, &Deviation{w.Keeper, stepTags.of(w.number), "asker and keeper have no dummies in common"}
	}
	return found, nil
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
