package cohort

import (
	"context"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

func TestTotalsAreExact(t *testing.T) {
	for _, backend := range []Backend{Plain, Masked} {
		for _, topology := range []contract.Topology{contract.Star, contract.Tree, contract.Ring} {
			for _, n := range []int{3, 4, 9, 40} {
				t.Run(fmt.Sprintf("%s %s %d clients", backend, topology, n), func(t *testing.T) {
					l := &testNetwork{spec: Spec{Backend: backend, Topology: topology}, chunk: 64}
					l.open(t, n)
					v := Vector{Kind: "updates", Words: 50, Bits: 26}
					errs := l.play(t, func(ctx context.Context, s *Server) error {
						for k := range 3 {
							total, err := s.Sum(ctx, v, upTo(n))
							if err != nil {
								return err
							}
							wantTotal(t, total, v, k, upTo(n))
						}
						return nil
					}, sumAgain(v))
					if errs[0] != nil {
						t.Fatal(errs[0])
					}
				})
			}
		}
	}
}
