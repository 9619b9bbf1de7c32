package attack

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestFirstBitsAreCountedAsByHand holds the differences of planes, also of opposed ones, against a plain loop.
func TestFirstBitsAreCountedAsByHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(1, 300).Draw(rt, "words")
		a, b := masked(seed, n+rapid.IntRange(0, 200).Draw(rt, "more")), masked(seed+1, n)
		if rapid.Bool().Draw(rt, "alike") {
			for i := range b {
				b[i] = a[i]&0xF0 | b[i]&0x0F
			}
		}
		opposed := rapid.Bool().Draw(rt, "opposed")
		var counts [reuseBins]int
		for i, x := range b {
			if opposed {
				x = -x
			}
			counts[(a[i]-x)>>4]++
		}
		squares := 0
		for _, c := range counts {
			squares += c * c
		}
		want := 16*squares-n*n >= planeLimit*n
		if got := uneven(planes(a, false), planes(b, opposed), n); got != want {
			rt.Fatalf("differences in bins %v look uneven: %v, want %v", counts, got, want)
		}
	})
}

func TestMovedPlanesAreThoseOfLaterWords(t *testing.T) {
	list := masked(7, 300)
	for by := range 64 {
		got, want := moved(planes(list, false), by), planes(list[by:], false)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("block %d, %d words on: %x, want %x", i, by, got[i], want[i])
			}
		}
	}
}

// sampleSize is how many words of a payload are compared with those of others.
const sampleSize = 512

// TestFirstBitsOfFreshMasksRarelyPass: of fresh masks fewer than one pair in ten million is looked at closer.
func TestFirstBitsOfFreshMasksRarelyPass(t *testing.T) {
	for k := range uint64(4000) {
		if uneven(planes(masked(2*k, sampleSize), false), planes(masked(2*k+1, sampleSize), false), sampleSize) {
			t.Errorf("pair %d passes", k)
		}
	}
}

// TestAWeakReuseIsFoundAtEverySize plants one pair that shares the masks of some words among few payloads and among
// many, and none.
func TestAWeakReuseIsFoundAtEverySize(t *testing.T) {
	for _, n := range []int{2, 60, 1500} {
		rng := rand.New(rand.NewPCG(uint64(n), 2))
		samples := fresh(n, 7000)
		if r := reuseOf(t, samples, ReuseOptions{}); r.Found != 0 {
			t.Fatalf("%d fresh payloads: %+v", n, r.Pairs)
		}
		mixed := addWords(samples[0].Data, 1, near0(rng))
		copy(mixed[600:], masked(99, len(mixed)-600)) // 300 words of 512 share their masks
		samples[n-1].Data = mixed
		if r := reuseOf(t, samples, ReuseOptions{}); r.Found != 1 || r.Pairs[0].I != 0 || r.Pairs[0].J != n-1 {
			t.Errorf("%d payloads: %+v", n, r)
		}
	}
}

// TestAWeakPeriodIsFoundAtEverySize plants a key stream that repeats in part of the words.
func TestAWeakPeriodIsFoundAtEverySize(t *testing.T) {
	for _, words := range []int{500, 4000, maxSample} {
		rng := rand.New(rand.NewPCG(uint64(words), 3))
		data := masked(uint64(words), 2*words)
		clean, err := Periods(context.Background(), Sample{Word: 2, Data: data}, 0)
		if err != nil || len(clean) != 0 {
			t.Fatalf("%d fresh words: %v, %v", words, clean, err)
		}
		lag := words / 4
		for from := 2 * lag; from+2*lag <= len(data); from += 2 * lag {
			copy(data[from:from+lag*3/2], addWords(data[from-2*lag:from-lag/2], 1, near0(rng)))
		}
		for _, workers := range []int{0, 1, 5} {
			list := []Sample{{Word: 2, Data: masked(1, 3000)}, {Word: 2, Data: data},
				{Word: 2, Data: bytes.Repeat(data[:200], 9)}}
			at, found, err := FirstPeriods(context.Background(), list, workers)
			if err != nil || at != 1 || len(found) == 0 || found[0].Lag != lag {
				t.Errorf("%d words: %v of %d, %v, want a period of %d", words, found, at, err, lag)
			}
		}
	}
}

// TestTheLeastShareIsFound plants one pair of payloads under one mask in the share of their words that a search says
// is enough, and clearly less, again and again among fresh ones.
func TestTheLeastShareIsFound(t *testing.T) {
	for _, words := range []int{leastWords, sampleSize} {
		said := leastShare(words, 2*10*9/2)
		found := map[float64]int{}
		for _, part := range []float64{1, 0.6} {
			for seed := range uint64(300) {
				rng := rand.New(rand.NewPCG(seed, 4))
				samples := make([]Sample, 10)
				for i := range samples {
					samples[i] = Sample{Word: 2, Data: masked(1000*seed+uint64(i), 2*words)}
				}
				list := samples[9].Data
				for i := range words {
					if rng.Float64() < part*said {
						list[2*i+1] = samples[3].Data[2*i+1] + uint8(rng.IntN(16)-rng.IntN(16))
					}
				}
				r := reuseOf(t, samples, ReuseOptions{})
				if r.LeastShare != said || r.Words != words {
					t.Fatalf("a share of %v of %d words is said to be enough, want %v of %d", r.LeastShare, r.Words, said, words)
				}
				found[part] += int(r.Found)
			}
		}
		if found[1] < 297 || found[0.6] > 200 {
			t.Errorf("%d words: a share of %.2f is found %d times of 300, and three fifths of it %d times", words, said,
				found[1], found[0.6])
		}
	}
}
