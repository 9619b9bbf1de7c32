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

// strangers keeps the latest refusals of those who are no members.
type strangers struct {
	members *members // whose watchers hear of refusals
	log     *slog.Logger

	mu     sync.Mutex
	latest []Stranger // by time, the oldest first
	said   time.Time  // when the last line was written
	unsaid int        // refusals since then without a line
}

// refuse notes a refusal for Strangers, Watch and the log.
func (s *strangers) refuse(p libpeer.ID, from multiaddr.Multiaddr, reason string) {
	id, err := memberID(p)
	name := id.String()
	if err != nil {
		name = p.String()
	}
	entry := Stranger{ID: id, Address: from.String(), Reason: reason, Last: time.Now()}
	others, say := s.add(entry)
	if !say {
		return
	}
	s.log.Warn("refused a connection", "from", entry.Address, "id", name, "reason", reason, "others", others)
	s.members.wake()
}

// add keeps a refusal. It reports whether it is time to say so, and how many were kept since the
// last time without a word.
func (s *strangers) add(entry Stranger) (others int, say bool) {
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

// list returns the refusals, the newest first.
func (s *strangers) list() []Stranger {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.latest)
	slices.Reverse(out)
	return out
}
