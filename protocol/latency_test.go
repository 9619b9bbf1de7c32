package protocol_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
)

// oneWay is how long a frame is under way on fake time, where nothing else takes any.
const oneWay = 100 * time.Millisecond

// inFakeTime opens a session of q parties and then makes the network slow.
func inFakeTime(t *testing.T, q int, f func(t *testing.T, l *testNetwork)) {
	synctest.Test(t, func(t *testing.T) {
		l := numbered(t, q, 64)
		l.Delay(oneWay)
		f(t, l)
	})
}

// took runs part at every party and returns when the last was done.
func took(t *testing.T, l *testNetwork, part func(i int) error) time.Duration {
	t.Helper()
	start := time.Now()
	l.must(t, part)
	return time.Since(start)
}

// TestReduceTakesItsDepth: a sum takes the plan's depth times the delay, and one of many chunks no
// longer than one of a single chunk, since an inner node sends a chunk on while the next is under
// way.
func TestReduceTakesItsDepth(t *testing.T) {
	for _, q := range []int{2, 3, 4, 7, 8, 9} {
		for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
			for _, root := range []int{0, q - 1} {
				inFakeTime(t, q, func(t *testing.T, l *testNetwork) {
					plan := contract.PlanFor(topology, q, root)
					want := time.Duration(plan.Depth()) * oneWay
					for _, chunks := range []int{1, 40} {
						got := took(t, l, func(i int) error {
							return l.sessions[i].Reduce(t.Context(), newReduction(plan, 8*chunks, 1).Reduction)
						})
						if got != want {
							t.Errorf("%v of %d, root %d, %d chunks: took %v, want %v", topology, q, root, chunks, got, want)
						}
					}
				})
			}
		}
	}
}

// TestBroadcastTakesItsDepth: a broadcast takes as long as the reduce that it reverses.
func TestBroadcastTakesItsDepth(t *testing.T) {
	for _, q := range []int{2, 3, 4, 7, 8, 9} {
		for _, root := range []int{0, q - 1} {
			inFakeTime(t, q, func(t *testing.T, l *testNetwork) {
				want := time.Duration(contract.PlanFor(contract.Tree, q, root).Depth()) * oneWay
				got := took(t, l, func(i int) error {
					_, err := l.sessions[i].Broadcast(t.Context(), "width", contract.ClassControl, root, []byte("w"), 8)
					return err
				})
				if got != want {
					t.Errorf("%d parties, root %d: took %v, want %v", q, root, got, want)
				}
			})
		}
	}
}

// TestExchangesTakeOneHop: everybody sends to everybody at once.
func TestExchangesTakeOneHop(t *testing.T) {
	inFakeTime(t, 5, func(t *testing.T, l *testNetwork) {
		got := took(t, l, func(i int) error {
			_, err := l.sessions[i].Exchange(t.Context(), "done", nil, 0)
			return err
		})
		if got != oneWay {
			t.Errorf("an exchange took %v, want %v", got, oneWay)
		}
	})
}
