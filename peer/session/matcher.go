package session

import (
	"errors"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

const (
	sessionsKept = 4096 // sessions opened before that are remembered, so that none is opened twice
	earlyLimit   = 16   // early streams of one peer
)

// errUsed refuses a session a second time: its secrets are spent once.
var errUsed = errors.New("this session has been opened before")

// end is a peer's end of a session.
type end struct {
	peer    keys.ID
	session protocol.SessionID
}

// arrival is a session stream that the other side has opened.
type arrival struct {
	link    Link
	raw     RawStream
	claimed chan struct{} // closed when Open has taken it
}

// matcher brings together the sessions that this side opens and the streams of others for them,
// whichever comes first.
type matcher struct {
	mu      sync.Mutex
	used    map[protocol.SessionID]bool // true while the session is open
	order   []protocol.SessionID        // of used, the oldest first
	wanted  map[end]chan *arrival       // each holds one arrival
	early   map[end]*arrival
	count   map[keys.ID]int // early streams per peer
	streams map[end]*stream // of open sessions; nil for a peer that left before its stream stood
}

func newMatcher() *matcher {
	return &matcher{
		used:    make(map[protocol.SessionID]bool),
		wanted:  make(map[end]chan *arrival),
		early:   make(map[end]*arrival),
		count:   make(map[keys.ID]int),
		streams: make(map[end]*stream),
	}
}

// begin marks a session as used and lets the streams in of the peers that are to open one; those
// that came early are in at once.
func (m *matcher) begin(id protocol.SessionID, callers []keys.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, before := m.used[id]; before {
		return errUsed
	}
	if len(m.order) == sessionsKept {
		delete(m.used, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
	m.used[id] = true
	m.order = append(m.order, id)
	for _, peer := range callers {
		e := end{peer, id}
		ch := make(chan *arrival, 1)
		m.wanted[e] = ch
		if a := m.early[e]; a != nil {
			m.drop(e, a)
			close(a.claimed)
			ch <- a
		}
	}
	return nil
}

// arrivals returns where the streams for an end come in.
func (m *matcher) arrivals(e end) <-chan *arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted[e]
}

// dismiss lets no more streams in for an end. One that came too late to be used is reset.
func (m *matcher) dismiss(e end) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := m.wanted[e]
	delete(m.wanted, e)
	select {
	case a := <-ch:
		a.raw.Reset()
	default:
	}
}

// place is what came of an arrival.
type place int

const (
	placeTaken place = iota // handed to the Open that waits for it
	placeEarly              // kept until Open asks for it
	placeUsed               // its session has been used
	placeFull               // too many of this peer are early
)

// arrive hands in a stream. A newer stream for the same end replaces an older one, which its
// sender has given up.
func (m *matcher) arrive(e end, a *arrival) place {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ch, ok := m.wanted[e]; ok {
		select {
		case old := <-ch:
			old.raw.Reset()
		default:
		}
		ch <- a
		return placeTaken
	}
	if _, before := m.used[e.session]; before {
		return placeUsed
	}
	if old := m.early[e]; old != nil {
		m.drop(e, old)
		old.raw.Reset()
		close(old.claimed)
	}
	if m.count[e.peer] >= earlyLimit {
		return placeFull
	}
	m.early[e] = a
	m.count[e.peer]++
	return placeEarly
}

// withdraw takes an early stream back; false if it has been taken meanwhile.
func (m *matcher) withdraw(e end, a *arrival) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.early[e] != a {
		return false
	}
	m.drop(e, a)
	return true
}

// drop removes an early stream. The lock is held.
func (m *matcher) drop(e end, a *arrival) {
	if m.early[e] != a {
		return
	}
	delete(m.early, e)
	if m.count[e.peer]--; m.count[e.peer] == 0 {
		delete(m.count, e.peer)
	}
}

// join registers the stream of an end, so that left finds it.
func (m *matcher) join(e end, s *stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, gone := m.streams[e]; gone {
		s.leave()
	}
	m.streams[e] = s
}

// left handles a peer's news that it has closed its mesh.
func (m *matcher) left(e end) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.streams[e]; s != nil {
		s.leave()
	} else if m.used[e.session] {
		m.streams[e] = nil
	}
}

// close takes the ends of a closed session off.
func (m *matcher) close(id protocol.SessionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[id] = false
	for e := range m.streams {
		if e.session == id {
			delete(m.streams, e)
		}
	}
}
