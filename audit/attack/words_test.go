package attack

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// masked returns random bytes, the same for the same seed.
func masked(seed uint64, n int) []byte {
	key := make([]byte, 32)
	binary.LittleEndian.PutUint64(key, seed)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil // a key of 32 bytes is always good
	}
	out := make([]byte, n)
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(out, out)
	return out
}

// addWords adds small numbers to 16-bit words, as a party adds angles to masks.
func addWords(words []byte, sign uint16, number func(i int) uint16) []byte {
	out := slices.Clone(words)
	for i := 0; i < len(out); i += 2 {
		binary.LittleEndian.PutUint16(out[i:], sign*binary.LittleEndian.Uint16(out[i:])+number(i/2))
	}
	return out
}

// near0 are angles within an eighth of a turn.
func near0(rng *rand.Rand) func(int) uint16 {
	return func(int) uint16 { return uint16(rng.IntN(1<<14) - 1<<13) }
}

func uniformityOf(t testing.TB, word, stride int, payloads ...[]byte) UniformityResult {
	t.Helper()
	u, err := NewUniformity(word, stride)
	must(t, err)
	for _, p := range payloads {
		must(t, u.Add(p))
	}
	return u.Result()
}

func TestMaskedWordsLookUniform(t *testing.T) {
	low := 0
	for seed := range uint64(400) {
		if r := uniformityOf(t, []int{2, 4, 8}[seed%3], 64, masked(seed, 1<<15), masked(seed+1e6, 1<<13)); r.P < 0.01 {
			low++
		}
	}
	if low > 15 { // 4 are expected
		t.Errorf("%d of 400 have p below 0.01", low)
	}
}

func TestPlantedPatternsAreNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	constant := func(int) uint16 { return 77 }
	zeros := make([]byte, 1<<14)
	shift := masked(3, 256)
	for _, tc := range []struct {
		name, test string
		payloads   [][]byte
	}{
		{"an unmasked chunk", "first byte", [][]byte{masked(1, 1<<18), addWords(zeros, 0, near0(rng))}},
		{"a low byte without mask", "last byte", [][]byte{lowByte(masked(2, 1<<16))}},
		{"a shift that is the same in every row", "differences of rows",
			[][]byte{addWords(bytes.Repeat(shift, 100), 1, near0(rng))}},
		{"words that repeat", "neighbours", [][]byte{twice(masked(4, 1<<15))}},
		{"one word only", "differences of neighbours", [][]byte{addWords(zeros, 0, constant)}},
	} {
		r := uniformityOf(t, 2, 128, tc.payloads...)
		if r.P > 1e-12 {
			t.Errorf("%s has p %v by %s", tc.name, r.P, r.Test)
		}
		if tc.name != "one word only" && !strings.Contains(r.Test, tc.test) {
			t.Errorf("%s is found by %s, want %s", tc.name, r.Test, tc.test)
		}
	}
}

// lowByte clears the last byte of each 16-bit word but for a bit.
func lowByte(words []byte) []byte {
	for i := 0; i < len(words); i += 2 {
		words[i] &= 1
	}
	return words
}

// twice writes each 16-bit word twice.
func twice(words []byte) []byte {
	var out []byte
	for i := 0; i < len(words); i += 2 {
		out = append(out, words[i], words[i+1], words[i], words[i+1])
	}
	return out
}

func TestFewWordsDiscloseNothing(t *testing.T) {
	r := uniformityOf(t, 2, 8, make([]byte, 2*1279))
	if r.P != 1 || r.Test != "" || len(r.Tests) != 0 || r.Words != 1279 || r.Histogram[0] != 1279 {
		t.Errorf("got %+v", r)
	}
}

// TestUniformityCountsAsByHand holds counts and correlation against a plain loop.
func TestUniformityCountsAsByHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]int{2, 4, 8}).Draw(rt, "word")
		stride := rapid.IntRange(0, 20).Draw(rt, "stride")
		n := rapid.IntRange(0, 60).Draw(rt, "words")
		payload := masked(rapid.Uint64().Draw(rt, "seed"), n*word)
		u, _ := NewUniformity(word, stride)
		must(rt, u.Add(payload))
		for _, l := range u.lags {
			want, products := make([]int64, 256), 0.0
			for i := 0; i+l.by < n; i++ {
				a, b := topOf(payload, word, i), topOf(payload, word, i+l.by)
				want[uint16(b-a)>>8]++
				products += (2*float64(a) - 65535) * (2*float64(b) - 65535)
			}
			if !slices.Equal(l.differences.counts(), want) || l.products != products {
				rt.Fatalf("lag %d: %v and %v, want %v and %v", l.by, l.differences.counts(), l.products, want, products)
			}
		}
		top, low := make([]int64, 256), make([]int64, 256)
		for i := range n {
			top[payload[(i+1)*word-1]]++
			low[payload[i*word]]++
		}
		if !slices.Equal(u.top.counts(), top) || !slices.Equal(u.low.counts(), low) {
			rt.Fatal("the counts of bytes differ")
		}
	})
}

// topOf returns the first 16 bits of a word.
func topOf(payload []byte, word, i int) uint16 {
	return uint16(payload[(i+1)*word-1])<<8 | uint16(payload[(i+1)*word-2])
}

func TestMalformedWordsAreRefused(t *testing.T) {
	u, err := NewUniformity(4, 0)
	must(t, err)
	_, wrongWord := NewUniformity(3, 0)
	_, wrongStride := NewUniformity(2, -1)
	_, wrongSample := Reuse(context.Background(), []Sample{{ID: "a", Word: 2, Data: make([]byte, 3)}}, ReuseOptions{})
	_, wrongPeriod := Periods(context.Background(), Sample{ID: "a", Word: 5}, 0)
	for _, tc := range []struct {
		err  error
		want string
	}{
		{u.Add(make([]byte, 6)), "uniformity: a payload has 6 bytes, want a multiple of 4"},
		{wrongWord, "uniformity: words of 3 bytes, want 2, 4 or 8"},
		{wrongStride, "uniformity: stride is -1 words, want 0 or more"},
		{wrongSample, "mask reuse: sample 0 (a) has 3 bytes in words of 2, want whole words of 2, 4 or 8"},
		{wrongPeriod, "period: sample a has 0 bytes in words of 5, want whole words of 2, 4 or 8"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("got %v, want %s", tc.err, tc.want)
		}
	}
}

func reuseOf(t testing.TB, samples []Sample, o ReuseOptions) *ReuseResult {
	t.Helper()
	r, err := Reuse(context.Background(), samples, o)
	must(t, err)
	return r
}

// fresh makes samples of 512 words of 16 bits, each under its own mask.
func fresh(n int, seed uint64) []Sample {
	samples := make([]Sample, n)
	for i := range samples {
		samples[i] = Sample{ID: fmt.Sprintf("sum %d", i), Word: 2, Data: masked(seed+uint64(i), 1024)}
	}
	return samples
}

func TestReusedMasksAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for relation, spoil := range map[string]func(s []Sample){
		Equal:   func(s []Sample) { s[9].Data = slices.Clone(s[4].Data) },
		Shared:  func(s []Sample) { s[9].Data = addWords(s[4].Data, 1, near0(rng)) },
		Opposed: func(s []Sample) { s[9].Data = addWords(s[4].Data, 0xFFFF, near0(rng)) },
	} {
		samples := fresh(60, 100)
		spoil(samples)
		r := reuseOf(t, samples, ReuseOptions{})
		if r.Found != 1 || !r.All || r.Compared != 60*59/2 {
			t.Fatalf("%s: %+v", relation, r)
		}
		if p := r.Pairs[0]; p.A != "sum 4" || p.B != "sum 9" || p.Relation != relation || p.P > 1e-9 {
			t.Errorf("%s: %+v", relation, p)
		}
	}
}

func TestFreshMasksAreNotReported(t *testing.T) {
	r := reuseOf(t, append(fresh(600, 5000), Sample{Word: 8, Data: masked(5000, 1024)}, Sample{Word: 2}), ReuseOptions{})
	if r.Found != 0 || math.Abs(r.EntropyBits-math.Log2(600*599/2)) > 1e-9 {
		t.Errorf("found %d: %v; %v bits", r.Found, r.Pairs, r.EntropyBits)
	}
}

// TestAWeakGeneratorIsFound draws 2,000 masks from seeds of 16 bits.
func TestAWeakGeneratorIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	samples := fresh(2000, 0)
	for i := range samples {
		samples[i].Data = addWords(masked(uint64(rng.IntN(1<<16)), 512), 1, near0(rng))
	}
	r := reuseOf(t, samples, ReuseOptions{})
	if r.Found < 10 || r.EntropyBits < 15 || r.EntropyBits > 17 {
		t.Errorf("found %d pairs, %v bits", r.Found, r.EntropyBits)
	}
}

// TestEqualPayloadsAreFoundAmongMany compares few of the pairs.
func TestEqualPayloadsAreFoundAmongMany(t *testing.T) {
	samples := fresh(500, 9000)
	samples[400].Data = slices.Clone(samples[3].Data)
	r := reuseOf(t, samples, ReuseOptions{MaxPairs: 100})
	if r.All || r.Compared > 100 || r.Found != 1 || r.Pairs[0].I != 3 || r.Pairs[0].J != 400 {
		t.Errorf("got %+v", r)
	}
}

func TestPeriodsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	stream := bytes.Repeat(masked(6, 2*777), 10)
	found, err := Periods(context.Background(), Sample{Word: 2, Data: addWords(stream, 1, near0(rng))}, 0)
	if err != nil || len(found) < 5 || found[0].Lag != 777 {
		t.Errorf("got %v, %v", found, err)
	}
	found, err = Periods(context.Background(), Sample{Word: 2, Data: stream}, 1000)
	if err != nil || len(found) == 0 || found[0].Lag != 777 || found[0].Equal != 1 {
		t.Errorf("got %v, %v", found, err)
	}
	for seed := range uint64(3) {
		if found, err := Periods(context.Background(), Sample{Word: 4, Data: masked(seed, 1<<15)},
			2000); err != nil || len(found) != 0 {
			t.Errorf("fresh words: got %v, %v", found, err)
		}
	}
}

func TestMergedCountsAreThoseOfOneTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "word")
		stride := rapid.IntRange(0, 9).Draw(t, "stride")
		one, many := mustUniformity(t, word, stride), mustUniformity(t, word, stride)
		for range rapid.IntRange(1, 5).Draw(t, "payloads") {
			payload := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "payload")
			payload = payload[:len(payload)/word*word]
			part := mustUniformity(t, word, stride)
			must(t, errors.Join(one.Add(payload), part.Add(payload), many.Merge(part)))
		}
		if a, b := one.Result(), many.Result(); !reflect.DeepEqual(a, b) {
			t.Fatalf("merged: %+v, want %+v", b, a)
		}
	})
	if err := mustUniformity(t, 2, 3).Merge(mustUniformity(t, 2, 4)); err == nil {
		t.Error("counts of another stride were merged")
	}
}

func mustUniformity(t rapid.TB, word, stride int) *Uniformity {
	u, err := NewUniformity(word, stride)
	must(t, err)
	return u
}
