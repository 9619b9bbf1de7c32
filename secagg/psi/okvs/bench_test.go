package okvs

import (
	"fmt"
	"testing"
)

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids, values, fill := draw(1, n)
			for b.Loop() {
				if _, err := Encode([32]byte{}, ids, values, fill); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ids, values, fill := draw(1, n)
			table, err := Encode([32]byte{}, ids, values, fill)
			must(b, err)
			opened, err := Open([32]byte{}, table)
			must(b, err)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				opened.Get(ids[i%n])
				i++
			}
		})
	}
}
