package protocol_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// flip changes the first byte of a payload.
func flip(payload []byte) []byte {
	payload[0] ^= 1
	return payload
}

// relayOf returns a party that passes on what a root broadcasts, and one to which it does.
func relayOf(t testing.TB, q, root int) (relay, below int) {
	t.Helper()
	plan := contract.PlanFor(contract.Tree, q, root)
	for i, children := range plan.Children {
		if i != root && len(children) > 0 {
			return i, children[0]
		}
	}
	t.Fatal("nobody passes anything on")
	return 0, 0
}

// TestWhoWasToldOtherValuesStops: a forger in the tree, and a root that equivocates. Those who were told other values
// than the rest see it when all compare what they were told, and have sent nothing that depends on it.
func TestWhoWasToldOtherValuesStops(t *testing.T) {
	const q, root = 7, 2
	relay, below := relayOf(t, q, root)
	for name, attacker := range map[string]func(l *testNetwork) (hook func(testnet.Frame) []testnet.Frame, victim int){
		"forger": func(l *testNetwork) (func(testnet.Frame) []testnet.Frame, int) {
			return testnet.Forger{Party: l.IDs[relay], Kind: "width", Change: flip}.Deviate, below
		},
		"equivocator": func(l *testNetwork) (func(testnet.Frame) []testnet.Frame, int) {
			return testnet.Equivocator{Root: l.IDs[root], Victim: l.IDs[relay], Kind: "width", Change: flip}.Deviate, relay
		},
	} {
		for _, confirmed := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				l := numbered(t, q, 64)
				hook, victim := attacker(l)
				l.OnFrame(hook)
				var told [q][]byte
				errs := l.each(func(i int) (err error) {
					if told[i], err = l.sessions[i].Broadcast(t.Context(), "width", contract.ClassControl, root, []byte("4 wide"),
						8); err != nil {
						return err
					}
					if !confirmed {
						return nil
					}
					if err := l.sessions[i].Confirm(t.Context()); err != nil {
						return err
					}
					_, err = l.sessions[i].Exchange(t.Context(), "depends", nil, 0)
					return err
				})
				if bytes.Equal(told[victim], told[root]) {
					t.Fatal("the attack changed nothing")
				}
				if !confirmed { // the control: nobody notices
					if err := errors.Join(errs...); err != nil {
						t.Error(err)
					}
					return
				}
				var step *protocol.StepError
				if !errors.As(errs[victim], &step) || step.Kind != contract.KindShared || !errors.Is(step, contract.ErrDeviation) ||
					!strings.Contains(step.Error(), "it was told other values than this party in the broadcasts up to here") {
					t.Errorf("the victim's error is %v", errs[victim])
				}
				for i, err := range errs {
					if err == nil {
						t.Errorf("party %d goes on", i)
					}
				}
			})
		}
	}
}

// TestASessionEndsOnlyWhenAllWereToldTheSame: what nobody compared on the way is compared at the end.
func TestASessionEndsOnlyWhenAllWereToldTheSame(t *testing.T) {
	const q = 4
	relay, below := relayOf(t, q, 0)
	l := numbered(t, q, 64)
	l.OnFrame(testnet.Forger{Party: l.IDs[relay], Kind: "products-total", Change: flip}.Deviate)
	errs := l.each(func(i int) error {
		if _, err := l.sessions[i].Broadcast(t.Context(), "products-total", contract.ClassOpening, 0, []byte("12345678"),
			8); err != nil {
			return err
		}
		return l.sessions[i].Finish(t.Context())
	})
	if !errors.Is(errs[below], contract.ErrDeviation) || !strings.Contains(errs[below].Error(), "(done)") {
		t.Errorf("error is %v", errs[below])
	}
}

// TestTheDigestIsOfAllThatWasBroadcast: kind, order and bytes count, the way the data took does not.
func TestTheDigestIsOfAllThatWasBroadcast(t *testing.T) {
	seen := make(map[keys.Hash]string)
	for name, told := range map[string][][2]string{
		"nothing": nil, "one": {{"a", "x"}}, "another kind": {{"b", "x"}}, "another value": {{"a", "y"}},
		"two": {{"a", "x"}, {"a", "y"}}, "in another order": {{"a", "y"}, {"a", "x"}}, "in one": {{"a", "xy"}},
	} {
		l := numbered(t, 3, 64)
		l.must(t, func(i int) error {
			for _, v := range told {
				if _, err := l.sessions[i].Broadcast(t.Context(), v[0], contract.ClassControl, 1, []byte(v[1]), 8); err != nil {
					return err
				}
			}
			return nil
		})
		for i := range 3 {
			if l.sessions[i].Shared() != l.sessions[0].Shared() {
				t.Errorf("%s: party %d has another digest", name, i)
			}
		}
		if other, ok := seen[l.sessions[0].Shared()]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[l.sessions[0].Shared()] = name
	}
}

// compareRows compares rows in a session of four parties, of which the last is without data.
func compareRows(t *testing.T, l *testNetwork, rows ...string) [][]int {
	t.Helper()
	differ := make([][]int, 4)
	l.must(t, func(i int) (err error) {
		differ[i], err = l.sessions[i].CompareRows(t.Context(), keys.HashOf("rows", []byte(rows[i])), []int{0, 1, 2})
		return err
	})
	return differ
}

func TestRowsAreCompared(t *testing.T) {
	for _, c := range []struct {
		rows []string
		want [][]int
	}{
		{[]string{"a", "a", "a", ""}, [][]int{nil, nil, nil, nil}},
		{[]string{"a", "a", "b", ""}, [][]int{{2}, {2}, {0, 1}, nil}},
		{[]string{"a", "b", "c", "a"}, [][]int{{1, 2}, {0, 2}, {0, 1}, nil}},
	} {
		if got := compareRows(t, numbered(t, 4, 64), c.rows...); !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
			t.Errorf("%v: %v, want %v", c.rows, got, c.want)
		}
	}
}

// TestCodesOfRowsDiscloseNothingToOthers: the guesser has every frame of the others, its own keys and the right list,
// and finds no code that it can make again. A code is another one in each direction, pair and session, and the party
// without data gets none.
func TestCodesOfRowsDiscloseNothingToOthers(t *testing.T) {
	const guesser = 2
	seen := make(map[string]bool)
	for range 2 {
		l := numbered(t, 4, 64)
		var taps []*testnet.Tap
		for _, id := range l.IDs {
			taps = append(taps, l.Tap(id))
		}
		compareRows(t, l, "a", "a", "a", "")
		guess := keys.HashOf("rows", []byte("a"))
		var mine [][]byte // what the guesser can compute for the two others, under every key it has
		for _, peer := range []int{0, 1, 3} {
			key, err := l.sessions[guesser].Pair(peer).Derive("hanse row set v1", 32)
			must(t, err)
			for _, ends := range [][2]int{{0, 1}, {1, 0}} {
				mine = append(mine, rowCode(l, key, ends[0], ends[1], guess))
			}
		}
		codes := 0
		for i, tap := range taps {
			for _, f := range tap.Frames() {
				if f.Kind() != contract.KindRowset || f.To != l.IDs[i] {
					continue
				}
				codes++
				if f.To == l.IDs[3] || f.From == l.IDs[3] {
					t.Error("the party without data takes part")
				}
				if seen[string(f.Payload())] {
					t.Error("a code comes twice")
				}
				seen[string(f.Payload())] = true
				if f.From == l.IDs[guesser] || f.To == l.IDs[guesser] {
					continue
				}
				if slices.ContainsFunc(mine, func(c []byte) bool { return bytes.Equal(c, f.Payload()) }) ||
					bytes.Contains(f.Payload(), guess[:]) {
					t.Error("the guesser confirms its guess by what two others sent each other")
				}
			}
		}
		if codes != 6 {
			t.Errorf("%d codes were sent, want 6", codes)
		}
		// The control: a partner, who has the key, makes the code again. It knows of its own partner, by design.
		key, err := l.sessions[guesser].Pair(0).Derive("hanse row set v1", 32)
		must(t, err)
		if !seen[string(rowCode(l, key, 0, guesser, guess))] {
			t.Error("the test does not make codes as the protocol does")
		}
	}
}

// rowCode makes a code by hand.
func rowCode(l *testNetwork, key []byte, from, to int, rows keys.Hash) []byte {
	text := keys.HashOf("hanse row set v1", testnet.Unwritten[:], []byte{0, 0, 0, 1}, l.IDs[from][:], l.IDs[to][:],
		rows[:])
	code := hmac.New(sha256.New, key)
	code.Write(text[:])
	return code.Sum(nil)
}
