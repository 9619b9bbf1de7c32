package audit

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg"
)

// longShare is the bytes of the longest direct message of newDirects: two chunks and four words.
const longShare = 2*1048560 + 24

// newDirects is a test network of four parties that have run two sessions with direct messages between p0, p1
// and p2, a sum whose total stays under a pad at p0, and one that opens there. p3 takes part in the sums
// alone. Payloads are kept if they are to be.
func newDirects(t testing.TB, kept bool) *testNetwork {
	t.Helper()
	return newDirectsOf(t, kept, (*testNetwork).directParty)
}

// newDirectsOf is newDirects whose sessions have another course.
func newDirectsOf(
	t testing.TB, kept bool, part func(l *testNetwork, ctx context.Context, i int, s *protocol.Session) error,
) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, 4)
	if kept {
		l.keep()
	}
	direct := func(kind string, stage int64, root, to, class, encoding string, count, bytes int64) contract.Operation {
		return contract.Operation{Kind: kind, Stage: stage, Collective: "direct", Root: root, To: to, Class: class,
			Encoding: encoding, Count: count, Bytes: bytes}
	}
	sum := func(kind string) contract.Operation {
		return contract.Operation{Kind: kind, Stage: 1, Collective: "sum", Root: "p0", Class: "masked", Encoding: "turns16",
			Count: 2, Bytes: 4 << 20}
	}
	openings := []contract.Opening{{To: "p0", Kind: "total", Count: 2 << 20, Meaning: "the totals"},
		{To: "p0", Kind: "score", Count: 6, Meaning: "the scores"}}
	l.agree(contract.Job{Privacy: "masked"}, 1, openings, []contract.Operation{
		sum("angles"), sum("total"),
		direct("share", 1, "p0", "p1", "masked", "ring48", 2, longShare+600),
		direct("share", 1, "p0", "p1", "masked", "ring48", 1, 24),
		direct("share", 1, "p1", "p0", "masked", "ring48", 1, 600),
		direct("share", 1, "p1", "p2", "masked", "ring48", 3, 1800),
		direct("ready", 1, "p2", "p0", "control", "bytes", 1, 4),
		direct("score", 2, "p2", "p0", "opening", "fixed64", 2, 48),
	})
	for range 2 {
		must(t, l.run(func(ctx context.Context, i int, s *protocol.Session) error { return part(l, ctx, i, s) }))
	}
	return l
}

// directParty is one party's part of a session of newDirects.
func (l *testNetwork) directParty(ctx context.Context, i int, s *protocol.Session) error {
	masked, err := secagg.NewMasked(s, l.config(i).IDs, l.topology)
	if err != nil {
		return err
	}
	padded := func(ctx context.Context, kind string, root int, v []uint16) error {
		end, err := masked.BeginPadded(ctx, kind, root, v)
		if err != nil {
			return err
		}
		return end(ctx)
	}
	for kind, sum := range []func(context.Context, string, int, []uint16) error{padded, masked.SumTurns} {
		for _, words := range []int{300, 5 << 17} {
			if err := sum(ctx, []string{"angles", "total"}[kind], 0, make([]uint16, words)); err != nil {
				return err
			}
		}
	}
	for _, d := range []protocol.Direct{
		share(0, 1, longShare), share(1, 0, 600), share(0, 1, 600), share(0, 1, 0), share(1, 2, 600), share(1, 2, 600),
		message("ready", contract.ClassControl, contract.Bytes, 2, 0, 4),
		message("score", contract.ClassOpening, contract.Fixed64, 2, 0, 32),
		message("score", contract.ClassOpening, contract.Fixed64, 2, 0, 16),
	} {
		if err := s.Pass(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// share is a direct message of words under a pad.
func share(from, to, size int) protocol.Direct {
	return message("share", contract.ClassMasked, contract.Ring48, from, to, size)
}

// message is a direct message of random bytes.
func message(kind string, class contract.Class, encoding contract.Encoding, from, to, size int) protocol.Direct {
	return protocol.Direct{
		Kind: kind, Class: class, Encoding: encoding, From: from, To: to, Size: size,
		Load:  func(_ int, chunk []byte) error { _, err := rand.Read(chunk); return err },
		Store: func(int, []byte) error { return nil },
	}
}

func TestHonestDirectMessagesPassAllChecks(t *testing.T) {
	l := directsOf(t)
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	learned := make(map[string]rules.Learning)
	for _, k := range all[0].Learned {
		learned[k.Kind] = k
	}
	if got := learned["score"]; got.Words != 12 || got.MostWords != 6 || got.Told != 0 || got.Contributors != 0 {
		t.Errorf("p0 learned of the scores %+v", got)
	}
	if got := learned["total"]; got.Words != 2*(300+5<<17) || got.Contributors != 4 || len(learned) != 2 {
		t.Errorf("p0 learned %+v", learned)
	}
	for i, want := range []int{6, 0, 0, 0} {
		if n := l.opened(i); n != want {
			t.Errorf("%s recorded %d openings, want %d", l.names[i], n, want)
		}
	}
	for _, e := range all[3].Egress {
		if e.Kind == "share" || e.Kind == "score" {
			t.Errorf("p3 may send %+v", e)
		}
	}
}

// opened counts the openings that party i recorded.
func (l *testNetwork) opened(i int) int {
	n := 0
	for _, r := range l.records(i) {
		if r.Type == opened && r.Class == contract.ClassOpening {
			n++
		}
	}
	return n
}

func TestDirectMessagesWithPayloadsPassTheAttacks(t *testing.T) {
	l := newDirects(t, true)
	r := l.auditedAll()
	for _, name := range []string{"p0", "p1", "p2"} {
		wantAttack(t, r, "mask reuse", name, "masked words", finding.Clean, "")
		wantAttack(t, r, "uniformity", name, "masked words", finding.Clean, "")
	}
	for _, c := range r.Checks {
		if c.Verdict == finding.Failed || c.Verdict == finding.Leak {
			t.Errorf("%s: %s %s: %s", c.Party, c.Name, c.Verdict, c.Detail)
		}
	}
	for _, learned := range r.Ledger {
		if learned.Kind == "score" && learned.Count != 12 {
			t.Errorf("the ledger has %+v", learned)
		}
	}
}

// renumbered gives a record another operation number, behind all that the parties counted.
func renumbered(r transcript.Record, operation uint64) transcript.Record {
	r.Operation = operation
	r.Proof[0] ^= 1
	return r
}

// one repeats the first record that is selected, changed, before the last words of its session.
func one(m match, change func(r *transcript.Record)) edit {
	return func(all []transcript.Record) []transcript.Record {
		for _, r := range all {
			if m(&r) {
				more := renumbered(r, 15)
				change(&more)
				return insert(operationOf(contract.KindDone),
					func([]transcript.Record, int) []transcript.Record { return []transcript.Record{more} })(later(all))
			}
		}
		return all
	}
}

// later leaves room for an operation before the last words of the first session.
func later(all []transcript.Record) []transcript.Record {
	for i := range all {
		if r := &all[i]; r.Session == 1 && r.Operation > 14 {
			r.Operation++
		}
	}
	return all
}

func TestDeviationsOfDirectMessagesAreFoundByTheirCheck(t *testing.T) {
	l := directsOf(t)
	for _, d := range []deviation{
		{"to a party not listed", 0, alter(of(sent, "share", 1), 3, func(r *transcript.Record) { r.Peer = 2 }),
			finding.CheckOperations, "sent to p2 where chunk 0 sent to p1 was next"},
		{"to a party not listed, in the budget", 0, alter(of(sent, "share", 1), 3, func(r *transcript.Record) { r.Peer = 2 }),
			finding.CheckEgress, "share was sent to p2, which the contract does not list"},
		{"from a party not listed", 0, alter(of(received, "share", 1), 0, func(r *transcript.Record) { r.Peer = 3 }),
			finding.CheckOperations, "chunk 0 received from p3 where chunk 0 sent to p1 was next"},
		{"to a party that is neither end", 3,
			insert(operationOf(contract.KindDone), func(all []transcript.Record, at int) []transcript.Record {
				r := all[at]
				r.Type, r.Kind, r.Class, r.Encoding, r.Peer, r.Bytes, r.Size, r.Operation = received, "share", contract.ClassMasked,
					contract.Ring48, 0, 6, 6, 7
				return []transcript.Record{r}
			}), finding.CheckOperations, "chunk 0 received from p0, but the contract has this party take no part"},
		{"once too often", 0, one(of(received, "score", 2), func(r *transcript.Record) { r.Size, r.Bytes = 8, 8 }), finding.CheckOperations, "score received from p2 comes for time 3 in session 1, 2 are agreed"},
		{"too many bytes", 1, alter(of(sent, "share", 0), 0, func(r *transcript.Record) { r.Size, r.Bytes = 606, 606 }), finding.CheckOperations, "the vectors of share sent to p0 have more bytes in session 1 than the 600 agreed"},
		{"too many bytes, in the budget", 1, alter(of(sent, "share", 0), 0, func(r *transcript.Record) { r.Size, r.Bytes = 606, 606 }), finding.CheckEgress, "share to p0 is over its budget in session 1: 1 frame of 606 bytes were sent, agreed are 1 frame of 600 bytes"},
		{"too many bytes received", 0, alter(of(received, "share", 1), 0, func(r *transcript.Record) { r.Size, r.Bytes = 606, 606 }), finding.CheckOperations, "the vectors of share received from p1 have more bytes in session 1 than the 600 agreed"},
		{"word cut in two", 1, alter(of(sent, "share", 0), 0, func(r *transcript.Record) { r.Size, r.Bytes = 599, 599 }),
			finding.CheckOperations, "chunk 0 has 599 bytes, want 599 in words of 6"},
		{"chunk skipped", 0, drop(of(sent, "share", 1).chunk(1)), finding.CheckOperations,
			"chunk 2 sent to p1 where chunk 1 sent to p1 was next"},
		{"last chunk missing", 1, drop(of(received, "share", 0).chunk(2)), finding.CheckOperations,
			"is not whole: chunk 2 received from p0 was next"},
		{"chunks of a sum's size", 0, alter(of(sent, "share", 1), 0, func(r *transcript.Record) { r.Bytes = 1 << 20 }),
			finding.CheckOperations, "chunk 0 has 1048576 bytes, want 1048560 in words of 6"},
		{"another class", 0, alter(of(sent, "share", 1), 3, func(r *transcript.Record) { r.Class = contract.ClassOpening }),
			finding.CheckOperations, "it is opening ring48, the contract says masked ring48"},
		{"another encoding", 2, alter(of(sent, "score", 0), 0, func(r *transcript.Record) { r.Encoding = contract.Ring48 }),
			finding.CheckOperations, "it is opening ring48, the contract says opening fixed64"},
		{"empty frame", 0, alter(of(sent, "share", 1), 3, func(r *transcript.Record) { r.Size, r.Bytes = 0, 0 }),
			finding.CheckOperations, "chunk 0 has 0 bytes, want 0 in words of 6"},
		{"opened", 0, insert(of(sent, "share", 1), func(all []transcript.Record, at int) []transcript.Record {
			r := all[at]
			r.Type, r.Peer, r.Class, r.Proof = opened, 0, contract.ClassOpening, [64]byte{}
			return []transcript.Record{r}
		}), finding.CheckOperations, "chunk 0 opened where chunk 0 sent to p1 was next"},
		{"twice in one operation", 1, twice(of(sent, "share", 0)), finding.CheckOperations,
			"chunk 0 sent to p0 where nothing more was next"},
		{"stage back in time", 2, func(all []transcript.Record) []transcript.Record {
			return alter(of(sent, "ready", 0), 0, func(r *transcript.Record) { r.Operation = 15 })(reorder(all))
		}, finding.CheckOperations, "is of an earlier stage"},
		{"pad used twice", 1, repeat(of(sent, "share", 2)), finding.CheckMasks, "mask reused: record"},
		{"pad used twice by the sender", 0, repeat(of(received, "share", 1)), finding.CheckMasks, "mask reused: record"},
		{"total that should open does not", 0, drop(of(opened, "total", 0)), finding.CheckOperations,
			"is not whole: chunk 0 opened was next"},
		{"one chunk of a total does not open", 0, drop(of(opened, "total", 0).chunk(1)), finding.CheckOperations,
			"is not whole: chunk 1 opened was next"},
		{"padded sum lacks a party", 0, drop(of(received, "angles", 2)), finding.CheckOperations,
			"chunk 0 opened where chunk 0 received from p2 was next"},
		{"padded total is there in part", 0, drop(of(opened, "angles", 0).chunk(1)), finding.CheckOperations,
			"is not whole: chunk 1 opened was next"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := l.examined(source("forged", l.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}

// reorder puts the control message of the first session behind the opening.
func reorder(all []transcript.Record) []transcript.Record {
	var ready []transcript.Record
	for _, r := range all {
		if r.Kind == "ready" && r.Session == 1 {
			ready = append(ready, r)
		}
	}
	all = drop(func(r *transcript.Record) bool { return r.Kind == "ready" && r.Session == 1 })(all)
	return insert(operationOf(contract.KindDone),
		func([]transcript.Record, int) []transcript.Record { return ready })(later(all))
}

// What two parties pass each other is compared frame by frame when one changes its record of it.
func TestDirectMessagesAreCompared(t *testing.T) {
	l := directsOf(t)
	for _, d := range []struct {
		name   string
		change edit
		want   string
	}{
		{"other bytes", alter(of(sent, "share", 1), 3, flip), "p1 recorded other bytes"},
		{"not recorded", drop(of(sent, "share", 1).chunk(0)), "p1 recorded"},
		{"another size", alter(of(sent, "share", 1), 3, func(r *transcript.Record) { r.Size, r.Bytes = 594, 594 }),
			"it was sent as chunk 0 with 594 bytes of 594"},
	} {
		t.Run(d.name, func(t *testing.T) {
			_, cross := l.examined(source("forged", l.deviate(0, d.change)), l.source(1), l.source(2), l.source(3))
			wantCheck(t, cross, finding.CheckCross, finding.Failed, d.want)
			for _, c := range cross { // the others show only that p0 has stated something else of its links
				if c.Party != "p0, p1" && c.Verdict != finding.Passed && !strings.Contains(c.Detail, "states): ") {
					t.Errorf("%s: %s", c.Party, c.Detail)
				}
			}
		})
	}
}

// Operations pass at a party that they do not concern, also over rounds of countersignatures.
func TestManyDirectMessagesPassAllChecks(t *testing.T) {
	l := newTestNetwork(t, 3)
	const messages = 2*contract.CountersignEvery + 5
	operation := func(root, to string) contract.Operation {
		return contract.Operation{Kind: "share", Stage: 1, Collective: "direct", Root: root, To: to, Class: "masked",
			Encoding: "ring48", Count: messages, Bytes: 24 * messages}
	}
	l.agree(contract.Job{Privacy: "masked"}, 1, nil,
		[]contract.Operation{operation("p0", "p1"), operation("p1", "p0"), operation("p1", "p2")})
	must(t, l.run(func(ctx context.Context, _ int, s *protocol.Session) error {
		for n := range messages {
			d := share(n%2, 1-n%2, 24)
			if n == messages-1 {
				d = share(1, 2, 24)
			}
			if err := s.Pass(ctx, d); err != nil {
				return fmt.Errorf("message %d: %w", n, err)
			}
		}
		return nil
	}))
	all, cross := l.examined(l.sources()...)
	wantPassed(t, checksOf(all, cross))
	all, _ = l.examined(source("forged", l.deviate(2, drop(roundAfter(2*contract.CountersignEvery)))))
	wantCheck(t, all[0].Checks, finding.CheckCountersignatures, finding.Failed, "without the countersignatures that are due after operation 2048")
}

// Every masked sum of a training opens at its root, and the contract says so: none may stay sealed.
func TestTotalsOfTrainingsMustOpen(t *testing.T) {
	for name, p := range trainings() {
		c := newTraining(t, 4, 2, fdskl.Masked, contract.Tree, p).contract
		sums := 0
		for i := range c.Operations {
			o := &c.Operations[i]
			if o.Collective != contract.CollectiveSum {
				continue
			}
			if sums++; rules.MayStayHidden(o, rules.OpenTo(c, c.Job.Index(o.Root))) {
				t.Errorf("%s: the total of %s to %s need not open", name, o.Kind, o.Root)
			}
		}
		if sums == 0 {
			t.Errorf("%s: there are no sums", name)
		}
	}
}
