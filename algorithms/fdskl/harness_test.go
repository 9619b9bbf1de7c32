package fdskl

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// federation is parties in one process that meet in real sessions over a network in memory.
type federation struct {
	*testnet.Federation
	privacy  string
	topology contract.Topology
	session  uint32
	contract *contract.Contract // nil: parties may send anything
	recorder protocol.Recorder  // of party 0; nil: none
}

// declare holds the sessions from now on to a disclosure: a party that would send more fails.
func (f *federation) declare(t testing.TB, d joint.Disclosure, active int) {
	t.Helper()
	job := contract.Job{Privacy: f.privacy, Topology: f.topology.String()}
	f.contract = f.Agree(t, job, active, nil, d.Operations)
}

// newFederation makes keys and links for the named parties.
func newFederation(t testing.TB, names []string, privacy string) *federation {
	t.Helper()
	return &federation{Federation: testnet.Found(t, names...), privacy: privacy}
}

// run opens a session at every party, runs part in it, and returns each party's error.
func (f *federation) run(part func(ctx context.Context, i int, n joint.Network) error) []error {
	f.session++
	meeting := testnet.Meeting{Number: f.session, Contract: f.contract, Config: f.configure}
	if f.contract == nil {
		meeting.Chunk = 4 << 10 // budgets count default chunks
	}
	return f.Run(context.Background(), meeting, func(ctx context.Context, i int, s *protocol.Session) error {
		n, err := f.network(s)
		if err != nil {
			return err
		}
		if err := part(ctx, i, n); err != nil {
			return err
		}
		return s.Finish(ctx)
	})
}

// configure has all parties keep records, where party 0 does.
func (f *federation) configure(i int, c *protocol.SessionConfig) {
	if f.recorder != nil {
		c.Recorder = quiet{}
	}
	if i == 0 {
		c.Recorder = f.recorder
	}
}

// network views a session by the federation's privacy mode.
func (f *federation) network(s *protocol.Session) (joint.Network, error) {
	n := &sessionNetwork{session: s, topology: f.topology, contract: f.contract}
	if f.privacy == Published {
		return n, nil
	}
	var err error
	n.masked, err = secagg.NewMasked(s, f.IDs, f.topology)
	return n, err
}

// sessionNetwork is a joint.Network over a session; masked is nil in the published mode.
type sessionNetwork struct {
	session  *protocol.Session
	topology contract.Topology
	masked   *secagg.Masked
	contract *contract.Contract
}

func (n *sessionNetwork) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	if n.masked == nil {
		return errors.New("the published protocol knows no turns")
	}
	return n.masked.SumTurns(ctx, kind, root, v)
}

// realBits is what sums of reals keep behind the point.
const realBits = 36

func (n *sessionNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	if n.masked == nil {
		return secagg.SumPublished(ctx, n.session, kind, contract.PlanFor(n.topology, n.session.Parties(), root), v)
	}
	return n.masked.SumFixed(ctx, kind, root, secagg.Fixed{Bits: realBits, Bound: joint.RealBound}, v)
}

func (n *sessionNetwork) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	if n.masked != nil {
		return errors.New("a masked job has no unprotected sums")
	}
	t1, t2, err := contract.PublishedTrees(n.session.Parties(), root, excluded)
	if err != nil {
		return err
	}
	if tree == 2 {
		t1 = t2
	}
	return secagg.SumPublished(ctx, n.session, kind, t1, v)
}

func (n *sessionNetwork) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	class := contract.ClassControl
	if n.contract != nil {
		class = n.contract.ClassOf(kind)
	}
	return n.session.Broadcast(ctx, kind, class, root, data, limit)
}

// Confirm implements joint.Broadcaster.
func (n *sessionNetwork) Confirm(ctx context.Context) error { return n.session.Confirm(ctx) }

// errCut is the failure that failingNetwork makes.
var errCut = errors.New("cut")

// failingNetwork fails at one operation; at 0 it never does.
type failingNetwork struct {
	joint.Network
	at    int
	count int
}

// step counts an operation.
func (n *failingNetwork) step() error {
	n.count++
	if n.count == n.at {
		return errCut
	}
	return nil
}

func (n *failingNetwork) SumTurns(ctx context.Context, kind string, root int, v []uint16) error {
	return errors.Join(n.step(), n.unlessCut(func() error { return n.Network.SumTurns(ctx, kind, root, v) }))
}

func (n *failingNetwork) SumReals(ctx context.Context, kind string, root int, v []float64) error {
	return errors.Join(n.step(), n.unlessCut(func() error { return n.Network.SumReals(ctx, kind, root, v) }))
}

func (n *failingNetwork) SumTree(ctx context.Context, kind string, tree, root, excluded int, v []float64) error {
	return errors.Join(n.step(), n.unlessCut(func() error {
		return n.Network.SumTree(ctx, kind, tree, root, excluded,
			v)
	}))
}

func (n *failingNetwork) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) (out []byte,
	err error) {
	err = errors.Join(n.step(), n.unlessCut(func() (err error) {
		out, err = n.Network.Broadcast(ctx, kind, root, data, limit)
		return err
	}))
	return out, err
}

// unlessCut does what the network does while it is there.
func (n *failingNetwork) unlessCut(f func() error) error {
	if n.at > 0 && n.count >= n.at {
		return nil
	}
	return f()
}

// must fails the test on a party's error.
func must(t testing.TB, errs []error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("party %d: %v", i, err)
		}
	}
}

// wantError compares an error's whole text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}
