package doctor

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// glutton is a member that has its bytes echoed without end.
type glutton struct {
	id     keys.ID
	answer *Answerer
}

// eats returns how many bytes came back before the node said no.
func (g glutton) eats(t *testing.T, size uint32) (bytes int) {
	for range 1000 {
		request, err := cbor.Marshal(echoRequest{Want: size})
		must(t, err)
		answer, refused := g.answer.Handle(t.Context(), g.id, methodEcho, request)
		if refused != nil {
			if refused.Code != fault.CodeBusy {
				t.Errorf("it is refused by %v", refused)
			}
			return bytes
		}
		bytes += len(answer)
	}
	return bytes
}

// TestGluttonIsStopped: a member has no more echoed than a doctor needs, whatever it asks for, and others are measured
// all the same.
func TestGluttonIsStopped(t *testing.T) {
	host := loneHost(t)
	a := NewAnswerer(host)
	if got := (glutton{keys.ID{1}, a}).eats(t, maxEcho); got > 2*echoAtOnce {
		t.Errorf("a glutton has %d bytes echoed", got)
	}
	if got := (glutton{keys.ID{2}, a}).eats(t, maxEcho); got < maxEcho {
		t.Errorf("after a glutton nobody else is measured: %d bytes", got)
	}
	for _, r := range []echoRequest{{Want: maxEcho + 1}, {Bytes: make([]byte, maxEcho+1)}} {
		request, err := cbor.Marshal(r)
		must(t, err)
		if _, refused := a.Handle(t.Context(), keys.ID{3}, methodEcho, request); refused == nil ||
			refused.Code != fault.CodeRequest {
			t.Errorf("%d and %d bytes: %v", r.Want, len(r.Bytes), refused)
		}
	}
	if _, refused := a.Handle(t.Context(), keys.ID{3}, Prefix+"else", nil); refused == nil ||
		refused.Code != fault.CodeMethod {
		t.Errorf("another method: %v", refused)
	}
	// Who is no member has nobody dialled.
	if _, refused := a.Handle(t.Context(), keys.ID{3}, methodReach, []byte{0xa0}); refused == nil {
		t.Error("a stranger had addresses dialled")
	}
}

// FuzzMessages reads requests and answers: what is read is written with the same meaning.
func FuzzMessages(f *testing.F) {
	for _, v := range []any{echoRequest{Bytes: []byte("x"), Want: 5}, echoResponse{Sent: 7, Again: 1},
		reachResponse{[]closedAddress{{"/ip4/1.2.3.4/tcp/4001", "refused"}}}} {
		data, err := cbor.Marshal(v)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, new(echoRequest))
		again(t, data, new(echoResponse))
		again(t, data, new(reachResponse))
	})
}

// again decodes data, and what it is written as.
func again[T any](t *testing.T, data []byte, v *T) {
	if control.Decode(data, v) != nil {
		return
	}
	first, err := cbor.Marshal(v)
	must(t, err)
	var w T
	if err := control.Decode(first, &w); err != nil {
		t.Fatalf("%x is written as %x: %v", data, first, err)
	}
	if second, err := cbor.Marshal(&w); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%x, then %x: %v", first, second, err)
	}
}

// TestALinkThatEndsIsMeasuredOverTheNext: a member that is there again after its link ended is measured, not blamed.
func TestALinkThatEndsIsMeasuredOverTheNext(t *testing.T) {
	free, err := localnet.FreePorts(1)
	must(t, err)
	t.Cleanup(free.Close)
	there := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", free.Numbers[0])
	ks, c := pair(t, there)
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	start := func(k *keys.PrivateKey, listen string, handle func(*peer.Host) protocol.Handler) *peer.Host {
		h, err := peer.New(peer.Config{Key: k, Charter: c, Discovery: []string{peer.DiscoverAddresses},
			Listen: []string{listen}})
		if err != nil {
			t.Error(err)
			return nil
		}
		h.Handle(handle(h))
		running.Go(func() { h.Run(t.Context()) })
		return h
	}
	answers := func(h *peer.Host) protocol.Handler { return NewAnswerer(h).Handle }
	bank := start(ks[0], "/ip4/127.0.0.1/tcp/0", answers)
	start(ks[1], there, func(first *peer.Host) protocol.Handler {
		var once sync.Once
		return func(ctx context.Context, _ keys.ID, _ string, _ []byte) ([]byte, *fault.Fault) {
			once.Do(func() {
				running.Go(func() {
					first.Close()
					start(ks[1], there, answers)
				})
			})
			<-ctx.Done()
			return nil, &fault.Fault{Code: fault.CodeBusy}
		}
	})
	m, _ := c.MemberNamed("telco")
	if _, err := bank.Examine(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	for _, check := range measure(t.Context(), bank, m) {
		if check.Verdict == Failed {
			t.Errorf("%s: %s", check.Name, check.Text)
		}
	}
}

// TestAMachineThatStandsStillIsAWarning: where one answer took 1.6 seconds the middle of five is fine, and the member
// is not.
func TestAMachineThatStandsStillIsAWarning(t *testing.T) {
	const ms = time.Millisecond
	trip, c := roundTrip("telco", []time.Duration{1600 * ms, ms, 2 * ms, ms, ms})
	want := "1.0 ms, the middle of 5; the slowest took 1600.0 ms"
	if trip != ms || c.Verdict != Warning || c.Text != want || c.Mend == "" {
		t.Errorf("a trip of %v, and %+v: want a warning of the slowest", trip, c)
	}
	if _, c := roundTrip("telco", []time.Duration{ms, 700 * ms}); c.Verdict != Fine {
		t.Errorf("over a satellite: %+v", c)
	}
}

// loneHost is a host whose charter has one more member, who never comes.
func loneHost(t *testing.T) *peer.Host {
	ks, c := pair(t, "")
	h, err := peer.New(peer.Config{Key: ks[0], Charter: c, Discovery: []string{peer.DiscoverAddresses}})
	must(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// pair is the keys and the charter of a bank and a telco, who can be dialled at an address if it is not empty.
func pair(t *testing.T, address string) (ks []*keys.PrivateKey, _ *keys.SignedCharter) {
	draft := keys.Charter{Name: "lone", Version: 1, Created: time.Unix(1700000000, 0).UTC()}
	for _, name := range []string{"bank", "telco"} {
		k, err := keys.GenerateKey()
		must(t, err)
		ks = append(ks, k)
		draft.Members = append(draft.Members, keys.Member{Name: name, ID: k.ID()})
	}
	if address != "" {
		draft.Members[1].Addresses = []string{address}
	}
	c, err := keys.NewCharter(draft)
	must(t, err)
	for _, k := range ks {
		must(t, c.Sign(k))
	}
	return ks, c
}

// TestFewSegmentsSentAgainAreNoLossyLine: what a busy machine repeats on its own loopback is no warning; a line that
// loses one packet in twenty is one, also where only 256 KiB could be measured.
func TestFewSegmentsSentAgainAreNoLossyLine(t *testing.T) {
	for _, c := range []struct {
		sent, again int64
		want        bool
	}{
		{103, 3, false}, {79, 1, false}, {10, 7, false}, {3200, 20, false}, {0, 0, false},
		{3200, 65, true}, {187, 9, true},
	} {
		if got := lossy(c.sent, c.again); got != c.want {
			t.Errorf("%d of %d segments sent again: a warning %t, want %t", c.again, c.sent, got, c.want)
		}
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
