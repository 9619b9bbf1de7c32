package testnet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// BenchmarkMesh sends frames from one member to another, who receives in one buffer.
func BenchmarkMesh(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("%d_bytes", size), func(b *testing.B) {
			net, ids := network(b, 2)
			ctx := b.Context()
			from, to := openPair(ctx, b, net.Transport(ids[0]), net.Transport(ids[1]))
			header, payload := make([]byte, 80), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			wait := begin(func() error {
				for range b.N {
					if err := from.Send(ctx, ids[1], header, payload); err != nil {
						return err
					}
				}
				return nil
			})
			buf := make([]byte, size+len(header))
			for range b.N {
				if _, err := to.Receive(ctx, ids[0], buf); err != nil {
					b.Fatal(err)
				}
			}
			if err := wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// openPair opens a session of two.
func openPair(ctx context.Context, b *testing.B, x, y protocol.Transport) (mx, my protocol.Mesh) {
	wait := begin(func() (err error) {
		mx, err = x.Open(ctx, protocol.SessionID{1}, []keys.ID{y.Self()})
		return err
	})
	my, err := y.Open(ctx, protocol.SessionID{1}, []keys.ID{x.Self()})
	if err != nil {
		b.Fatal(err)
	}
	if err := wait(); err != nil {
		b.Fatal(err)
	}
	return mx, my
}
