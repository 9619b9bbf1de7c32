package shamir

import (
	"fmt"
	"testing"
)

// sizes are the complete graph of 32 parties, a sparse one of many, and the most holders there are.
var sizes = []struct{ n, t int }{{31, 21}, {150, 90}, {MaxHolders, 700}}

func benchmark(b *testing.B, run func(b *testing.B, s *Scheme, secret Element, shares []Element)) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%d_of_%d", size.t, size.n), func(b *testing.B) {
			s, shares := newScheme(b, size.n, size.t), someElements(1, size.n+1)
			b.ReportAllocs()
			run(b, s, shares[size.n], shares[:size.n])
		})
	}
}

func BenchmarkNew(b *testing.B) {
	benchmark(b, func(b *testing.B, s *Scheme, _ Element, _ []Element) {
		for b.Loop() {
			newScheme(b, s.n, s.t)
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	benchmark(b, func(b *testing.B, s *Scheme, secret Element, shares []Element) {
		for b.Loop() {
			s.Publish(secret, shares)
		}
	})
}

// BenchmarkRecover recovers from exactly t shares.
func BenchmarkRecover(b *testing.B) {
	benchmark(b, func(b *testing.B, s *Scheme, secret Element, shares []Element) {
		public, holders := s.Publish(secret, shares), upTo(s.n)[s.n-s.t:]
		shares = shares[s.n-s.t:]
		for b.Loop() {
			mustRecover(b, s, public, holders, shares)
		}
	})
}

// BenchmarkRecoverChecked recovers from all n shares: n-t are checked.
func BenchmarkRecoverChecked(b *testing.B) {
	benchmark(b, func(b *testing.B, s *Scheme, secret Element, shares []Element) {
		public, holders := s.Publish(secret, shares), upTo(s.n)
		for b.Loop() {
			mustRecover(b, s, public, holders, shares)
		}
	})
}

// BenchmarkWeights measures the part of a recovery that depends on the holders alone.
func BenchmarkWeights(b *testing.B) {
	benchmark(b, func(b *testing.B, s *Scheme, _ Element, _ []Element) {
		holders := upTo(s.n)[s.n-s.t:]
		for b.Loop() {
			s.weightsOf(holders)
		}
	})
}
