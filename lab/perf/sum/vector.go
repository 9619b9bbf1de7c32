package sum

import "github.com/hanse-project/hanse/secagg/cohort"

// sumWord is a word of a client's vector in a sum: all bits of it depend on all three.
func sumWord(client int, sum uint64, i, bits int) uint64 {
	x := uint64(client)<<44 ^ sum<<32 ^ uint64(i)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // the finaliser of SplitMix64: a bijection
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x ^ x>>31) >> (64 - bits)
}

// sumVector is a client's vector in a sum.
func sumVector(s sumCase, client int, sum uint64) []uint64 {
	words := make([]uint64, s.Words)
	for i := range words {
		words[i] = sumWord(client, sum, i, s.Bits)
	}
	return words
}

// wrongWords counts the words of a total that are not the sum of the survivors' in the ring.
func wrongWords(total *cohort.Total, s sumCase, sum uint64) int {
	want := make([]uint64, s.Words)
	for _, client := range total.Survivors {
		for i := range want {
			want[i] += sumWord(client, sum, i, s.Bits)
		}
	}
	wrong := max(len(want), len(total.Words)) - min(len(want), len(total.Words))
	for i, w := range total.Words[:min(len(want), len(total.Words))] {
		if w != want[i]<<(64-s.Bits)>>(64-s.Bits) {
			wrong++
		}
	}
	return wrong
}
