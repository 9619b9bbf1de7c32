package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

// denseMatrix has random numbers in [0, 1).
func denseMatrix(rows, columns int) *Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	m := &Matrix{Rows: rows, Dense: names("d", columns), Values: make([]float64, rows*columns),
		Starts: make([]uint32, rows+1)}
	for i := range m.Values {
		m.Values[i] = r.Float64()
	}
	return m
}

// oneHotMatrix has set cells in each row, one in each of set groups of columns.
func oneHotMatrix(rows, columns, set int) *Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	m := &Matrix{Rows: rows, Binary: names("b", columns), Starts: make([]uint32, rows+1)}
	for row := range rows {
		for g := range set {
			lo, hi := g*columns/set, (g+1)*columns/set
			m.Set = append(m.Set, uint16(lo+r.IntN(hi-lo)))
		}
		m.Starts[row+1] = uint32(len(m.Set))
	}
	return m
}

func benchmarkTurns(b *testing.B, x *Matrix, features, workers int) {
	k := Kernel{Gaussian, 5.657}
	m, err := NewMap(k, Seed{}, keys.ID{1}, x.Dense, x.Binary, 0, features)
	must(b, err)
	out := make([]uint16, x.Rows*features)
	for b.Loop() {
		must(b, m.Turns(x, 0, x.Rows, nil, out, workers))
	}
	b.ReportMetric(float64(b.N)*float64(len(out))/b.Elapsed().Seconds()/1e6, "Mfeatures/s")
}

func BenchmarkTurns(b *testing.B) {
	for _, d := range []int{1024, 4096} {
		for _, w := range []int{1, 2} {
			b.Run(fmt.Sprintf("dense123/D%d/workers%d", d, w), func(b *testing.B) {
				benchmarkTurns(b, denseMatrix(4096, 123),
					d, w)
			})
			b.Run(fmt.Sprintf("dense22/D%d/workers%d", d, w), func(b *testing.B) {
				benchmarkTurns(b, denseMatrix(4096, 22), d,
					w)
			})
			b.Run(fmt.Sprintf("onehot14of123/D%d/workers%d", d, w), func(b *testing.B) {
				benchmarkTurns(b,
					oneHotMatrix(4096, 123, 14), d, w)
			})
		}
	}
}

func randomTurns(n int) []uint16 {
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]uint16, n)
	for i := range out {
		out[i] = uint16(r.Uint32())
	}
	return out
}

func BenchmarkTable(b *testing.B) {
	t, turns := Cosines(), randomTurns(1<<20)
	alpha, f32 := make([]float64, 1024), make([]float32, 1024)
	perElement := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(turns)), "ns/element")
	}
	each := func(name string, f func(turns []uint16)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for i := 0; i < len(turns); i += 1024 {
					f(turns[i : i+1024])
				}
			}
			perElement(b)
		})
	}
	sum := 0.0
	each("Features", func(w []uint16) { t.Features(f32, w) })
	each("Features64", func(w []uint16) { t.Features64(alpha, w) })
	each("Dot", func(w []uint16) { sum += t.Dot(w, alpha) })
	each("AddScaled", func(w []uint16) { t.AddScaled(alpha, 1e-9, w) })
}

func BenchmarkPasses(b *testing.B) {
	t, rows, d := Cosines(), 8192, 1024
	turns, c, alpha := randomTurns(rows*d), make([]float64, rows), make([]float64, d)
	for _, w := range []int{1, 2} {
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(turns)), "ns/element")
		}
		b.Run(fmt.Sprintf("Scores/workers%d", w), func(b *testing.B) {
			for b.Loop() {
				must(b, t.Scores(c, turns, alpha, w))
			}
			report(b)
		})
		b.Run(fmt.Sprintf("AddGradient/workers%d", w), func(b *testing.B) {
			for b.Loop() {
				must(b, t.AddGradient(alpha, c, turns, w))
			}
			report(b)
		})
	}
}

func BenchmarkGram(b *testing.B) {
	t, rows, d := Cosines(), 4096, 1024
	turns, labels := randomTurns(rows*d/2), make([]float64, rows)
	for _, w := range []int{1, 2} {
		b.Run(fmt.Sprintf("Add/workers%d", w), func(b *testing.B) {
			for b.Loop() {
				g, _ := NewGram(t, d)
				must(b, g.Add(turns, labels, w))
			}
			b.ReportMetric(float64(b.N)*float64(rows)*float64(d)*float64(d)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	for _, d := range []int{1024, 2048, 4096} {
		b.Run(fmt.Sprintf("Solve/D%d", d), func(b *testing.B) {
			g, _ := NewGram(t, d)
			must(b, g.Add(randomTurns(256*d/2), make([]float64, 256), 2))
			for b.Loop() {
				if _, err := g.Solve(1e-3, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	out := make([]float64, 4096)
	for _, kind := range []Kind{Gaussian, Laplace, Matern32, Matern52} {
		b.Run(kind.String(), func(b *testing.B) {
			for b.Loop() {
				Kernel{kind, 1}.Draw(Seed{}, keys.ID{}, "age", 0, len(out), out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(out)), "ns/draw")
		})
	}
}
