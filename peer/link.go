package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"golang.org/x/time/rate"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// link is a connection whose hello both sides have accepted, with its control stream.
type link struct {
	peer     keys.ID
	name     string // what the charter calls the peer
	conn     network.Conn
	control  network.Stream
	dialled  bool   // by this side
	source   string // how the address was found: one of discovery's, or SourceDialled
	theirs   hello  // its charter is the one that the peer said last, under the lock of members
	told     stance // what this side's hello said
	since    time.Time
	heard    *tally
	calls    chan struct{}    // a place for each call of the peer in progress
	joinPace *rate.Limiter    // of a newcomer's calls
	now      func() time.Time // the time of day here
	clock    clockWatch
	program  atomic.Pointer[string] // the version of the peer's program, by its own word; nil before it has said
	// seen is where the peer sees this side; nil before it has said
	seen atomic.Pointer[multiaddr.Multiaddr]

	level atomic.Uint32 // a level; follows the two sides' charters
	rtt   atomic.Int64  // of the last heartbeat, in nanoseconds

	write sync.Mutex // one control message at a time

	why  sync.Mutex
	gone protocol.GoneError // under why until the link is over
	once sync.Once
	over chan struct{} // closed when the link has ended
}

// pulse says how often a link's sides let each other hear that they live.
type pulse struct {
	beat    time.Duration // between heartbeats
	silence time.Duration // without a byte before the peer counts as gone
}

// observer is told what the peer says on the control stream.
type observer struct {
	charter func(*link, stance)
	left    func(keys.ID, protocol.SessionID)
	clock   func(*link) // there is news of its clock
	program func()      // it has said which version its program is
	seen    func(*link, string)
	where   func(*link, []byte)
}

// deaf is the observer of a link with somebody who is no member.
var deaf = observer{
	charter: func(*link, stance) {},
	left:    func(keys.ID, protocol.SessionID) {},
	clock:   func(*link) {},
	program: func() {},
	seen:    func(*link, string) {},
	where:   func(*link, []byte) {},
}

func newLink(id keys.ID, name string, s network.Stream, heard *tally, now func() time.Time) *link {
	l := &link{
		peer:     id,
		name:     name,
		conn:     s.Conn(),
		control:  s,
		dialled:  s.Conn().Stat().Direction == network.DirOutbound,
		source:   SourceDialled,
		since:    time.Now(),
		heard:    heard,
		calls:    make(chan struct{}, maxCalls),
		joinPace: rate.NewLimiter(joinRate, 2*joinRate),
		now:      now,
		over:     make(chan struct{}),
	}
	l.gone = protocol.GoneError{Peer: id}
	return l
}

// String names the peer: by the charter's word for it and the start of its id.
func (l *link) String() string { return called(l.name, l.peer) }

// called joins a member's name, if it has one, with the start of its id.
func called(name string, id keys.ID) string {
	if short := id.Short(); name != short {
		return name + " (" + short + ")"
	}
	return name
}

// may reports whether the link may be used for what needs this level.
func (l *link) may(need level) bool {
	return level(l.level.Load()) >= need
}

// isWorkers reports whether the link is one between a node and its worker.
func (l *link) isWorkers() bool { return level(l.level.Load()) == levelWorker }

// isTwin reports whether the link lives, and its other end is another process than the one that says this instance. A
// nil link is nobody's.
func (l *link) isTwin(instance uint64, beat time.Duration) bool {
	return l != nil && l.theirs.Instance != instance && l.quietFor() < 2*beat
}

// keepSeen keeps at which address the peer says that it sees this side, and reports whether it is one.
func (l *link) keepSeen(text string) bool {
	a, err := multiaddr.NewMultiaddr(text)
	if err != nil || len(a) != 2 {
		return false
	}
	if _, err := manet.ToIP(a); err != nil {
		return false
	}
	l.seen.Store(&a)
	return true
}

// seenAt returns at which address the peer sees this side; false before it has said so.
func (l *link) seenAt() (multiaddr.Multiaddr, bool) {
	if at := l.seen.Load(); at != nil {
		return *at, true
	}
	return nil, false
}

// end closes the link; the first reason given for it stays.
func (l *link) end(reason string) {
	l.blame(reason)
	l.once.Do(func() {
		close(l.over)
		l.conn.Close()
	})
}

// blame notes why the link is about to end, unless that is known already.
func (l *link) blame(reason string) {
	l.why.Lock()
	defer l.why.Unlock()
	if l.gone.Reason == "" {
		l.gone.Reason = reason
		l.gone.Silent = l.quietFor()
	}
}

// Lost returns why the link is over, or nil while it is not.
func (l *link) Lost() *protocol.GoneError {
	select {
	case <-l.over:
		return &l.gone
	default:
		return nil
	}
}

// quietFor is how long nothing has been heard.
func (l *link) quietFor() time.Duration {
	last := l.heard.lastLived()
	if last.Before(l.since) {
		last = l.since
	}
	return time.Since(last)
}

// run keeps the link until it ends, which it does for sure when ctx does, and returns when
// nothing of it is left.
func (l *link) run(ctx context.Context, p pulse, o observer) {
	var beats sync.WaitGroup
	beats.Go(func() { l.beat(ctx, p) })
	l.end(l.listen(o))
	beats.Wait()
}

// beat sends heartbeats and ends the link when nothing has been heard for too long.
func (l *link) beat(ctx context.Context, p pulse) {
	ticker := time.NewTicker(p.beat)
	defer ticker.Stop()
	quiet := time.NewTimer(p.silence)
	defer quiet.Stop()
	for {
		select {
		case <-l.over:
			return
		case <-ctx.Done():
			l.leave("this node shut down", fault.Fault{Code: fault.CodeStopped})
			return
		case <-ticker.C:
			l.send(kindPing, encode(ping{uint64(time.Since(l.since))}), p.beat)
		case <-quiet.C:
			idle := l.quietFor()
			if idle >= p.silence {
				l.end(fmt.Sprintf("no heartbeat for %v", p.silence))
				return
			}
			quiet.Reset(p.silence - idle)
		}
	}
}

// leave tells the peer why the link ends and lets it close the connection: it has then read
// all that was sent before. If it does not, the connection is closed here.
func (l *link) leave(reason string, told fault.Fault) {
	l.blame(reason)
	l.send(kindBye, encode(byeOf(told)), byePatience)
	wait := time.NewTimer(partTimeout)
	defer wait.Stop()
	select {
	case <-l.over:
	case <-wait.C:
	}
	l.end(reason)
}

// How long a control message may wait behind session data for its turn. A heartbeat that waits
// longer than a beat is dropped: the data ahead of it says the same.
const (
	newsPatience = 30 * time.Second
	byePatience  = 3 * time.Second
)

// send writes one control message, or drops it when its patience runs out first. A broken
// stream needs no care here, for its reader sees that too.
func (l *link) send(kind uint8, body []byte, patience time.Duration) {
	l.write.Lock()
	defer l.write.Unlock()
	l.control.SetWriteDeadline(time.Now().Add(patience))
	if n, err := writeControl(l.control, kind, body); err != nil && n > 0 {
		l.end("half of a control message was lost")
	}
}

// A peer's control messages are read at this pace, and no faster. A member has a few each second to send; many at once
// when a link begins, of where the others are, and when many sessions end.
const (
	controlRate  = 500 // a second
	controlBurst = 4096
)

// listen handles the peer's control messages until the stream ends, and returns why it did.
func (l *link) listen(o observer) string {
	pace := rate.NewLimiter(controlRate, controlBurst)
	for {
		kind, body, err := readControl(l.control)
		switch {
		case err == nil:
			l.heard.live()
			if wait := pace.Reserve().Delay(); wait > 0 {
				select {
				case <-time.After(wait):
				case <-l.over:
				}
			}
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return "connection closed"
		case ended(err):
			return "connection reset"
		default:
			return explainCause(err)
		}
		why, err := l.handle(o, kind, body)
		if err != nil {
			return fmt.Sprintf("it sent a malformed control message %d: %v", kind, err)
		}
		if why != "" {
			return why
		}
	}
}

// handle acts on one message; why is the reason of a bye, which ends the link. What somebody who is no member says
// besides is of no interest.
func (l *link) handle(o observer, kind uint8, body []byte) (why string, err error) {
	if !l.may(levelCharter) && kind != kindPing && kind != kindPong && kind != kindBye {
		return "", nil
	}
	switch kind {
	case kindPing:
		var m ping
		if m, err = decode[ping](body); err == nil {
			l.send(kindPong, encode(pong{m.Clock, clockMillis(l.now())}), partTimeout)
		}
	case kindPong:
		var m pong
		if m, err = decode[pong](body); err != nil {
			break
		}
		// The clocks are compared anew: a person may set one of them while the link lives.
		rtt := time.Since(l.since) - time.Duration(m.Ping)
		if rtt > 0 && rtt < time.Hour {
			l.rtt.Store(int64(rtt))
		}
		if rtt > 0 && rtt <= clockRoundTrip && l.clock.set(clockAhead(m.Clock, l.now(), rtt)) {
			o.clock(l)
		}
	case kindCharter:
		var s stance
		if s, err = decode[stance](body); err == nil {
			o.charter(l, s)
		}
	case kindLeft:
		var m left
		if m, err = decode[left](body); err == nil {
			o.left(l.peer, m.Session)
		}
	case kindProgram:
		var version string
		if version, err = decodeProgram(body); err == nil {
			l.program.Store(&version)
			o.program()
		}
	case kindSeen:
		var m seen
		if m, err = decode[seen](body); err == nil {
			o.seen(l, m.Address)
		}
	case kindWhereabouts:
		o.where(l, body)
	case kindBye:
		var m bye
		if m, err = decode[bye](body); err == nil {
			why = m.reason().String()
		}
	}
	return why, err
}
