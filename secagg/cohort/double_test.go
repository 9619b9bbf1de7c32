package cohort

import (
	"context"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// doubler is the client that says things twice, of doublers clients.
const doubler, doublers = 3, 8

// flipAll changes all of a payload but its first byte, which says whose vectors a bundle has.
func flipAll(payload []byte) {
	for i := 1; i < len(payload); i++ {
		payload[i] ^= 1
	}
}

// TestClientsThatSayThingsTwiceAreNamed: the second message reaches the server while it still waits
// for another client's first. The total is exact, with the doubler's vector if it was in before.
func TestClientsThatSayThingsTwiceAreNamed(t *testing.T) {
	without := []int{1, 2, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		kind      string
		survivors []int
	}{
		{KindKey, without},
		{KindDeposit, without},
		{"updates", upTo(doublers)},
		{KindTags, upTo(doublers)},
		{KindShares, upTo(doublers)},
	} {
		t.Run(c.kind, func(t *testing.T) {
			l := &testNetwork{
				spec: Spec{Backend: Masked, Topology: contract.Star},
				wrap: only(doubler, doubling(c.kind, flipAll)),
			}
			l.open(t, doublers)
			l.arrive = l.afterDouble(c.kind)
			v := Vector{Kind: "updates", Words: 20, Bits: 64}
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				total, err := s.Sum(ctx, v, upTo(doublers))
				if err != nil {
					return err
				}
				wantTotal(t, total, v, 0, c.survivors)
				wantDeviation(t, s.Lost(doubler), "("+c.kind+"): p3: it came again")
				if total, err = s.Sum(ctx, v, upTo(doublers)); err != nil {
					return err
				}
				wantTotal(t, total, v, 1, without)
				return nil
			}, sumAgain(v))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		})
	}
}

// afterDouble keeps back what client 8 sends of a kind until the doubler has sent it twice.
func (l *testNetwork) afterDouble(kind string) func(Arrivals) Arrivals {
	return func(a Arrivals) Arrivals {
		seen := 0
		return &heldBack{
			Arrivals: a,
			hold: func(from keys.ID, frame []byte) bool {
				return from == l.IDs[8] && kindOfFrame(frame) == kind
			},
			until: func(from keys.ID, frame []byte) bool {
				if from == l.IDs[doubler] && kindOfFrame(frame) == kind {
					seen++
				}
				return seen == 2
			},
		}
	}
}

// TestRepeatedFramesAreNamed: a message that comes again as the same frame is refused by its number.
func TestRepeatedFramesAreNamed(t *testing.T) {
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.wrap = only(doubler, func(m protocol.Mesh) protocol.Mesh { return repeatingClient{m, KindDeposit} })
	l.open(t, doublers)
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		total, err := s.Sum(ctx, v, upTo(doublers))
		if err != nil {
			return err
		}
		wantTotal(t, total, v, 0, []int{1, 2, 4, 5, 6, 7, 8})
		wantDeviation(t, s.Lost(doubler), "p3: frame 1 refused: frame 1 came again, want frame 2")
		return nil
	}, sumAgain(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
}

// repeatingClient sends the frames of one kind twice as they are.
type repeatingClient struct {
	protocol.Mesh
	kind string
}

func (r repeatingClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if err := r.Mesh.Send(ctx, to, parts...); err != nil || kindOf(parts) != r.kind {
		return err
	}
	return r.Mesh.Send(ctx, to, parts...)
}

// TestMessagesOutOfTurnAreNamed walks through what a server's round makes of each message.
func TestMessagesOutOfTurnAreNamed(t *testing.T) {
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.open(t, 4)
	s := &Server{links: l.links[0], spec: l.spec, sum: 5, keys: map[int][]byte{1: {1}}, keysSent: make(map[int]set),
		present: newSet(5), lost: make(map[int]error)}
	for _, c := range []struct {
		m    protocol.Message
		says string // nothing: it is taken or discarded
		take bool
	}{
		{protocol.Message{From: 1, Kind: KindTags, Operation: 5}, "", true},
		{protocol.Message{From: 1, Kind: KindShares, Operation: 5}, "it came where sum-tags is awaited in sum 5", false},
		{protocol.Message{From: 1, Kind: KindTags, Operation: 6}, "it came where sum-tags is awaited in sum 5", false},
		{protocol.Message{From: 1, Kind: KindShares, Operation: 4}, "", false},
		{protocol.Message{From: 2, Kind: KindTags, Operation: 5}, "it came again, or unasked", false},
		{protocol.Message{From: 3, Kind: "updates", Operation: 5}, "", false},
		{protocol.Message{From: 1, Kind: KindKey}, "it came again", false},
		{protocol.Message{From: 2, Kind: KindKey, Payload: make([]byte, 95), Class: contract.ClassControl},
			"a session key of 95 bytes, want 96", false},
		{protocol.Message{From: 2, Kind: KindKey, Payload: make([]byte, contract.SessionKeySize),
			Class: contract.ClassMasked}, "a session key", false},
		{protocol.Message{From: 2, Kind: KindKey, Payload: make([]byte, contract.SessionKeySize),
			Class: contract.ClassControl}, "", false},
	} {
		g := &gathering{Server: s, waiting: newSet(5, 1), late: newSet(5, 3), kind: KindTags}
		taken := false
		err := g.sort(c.m, func(protocol.Message) (bool, error) { taken = true; return true, nil })
		if taken != c.take || (err == nil) != (c.says == "") {
			t.Errorf("%+v: taken %v, error %v, want taken %v, error %q", c.m, taken, err, c.take, c.says)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want %q", c.m, err, c.says)
		}
	}
}
