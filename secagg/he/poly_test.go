package he

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// randomPolys returns polynomials whose words are below their primes, the largest and zero among them.
func randomPolys(r *rand.Rand, polys int) []byte {
	b := make([]byte, polys*PolySize)
	for at := 0; at < len(b); at += 8 {
		q := primeAt(at)
		w := r.Uint64N(q)
		switch r.IntN(8) {
		case 0:
			w = q - 1
		case 1:
			w = 0
		}
		binary.LittleEndian.PutUint64(b[at:], w)
	}
	return b
}

func TestAddingPolynomialsIsAddingWordsModuloTheirPrimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, b := randomPolys(r, 3), randomPolys(r, 3)
	sum := bytes.Clone(a)
	must(t, AddRLWE(sum, b))
	for i := range len(a) / 8 {
		q := uint64(prime0)
		if i/Degree%2 == 1 {
			q = prime1
		}
		if want := (wordAt(a, i) + wordAt(b, i)) % q; wordAt(sum, i) != want {
			t.Fatalf("word %d is %d, want %d", i, wordAt(sum, i), want)
		}
	}
	for _, chunk := range []int{8, 1 << 10, primeSize - 8, primeSize + 8, PolySize, 2*PolySize + 16} {
		pieces := bytes.Clone(a)
		for at := 0; at < len(pieces); at += chunk {
			end := min(at+chunk, len(pieces))
			must(t, addAt(at, pieces[at:end], b[at:end]))
		}
		if !bytes.Equal(pieces, sum) {
			t.Errorf("chunks of %d bytes give another sum", chunk)
		}
	}
}

func TestPolynomialsAreChecked(t *testing.T) {
	good := make([]byte, 2*PolySize)
	must(t, CheckPolys("key", good, 2))
	must(t, CheckCiphertexts("vector", good, 1))
	wantError(t, CheckPolys("key", good, 1), "key: 262144 bytes, want 131072 for 1 polynomials")
	wantError(t, CheckPolys("key", good[1:], 2), "key: 262143 bytes, want 262144")
	wantError(t, CheckCiphertexts("vector", good, 2), "vector: 262144 bytes, want 524288")
	for _, c := range []struct {
		word int
		w    uint64
		want string
	}{
		{0, prime0, "key: word 0 is 1152921504606830593, want less than the prime 1152921504606830593"},
		{Degree - 1, prime0, "word 8191 is 1152921504606830593"},
		{Degree, prime1, "word 8192 is 1152921504606748673, want less than the prime 1152921504606748673"},
		{4*Degree - 1, ^uint64(0), "word 32767 is 18446744073709551615"},
	} {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint64(bad[8*c.word:], c.w)
		wantError(t, CheckPolys("key", bad, 2), c.want)
		if c.word == 0 {
			continue
		}
		wantError(t, AddRLWE(bytes.Clone(good), bad), c.want)
		wantError(t, AddRLWE(bad, good), c.want)
	}
	wantError(t, AddRLWE(good[:8], good[:16]), "16 bytes to be added to 8, want as many")
	wantError(t, AddRLWE(good[:7], good[:7]), "in words of 8 bytes")
	_, _, err := Split(good[8:])
	wantError(t, err, "ciphertexts: 262136 bytes, want a multiple of 262144")
}

// FuzzCheckPolys wants that what is accepted reads and writes back to the same bytes, and is added like
// any other.
func FuzzCheckPolys(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint32(100))
	f.Add(bytes.Repeat([]byte{255}, 8), uint32(Degree*8))
	f.Fuzz(func(t *testing.T, piece []byte, at uint32) {
		b := make([]byte, PolySize)
		copy(b[int(at)%PolySize:], piece)
		ok := true
		for i := range 2 * Degree {
			ok = ok && wordAt(b, i) < primeAt(8*i)
		}
		if err := CheckPolys("fuzz", b, 1); (err == nil) != ok {
			t.Fatalf("error %v, words in range: %t", err, ok)
		}
		if (AddRLWE(make([]byte, PolySize), b) == nil) != ok {
			t.Fatal("checking and adding disagree")
		}
		if !ok {
			return
		}
		c, out := [][]uint64{make([]uint64, Degree), make([]uint64, Degree)}, make([]byte, PolySize)
		readPoly(c, b)
		if writePoly(out, c); !bytes.Equal(out, b) {
			t.Fatal("reading and writing changed the bytes")
		}
	})
}

// FuzzSplit wants that ciphertexts come apart into pieces that make them up.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("x"), uint32(7), uint8(2))
	f.Fuzz(func(t *testing.T, piece []byte, at uint32, n uint8) {
		b := make([]byte, int(n%4)*CiphertextSize)
		if len(b) > 0 {
			copy(b[int(at)%len(b):], piece)
		}
		c0, c1, err := Split(b)
		must(t, err)
		d0, d1 := make([]byte, len(c0)), make([]byte, len(c1))
		for at := 0; at < len(b); at += 100000 {
			splitAt(d0, d1, at, b[at:min(at+100000, len(b))])
		}
		if !bytes.Equal(c0, d0) || !bytes.Equal(c1, d1) {
			t.Fatal("Split and splitAt disagree")
		}
	})
}

// TestShortPolynomialsPanic adds words that are too few and have others behind them, past the check of AddRLWE.
func TestShortPolynomialsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("words behind the end of a slice are added")
		}
	}()
	addModulo(make([]byte, 64), make([]byte, 56, 64), primeAt(0))
}
