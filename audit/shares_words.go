package audit

import (
	"encoding/binary"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
)

// eachWord writes into a view the turns of a message's rows and features.
func (f *follower) eachWord(v *sight, turn func(at int) float64) {
	each, all := f.params.Features, f.everybody()
	for n, j := range f.shares.rows {
		k, ok := v.place[j]
		if !ok {
			continue
		}
		for i := range min(each, mostShared) {
			if column := v.at(equation{i, ownTotal}, all); column != nil {
				column[k] = turn(n*each + i)
			}
		}
	}
}

// put writes a word as a share of its ring.
func (s *sight) put(a fdskl.Angle, word uint64, encoding protocol.Encoding) {
	if column := s.at(equation{a.Feature, ownTotal}, nil); column != nil {
		column[s.place[a.Row]] = part(word, encoding)
	}
}

// part returns a word as a share of its ring.
func part(word uint64, encoding protocol.Encoding) float64 {
	return math.Ldexp(float64(word), -8*encoding.WordSize())
}

// signed returns a word of a ring as a number of two's complement.
func signed(word uint64, encoding protocol.Encoding) int64 {
	shift := 64 - 8*encoding.WordSize()
	return int64(word<<shift) >> shift
}

// turnOf returns the turn with this cosine and sine, up to a common factor.
func turnOf(cos, sin int64) float64 {
	turn := math.Atan2(float64(sin), float64(cos)) / (2 * math.Pi)
	return turn - math.Floor(turn)
}

// angleOf returns a turn with the cosine that a word may be, and where it can be none the word's share of the
// ring.
func (s *shares) angleOf(word uint64, encoding protocol.Encoding) float64 {
	if z := math.Ldexp(float64(signed(word, encoding)), -s.bits); math.Abs(z) <= fullCosine {
		return math.Acos(max(-1, min(1, z))) / (2 * math.Pi)
	}
	return part(word&(1<<(8*encoding.WordSize()-1)<<1-1), encoding)
}

// wordsOf reads the words of a message.
func wordsOf(payload []byte, encoding protocol.Encoding) []uint64 {
	size := encoding.WordSize()
	words := make([]uint64, len(payload)/size)
	var buffer [8]byte
	for i := range words {
		copy(buffer[:], payload[i*size:(i+1)*size])
		words[i] = binary.LittleEndian.Uint64(buffer[:])
	}
	return words
}
