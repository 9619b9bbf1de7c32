package secagg

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// benchmarkBytes is the length of the vectors that benchmarks mask and add: one chunk.
const benchmarkBytes = contract.DefaultChunk

// BenchmarkMask measures one pair's masks: making the key stream and adding it, on one core. The
// key stream alone is measured in the same run; of-keystream is the ratio of the two speeds.
func BenchmarkMask(b *testing.B) {
	for _, ring := range rings {
		for _, p := range []maskPair{fixedPair(false), fixedPair(true)} {
			b.Run(fmt.Sprintf("%v/%s", ring, map[bool]string{false: "add", true: "subtract"}[p.subtract]), func(b *testing.B) {
				masks, err := (&masker{pairs: []maskPair{p}, next: 1}).draw(1, keys.Hash{}, ring)
				if err != nil {
					b.Fatal(err)
				}
				v, bare := make([]byte, benchmarkBytes), newBareStream(b)
				b.SetBytes(benchmarkBytes)
				var masking, streaming time.Duration
				for b.Loop() {
					start := time.Now()
					masks.Apply(v)
					masking += time.Since(start)
					b.StopTimer()
					streaming += bare.run()
					b.StartTimer()
				}
				b.ReportMetric(streaming.Seconds()/masking.Seconds(), "of-keystream")
			})
		}
	}
}

// bareStream makes a chunk of key stream in blocks, and nothing of it.
type bareStream struct {
	stream cipher.Stream
	zero   [maskBlock]byte
	key    [maskBlock]byte
}

func newBareStream(b *testing.B) *bareStream {
	b.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		b.Fatal(err)
	}
	return &bareStream{stream: cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

func (s *bareStream) run() time.Duration {
	start := time.Now()
	for range benchmarkBytes / maskBlock {
		s.stream.XORKeyStream(s.key[:], s.zero[:])
	}
	return time.Since(start)
}

// BenchmarkRingAdd measures the addition alone, as inner nodes do it.
func BenchmarkRingAdd(b *testing.B) {
	for _, ring := range rings {
		b.Run(ring.String(), func(b *testing.B) {
			dst, src := make([]byte, maskBlock), make([]byte, maskBlock)
			b.SetBytes(maskBlock)
			for b.Loop() {
				ring.Add(dst, src)
			}
		})
	}
}

// BenchmarkReduce sums eight chunks of 16-bit turns over a network in memory, with masks and
// without. Bytes are those of one party's vector; times-unmasked is the price of the masks.
func BenchmarkReduce(b *testing.B) {
	for _, q := range []int{3, 4, 8} {
		b.Run(fmt.Sprintf("%d_parties", q), func(b *testing.B) {
			l := newTestNetwork(b, q, 0)
			masked, bare := l.masked(b, contract.Tree), l.masked(b, contract.Tree)
			for _, m := range bare {
				m.masks.pairs = nil
			}
			vectors := make([][]uint16, q)
			for i := range vectors {
				vectors[i] = make([]uint16, 8*benchmarkBytes/2)
			}
			b.SetBytes(8 * benchmarkBytes)
			var with, without time.Duration
			for b.Loop() {
				with += sumOnce(b, l, masked, vectors)
				b.StopTimer()
				without += sumOnce(b, l, bare, vectors)
				b.StartTimer()
			}
			b.ReportMetric(with.Seconds()/without.Seconds(), "times-unmasked")
		})
	}
}

func sumOnce(b *testing.B, l *testNetwork, m []*Masked, vectors [][]uint16) time.Duration {
	start := time.Now()
	l.Must(b, func(i int) error { return m[i].SumTurns(context.Background(), "angles", 0, vectors[i]) })
	return time.Since(start)
}
