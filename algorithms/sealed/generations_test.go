package sealed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// leaver breaks a session off at one of its openings, before it has the sum or behind it.
type leaver struct {
	joint.SealedNetwork
	left   *int // openings until then; nil: it stays
	behind bool
	sent   func(v []uint64)
}

var errLeft = errors.New("the receiver has what it wanted")

// SumPacked implements joint.SealedNetwork.
func (l *leaver) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	if kind != kindScores {
		return l.SealedNetwork.SumPacked(ctx, kind, root, bits, v)
	}
	l.sent(slices.Clone(v))
	if l.left != nil {
		if *l.left--; *l.left == 0 && !l.behind {
			return errLeft
		}
	}
	err := l.SealedNetwork.SumPacked(ctx, kind, root, bits, v)
	if err == nil && l.left != nil && *l.left == 0 {
		return errLeft
	}
	return err
}

// TestAnotherGenerationOpensNothingNew: a receiver has sessions broken off at openings, and has shards made again,
// whose scores are rounded in another way. What leaves a party under a number is always the same, and what has left
// does not open in another value; a receiver of the three that forgets what it was ready for is found and named.
func TestAnotherGenerationOpensNothingNew(t *testing.T) {
	const opened, openings = 6, 4
	f := newFixture(t, 4, opened*openings, fdskl.Params{Features: 8, Iterations: 8, Sigma: 1, Lambda: 1e-2})
	models := f.train(t, f.testNetwork(t))
	roles := rolesOf(f.params, f.names, 0)
	random := rand.New(rand.NewPCG(1, 2))
	generation := func(unit uint64) [][]uint64 { // shares of scores that are so many units off
		words := make([][]uint64, len(f.names))
		for row := range f.rows {
			a, b := random.Uint64(), random.Uint64()
			for r, w := range [rss.Roles]uint64{a, b, uint64(100*row) + unit - a - b} {
				words[roles.parties[r]] = append(words[roles.parties[r]], w)
			}
		}
		return words
	}
	for name, receiver := range map[string]int{"outside": 3, "one of the three": roles.parties[1]} {
		for _, behind := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", behind the sum: ", behind), func(t *testing.T) {
				f.forgetScoring()
				node := newFederation(t, f.names)
				o := f.prediction(f.rows, opened, receiver)
				o.InShards = true
				d, err := Disclose(o)
				must(t, err)
				node.declare(t, d)
				var mu sync.Mutex
				left := make(map[string][]uint64) // by party and number
				got := make(map[int][]float64)
				session := func(breakAt int) []error {
					words := generation(uint64(node.session))
					numbers := make([]int, len(f.names))
					node.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
						l := &leaver{SealedNetwork: n, behind: behind, sent: func(v []uint64) {
							if roles.parties[0] != i && roles.parties[1] != i && roles.parties[2] != i {
								return
							}
							mu.Lock()
							defer mu.Unlock()
							at := fmt.Sprint(i, " ", numbers[i])
							if old := left[at]; old != nil && !slices.Equal(old, v) {
								t.Errorf("party and opening %s: other words leave in session %d", at, node.session)
							}
							left[at] = v
						}}
						if i == receiver && breakAt > 0 {
							l.left = &breakAt
						}
						return l
					}
					return node.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
						s, err := NewScorer(ctx, Scoring{Self: i, Receiver: receiver, Model: models[i], Network: n, Vault: f.scoring[i],
							Session: node.session, Openings: openings, Workers: 1,
							Words: func(number, n int) (ScoreWords, error) {
								if len(words[i]) == 0 {
									return nil, nil
								}
								return words[i][(number-1)*opened : (number-1)*opened+n], nil
							}})
						if err != nil {
							return err
						}
						for number := 1; number <= openings; number++ {
							numbers[i] = number
							scores, err := s.Score(ctx, number, opened, nil, nil)
							if err != nil {
								return err
							}
							if i != receiver {
								continue
							}
							if old := got[number]; old != nil && !slices.Equal(old, scores) {
								t.Errorf("opening %d gave %v and gives %v", number, old, scores)
							}
							got[number] = scores
						}
						return nil
					})
				}
				for at := 1; at <= openings; at++ {
					if err := first(session(at)); err == nil {
						t.Fatal("the session was not broken off")
					}
				}
				must(t, first(session(0)))
				if receiver == 3 {
					return
				}
				f.scoring[receiver] = newVault()
				for i, err := range session(0) {
					if i != receiver && (err == nil || !strings.Contains(err.Error(), f.names[receiver])) {
						t.Errorf("%s does not name the receiver: %v", f.names[i], err)
					}
				}
			})
		}
	}
}
