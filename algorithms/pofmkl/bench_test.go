package pofmkl

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkRound is one client's round with 51 kernels on 14 columns, beside the oracle's.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct{ chosen, features int }{{1, 100}, {25, 20}, {51, 9}, {51, 100}} {
		b.Run(fmt.Sprintf("M=%d,D=%d", c.chosen, c.features), func(b *testing.B) {
			benchmarkRound(b, Params{Chosen: c.chosen, Features: c.features, Seed: "bench"}.WithDefaults())
		})
	}
}

// benchmarkRound times rounds with uploads.
func benchmarkRound(b *testing.B, p Params) {
	d := newDictionary(b, p, 14)
	s := newStream(rand.New(rand.NewPCG(3, 4)), 512, 14)
	c, server, sum := NewClient(d, "c", [32]byte{1}), NewServer(d), make([]float64, p.Words())
	b.ReportAllocs()
	for b.Loop() {
		r := c.Rounds() % 512
		if _, err := c.Round(server.Theta(), s.rows[r], s.labels[r]); err != nil {
			b.Fatal(err)
		}
		mustDo(b, c.Upload(sum))
	}
}

// BenchmarkOracleRound is the straight-line implementation's round.
func BenchmarkOracleRound(b *testing.B) {
	p := Params{Seed: "bench"}.WithDefaults()
	o := newOracle(p, 14, 1)
	s := newStream(rand.New(rand.NewPCG(3, 4)), 512, 14)
	n := 0
	for b.Loop() {
		o.client(0, o.theta, s.rows[n%512], s.labels[n%512], 0.5, nil)
		n++
	}
}

// BenchmarkParts times what a round is made of.
func BenchmarkParts(b *testing.B) {
	d := newDictionary(b, Params{Seed: "bench"}, 14)
	s := newStream(rand.New(rand.NewPCG(3, 4)), 1, 14)
	f, theta, scores := d.NewFeatures(), make([]float64, d.params.Words()), make([]float64, 51)
	w := newWeights(51)
	b.Run("features", func(b *testing.B) {
		for b.Loop() {
			mustDo(b, f.Set(1, s.rows[0]))
		}
	})
	b.Run("sines", func(b *testing.B) {
		for b.Loop() {
			for i := range 51 {
				z := f.Kernel(i)
				d.circle.write(z[:100], z[100:], f.angles[i*100:(i+1)*100])
			}
		}
	})
	b.Run("scores", func(b *testing.B) {
		for b.Loop() {
			f.Scores(scores, theta)
		}
	})
	b.Run("weights", func(b *testing.B) {
		for b.Loop() {
			w.learn(scores, 0.01)
		}
	})
}
