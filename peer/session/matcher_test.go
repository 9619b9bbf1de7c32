package session

import (
	"errors"
	"net"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// pipe is one end of a stream in memory.
type pipe struct{ net.Conn }

func (p pipe) Reset() error { return p.Close() }

// TestMatcher follows streams that come before, during and after the session that they are for.
func TestMatcher(t *testing.T) {
	early := func() *arrival {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close(); there.Close() })
		return &arrival{raw: pipe{here}, claimed: make(chan struct{})}
	}
	peer := keys.ID{7}
	m := newMatcher()
	one, two := end{peer, protocol.SessionID{1}}, end{peer, protocol.SessionID{2}}
	first, second := early(), early()
	if p := m.arrive(one, first); p != placeEarly {
		t.Fatalf("an early stream: place %d", p)
	}
	if p := m.arrive(one, second); p != placeEarly || m.withdraw(one, first) {
		t.Fatalf("a newer stream for the end: place %d", p)
	}
	<-first.claimed
	if err := m.begin(one.session, []keys.ID{peer}); err != nil {
		t.Fatal(err)
	}
	if got := <-m.arrivals(one); got != second {
		t.Error("the newer stream was not handed over")
	}
	if p := m.arrive(one, early()); p != placeTaken {
		t.Errorf("a stream that is waited for: place %d", p)
	}
	m.dismiss(one)
	if p := m.arrive(one, early()); p != placeUsed {
		t.Errorf("a stream after the meeting: place %d", p)
	}
	if err := m.begin(one.session, nil); !errors.Is(err, errUsed) {
		t.Errorf("a session twice: %v", err)
	}
	kept := early()
	if m.arrive(two, kept); !m.withdraw(two, kept) || len(m.early)+len(m.count) > 0 {
		t.Errorf("%d streams are kept after withdrawal", len(m.early))
	}
	for i := range sessionsKept {
		if err := m.begin(protocol.SessionID{3, byte(i), byte(i >> 8)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.used) != sessionsKept || len(m.order) != sessionsKept {
		t.Errorf("%d sessions are remembered, want %d", len(m.used), sessionsKept)
	}
}
