package audit

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/he"
)

// maxPolynomials is how many polynomials of a transcript are compared with each other.
const maxPolynomials = 1 << 22

// leadingSize is how many bytes the tests of words look at of a word of a ciphertext.
const leadingSize = 4

// leading returns the first 32 bits of every word of ciphertexts. Words are below primes that are smaller than
// 2^60 by less than 2^20, so that the first bits of uniform ones are uniform.
func leading(payload []byte) []byte {
	words := make([]byte, 0, len(payload)/2)
	for ; len(payload) >= 8; payload = payload[8:] {
		words = binary.LittleEndian.AppendUint32(words, uint32(binary.LittleEndian.Uint64(payload)>>28))
	}
	return words
}

// polynomials finds a polynomial of a ciphertext, or of a decryption share, that comes twice.
type polynomials struct {
	seed  maphash.Seed
	first map[uint64]place
	again string // where one came that had come before; empty: none did
	left  int    // that were too many to be compared
}

// place is where a polynomial came first.
type place struct {
	record     uint64
	polynomial int
}

// newPolynomials has seen none.
func newPolynomials() polynomials {
	return polynomials{seed: maphash.MakeSeed(), first: make(map[uint64]place)}
}

// add takes in the polynomials of a payload.
func (p *polynomials) add(rec *transcript.Record, payload []byte) {
	for i := 0; len(payload) > 0; i++ {
		n := min(len(payload), he.PolySize)
		p.compare(rec, i, payload[:n])
		payload = payload[n:]
	}
}

// compare looks whether a polynomial has come before.
func (p *polynomials) compare(rec *transcript.Record, i int, poly []byte) {
	h := maphash.Bytes(p.seed, poly)
	before, ok := p.first[h]
	switch {
	case !ok && len(p.first) < maxPolynomials:
		p.first[h] = place{rec.Number, i}
	case !ok:
		p.left++
	case p.again == "":
		p.again = fmt.Sprintf("polynomial %d of record %d (%s, %s) is polynomial %d of record %d", i+1, rec.Number, rec.Kind, nameOf(rec), before.polynomial+1, before.record)
	}
}

// repeatedPolynomials looks for ciphertexts and shares, or halves of them, that came twice.
func (f *follower) repeatedPolynomials(context.Context) (Attack, error) {
	p := &f.words.seen
	a := Attack{Name: "ciphertext reuse", Party: f.name(), View: f.vocabulary().view, Verdict: Clean}
	if p.again != "" {
		a.Verdict = Leak
		a.Detail = "ciphertext reused: " + p.again + ": what is encrypted or decrypted anew never looks the same, and the difference of two ciphertexts with the same randomness is that of what they hide"
		return a, nil
	}
	a.Detail = fmt.Sprintf("no two of %s of ciphertexts and decryption shares are equal", counted(uint64(len(p.first)), "polynomial"))
	if p.left > 0 {
		a.Verdict = Skipped
		a.Detail += fmt.Sprintf("; %d later ones were not compared", p.left)
	}
	return a, nil
}

// isProtected reports whether a class is of words that must look like noise.
func isProtected(c protocol.Class) bool { return c == protocol.ClassMasked || c == protocol.ClassHE }
