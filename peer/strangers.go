package peer

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
)

// Limits of what strangers can make a host write: they may come with a new key each time.
const (
	strangersKept = 16          // refusals kept for Strangers
	strangerPause = time.Second // between two log lines about strangers
)

// Stranger is somebody who is no member and was refused.
type Stranger struct {
	ID      keys.ID // zero when its key is not even of our kind
	Address string  // where it came from
	Reason  string
	Last    time.Time
}

// strangerLog keeps the latest refusals of those who are no members.
type strangerLog struct {
	mu      sync.Mutex
	latest  []Stranger // by time, the oldest first
	logged  time.Time  // when the last line was written
	unnamed int        // refusals since then without a line
}

// refuse notes a refusal, and logs it unless there was a line a moment ago.
func (s *strangerLog) refuse(log *slog.Logger, p libpeer.ID, from multiaddr.Multiaddr, reason string) {
	id, _ := memberID(p)
	entry := Stranger{ID: id, Address: from.String(), Reason: reason, Last: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = slices.DeleteFunc(s.latest, func(old Stranger) bool { return old.ID == id })
	s.latest = append(s.latest, entry)
	if len(s.latest) > strangersKept {
		s.latest = slices.Delete(s.latest, 0, 1)
	}
	if entry.Last.Sub(s.logged) < strangerPause {
		s.unnamed++
		return
	}
	log.Warn("refused a connection", "from", entry.Address, "id", id.String(), "reason", reason, "others", s.unnamed)
	s.logged, s.unnamed = entry.Last, 0
}

// Strangers returns the latest refusals of those who are no members, the newest first: somebody
// who mistyped a charter, was revoked, or tries the door.
func (h *Host) Strangers() []Stranger {
	h.strangers.mu.Lock()
	defer h.strangers.mu.Unlock()
	out := slices.Clone(h.strangers.latest)
	slices.Reverse(out)
	return out
}
