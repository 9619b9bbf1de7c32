package audit

import (
	"context"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// everything is a job that does all that a session can, from and to every party.
func everything(l *testNetwork) []contract.Operation {
	q := int64(len(l.names))
	operations := []contract.Operation{
		{Kind: "tell", Stage: 1, Collective: "broadcast", Root: contract.Anyone, Class: "opening", Encoding: "bytes",
			Count: q, Bytes: 16 * q},
		{Kind: "swap", Stage: 2, Collective: "exchange", Class: "control", Encoding: "bytes", Count: 1, Bytes: 16},
	}
	for _, root := range l.names {
		sum := contract.Operation{Kind: "plain", Stage: 3, Collective: "sum", Root: root, Class: "published",
			Encoding: "float64", Count: 1, Bytes: 16}
		operations = append(operations, sum)
		if q >= secagg.MinParties {
			sum.Kind, sum.Class, sum.Encoding = "masked", "masked", "fixed64"
			operations = append(operations, sum)
		}
		for _, excluded := range l.names {
			for tree, kind := range []string{"first", "second"} {
				if excluded != root {
					operations = append(operations,
						contract.Operation{Kind: kind, Stage: 3, Collective: "sum", Root: root, Tree: int64(tree) + 1, Excluded: excluded,
							Class: "published", Encoding: "float64", Count: 1, Bytes: 16})
				}
			}
		}
	}
	return operations
}

// do runs everything as party i.
func (l *testNetwork) do(ctx context.Context, s *protocol.Session) error {
	if _, err := s.Exchange(ctx, "swap", make([]byte, s.Self()%16), 16); err != nil {
		return err
	}
	for root := range l.names {
		if err := l.sums(ctx, s, root); err != nil {
			return err
		}
	}
	return nil
}

// sums runs all sums to one root.
func (l *testNetwork) sums(ctx context.Context, s *protocol.Session, root int) error {
	if err := secagg.SumPublished(ctx, s, "plain", contract.PlanFor(l.topology, len(l.names), root),
		make([]float64, 2)); err != nil {
		return err
	}
	if len(l.names) >= secagg.MinParties {
		masked, err := secagg.NewMasked(s, l.config(s.Self()).IDs, l.topology)
		if err != nil {
			return err
		}
		if err := masked.SumWords(ctx, "masked", root, make([]uint64, 2)); err != nil {
			return err
		}
	}
	for excluded := range l.names {
		if excluded == root {
			continue
		}
		t1, t2, err := contract.PublishedTrees(len(l.names), root, excluded)
		if err != nil {
			return err
		}
		for kind, plan := range []contract.Plan{t1, t2} {
			if err := secagg.SumPublished(ctx, s, []string{"first", "second"}[kind], plan, make([]float64, 2)); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestEverythingThatASessionDoesConforms(t *testing.T) {
	for _, q := range []int{2, 3, 4, 5, 7, 8} {
		for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
			t.Run(fmt.Sprintf("%d parties, %s", q, topology), func(t *testing.T) {
				t.Parallel()
				l := newTestNetwork(t, q)
				l.topology = topology
				l.agree(contract.Job{Privacy: "masked"}, 1, nil, everything(l))
				must(t, l.run(func(ctx context.Context, i int, s *protocol.Session) error {
					for root := range l.names {
						if _, err := s.Broadcast(ctx, "tell", contract.ClassOpening, root, []byte("a value"), 16); err != nil {
							return err
						}
					}
					return l.do(ctx, s)
				}))
				all, cross := l.examined(l.sources()...)
				wantPassed(t, checksOf(all, cross))
			})
		}
	}
}
