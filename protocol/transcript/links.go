package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The domains of hashes: of the starts of link chains, and of what all parties state of their links.
const (
	domainChain  = "hanse link chain v1"
	domainStates = "hanse link states v1"
)

// The directions of a link, as indices.
const (
	sent     = 0
	received = 1
)

// frameSize is the length of what one frame adds to the chain of its direction, in bytes: the
// chain before it, its header and the hash of its payload.
const frameSize = 32 + 66 + 32

// Links follows the links of one party in a session: for each peer and direction how many frames
// passed, and a chain of hashes over them. Both ends of a link compute the same digest.
//
// When a session begins each party states what its transcript holds of the sessions before (Past), and before each
// round of countersignatures the states of all its links; the frames that bring these statements follow from the
// records before them, and what is no such statement is refused.
//
// A round of countersignatures on a link begins with a control frame "countersign" in either direction
// while no round is under way. It ends with the record of the peer's signature, which wants exactly one such
// frame each way before it, with any other frame, or with the session. What is signed is the
// digest as it was before the round: see Agreed. Where the peer asks for an opening, in a frame "ask", it alone signs.
type Links struct {
	contract keys.Hash
	self     int
	ids      []keys.ID
	session  uint32 // 0: none has begun
	links    []link
	frame    [frameSize]byte
	past     protocol.Past // when the session began
	sessions uint32        // with this one
	stated   stated
}

// stated is what the parties said of their links in the session under way.
type stated struct {
	begun bool        // the party's own statement is on its way out
	own   keys.Hash   // SHA-256 of it
	sums  []keys.Hash // of the statements by party; zero: it has not come
	all   keys.Hash   // over those of all parties, of the latest time when all had come; zero: they never have
}

// link is one link of the party. Its state is computed when first wanted in a session.
type link struct {
	session uint32
	now     passed
	before  passed // now, as it was before the round under way
	round   bool
	asked   bool   // the latest frame but those of the round is one in which the peer asks for an opening
	signed  uint64 // frames under the peer's latest signature of the session
	agreed  passed // what that signature is on
}

// passed is what went over a link, by direction.
type passed struct {
	chain [2]keys.Hash
	count [2]uint64
}

// frames returns how many frames passed in both directions.
func (p *passed) frames() uint64 { return p.count[sent] + p.count[received] }

// state is what passed, for statements.
func (p *passed) state(session uint32) protocol.LinkState {
	return protocol.LinkState{
		Session:  session,
		Sent:     protocol.Passed{Frames: p.count[sent], Chain: p.chain[sent]},
		Received: protocol.Passed{Frames: p.count[received], Chain: p.chain[received]},
	}
}

// whole reports whether a round is under way in which each end has sent its signature, or the peer alone where it
// asks for an opening.
func (s *link) whole() bool {
	own := uint64(1)
	if s.asked {
		own = 0
	}
	return s.round && s.now.count[sent] == s.before.count[sent]+own &&
		s.now.count[received] == s.before.count[received]+1
}

// NewLinks makes the links of party self to all others. ids are the parties in the contract's order.
func NewLinks(contract keys.Hash, self int, ids []keys.ID) (*Links, error) {
	if len(ids) > keys.MaxMembers {
		return nil, fmt.Errorf("%d parties, at most %d are allowed", len(ids), keys.MaxMembers)
	}
	if self < 0 || self >= len(ids) {
		return nil, fmt.Errorf("own index is %d, want 0 to %d", self, len(ids)-1)
	}
	seen := make(map[keys.ID]int, len(ids))
	for i, id := range ids {
		if j, twice := seen[id]; twice {
			return nil, fmt.Errorf("parties %d and %d have the same id %s", j, i, id.Short())
		}
		seen[id] = i
	}
	return &Links{contract: contract, self: self, ids: ids, links: make([]link, len(ids)),
		past: protocol.Past{Links: make([]protocol.LinkState, len(ids))}}, nil
}

// Begin starts all links anew for a session. Numbers of sessions increase.
func (l *Links) Begin(session uint32) error {
	if session <= l.session {
		return fmt.Errorf("session %d begins after session %d, want a higher number", session, l.session)
	}
	l.beginSession(session, keys.Hash{})
	return nil
}

// beginSession is Begin with the hash of the record that begins the session, after its number was checked.
func (l *Links) beginSession(session uint32, transcript keys.Hash) {
	for i := range l.links { // the links of the session under way are now the latest ones
		if s := &l.links[i]; s.session == l.session && s.now.frames() > 0 {
			l.past.Links[i] = s.now.state(s.session)
		}
	}
	l.past.Sessions, l.past.Last, l.past.Transcript = l.sessions, l.session, transcript
	l.sessions, l.session = l.sessions+1, session
	l.stated = stated{sums: make([]keys.Hash, len(l.ids))}
}

// Past returns what the transcript held when the session under way began.
func (l *Links) Past() protocol.Past {
	p := l.past
	p.Links = append([]protocol.LinkState(nil), p.Links...)
	return p
}

// States returns what passed over each link in the session under way, by party.
func (l *Links) States() []protocol.LinkState {
	states := make([]protocol.LinkState, len(l.ids))
	for i := range states {
		if i != l.self {
			states[i] = l.state(i).now.state(l.session)
		}
	}
	return states
}

// Add takes the next record of the party's transcript, of whatever type. A record that cannot be the
// next is refused with a *RecordError and changes nothing.
func (l *Links) Add(r *Record) error {
	if err := l.check(r); err != nil {
		return &RecordError{Record: r.Number, Peer: r.Peer, Reason: err.Error()}
	}
	l.apply(r)
	return nil
}

// Digest returns the digest of all frames that passed between the party and a peer in this session,
// in both directions. It is zero for a peer that there is not, and before the first session.
func (l *Links) Digest(peer int) keys.Hash {
	if !l.peer(peer) || l.session == 0 {
		return keys.Hash{}
	}
	return l.digest(peer, &l.state(peer).now)
}

// Agreed returns what the peer signs in the round of countersignatures under way with it: the digest
// as it was before the round. ok is false when there is no round.
func (l *Links) Agreed(peer int) (digest keys.Hash, ok bool) {
	if !l.peer(peer) || l.session == 0 || !l.state(peer).round {
		return keys.Hash{}, false
	}
	return l.digest(peer, &l.state(peer).before), true
}

// Counts returns how many frames passed to and from a peer in this session.
func (l *Links) Counts(peer int) (toPeer, fromPeer uint64) {
	if !l.peer(peer) || l.session == 0 {
		return 0, 0
	}
	n := &l.state(peer).now.count
	return n[sent], n[received]
}

// Signed returns how many frames to and from a peer in this session are under its latest signature.
func (l *Links) Signed(peer int) [2]uint64 {
	if !l.peer(peer) || l.session == 0 {
		return [2]uint64{}
	}
	return l.state(peer).agreed.count
}

// unsigned returns how many frames the countersignature of the round under way adds to those that
// the peer has signed in this session.
func (l *Links) unsigned(peer int) uint64 {
	s := l.state(peer)
	return s.before.frames() - s.signed
}

// peer reports whether i is another party.
func (l *Links) peer(i int) bool { return 0 <= i && i < len(l.ids) && i != l.self }

// check says why a record cannot be the next.
func (l *Links) check(r *Record) error {
	between := r.Type.Frame() || r.Type == TypeCountersigned
	if between && !l.peer(r.Peer) {
		return fmt.Errorf("there is no such peer among %d parties of which this is party %d", len(l.ids), l.self)
	}
	if !between && r.Peer != l.self {
		return fmt.Errorf("a record %q names a peer, want the party itself, %d", r.Type, l.self)
	}
	if r.Type == TypeSession {
		if r.Session <= l.session {
			return fmt.Errorf("session %d begins after session %d, want a higher number", r.Session, l.session)
		}
		return nil
	}
	if l.session == 0 {
		return errors.New("no session has begun")
	}
	if r.Session != l.session {
		return fmt.Errorf("it is of session %d, but session %d is under way", r.Session, l.session)
	}
	// A record must be the next of its link.
	if r.Type == TypeCountersigned && !l.state(r.Peer).whole() {
		return errors.New("a countersignature without just before it one frame \"countersign\" each way")
	}
	if !r.Type.Frame() {
		return nil
	}
	if why := l.checkStated(r); why != "" {
		return errors.New(why)
	}
	if want := l.state(r.Peer).now.count[direction(r.Type)]; r.Sequence != want {
		return fmt.Errorf("frame %d was %s where frame %d was next: one is missing, doubled or of another link",
			r.Sequence, r.Type, want)
	}
	return nil
}

// checkStated says what is wrong with what the party states of itself: nothing, when it is what the records before say.
// A record whose payload is not hashed yet is left alone.
func (l *Links) checkStated(r *Record) string {
	if r.Type != TypeSent || r.Class != contract.ClassControl || r.Sum() == (keys.Hash{}) {
		return ""
	}
	switch r.Kind {
	case contract.KindPast:
		want := keys.Hash(sha256.Sum256(l.past.Encode(l.self)))
		if r.Bytes == contract.PastLinkSize && len(l.ids) > 2 {
			want = sha256.Sum256(l.past.EncodeFor(r.Peer))
		}
		if r.Sum() != want {
			return "what the party has stated of the sessions before is not what the transcript has of them: " +
				"records or sessions were taken out, put in or changed"
		}
	case contract.KindStates:
		want := l.stated.own
		if !l.stated.begun {
			want = sha256.Sum256(protocol.EncodeStates(l.States(), l.self))
		}
		if r.Sum() != want {
			return "what the party has stated of its links is not what the transcript has of them: " +
				"frames were taken out, put in or changed"
		}
	}
	return ""
}

// addStated takes a statement of a party's links, its own or that of a peer.
func (l *Links) addStated(r *Record) {
	if r.Kind != contract.KindStates || r.Class != contract.ClassControl {
		l.stated.begun = false
		return
	}
	from := r.Peer
	if r.Type == TypeSent {
		from = l.self
	}
	if from == l.self && !l.stated.begun {
		l.stated.begun, l.stated.own = true, r.Sum()
		clear(l.stated.sums)
	}
	l.stated.sums[from] = r.Sum()
	parts := [][]byte{l.contract[:], big32(l.session)}
	for i := range l.stated.sums {
		if l.stated.sums[i] == (keys.Hash{}) {
			return
		}
		parts = append(parts, l.stated.sums[i][:])
	}
	l.stated.all = keys.HashOf(domainStates, parts...)
}

// apply takes a record that check accepts.
func (l *Links) apply(r *Record) {
	switch r.Type {
	case TypeSession:
		l.beginSession(r.Session, r.Hash)
	case TypeCountersigned:
		s := l.state(r.Peer)
		s.round, s.signed, s.agreed = false, s.before.frames(), s.before
	case TypeSent, TypeReceived:
		l.addStated(r)
		l.addFrame(r)
	}
}

// addFrame adds a frame to its link, and to the chain of its direction.
func (l *Links) addFrame(r *Record) {
	s := l.state(r.Peer)
	round := r.Kind == contract.KindCountersign && r.Class == contract.ClassControl
	if round && !s.round {
		s.before = s.now
	}
	s.round = round
	if !round {
		s.asked = r.Type == TypeReceived && r.Kind == contract.KindAsk && r.Class == contract.ClassControl
	}
	d, b := direction(r.Type), &l.frame
	copy(b[:32], s.now.chain[d][:])
	b[32], b[33] = byte(r.Class), byte(r.Encoding)
	clear(b[34:58])
	copy(b[34:58], r.Kind)
	binary.BigEndian.PutUint32(b[58:], r.Session)
	binary.BigEndian.PutUint64(b[62:], r.Sequence)
	binary.BigEndian.PutUint64(b[70:], r.Operation)
	binary.BigEndian.PutUint64(b[78:], r.Size)
	binary.BigEndian.PutUint32(b[86:], r.Chunk)
	binary.BigEndian.PutUint64(b[90:], r.Bytes)
	copy(b[98:], r.Proof[:32])
	s.now.chain[d] = sha256.Sum256(b[:])
	s.now.count[d]++
}

// state returns a peer's link in the session under way.
func (l *Links) state(peer int) *link {
	s := &l.links[peer]
	if s.session != l.session {
		*s = link{session: l.session}
		s.now.chain[sent] = l.startOf(l.session, l.self, peer)
		s.now.chain[received] = l.startOf(l.session, peer, l.self)
	}
	return s
}

// startOf returns the chain of a direction before its first frame in a session.
func (l *Links) startOf(session uint32, from, to int) keys.Hash {
	return keys.HashOf(domainChain, l.contract[:], big32(session), l.ids[from][:], l.ids[to][:])
}

// digest returns the digest of a state of the link to a peer: the direction from the lower id first.
func (l *Links) digest(peer int, p *passed) keys.Hash {
	low, high, up, down := l.self, peer, sent, received
	if l.ids[peer].Compare(l.ids[l.self]) < 0 {
		low, high, up, down = peer, l.self, received, sent
	}
	return keys.HashOf(protocol.DomainLink, l.contract[:], big32(l.session), l.ids[low][:], l.ids[high][:],
		big64(p.count[up]), p.chain[up][:], big64(p.count[down]), p.chain[down][:], l.stated.all[:])
}

// direction is the direction of a frame.
func direction(t Type) int {
	if t == TypeReceived {
		return received
	}
	return sent
}

func big32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func big64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
