package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
)

// numbered returns a payload of size bytes that differs from those of other numbers.
func numbered(payload []byte, number int) ([32]byte, []byte) {
	binary.BigEndian.PutUint64(payload, uint64(number))
	return sha256.Sum256(payload), payload
}

// filled returns a store with so many payloads of size bytes, and the folder.
func filled(b *testing.B, payloads, size int) (*Store, string) {
	dir := b.TempDir()
	s, payload := mustOpenStore(b, dir, 1<<62), make([]byte, size)
	defer mustClose(b, s)
	for i := range payloads {
		sum, _ := numbered(payload, i)
		if _, err := s.Put(sum, payload); err != nil {
			b.Fatal(err)
		}
	}
	return s, dir
}

// BenchmarkStorePut measures what keeping a payload costs, without its hash.
func BenchmarkStorePut(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("payload=%d", size), func(b *testing.B) {
			s, payload := mustOpenStore(b, b.TempDir(), 1<<62), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			defer mustClose(b, s)
			number := uint64(0)
			for b.Loop() {
				number++
				var sum [32]byte
				binary.LittleEndian.PutUint64(sum[:], number*0x9e3779b97f4a7c15)
				if _, err := s.Put(sum, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStoreGet measures what reading a payload back costs, with its hash.
func BenchmarkStoreGet(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("payload=%d", size), func(b *testing.B) {
			const payloads = 100
			s, _ := filled(b, payloads, size)
			payload, n := make([]byte, size), 0
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				sum, _ := numbered(payload, n%payloads)
				if _, err := s.Get(sum); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}

// BenchmarkStoreOpen measures the walk over a store of small payloads.
func BenchmarkStoreOpen(b *testing.B) {
	const payloads = 100_000
	_, dir := filled(b, payloads, 100)
	b.ReportAllocs()
	for b.Loop() {
		if s := mustOpenStore(b, dir, 0); s.Used() != payloads*100 {
			b.Fatalf("%d bytes used", s.Used())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/payloads, "ns/payload")
}
