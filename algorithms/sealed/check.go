package sealed

import (
	"context"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The steps of the solver are linear in the right side: what comes of s h is s times what comes of h. So the steps run
// three times in the same messages, for h, s h and s' h, where s and s' are numbers that none of the three knows: each
// lacks one of three 16-bit pads in them. At the end a coin that no one of them can choose gives vectors of signs chi,
// and the numbers
//
//	chi (s beta - beta_s),   chi (s' beta - beta_s'),
//
// of which an honest training leaves rounding alone, open to all three. Of three or more classes each has runs, vectors
// and numbers of its own, under the same s and s'. A party that adds e to the coefficients, and whatever it likes to
// the other runs and to the check's own messages, passes a vector chi only if s chi e lies within the limit of a number
// that it must choose without knowing s; see docs/sealed.md for the bound.
const (
	runs = 3 // of the steps: for the right side, and for two secret multiples of it

	multipleBits = 16 // of each of the three pads of a secret multiple
	checkVectors = 20 // vectors of signs, for each of the multiples
	checkPoint   = 11 // bits behind the point of a number of the check
	checkWidth   = 20 // bits of it that open
	checkLimit   = 8  // its largest magnitude, in units of the last bit: 2^-8, where the rounding stays far below
)

// The kinds of the messages of the check.
const (
	kindMultiples = "multiples" // of the right side
	kindCheck     = "check"     // the numbers that must be next to nothing
)

// useMultiple is the use of the pads of the secret multiples.
const useMultiple = rss.FirstFree + 1

// drawMultiples shares the secret multiples: everybody has two pads of each, and nobody the third.
func (t *checker) drawMultiples() (rss.Share, error) {
	const n = runs - 1
	step := t.three.Begin("multiples")
	var c [rss.Roles][]uint64
	for j := range rss.Role(rss.Roles) {
		var err error
		if c[j], err = step.Words(j, useMultiple, multipleBits, n); err != nil {
			return rss.Share{}, err
		}
	}
	if t.role == rss.Outside {
		return rss.Share{}, nil
	}
	s := rss.Components(t.role, c)
	for i := range n {
		s.AddPublic(t.role, i, 1<<multipleBits)
	}
	return s, nil
}

// multiplied returns right sides and their secret multiples, [runs, sides, D], scale gs + extra.
func (t *checker) multiplied(ctx context.Context, s *system, multiples, right rss.Share) (rss.Share, error) {
	var terms []uint64
	if t.role != rss.Outside {
		for i := range runs - 1 {
			terms = append(terms, t.three.Times(right, multiples.Slice(i, i+1))...)
		}
	}
	shift := rss.Shift{Count: (runs - 1) * t.sides * t.features, Bits: s.multiple - s.extra()}
	more, err := t.truncate(ctx, kindMultiples, 1, wordBits, terms, shift)
	if err != nil || t.role == rss.Outside {
		return rss.Share{}, err
	}
	all := rss.Zero(t.role, right.Len())
	right.AddTo(all.X, 1<<s.extra())
	rss.Share{X: right.Y}.AddTo(all.Y, 1<<s.extra())
	return rss.Share{X: append(all.X, more.X...), Y: append(all.Y, more.Y...)}, nil
}

// checkNumbers is how many numbers check the steps.
func (t *checker) checkNumbers() int { return (runs - 1) * t.sides * checkVectors }

// checkTerms returns the terms of chi (s beta - beta_s) for both multiples, all functions and all vectors of signs.
func (t *trainer) checkTerms(s *solution, coin keys.Hash) []uint64 {
	if t.role == rss.Outside {
		return nil
	}
	if t.secant {
		return t.stepper.solutionTerms(s.check, coin)
	}
	scale := uint64(1) << s.multiple
	signs := &signs{source: rand.NewChaCha8(coin)}
	sums := rss.Zero(t.role, runs)
	one := make([][]uint64, runs-1)
	for i := range t.sides * checkVectors {
		clear(sums.X)
		clear(sums.Y)
		signs.next(t.features + 1)
		for r := range runs {
			at := r*t.sides + i/checkVectors
			beta, offset := s.beta.Slice(at*t.features, (at+1)*t.features), s.offsets.Slice(at, at+1)
			sums.X[r] = signs.sum(beta.X, offset.X[0])
			sums.Y[r] = signs.sum(beta.Y, offset.Y[0])
		}
		for r := range one {
			term := t.three.Times(sums.Slice(0, 1), s.multiples.Slice(r, r+1))
			sums.Slice(r+1, r+2).AddTo(term, -scale)
			one[r] = append(one[r], term[0])
		}
	}
	var terms []uint64
	for _, list := range one {
		terms = append(terms, list...)
	}
	return terms
}

// addSolution adds to this party's terms of the check of solutions, [runs - 1, D], those of s beta - beta_s of one. No
// other solution has its multiples: what is added to one and taken off another does not cancel.
func (t *stepper) addSolution(check []uint64, multiples, all rss.Share, multiple int) {
	d := t.features
	for i := range runs - 1 {
		for j, x := range t.three.Times(all.Slice(0, d), multiples.Slice(i, i+1)) {
			check[i*d+j] += x - all.X[(i+1)*d+j]<<multiple
		}
	}
}

// solutionTerms returns the terms of what all solutions have come to, under all vectors of signs.
func (t *stepper) solutionTerms(check []uint64, coin keys.Hash) (terms []uint64) {
	signs := &signs{source: rand.NewChaCha8(coin)}
	one := make([][]uint64, runs-1)
	for range checkVectors {
		signs.next(t.features)
		for r := range one {
			one[r] = append(one[r], signs.sum(check[r*t.features:(r+1)*t.features]))
		}
	}
	for _, list := range one {
		terms = append(terms, list...)
	}
	return terms
}

// signs are vectors of signs that follow from a public coin.
type signs struct {
	source *rand.ChaCha8
	minus  []bool
}

// next draws a vector of n signs.
func (s *signs) next(n int) {
	s.minus = s.minus[:0]
	for len(s.minus) < n {
		word := s.source.Uint64()
		for i := range min(64, n-len(s.minus)) {
			s.minus = append(s.minus, word>>i&1 == 1)
		}
	}
}

// sum adds the words under their signs, and the last ones.
func (s *signs) sum(words []uint64, last ...uint64) uint64 {
	var sum uint64
	for i, w := range append(words[:len(words):len(words)], last...) {
		if s.minus[i] {
			w = -w
		}
		sum += w
	}
	return sum
}

// threeNames are the parties of the three roles.
func (t *checker) threeNames() (names [rss.Roles]string) {
	for r, i := range t.parties {
		names[r] = t.Names[i]
	}
	return names
}

// oneOfThree says that a failed check leaves open which of the three deviates.
func (t *checker) oneOfThree(kind, reason string) error {
	names := t.threeNames()
	return &rss.DeviationError{Parties: names[:], Kind: kind, Reason: reason}
}
