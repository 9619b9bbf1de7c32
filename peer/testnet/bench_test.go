package testnet_test

import (
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
)

// BenchmarkMesh sends frames from one member to another, who receives in one buffer.
func BenchmarkMesh(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("%d_bytes", size), func(b *testing.B) {
			f := testnet.Found(b, "from", "to")
			ctx, meshes := b.Context(), f.Meshes(b, testnet.Meeting{})
			from, to := meshes[0], meshes[1]
			header, payload := make([]byte, 80), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			wait := begin(func() error {
				for range b.N {
					if err := from.Send(ctx, f.IDs[1], header, payload); err != nil {
						return err
					}
				}
				return nil
			})
			buf := make([]byte, size+len(header))
			for range b.N {
				if _, err := to.Receive(ctx, f.IDs[0], buf); err != nil {
					b.Fatal(err)
				}
			}
			if err := wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
