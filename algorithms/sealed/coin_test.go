package sealed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// flipper is a party that wants another coin once it knows one: it stops when all parts have come, changes its own
// state, and takes part in the next session.
type flipper struct {
	files  []string                 // prefixes of what it removes from its vault
	change func(v *vaultInMemory)   // what it writes there
	says   func(part []byte) []byte // the part that it tells instead; nil: its own
	refuse string                   // what another party's error says; empty: it gets the same coin
}

// flippers are ways to ask for another coin.
func flippers() map[string]flipper {
	return map[string]flipper{
		"starts again": {},
		"tells another part": {says: func(part []byte) []byte { part[0] ^= 1; return part },
			refuse: "another part of the coin than the one that it committed to"},
		"tells less": {says: func(part []byte) []byte { return part[:7] },
			refuse: "another part of the coin than the one that it committed to"},
		"forgets the coin": {files: []string{joint.FilePrefix + "left-" + kindCoin, joint.FilePrefix + "opening-" + kindCoin},
			refuse: "it has left, and is not computed anew"},
		"forgets what it was for": {files: []string{joint.FilePrefix + stageSolved.String()},
			refuse: "another one would not be checked"},
		"forgets all":              {files: []string{joint.FilePrefix}, refuse: "it has left, and is not computed anew"},
		"forgets all but the coin": {files: []string{joint.FilePrefix + "s"}, refuse: "another one would not be checked"},
		"goes on from other numbers": {change: func(v *vaultInMemory) {
			delete(v.files, stageSolved.file(0))
			v.files[stageSolved.file(0)] = v.files[stageSystem.file(0)]
		}, refuse: "another one would not be checked"},
	}
}

// coins notes what is told of a coin, and stops a party once it knows all.
type coins struct {
	joint.SealedNetwork
	kind  string // of the messages with parts
	self  int
	stop  bool
	says  func(part []byte) []byte
	parts *[]string
}

// Broadcast implements joint.SealedNetwork.
func (n *coins) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == n.kind && root == n.self && n.says != nil {
		data = n.says(slices.Clone(data))
	}
	got, err := n.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
	if err != nil || kind != n.kind {
		return got, err
	}
	*n.parts = append(*n.parts, string(got))
	if n.stop && len(*n.parts) == rss.Roles {
		return nil, errKilled
	}
	return got, nil
}

// TestTheCoinIsDrawnOnce: a label holder that stops between the coin and the verdict gets the same coin for the same
// solution, or the job ends for good.
func TestTheCoinIsDrawnOnce(t *testing.T) {
	for name, c := range flippers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.flip(t, kindCoin, fdskl.Params{Features: 4, Iterations: 3, Sigma: 1, Lambda: 1e-2})
		})
	}
}

// flip has the label holder of a job flip the coin whose parts are told in messages of a kind.
func (c flipper) flip(t *testing.T, kind string, p fdskl.Params) {
	t.Helper()
	f := newFixture(t, 3, 20, p)
	testNetwork := f.testNetwork(t)
	var seen [2][]string // by session
	var errs []error
	for session := range seen {
		testNetwork.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
			if i != 0 {
				return n
			}
			w := &coins{SealedNetwork: n, kind: kind, self: i, stop: session == 0, parts: &seen[session]}
			if session == 1 {
				w.says = c.says
			}
			return w
		}
		errs = testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, testNetwork.session))
			return err
		})
		if session == 0 {
			if !errors.Is(errs[0], errKilled) {
				t.Fatal(errs)
			}
			f.vaults[0].forget(c.files...)
			if c.change != nil {
				c.change(f.vaults[0])
			}
		}
	}
	if c.refuse == "" {
		if err := first(errs); err != nil || len(seen[0]) != rss.Roles || !slices.Equal(seen[0], seen[1]) {
			t.Errorf("error %v; the coins are %x and %x", err, seen[0], seen[1])
		}
		return
	}
	if err := errs[1]; !errors.Is(err, contract.ErrDeviation) || !strings.Contains(err.Error(), c.refuse) {
		t.Errorf("the keeper's error is %v, want a deviation: %s", err, c.refuse)
	}
}
