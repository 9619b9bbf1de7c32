package protocol_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// notebook is a Recorder in memory.
type notebook struct {
	self    keys.ID
	parties []contract.Party
	entries []protocol.Entry
	sums    []keys.Hash
	links   map[[2]keys.ID]protocol.Passed // from, to
	lie     bool                           // about the next frame sent
	failing error
}

// Record implements protocol.Recorder.
func (n *notebook) Record(e protocol.Entry, payload []byte) error {
	sum := keys.HashOf("payload", payload)
	n.entries, n.sums = append(n.entries, e), append(n.sums, sum)
	link := [2]keys.ID{n.self, n.parties[e.Peer].ID}
	switch e.Event {
	case protocol.EventReceived:
		link[0], link[1] = link[1], link[0]
	case protocol.EventSent:
		if n.lie {
			sum, n.lie = keys.Hash{}, false
		}
	default:
		return n.failing
	}
	before := n.links[link]
	n.links[link] = protocol.Passed{Frames: before.Frames + 1,
		Chain: keys.HashOf("link", before.Chain[:], []byte(e.Kind), binary.BigEndian.AppendUint64(nil, e.Sequence), sum[:])}
	return n.failing
}

// Link implements protocol.Recorder.
func (n *notebook) Link(peer int) (keys.Hash, error) {
	a, b := n.self, n.parties[peer].ID
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	there, back := n.links[[2]keys.ID{a, b}], n.links[[2]keys.ID{b, a}]
	return keys.HashOf("both", there.Chain[:], back.Chain[:]), n.failing
}

// States implements protocol.Recorder.
func (n *notebook) States() ([]protocol.LinkState, error) {
	var states []protocol.LinkState
	for _, p := range n.parties {
		states = append(states, protocol.LinkState{Session: 1, Sent: n.links[[2]keys.ID{n.self, p.ID}],
			Received: n.links[[2]keys.ID{p.ID, n.self}]})
	}
	return states, n.failing
}

// Past implements protocol.Recorder: a notebook has one session.
func (n *notebook) Past() (protocol.Past, error) {
	return protocol.Past{Links: make([]protocol.LinkState, len(n.parties))}, n.failing
}

// Former implements protocol.Recorder.
func (n *notebook) Former(int, uint32, uint64, uint64) (protocol.Former, error) {
	return protocol.Former{}, n.failing
}

// Sync implements protocol.Recorder.
func (n *notebook) Sync() error { return n.failing }

// count counts the entries of an event and kind.
func (n *notebook) count(event protocol.Event, kind string) int {
	c := 0
	for _, e := range n.entries {
		if e.Event == event && e.Kind == kind {
			c++
		}
	}
	return c
}

// recorded is a test network of q parties that keep notebooks, with a session open.
func recorded(t *testing.T, q int) (*testNetwork, []*notebook) {
	t.Helper()
	names := []string{"bank", "insurer", "shop", "telco"}[:q]
	l := newTestNetwork(t, names...)
	var notebooks []*notebook
	for i := range l.IDs {
		n := &notebook{self: l.IDs[i], parties: l.Parties, links: make(map[[2]keys.ID]protocol.Passed)}
		notebooks, l.recorders = append(notebooks, n), append(l.recorders, n)
	}
	l.mustOpen(t, 1, 64)
	return l, notebooks
}

// TestLinksAreCountersigned: when a session begins, every 1,024 operations and at the end, both ends of every link.
func TestLinksAreCountersigned(t *testing.T) {
	const sums = 2*contract.CountersignEvery + 2
	l, notebooks := recorded(t, 3)
	l.must(t, func(i int) error {
		for range sums { // the first operation of the session is the exchange of keys
			if err := l.sessions[i].Reduce(t.Context(),
				newReduction(contract.PlanFor(contract.Tree, 3, 1), 20, 1).Reduction); err != nil {
				return err
			}
		}
		return l.sessions[i].Finish(t.Context())
	})
	for i, b := range notebooks {
		if n := b.count(protocol.EventCountersigned, "countersign"); n != 4*2 {
			t.Errorf("party %d has %d countersignatures, want 8", i, n)
		}
		if got, want := b.count(protocol.EventOpened, "angles"), 0; i != 1 && got != want {
			t.Errorf("party %d recorded %d openings, want none", i, got)
		}
	}
	if n := notebooks[1].count(protocol.EventOpened, "angles"); n != sums*3 { // 160 bytes in chunks of 64
		t.Errorf("the root recorded %d opened chunks, want %d", n, sums*3)
	}
	for _, e := range notebooks[1].entries {
		if e.Event == protocol.EventOpened && (e.Class != contract.ClassOpening || e.Peer != 1 || e.Size != 160) {
			t.Fatalf("an opening is recorded as %+v", e)
		}
	}
}

// TestWhoRecordsOtherwiseIsNamed: a party whose record of a link is not the other end's cannot
// countersign it.
func TestWhoRecordsOtherwiseIsNamed(t *testing.T) {
	l, notebooks := recorded(t, 3)
	errs := l.each(func(i int) error {
		notebooks[i].lie = i == 2
		if err := l.sessions[i].Reduce(t.Context(),
			newReduction(contract.PlanFor(contract.Star, 3, 0), 4, 1).Reduction); err != nil {
			return err
		}
		return l.sessions[i].Finish(t.Context())
	})
	want := "operation 3 (states): shop or bank: the two have not recorded the same of the link between them: " +
		"what one sent is not what the other received"
	if !errors.Is(errs[0], contract.ErrDeviation) || errs[0].Error() != want {
		t.Errorf("the root's error is %v\nwant %s", errs[0], want)
	}
}

// TestNothingUnrecordedIsSent: a frame whose record fails stays at home.
func TestNothingUnrecordedIsSent(t *testing.T) {
	l, notebooks := recorded(t, 3)
	before, _ := l.Sent(l.IDs[1], l.IDs[0])
	notebooks[1].failing = errors.New("the disk is full")
	err := l.sessions[1].Reduce(t.Context(), newReduction(contract.PlanFor(contract.Star, 3, 0), 4, 1).Reduction)
	if !errors.Is(err, notebooks[1].failing) {
		t.Errorf("error is %v", err)
	}
	if after, _ := l.Sent(l.IDs[1], l.IDs[0]); after != before {
		t.Errorf("%d frames were sent", after-before)
	}
}

// budgeted is a test network of three parties held to a contract of two sums of angles to the bank, along a
// star, and then one of scores.
func budgeted(t *testing.T) *testNetwork {
	t.Helper()
	l := newTestNetwork(t, "bank", "insurer", "shop")
	l.holdTo(t, contract.Star,
		contract.Operation{
			Kind: "angles", Stage: 1, Collective: "sum", Root: "bank", Class: "masked", Encoding: "fixed64", Count: 2,
			Bytes: 64,
		},
		contract.Operation{
			Kind: "scores", Stage: 2, Collective: "sum", Root: "bank", Class: "masked", Encoding: "fixed64", Count: 1,
			Bytes: 64,
		})
	l.mustOpen(t, 1, 0)
	return l
}

// TestABudgetIsKept: what the contract does not list is not sent, and the error says what.
func TestABudgetIsKept(t *testing.T) {
	star := contract.PlanFor(contract.Star, 3, 0)
	sum := func(kind string, plan contract.Plan, words int) protocol.Reduction {
		r := newReduction(plan, words, 1).Reduction
		r.Kind, r.Encoding = kind, contract.Fixed64
		return r
	}
	other := sum("angles", star, 4)
	other.Class = contract.ClassPublished
	turns := sum("angles", star, 4)
	turns.Encoding = contract.Turns16
	for _, c := range []struct {
		what string
		sums []protocol.Reduction
		want string
	}{
		{"within", []protocol.Reduction{sum("angles", star, 4), sum("angles", star, 4)}, ""},
		{"a kind too many", []protocol.Reduction{sum("ages", star, 4)}, "ages to bank not sent: the contract lists no such message of this party"},
		{"a way round", []protocol.Reduction{sum("angles", contract.NewPlan(contract.Ring, []int{0, 2, 1}), 4)}, "angles to shop not sent: the contract has this party send angles to others, not there"},
		{"in the clear", []protocol.Reduction{other}, "angles to bank not sent: it is published fixed64, the contract says masked fixed64"},
		{"other words", []protocol.Reduction{turns}, "angles to bank not sent: it is masked turns16, the contract says masked fixed64"},
		{"too often", []protocol.Reduction{sum("angles", star, 1), sum("angles", star, 1), sum("angles", star, 1)},
			"angles to bank not sent: it would be frame 3 of 2 agreed"},
		{"too much", []protocol.Reduction{sum("angles", star, 4), sum("angles", star, 5)}, "angles to bank not sent: it would make 72 bytes of 64 agreed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := budgeted(t)
			errs := l.each(func(i int) error {
				for _, r := range c.sums {
					if i != 1 {
						r.Kind = "angles" // the others ask for what was agreed
					}
					if err := l.sessions[i].Reduce(t.Context(), r); err != nil {
						return err
					}
				}
				return nil
			})
			var refused *contract.BudgetError
			switch {
			case c.want == "" && errs[1] != nil:
				t.Errorf("error is %v", errs[1])
			case c.want != "" && (!errors.As(errs[1], &refused) || !errors.Is(errs[1], contract.ErrDeviation) ||
				errs[1].Error() != c.want):
				t.Errorf("error is %v\nwant     %s", errs[1], c.want)
			}
		})
	}
}

// TestStagesAreKept: what belongs before another operation cannot be sent after it, and a budget
// tells what was spent.
func TestStagesAreKept(t *testing.T) {
	l := budgeted(t)
	errs := l.each(func(i int) error {
		for _, kind := range []string{"scores", "angles"} {
			r := newReduction(contract.PlanFor(contract.Star, 3, 0), 4, 1).Reduction
			r.Kind, r.Encoding = kind, contract.Fixed64
			if err := l.sessions[i].Reduce(t.Context(), r); err != nil {
				return err
			}
		}
		return nil
	})
	if want := "angles to bank not sent: its stage of the job is over"; errs[1] == nil || errs[1].Error() != want {
		t.Errorf("error is %v\nwant     %s", errs[1], want)
	}
	spent := make(map[string]contract.Egress)
	for _, e := range l.budgets[1].Lines() {
		if e.To == 0 {
			spent[e.Kind] = e
		}
	}
	if e := spent["scores"]; e.Frames != 1 || e.Bytes != 32 || e.MaxFrames != 1 || e.MaxBytes != 64 {
		t.Errorf("the budget for scores is %+v", e)
	}
	if e := spent["angles"]; e.Frames != 0 || e.Bytes != 0 {
		t.Errorf("what was refused is booked: %+v", e)
	}
}

// TestWhoAsksForAnOpeningHasSigned: all others keep the signature of the receiver, and only its.
func TestWhoAsksForAnOpeningHasSigned(t *testing.T) {
	l, notebooks := recorded(t, 3)
	before := notebooks[0].count(protocol.EventCountersigned, "countersign")
	l.must(t, func(i int) error { return l.sessions[i].Ask(t.Context(), 2, "scores", 40, 7) })
	for i, b := range notebooks {
		want := before
		if i != 2 {
			want++
		}
		if n := b.count(protocol.EventCountersigned, "countersign"); n != want {
			t.Errorf("party %d has %d signatures, want %d", i, n, want)
		}
	}
	if got, want := string(protocol.EncodeAsk("scores", 40, 7)[16:22]), "scores"; got != want {
		t.Errorf("a request is for %q, want %q", got, want)
	}
}

// TestWhoAsksForAnotherOpeningIsNamed: a receiver that asks for more than is due gets nothing.
func TestWhoAsksForAnotherOpeningIsNamed(t *testing.T) {
	for what, ask := range map[string]struct {
		kind          string
		count, number int
	}{"more": {"scores", 41, 7}, "another": {"scores", 40, 8}, "of another kind": {"bound", 40, 7}} {
		l, _ := recorded(t, 3)
		errs := l.each(func(i int) error {
			if i == 2 {
				return l.sessions[i].Ask(t.Context(), 2, ask.kind, ask.count, ask.number)
			}
			return l.sessions[i].Ask(t.Context(), 2, "scores", 40, 7)
		})
		for i, err := range errs[:2] {
			want := "operation 1 (ask): shop: it asks for another opening than is due"
			if !errors.Is(err, contract.ErrDeviation) || err.Error() != want {
				t.Errorf("%s: party %d: %v, want %s", what, i, err, want)
			}
		}
	}
}
