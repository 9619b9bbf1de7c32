package peer

import (
	"errors"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Limits of the meeting of sessions.
const (
	roomsKept   = 4096 // rooms opened before that are remembered, so that none is opened twice
	parkedLimit = 16   // early streams of one peer
)

// errRoomUsed refuses a room a second time: a session's secrets are spent once.
var errRoomUsed = errors.New("this session has been opened before")

// seat is a peer's place in a room.
type seat struct {
	peer keys.ID
	room protocol.Room
}

// arrival is a session stream that the other side has opened.
type arrival struct {
	link    *link
	stream  network.Stream
	claimed chan struct{} // closed when Open has taken it
}

// rooms brings together the sessions that this side opens and the streams of others for them,
// whichever comes first.
type rooms struct {
	mu     sync.Mutex
	used   map[protocol.Room]bool // true while the session is open
	order  []protocol.Room        // of used, the oldest first
	wanted map[seat]chan *arrival // each holds one arrival
	parked map[seat]*arrival
	count  map[keys.ID]int // parked streams per peer
	lanes  map[seat]*lane  // of open sessions; nil for a peer that left before its lane stood
}

func newRooms() *rooms {
	return &rooms{
		used:   make(map[protocol.Room]bool),
		wanted: make(map[seat]chan *arrival),
		parked: make(map[seat]*arrival),
		count:  make(map[keys.ID]int),
		lanes:  make(map[seat]*lane),
	}
}

// begin marks a room as used and lets the streams in of the peers that are to open one; those
// that came early are in at once.
func (r *rooms) begin(room protocol.Room, callers []keys.ID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, before := r.used[room]; before {
		return errRoomUsed
	}
	if len(r.order) == roomsKept {
		delete(r.used, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	r.used[room] = true
	r.order = append(r.order, room)
	for _, id := range callers {
		r.expect(seat{id, room})
	}
	return nil
}

// expect lets the streams for a seat in. The lock is held.
func (r *rooms) expect(s seat) {
	ch := make(chan *arrival, 1)
	r.wanted[s] = ch
	if a := r.parked[s]; a != nil {
		r.unpark(s, a)
		close(a.claimed)
		ch <- a
	}
}

// arrivals returns where the streams for a seat come in.
func (r *rooms) arrivals(s seat) <-chan *arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted[s]
}

// dismiss lets no more streams in for a seat. One that came too late to be used is reset.
func (r *rooms) dismiss(s seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := r.wanted[s]
	delete(r.wanted, s)
	select {
	case a := <-ch:
		a.stream.Reset()
	default:
	}
}

// place is what came of an arrival.
type place int

const (
	placeTaken  place = iota // handed to the Open that waits for it
	placeParked              // kept until Open asks for it
	placeUsed                // its room has been used
	placeFull                // too many of this peer are parked
)

// arrive hands in a stream. A newer stream for the same seat replaces an older one, which its
// sender has given up.
func (r *rooms) arrive(s seat, a *arrival) place {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch, ok := r.wanted[s]; ok {
		select {
		case old := <-ch:
			old.stream.Reset()
		default:
		}
		ch <- a
		return placeTaken
	}
	if _, before := r.used[s.room]; before {
		return placeUsed
	}
	if old := r.parked[s]; old != nil {
		r.unpark(s, old)
		old.stream.Reset()
		close(old.claimed)
	}
	if r.count[s.peer] >= parkedLimit {
		return placeFull
	}
	r.parked[s] = a
	r.count[s.peer]++
	return placeParked
}

// withdraw takes a parked stream back; false if it has been taken meanwhile.
func (r *rooms) withdraw(s seat, a *arrival) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parked[s] != a {
		return false
	}
	r.unpark(s, a)
	return true
}

// unpark removes a parked stream. The lock is held.
func (r *rooms) unpark(s seat, a *arrival) {
	if r.parked[s] != a {
		return
	}
	delete(r.parked, s)
	if r.count[s.peer]--; r.count[s.peer] == 0 {
		delete(r.count, s.peer)
	}
}

// join registers the lane of a seat, so that left finds it.
func (r *rooms) join(s seat, a *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, gone := r.lanes[s]; gone {
		a.leave()
	}
	r.lanes[s] = a
}

// close takes a closed session's seats off.
func (r *rooms) close(room protocol.Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[room] = false
	for s := range r.lanes {
		if s.room == room {
			delete(r.lanes, s)
		}
	}
}

// left handles a peer's news that it has closed its mesh.
func (r *rooms) left(l *link, room protocol.Room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := seat{l.peer, room}
	if a := r.lanes[s]; a != nil {
		a.leave()
	} else if r.used[room] {
		r.lanes[s] = nil
	}
}
