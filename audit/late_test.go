package audit

import (
	"context"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg"
)

// lateParty is one party's part of a session in which p0 takes a sum under a pad, and a message of p1, after it has
// sent what comes later.
func (l *testNetwork) lateParty(ctx context.Context, i int, s *protocol.Session) error {
	masked, err := secagg.NewMasked(s, l.config(i).IDs, l.topology)
	if err != nil {
		return err
	}
	var ends []func(context.Context) error
	began := func(end func(context.Context) error, err error) error {
		ends = append(ends, end)
		return err
	}
	for _, words := range []int{300, 5 << 17} {
		if err := began(masked.BeginPadded(ctx, "angles", 0, make([]uint16, words))); err != nil {
			return err
		}
	}
	for _, d := range []protocol.Direct{share(1, 0, 600), share(0, 1, 600), share(1, 2, 600)} {
		if err := began(s.BeginPass(ctx, d)); err != nil {
			return err
		}
	}
	if err := s.Pass(ctx, share(0, 1, 24)); err != nil {
		return err
	}
	for _, end := range ends {
		if err := end(ctx); err != nil {
			return err
		}
	}
	return s.Pass(ctx, message("score", contract.ClassOpening, contract.Fixed64, 2, 0, 32))
}

// backward counts the operations that a party's records come back to.
func (l *testNetwork) backward(i int) int {
	n, latest, before := 0, uint64(0), uint64(0)
	for _, r := range l.records(i) {
		if r.Session != 1 || r.Type != sent && r.Type != received {
			continue
		}
		if r.Operation < latest && r.Operation != before {
			n++
		}
		before, latest = r.Operation, max(latest, r.Operation)
	}
	return n
}

// TestWhatIsTakenLatePassesAllChecks: the frames of a link come in their order, and all before they are signed.
func TestWhatIsTakenLatePassesAllChecks(t *testing.T) {
	l := lateOf(t)
	if got := l.backward(0); got < 3 {
		t.Fatalf("p0 comes back to %d operations, want 3", got)
	}
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
}

// behind moves the records that are selected behind the last one of another selection, in the first session.
func behind(what, other match) edit {
	return func(all []transcript.Record) []transcript.Record {
		first := func(m match) match {
			return func(r *transcript.Record) bool { return r.Session == 1 && m(r) }
		}
		var moved []transcript.Record
		for _, r := range all {
			if first(what)(&r) {
				moved = append(moved, r)
			}
		}
		all = drop(first(what))(all)
		at := 0
		for i := range all {
			if first(other)(&all[i]) {
				at = i + 1
			}
		}
		return slices.Insert(all, at, moved...)
	}
}

// TestWhatIsTakenTooLateIsFound: a party that says it took frames in another order than they were sent, after links
// were signed, or twice, is found out; and so is one that says so of what must not be late.
func TestWhatIsTakenTooLateIsFound(t *testing.T) {
	l := lateOf(t)
	const share0 = 600 // bytes of the first message of p1, and of that to p2
	of0 := func(m match) match { return func(r *transcript.Record) bool { return m(r) && r.Size == share0 } }
	for _, d := range []deviation{
		{"behind what its sender sent later", 0, behind(of0(of(received, "share", 1)), operationOf(contract.KindDone)),
			finding.CheckOperations, "(share) comes after operation"},
		{"behind the signatures", 1, behind(of(received, "share", 0), operationOf(contract.KindCountersign)),
			finding.CheckOperations, "(share)"},
		{"a message sent late", 1, behind(of0(of(sent, "share", 2)), of(received, "share", 0)),
			finding.CheckOperations, "(share) comes after operation"},
		{"an opening taken late", 0, behind(of(received, "score", 2), of(sent, contract.KindDone, 1)),
			finding.CheckOperations, "(score) comes after operation"},
		{"taken twice", 0, func(all []transcript.Record) []transcript.Record {
			m := of0(of(received, "share", 1))
			at := slices.IndexFunc(all, func(r transcript.Record) bool { return m(&r) })
			score := slices.IndexFunc(all, func(r transcript.Record) bool { return of(received, "score", 2)(&r) })
			return slices.Insert(all, score, all[at])
		}, finding.CheckOperations, "(share)"},
		{"a sum of which an inner party takes its part late", 1,
			behind(func(r *transcript.Record) bool { return r.Kind == "angles" && r.Size == 600 }, of0(of(sent, "share", 0))),
			finding.CheckOperations, "(angles) comes after operation"},
		{"a total that opens late", 0,
			alter(of(opened, "angles", 0), -1, func(r *transcript.Record) { r.Class = contract.ClassOpening }),
			finding.CheckOperations, "(angles): it opened after a later operation"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := l.examined(source("forged", l.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}

// TestLateStaysWithinItsContract: a sum of which another is the root is not taken late where the kind has sums to the
// party too, nor is a message of a later stage of the contract put before one of an earlier.
func TestLateStaysWithinItsContract(t *testing.T) {
	l := newTestNetwork(t, 4)
	sum := func(root string) contract.Operation {
		return contract.Operation{Kind: "angles", Stage: 1, Collective: "sum", Root: root, Class: "masked",
			Encoding: "turns16", Count: 1, Bytes: 600}
	}
	direct := func(kind string, stage int64, root, to string) contract.Operation {
		return contract.Operation{Kind: kind, Stage: stage, Collective: "direct", Root: root, To: to, Class: "masked",
			Encoding: "ring48", Count: 1, Bytes: 600}
	}
	l.agree(contract.Job{Privacy: "masked"}, 1, nil, []contract.Operation{
		sum("p1"), sum("p3"), direct("share", 1, "p1", "p2"), direct("share", 1, "p1", "p0"), direct("reply", 2, "p2", "p0"),
	})
	must(t, l.run(func(ctx context.Context, i int, s *protocol.Session) error {
		masked, err := secagg.NewMasked(s, l.config(i).IDs, l.topology)
		if err != nil {
			return err
		}
		for _, root := range []int{1, 3} {
			if _, err := masked.BeginPadded(ctx, "angles", root, make([]uint16, 300)); err != nil {
				return err
			}
		}
		reply := message("reply", contract.ClassMasked, contract.Ring48, 2, 0, 600)
		for _, d := range []protocol.Direct{share(1, 2, 600), reply, share(1, 0, 600)} {
			if _, err := s.BeginPass(ctx, d); err != nil {
				return err
			}
		}
		return nil
	}))
	inner := func(r *transcript.Record) bool { return r.Kind == "angles" && r.Operation == 3 }
	for _, d := range []deviation{
		{"an inner party takes and passes on", 1, behind(inner, of(sent, "share", 2)), finding.CheckOperations,
			"(angles): chunk 0 received from p2 where"},
		{"a later stage comes first", 0, func(all []transcript.Record) []transcript.Record { return all },
			finding.CheckOperations, "(share) is of an earlier stage"},
		{"a later stage is said to come late", 0, behind(of(received, "reply", 2), of(received, "share", 1)),
			finding.CheckOperations, "(reply) comes after operation"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := l.examined(source("forged", l.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}

// TestWhatAllSayEndsWhatHasBegun: before a party tells all others something, and in the middle of that takes from
// each, it takes what it has begun.
func TestWhatAllSayEndsWhatHasBegun(t *testing.T) {
	l := newDirectsOf(t, false, func(_ *testNetwork, ctx context.Context, _ int, s *protocol.Session) error {
		_, err := s.BeginPass(ctx, share(1, 0, 600))
		return err
	})
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
}
