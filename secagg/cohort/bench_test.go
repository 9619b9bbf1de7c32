package cohort

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
)

// sumsTake runs k sums of 10,000 words of 26 bits among n clients, after a first one that brings
// the session's keys, and returns how long one takes.
func sumsTake(b *testing.B, backend Backend, n, k int) time.Duration {
	b.Helper()
	l := &testNetwork{spec: Spec{Backend: backend, Topology: contract.Star}}
	l.open(b, n)
	v := Vector{Kind: "updates", Words: 10_000, Bits: 26}
	var took time.Duration
	errs := l.play(b, func(ctx context.Context, s *Server) error {
		var start time.Time
		for i := range k + 1 {
			if i == 1 {
				start = time.Now()
			}
			if _, err := s.Sum(ctx, v, upTo(n)); err != nil {
				return err
			}
		}
		took = time.Since(start) / time.Duration(k)
		return nil
	}, sumSame(v))
	if errs[0] != nil {
		b.Fatal(errs[0])
	}
	return took
}

// BenchmarkSum measures one masked sum among all clients and the server in one process, and how
// many times as long it takes as one without masks.
func BenchmarkSum(b *testing.B) {
	for _, n := range []int{30, 100} {
		b.Run(fmt.Sprintf("%d clients", n), func(b *testing.B) {
			var masked, plain time.Duration
			for b.Loop() {
				masked += sumsTake(b, Masked, n, 5)
				plain += sumsTake(b, Plain, n, 5)
			}
			b.ReportMetric(float64(masked.Milliseconds())/float64(b.N), "ms/sum")
			b.ReportMetric(float64(plain.Microseconds())/1000/float64(b.N), "plain-ms/sum")
			b.ReportMetric(float64(masked)/float64(plain), "masked/plain")
		})
	}
}
