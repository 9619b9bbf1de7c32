package peer

import (
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
	mu     sync.Mutex
	latest []Stranger // by time, the oldest first
	said   time.Time  // when the last line was written
	unsaid int        // refusals since then without a line
}

// refuseStranger notes a refusal for Strangers, Watch and the log.
func (h *Host) refuseStranger(p libpeer.ID, from multiaddr.Multiaddr, reason string) {
	id, _ := memberID(p)
	s := Stranger{ID: id, Address: from.String(), Reason: reason, Last: time.Now()}
	others, say := h.strangers.add(s)
	if !say {
		return
	}
	h.log.Warn("refused a connection", "from", s.Address, "id", peerText(p), "reason", reason, "others", others)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ringHost()
}

// peerText names an identity of whatever kind.
func peerText(p libpeer.ID) string {
	if id, err := memberID(p); err == nil {
		return id.String()
	}
	return p.String()
}

// add keeps a refusal. It reports whether it is time to say so, and how many were kept since the
// last time without a word.
func (s *strangerLog) add(entry Stranger) (others int, say bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = slices.DeleteFunc(s.latest, func(old Stranger) bool { return old.ID == entry.ID })
	s.latest = append(s.latest, entry)
	if len(s.latest) > strangersKept {
		s.latest = slices.Delete(s.latest, 0, 1)
	}
	if entry.Last.Sub(s.said) < strangerPause {
		s.unsaid++
		return 0, false
	}
	others = s.unsaid
	s.said, s.unsaid = entry.Last, 0
	return others, true
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
