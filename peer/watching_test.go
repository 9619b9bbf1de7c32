package peer

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
)

// statusOf returns what a host says of another member.
func statusOf(t testing.TB, h *Host, id keys.ID) PeerStatus {
	t.Helper()
	for _, s := range h.Status() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("%s has no status", id.Short())
	return PeerStatus{}
}

// until waits until a host's status of a member fulfils a condition.
func until(t testing.TB, h *Host, id keys.ID, what string, ok func(PeerStatus) bool) PeerStatus {
	t.Helper()
	ctx := within(t)
	for {
		changed := h.Watch()
		s := statusOf(t, h, id)
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s never became %s: %+v", s.Name, what, s)
		}
	}
}

func connected(s PeerStatus) bool { return s.Connected }

func troubled(s PeerStatus) bool { return s.Trouble != "" }

// meetAll waits until all hosts are connected with each other.
func meetAll(t testing.TB, hosts ...*Host) {
	t.Helper()
	for _, h := range hosts {
		for _, other := range hosts {
			if h != other {
				until(t, h, other.Self(), "connected", connected)
			}
		}
	}
}

// rawConn is a connection under the hello.
type rawConn = network.Conn

// lines is a log that tests can look into.
type lines struct {
	mu    sync.Mutex
	text  []string
	added chan struct{} // closed with the next line; nil: nobody waits for it
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.text = append(l.text, text)
	if l.added != nil {
		close(l.added)
		l.added = nil
	}
	return nil
}

// await waits for a line with a part in it: what happens is told before it is logged.
func (l *lines) await(t testing.TB, part string) {
	t.Helper()
	for ctx := within(t); ; {
		l.mu.Lock()
		if slices.ContainsFunc(l.text, func(s string) bool { return strings.Contains(s, part) }) {
			l.mu.Unlock()
			return
		}
		if l.added == nil {
			l.added = make(chan struct{})
		}
		added := l.added
		l.mu.Unlock()
		select {
		case <-added:
		case <-ctx.Done():
			t.Fatalf("no line of the log has %q: %q", part, l.all())
		}
	}
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

func newLog(l *lines) *slog.Logger { return slog.New(l) }
