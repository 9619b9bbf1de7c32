package cohort

import (
	"context"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// victim is the client that a server lies to in these tests, of refusers clients.
const victim, refusers = 1, 10

// refuse lets a server lie to the victim, the others being served honestly as far as the lie goes,
// and returns what the victim says to it.
func refuse(t *testing.T, before int, server func(ctx context.Context, l *lyingServer) error) error {
	t.Helper()
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.open(t, refusers)
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		for range before {
			if _, err := s.Sum(ctx, v, upTo(refusers)); err != nil {
				return err
			}
		}
		liar, err := lie(s, v, upTo(refusers-1))
		if err == nil {
			err = server(ctx, liar)
		}
		if err == nil {
			err = liar.listen(ctx, victim)
		}
		if err == nil && liar.opens.has(victim) {
			err = fmt.Errorf("the victim has handed out a share")
		}
		return err
	}, l.untilRefused(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	return errs[victim]
}

// falseBegin is an honest begin for the victim, changed.
func falseBegin(change func(l *lyingServer, b *begin)) func(ctx context.Context, l *lyingServer) error {
	return func(ctx context.Context, l *lyingServer) error {
		b := &begin{vector: l.vector, patience: l.spec.Patience, candidates: l.candidates.clone()}
		for _, v := range l.near(victim) {
			if !l.keysSent[victim].has(v) {
				b.keys = append(b.keys, clientKey{v, append([]byte(nil), l.keys[v]...)})
			}
		}
		change(l, b)
		return l.whisper(ctx, victim, KindBegin, b.encode())
	}
}

// otherKey is the key that a client would sign in another session.
func otherKey(l *lyingServer, digest keys.Hash, number uint32, signer *keys.PrivateKey) []byte {
	var parties []contract.Party
	for i := range l.links.Parties() {
		parties = append(parties, l.links.Party(i))
	}
	other, err := protocol.NewLinks(nil,
		protocol.SessionConfig{Contract: digest, Number: number, Parties: parties, Key: signer,
			Unbounded: true, Unrecorded: true}, nil)
	if err != nil {
		panic(err)
	}
	return other.KeyMessage()
}

func TestBeginsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *lyingServer, b *begin)
		says   string
	}{
		"too few": {func(l *lyingServer, b *begin) { b.candidates = newSet(refusers+1, victim, 2) }, "it names 2 candidates, want at least 3: a total of fewer is not to be opened"},
		"without it": {func(l *lyingServer, b *begin) { b.candidates.remove(victim) },
			"the candidates it names are without this client"},
		"with the server": {func(l *lyingServer, b *begin) { b.candidates.add(0) },
			"the candidates it names have the server among them"},
		"other length": {func(l *lyingServer, b *begin) { b.vector.Words++ }, "the server sums 6 words of 64 bits (updates), this client has 5 of 64 (updates)"},
		"other bits":   {func(l *lyingServer, b *begin) { b.vector.Bits = 32 }, "the server sums 5 words of 32 bits (updates), this client has 5 of 64 (updates)"},
		"other kind": {func(l *lyingServer, b *begin) { b.vector.Kind = "losses" },
			"the server sums 5 words of 64 bits (losses)"},
		"no length": {func(l *lyingServer, b *begin) { b.vector.Words = 0 }, "want a kind of 1 to 24 bytes"},
		"key of another": {func(l *lyingServer, b *begin) { b.keys[0].message = b.keys[1].message },
			"key of p2: the signature on its session key is wrong"},
		"key with a flaw": {func(l *lyingServer, b *begin) { b.keys[3].message[95] ^= 1 },
			"key of p5: the signature on its session key is wrong"},
		"no key": {func(l *lyingServer, b *begin) { b.keys = b.keys[1:] }, "the server has not sent the key of p2"},
		"its own key": {func(l *lyingServer, b *begin) { b.keys[0] = clientKey{victim, l.keys[victim]} },
			"it brings a key of p1, want other clients'"},
		"the server's key": {func(l *lyingServer, b *begin) { b.keys[0] = clientKey{0, l.links.KeyMessage()} },
			"it brings a key of p0, want other clients'"},
		"key twice": {func(l *lyingServer, b *begin) { b.keys[1] = b.keys[0] }, "a key of party 2 after one of party 2, want them ascending and below 11"},
		"keys unordered": {func(l *lyingServer, b *begin) { b.keys[1], b.keys[0] = b.keys[0], b.keys[1] },
			"a key of party 2 after one of party 3"},
		"key of nobody": {func(l *lyingServer, b *begin) { b.keys = append(b.keys, clientKey{11, l.keys[2]}) },
			"a key of party 11 after one of party 9"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refuse(t, 0, falseBegin(c.change))
			wantError(t, err, c.says)
			if name != "no key" {
				wantDeviation(t, err, "p0")
			}
		})
	}
}

// TestKeysOfOtherSessionsAreRefused: the neighbour has signed each of these keys, for something else.
func TestKeysOfOtherSessionsAreRefused(t *testing.T) {
	for name, session := range map[string]struct {
		contract keys.Hash
		number   uint32
	}{
		"session":  {keys.HashOf("test contract"), 2},
		"contract": {keys.HashOf("another contract"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
			l.open(t, 4)
			v := Vector{Kind: "updates", Words: 5, Bits: 64}
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				liar, err := lie(s, v, upTo(4))
				if err != nil {
					return err
				}
				s.keys[3] = otherKey(liar, session.contract, session.number, l.Keys[3])
				if err := liar.sendBegin(ctx); err != nil {
					return err
				}
				return liar.listen(ctx, 1, 2, 4)
			}, l.untilRefused(v))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			for _, i := range []int{1, 2, 4} {
				wantDeviation(t, errs[i], "key of p3: the signature on its session key is wrong")
			}
		})
	}
}

// TestASecondKeyIsRefused: a neighbour's key stays that of its first sum, also when the second is
// one that the neighbour has signed.
func TestASecondKeyIsRefused(t *testing.T) {
	err := refuse(t, 1, falseBegin(func(l *lyingServer, b *begin) { b.keys = []clientKey{{2, l.keys[2]}} }))
	wantDeviation(t, err, "it brings a second key of p2")
}

// TestSumsHaveOneTurn replays what a server has sent before, or asks again in a sum that is over.
func TestSumsHaveOneTurn(t *testing.T) {
	list := func(l *lyingServer) set { return newSet(refusers+1, 1, 2, 3, 4, 5, 6, 7, 8, 9) }
	for name, c := range map[string]struct {
		operation uint64
		kind      string
		payload   func(l *lyingServer) []byte
		says      string
	}{
		"old begin":       {1, KindBegin, nil, "sum 1 begins after sum 2: each has one turn"},
		"same begin":      {2, KindBegin, nil, "sum 2 begins after sum 2: each has one turn"},
		"begin of no sum": {0, KindBegin, nil, "sum 0 begins after sum 2: each has one turn"},
		"survivors again": {2, KindSurvivors, func(l *lyingServer) []byte { return list(l) },
			"it came where a sum begins"},
		"members again": {2, KindMembers, func(l *lyingServer) []byte { return list(l) },
			"it came where a sum begins"},
		"tags again": {2, KindTagged, func(l *lyingServer) []byte { return list(l) },
			"it came where a sum begins"},
		"survivors out of order": {3, KindSurvivors, func(l *lyingServer) []byte { return list(l) },
			"it came where a sum begins"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refuse(t, 2, func(ctx context.Context, l *lyingServer) error {
				l.operation = c.operation
				if c.kind == KindBegin {
					return falseBegin(func(*lyingServer, *begin) {})(ctx, l)
				}
				return l.whisper(ctx, victim, c.kind, c.payload(l))
			})
			wantDeviation(t, err, "p0", c.kind, c.says)
		})
	}
}

// falseSet takes a sum up to a set's turn and shows the victim another.
func falseSet(kind string, named []byte) func(ctx context.Context, l *lyingServer) error {
	return func(ctx context.Context, l *lyingServer) error {
		if kind == KindSurvivors {
			if err := l.honestly(ctx); err != nil {
				return err
			}
		} else if err := l.sendBegin(ctx); err != nil {
			return err
		}
		return l.whisper(ctx, victim, kind, named)
	}
}

// TestSetsAreRefused: the candidates, and the members, are clients 1 to 9 of 10; seven of eight
// neighbours is the threshold's least, six.
func TestSetsAreRefused(t *testing.T) {
	const n = refusers + 1
	for what, kind := range map[string]string{"members": KindMembers, "survivors": KindSurvivors} {
		for _, c := range []struct {
			named []byte
			says  string
		}{
			{newSet(n, upTo(10)...), "its " + what + " are not all among those before"},
			{newSet(n, 2, 3, 4, 5, 6, 7, 8, 9), "the " + what + " it names are without this client"},
			{newSet(n, 0, 1, 2, 3, 4, 5, 6, 7), "its " + what + " are not all among those before"},
			{newSet(n, victim, 9), "it names 2 " + what + ", want at least 3"},
			{newSet(n, victim), "it names 1 " + what + ", want at least 3"},
			{newSet(n, upTo(9)...)[:1], "a set of 1 bytes, want 2 for 11 parties"},
			{append(newSet(n, upTo(9)...), 0), "a set of 3 bytes, want 2 for 11 parties"},
			{[]byte{0xfe, 0x0b}, "a set with members beyond the 11 parties"},
			{nil, "a set of 0 bytes"},
		} {
			t.Run(c.says, func(t *testing.T) {
				wantDeviation(t, refuse(t, 0, falseSet(kind, c.named)), "p0", kind, c.says)
			})
		}
	}
	t.Run("members below the threshold", func(t *testing.T) {
		err := refuse(t, 0, falseSet(KindMembers, newSet(n, 1, 2, 3, 4, 5)))
		wantError(t, err, "4 of this client's 8 neighbours are left, want at least 6: its vector would not be hidden, or not recovered")
	})
	t.Run("another list instead of the tags", func(t *testing.T) {
		err := refuse(t, 0, func(ctx context.Context, l *lyingServer) error {
			if err := falseSet(KindSurvivors, newSet(n, upTo(9)...))(ctx, l); err != nil {
				return err
			}
			return l.whisper(ctx, victim, KindSurvivors, newSet(n, upTo(8)...))
		})
		wantDeviation(t, err, "it came where sum-tagged is awaited in sum 1")
	})
}

// TestTagsAreRefused gives the victim tags that are not what eight neighbours have sent.
func TestTagsAreRefused(t *testing.T) {
	const n = refusers + 1
	all := newSet(n, 2, 3, 4, 5, 6, 7, 8, 9)
	zeros := func(k int) []byte { return make([]byte, k*tagSize) }
	for _, c := range []struct {
		payload []byte
		says    string
	}{
		{nil, "it has 0 bytes and ends early"},
		{[]byte{0, 0xf0}, "a set with members beyond the 11 parties"},
		{append(newSet(n, 2, 3, 4, 5, 6, 7, 10), zeros(7)...), "it has tags of clients who are no neighbours that stayed"},
		{append(newSet(n, 1, 2, 3, 4, 5, 6, 7), zeros(7)...), "it has tags of clients who are no neighbours that stayed"},
		{append(all.clone(), zeros(7)...), "112 bytes of tags, want 128"},
		{append(newSet(n, 2, 3, 4, 5, 6), zeros(5)...), "5 neighbours have confirmed the survivors, want at least 6: no share is handed out"},
		{newSet(n), "0 neighbours have confirmed the survivors, want at least 6: no share is handed out"},
		{append(all.clone(), zeros(8)...), "the server has shown p2 another list of survivors, or other nonces, or changed its tag: no share is handed out"},
	} {
		t.Run(c.says, func(t *testing.T) {
			err := refuse(t, 0, func(ctx context.Context, l *lyingServer) error {
				if err := l.honestly(ctx); err != nil {
					return err
				}
				if err := l.sendAll(ctx, KindSurvivors, l.survivors, l.survivors); err != nil {
					return err
				}
				return l.whisper(ctx, victim, KindTagged, c.payload)
			})
			wantError(t, err, c.says)
		})
	}
}
