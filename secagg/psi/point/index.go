package point

import (
	"bytes"
	"hash/maphash"
)

// Index says where in a list a word is. It is placed by a hash under a fresh key: whoever makes the list cannot make it
// slow. It takes 4 to 12 bytes a word beside the list, which must not change.
type Index struct {
	list  []byte
	size  int
	seed  maphash.Seed
	slots []uint32 // places from 1 on; 0: free
}

// NewIndex indexes a list of words of size bytes, at most 2^31 - 1 of them. Where two are equal, again is the place of
// the first that repeats another, and the index holds the words before it; else it is -1.
func NewIndex(list []byte, size int) (x *Index, again int) {
	n := len(list) / size
	slots := 16
	for slots < n+n/2 {
		slots *= 2
	}
	x = &Index{list: list, size: size, seed: maphash.MakeSeed(), slots: make([]uint32, slots)}
	for i := range n {
		slot, found := x.slot(list[size*i : size*(i+1)])
		if found {
			return x, i
		}
		x.slots[slot] = uint32(i + 1)
	}
	return x, -1
}

// slot returns where a word is, or the free slot where it would be.
func (x *Index) slot(word []byte) (at uint64, found bool) {
	mask := uint64(len(x.slots) - 1)
	for at = maphash.Bytes(x.seed, word) & mask; x.slots[at] != 0; at = (at + 1) & mask {
		i := int(x.slots[at] - 1)
		if bytes.Equal(x.list[x.size*i:x.size*(i+1)], word) {
			return at, true
		}
	}
	return at, false
}

// Find returns the place of a word, -1 where the list does not have it.
func (x *Index) Find(word []byte) int {
	at, found := x.slot(word)
	if !found {
		return -1
	}
	return int(x.slots[at] - 1)
}
