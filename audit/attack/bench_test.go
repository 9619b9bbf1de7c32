package attack

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDifference attacks 4,096 rows of 1,024 angles for 95 columns, a twentieth wrapped.
func BenchmarkDifference(b *testing.B) {
	rng := rand.New(rand.NewPCG(12, 1))
	p := plant(rng, gaussian(rng, 1024, 95, 2.4), mixed(rng, 4096, 95), false)
	for b.Loop() {
		r := attackOn(b, p, Options{})
		b.ReportMetric(r.RecoveredShare, "recovered")
		b.ReportMetric(p.share, "wrapped")
	}
}

// BenchmarkDifferenceOnNoise attacks a view in which there is nothing to find.
func BenchmarkDifferenceOnNoise(b *testing.B) {
	rng := rand.New(rand.NewPCG(13, 1))
	p := plant(rng, gaussian(rng, 1024, 95, 2.4), mixed(rng, 4096, 95), false)
	p.Row = func(j int, values []float64) {
		row := rand.New(rand.NewPCG(5, uint64(j)))
		for i := range values {
			values[i] = row.Float64()
		}
	}
	for b.Loop() {
		attackOn(b, p, Options{})
	}
}

func BenchmarkUniformity(b *testing.B) {
	for _, word := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("%d_bytes", word), func(b *testing.B) {
			payload := masked(1, 1<<20)
			u, err := NewUniformity(word, 1024)
			must(b, err)
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				must(b, u.Add(payload))
			}
		})
	}
}

func BenchmarkReuse2000(b *testing.B) {
	samples := fresh(2000, 1)
	for b.Loop() {
		reuseOf(b, samples, ReuseOptions{})
	}
}

// BenchmarkFirstBits compares the bits of two samples.
func BenchmarkFirstBits(b *testing.B) {
	x, y := planes(masked(1, 512), false), planes(masked(2, 512), false)
	for b.Loop() {
		uneven(x, y, 512)
	}
}

// BenchmarkBytes compares the bytes of two samples, as those are that the bits let pass.
func BenchmarkBytes(b *testing.B) {
	x, y := masked(1, 512), masked(2, 512)
	for b.Loop() {
		relate(x, y)
	}
}
