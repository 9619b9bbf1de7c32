package protocol_test

import (
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol/contract"
)

// BenchmarkSession measures what a small operation costs over a network in memory: headers, checks
// and hand-overs between the parties' goroutines, for eight bytes of payload.
func BenchmarkSession(b *testing.B) {
	for _, q := range []int{2, 4, 8} {
		for _, operation := range []string{"reduce", "broadcast", "exchange"} {
			b.Run(fmt.Sprintf("%s/%d_parties", operation, q), func(b *testing.B) {
				l := numbered(b, q, 0)
				plan := contract.PlanFor(contract.Tree, q, 0)
				payload := make([]byte, 8)
				b.ReportAllocs()
				b.ResetTimer()
				l.must(b, func(i int) error {
					s, r := l.sessions[i], newReduction(plan, 1, 1)
					for range b.N {
						var err error
						switch operation {
						case "reduce":
							err = s.Reduce(b.Context(), r.Reduction)
							r.stored = r.stored[:0]
						case "broadcast":
							_, err = s.Broadcast(b.Context(), "width", contract.ClassControl, 0, payload, 8)
						case "exchange":
							_, err = s.Exchange(b.Context(), "width", payload, 8)
						}
						if err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkNewSession measures the agreement on pair secrets, by all parties together.
func BenchmarkNewSession(b *testing.B) {
	for _, q := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("%d_parties", q), func(b *testing.B) {
			l := newTestNetwork(b, testnet.Numbered(q)...)
			for b.Loop() {
				b.StopTimer()
				for _, id := range l.IDs {
					l.Restart(id)
				}
				b.StartTimer()
				l.mustOpen(b, 1, 0)
			}
		})
	}
}
