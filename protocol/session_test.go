package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// derived is what party i makes of its secret with party j.
func (l *testNetwork) derived(t *testing.T, i, j int) []byte {
	t.Helper()
	b, err := l.sessions[i].Pair(j).Derive("test", 32)
	must(t, err)
	return b
}

// TestPairSecretsAreFresh: the two of a pair share a secret, no other pair has it, and a second
// session has others, whether its number is the next or, after a crash, the same again.
func TestPairSecretsAreFresh(t *testing.T) {
	l := newTestNetwork(t, "bank", "insurer", "shop")
	seen := make(map[string]bool)
	for run, number := range []uint32{1, 2, 2} {
		if run == 2 { // the session was opened before: the parties begin anew
			for _, id := range l.IDs {
				l.Restart(id)
			}
		}
		l.mustOpen(t, number, 0)
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
			secret := l.derived(t, pair[0], pair[1])
			if !bytes.Equal(secret, l.derived(t, pair[1], pair[0])) {
				t.Errorf("run %d: the parties %v have different secrets", run, pair)
			}
			if seen[string(secret)] {
				t.Errorf("run %d: the parties %v have a secret seen before", run, pair)
			}
			seen[string(secret)] = true
		}
		if l.sessions[1].Pair(1) != nil {
			t.Error("a party has a secret with itself")
		}
	}
}

func TestNewSessionRefuses(t *testing.T) {
	l := newTestNetwork(t, "bank", "shop")
	stranger, err := keys.GenerateKey()
	must(t, err)
	for _, c := range []struct {
		config protocol.SessionConfig
		want   string
	}{
		{protocol.SessionConfig{Parties: l.Parties, Key: l.Keys[0], Chunk: 12},
			"chunk of 12 bytes: want a multiple of 8 up to 4198308"},
		{protocol.SessionConfig{Parties: l.Parties, Key: l.Keys[0], Chunk: -8},
			"chunk of -8 bytes: want a multiple of 8 up to 4198308"},
		{protocol.SessionConfig{Parties: l.Parties, Key: l.Keys[0], Chunk: 8 << 20},
			"chunk of 8388608 bytes: want a multiple of 8 up to 4198308"},
		{protocol.SessionConfig{Parties: l.Parties, Key: stranger, Contract: testnet.Unwritten},
			"contract " + testnet.Unwritten.Short() + " does not name this node"},
		{protocol.SessionConfig{Number: 3, Parties: l.Parties, Key: l.Keys[0], Contract: testnet.Unwritten, Unrecorded: true},
			"session 3 of contract " + testnet.Unwritten.Short() + " has no Budget, and this party could send anything: " +
				"want one from contract.NewBudget, or Unbounded: true where nothing is agreed"},
		{protocol.SessionConfig{Number: 3, Parties: l.Parties, Key: l.Keys[0], Contract: testnet.Unwritten, Unbounded: true},
			"session 3 of contract " + testnet.Unwritten.Short() + " has no Recorder, and nobody could audit it: " +
				"want one from transcript.Begin, or Unrecorded: true where nobody will"},
	} {
		if _, err := protocol.NewSession(t.Context(), nil, c.config); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
		if _, err := protocol.NewLinks(nil, c.config, nil); err == nil || err.Error() != c.want {
			t.Errorf("error of links is %v, want %s", err, c.want)
		}
	}
}

// TestOwnMistakesAreNotSent: what every receiver would refuse is refused at home.
func TestOwnMistakesAreNotSent(t *testing.T) {
	l := numbered(t, 2, 64)
	s := l.sessions[0]
	before, _ := l.Sent(l.IDs[0], l.IDs[1])
	_, broadcast := s.Broadcast(t.Context(), "width", contract.ClassControl, 0, make([]byte, 9), 8)
	_, exchange := s.Exchange(t.Context(), "done", make([]byte, 1), 0)
	_, kind := s.Exchange(t.Context(), "Done!", nil, 0)
	for i, c := range []struct {
		err  error
		want string
	}{
		{broadcast, "operation 2 (width): 9 bytes to send, at most 8 are allowed"},
		{exchange, "operation 3 (done): 1 bytes to send, at most 0 are allowed"},
		{kind, `kind is "Done!", want 1 to 24 characters of a-z, 0-9, "-" and space`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("mistake %d: error is %v, want %s", i, c.err, c.want)
		}
	}
	if after, _ := l.Sent(l.IDs[0], l.IDs[1]); after != before {
		t.Errorf("%d frames were sent", after-before)
	}
}

// TestTooMuchIsRefused: a receiver accepts no more than its limit, whatever the sender's.
func TestTooMuchIsRefused(t *testing.T) {
	l := numbered(t, 2, 64)
	errs := l.each(func(i int) error {
		_, err := l.sessions[i].Broadcast(t.Context(), "width", contract.ClassControl, 0, make([]byte, 9), 9-i)
		return err
	})
	wantStep(t, errs[1], "operation 2 (width): p0: payload of 9 bytes, at most 8 are allowed", "p0")
}

// TestCollectives moves data by every collective among any number of parties, between any of them.
func TestCollectives(t *testing.T) {
	for q := 2; q <= 9; q++ {
		l := numbered(t, q, 64)
		own := func(i, root int) []byte { return fmt.Appendf(nil, "%d to %d", i, root) }
		for root := range q {
			l.must(t, func(i int) error { return checkCollectives(t.Context(), l.sessions[i], root, own) })
		}
	}
}

// checkCollectives broadcasts from root and exchanges.
func checkCollectives(ctx context.Context, s *protocol.Session, root int, own func(i, root int) []byte) error {
	const limit = 20
	told, err := s.Broadcast(ctx, "told", contract.ClassControl, root, own(s.Self(), root), limit)
	if err != nil || !bytes.Equal(told, own(root, root)) {
		return fmt.Errorf("broadcast gives %q, error %w", told, err)
	}
	exchanged, err := s.Exchange(ctx, "shared", own(s.Self(), root), limit)
	if err != nil {
		return err
	}
	for i, got := range exchanged {
		if !bytes.Equal(got, own(i, root)) {
			return fmt.Errorf("party %d sent %q, want %q", i, got, own(i, root))
		}
	}
	return nil
}

// TestReduceOverPartOfTheParties: who is not in a plan stays in step with those who are.
func TestReduceOverPartOfTheParties(t *testing.T) {
	l := numbered(t, 4, 64)
	sums := make([]*reduction, 4)
	l.must(t, func(i int) error {
		for _, plan := range []contract.Plan{contract.NewPlan(contract.Tree, []int{3, 0, 1}),
			contract.PlanFor(contract.Tree, 4, 2)} {
			sums[i] = newReduction(plan, 9, 1<<i)
			if err := l.sessions[i].Reduce(t.Context(), sums[i].Reduction); err != nil {
				return err
			}
		}
		return nil
	})
	if want := slices.Repeat([]uint64{15}, 9); !slices.Equal(sums[2].stored, want) {
		t.Errorf("the total is %d, want %d", sums[2].stored, want)
	}
	if l.sessions[2].Operations() != l.sessions[0].Operations() {
		t.Error("the parties count their operations differently")
	}
}

// TestAnOwnErrorStopsTheSum: what Load or Store returns names the operation.
func TestAnOwnErrorStopsTheSum(t *testing.T) {
	l := numbered(t, 2, 64)
	r := newReduction(contract.PlanFor(contract.Tree, 2, 0), 1, 1)
	reason := errors.New("no data")
	r.Load = func(int, []byte) error { return reason }
	err := l.sessions[1].Reduce(t.Context(), r.Reduction)
	if !errors.Is(err, reason) || err.Error() != "operation 2 (angles): no data" {
		t.Errorf("error is %v", err)
	}
}

// TestReducesOfAnyLength lets rapid choose plan and length.
func TestReducesOfAnyLength(t *testing.T) {
	l := numbered(t, 5, 64)
	rapid.Check(t, func(rt *rapid.T) {
		topology := rapid.SampledFrom([]contract.Topology{contract.Tree, contract.Star, contract.Ring}).Draw(rt, "topology")
		root := rapid.IntRange(0, 4).Draw(rt, "root")
		n := rapid.IntRange(0, 50).Draw(rt, "words")
		sums := make([]*reduction, 5)
		l.must(t, func(i int) error {
			sums[i] = newReduction(contract.PlanFor(topology, 5, root), n, 1<<i)
			return l.sessions[i].Reduce(t.Context(), sums[i].Reduction)
		})
		for i, r := range sums {
			want := 0
			if i == root {
				want = n
			}
			if !slices.Equal(r.stored, slices.Repeat([]uint64{31}, want)) {
				rt.Fatalf("party %d is given %d", i, r.stored)
			}
		}
	})
}
