package protocol

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Passed is what went over a link in one direction and one session.
type Passed struct {
	Frames uint64
	Chain  keys.Hash // over the frames; docs/transcript.md defines it
}

// LinkState is what passed between a party and a peer in one session.
type LinkState struct {
	Session  uint32 // 0: none, and all else is zero
	Sent     Passed
	Received Passed
}

// Past is what a party's transcript holds when a session begins. Parties that were not in the same sessions, or were
// killed, have different pasts: what one has sent in vain the other lacks.
type Past struct {
	Sessions   uint32      // before this one
	Last       uint32      // number of the latest of them, 0 when there is none
	Transcript keys.Hash   // hash of the record that begins this session: of all records up to it
	Links      []LinkState // by party, each in the latest session in which anything passed; the own is zero
}

// Former is what a transcript holds of a link in an earlier session, seen from the transcript's party.
type Former struct {
	State      LinkState // at the end of the session; without frames when nothing passed in it
	SentAt     keys.Hash // chain of what was sent after as many frames as were asked for; zero: there were fewer
	ReceivedAt keys.Hash
	Signed     [2]uint64 // frames sent and received, under the peer's latest signature of the session
	After      bool      // the peer has signed the link in a later session, before the one under way
}

// Encode returns the statement to all other parties. Numbers are big endian: sessions, last, transcript, and for each
// other party the state of the link.
func (p *Past) Encode(self int) []byte {
	b := p.begin()
	for i := range p.Links {
		if i != self {
			b = p.Links[i].appendTo(b)
		}
	}
	return b
}

// EncodeFor returns the statement to one party of a job over clients.
func (p *Past) EncodeFor(peer int) []byte { return p.Links[peer].appendTo(p.begin()) }

// begin encodes what a statement says of all links together.
func (p *Past) begin() []byte {
	b := binary.BigEndian.AppendUint32(nil, p.Sessions)
	b = binary.BigEndian.AppendUint32(b, p.Last)
	return append(b, p.Transcript[:]...)
}

// appendTo encodes a state with its session.
func (l *LinkState) appendTo(b []byte) []byte {
	return l.appendPassed(binary.BigEndian.AppendUint32(b, l.Session))
}

// appendPassed encodes what passed.
func (l *LinkState) appendPassed(b []byte) []byte {
	for _, p := range []*Passed{&l.Sent, &l.Received} {
		b = append(binary.BigEndian.AppendUint64(b, p.Frames), p.Chain[:]...)
	}
	return b
}

// EncodeStates returns the statement of the states of all links of party self in the session under way.
func EncodeStates(states []LinkState, self int) []byte {
	var b []byte
	for i := range states {
		if i != self {
			b = states[i].appendPassed(b)
		}
	}
	return b
}

// decodePassed reads what appendPassed wrote.
func (l *LinkState) decodePassed(b []byte) {
	for _, p := range []*Passed{&l.Sent, &l.Received} {
		p.Frames, p.Chain = binary.BigEndian.Uint64(b), keys.Hash(b[8:contract.PassedSize])
		b = b[contract.PassedSize:]
	}
}

// decodePast reads what a party says of its past before session number: of the links to so many parties, without its
// own.
func decodePast(b []byte, number uint32, links int) (Past, error) {
	if len(b) != contract.BeginSize+contract.StateSize*links {
		return Past{}, fmt.Errorf("a past of %d bytes, want %d", len(b), contract.BeginSize+contract.StateSize*links)
	}
	p := Past{
		Sessions: binary.BigEndian.Uint32(b), Last: binary.BigEndian.Uint32(b[4:]),
		Transcript: keys.Hash(b[8:contract.BeginSize]),
		Links:      make([]LinkState, links),
	}
	if p.Last >= number || p.Sessions > p.Last || (p.Sessions == 0) != (p.Last == 0) {
		return Past{}, fmt.Errorf("%d sessions before session %d, the latest of number %d: that cannot be",
			p.Sessions, number, p.Last)
	}
	for i := range p.Links {
		l, at := &p.Links[i], b[contract.BeginSize+contract.StateSize*i:]
		l.Session = binary.BigEndian.Uint32(at)
		l.decodePassed(at[4:])
		if l.Session > p.Last || l.Session == 0 && *l != (LinkState{}) {
			return Past{}, fmt.Errorf("a link in session %d, and the latest session is %d: that cannot be", l.Session,
				p.Last)
		}
	}
	return p, nil
}

// decodeStates reads what a party says of its links to so many parties.
func decodeStates(b []byte, links int) ([]LinkState, error) {
	if len(b) != 2*contract.PassedSize*links {
		return nil, fmt.Errorf("states of %d bytes, want %d", len(b), 2*contract.PassedSize*links)
	}
	states := make([]LinkState, links)
	for i := range states {
		states[i].decodePassed(b[2*contract.PassedSize*i:])
	}
	return states, nil
}

// without returns the place of party i in a list that leaves out one party.
func without(left, i int) int {
	if i > left {
		return i - 1
	}
	return i
}

// mirrors reports whether the two ends of a link have the same of it.
func (l *LinkState) mirrors(other *LinkState) bool {
	return l.Session == other.Session && l.Sent == other.Received && l.Received == other.Sent
}

// forks reports whether the two ends of a link have as many frames of it in a session, and others.
func (l *LinkState) forks(other *LinkState) bool {
	differ := func(a, b *Passed) bool { return a.Frames == b.Frames && a.Chain != b.Chain }
	return l.Session == other.Session && (differ(&l.Sent, &other.Received) || differ(&l.Received, &other.Sent))
}

// exchangePast exchanges with the other parties what the transcripts hold. What one of two lacks is no
// deviation: it was on its way when a process was killed. That it has other frames, or lacks what it has signed, is.
func (s *Session) exchangePast(ctx context.Context) error {
	own, err := s.config.Recorder.Past()
	if err != nil {
		return err
	}
	h := header{class: contract.ClassControl, kind: contract.KindPast, operation: s.operation}
	pasts := make([][]LinkState, s.Parties())
	pasts[s.self] = make([]LinkState, 0, s.Parties()-1)
	for i, l := range own.Links {
		if i != s.self {
			pasts[s.self] = append(pasts[s.self], l)
		}
	}
	all, err := s.stated(ctx, h, own.Encode(s.self))
	if err != nil {
		return err
	}
	for i, b := range all {
		if i == s.self {
			continue
		}
		p, err := decodePast(b, s.config.Number, s.Parties()-1)
		if err != nil {
			return s.fail(i, &h, deviation("it says of its transcript: %v", err))
		}
		pasts[i] = p.Links
		if why, err := s.judge(i, &own.Links[i], &p.Links[without(i, s.self)]); err != nil || why != "" {
			return s.contradiction(i, s.self, &h, why, err)
		}
	}
	const why = "their transcripts have other frames of the link between the two"
	return s.compareOthers(&h, pasts, (*LinkState).forks, why)
}

// stated sends a statement to all and receives those of all.
func (s *Session) stated(ctx context.Context, h header, own []byte) ([][]byte, error) {
	if err := s.config.Recorder.Sync(); err != nil {
		return nil, err
	}
	h.size = uint64(len(own))
	return s.exchange(ctx, h, own, len(own))
}

// compareOthers holds what two other parties say of the link between them against each other.
func (w *wire) compareOthers(h *header, states [][]LinkState, differ func(a, b *LinkState) bool, why string) error {
	for a := range states {
		for b := range a {
			if a == w.self || b == w.self {
				continue
			}
			if differ(&states[a][without(a, b)], &states[b][without(b, a)]) {
				return w.contradiction(a, b, h, why, nil)
			}
		}
	}
	return nil
}

// contradiction ends the session: what party i says of a link does not go with what another says. Which of the two
// deviates is not known. It returns err if there is one.
func (w *wire) contradiction(i, other int, h *header, why string, err error) error {
	if err != nil {
		return err
	}
	w.failed = &StepError{
		Peer: w.Name(i), Other: w.Name(other), Operation: h.operation, Kind: h.kind, Err: deviation("%s", why),
	}
	return w.failed
}

// judge says why what a party says of its link to this one cannot be, by this party's own transcript.
func (w *wire) judge(i int, own, theirs *LinkState) (string, error) {
	return judgePast(w.config.Recorder, i, own, theirs)
}

// judgePast holds the past of a link, as a peer says it, against the own transcript. What only one end has of the
// latest frames was on its way when a process was killed, or lost in a power cut; not so what the peer has signed: its
// transcript was on its disk before the signature left.
func judgePast(r Recorder, peer int, own, theirs *LinkState) (string, error) {
	if own.mirrors(theirs) {
		return "", nil
	}
	f, err := r.Former(peer, theirs.Session, theirs.Received.Frames, theirs.Sent.Frames)
	if err != nil {
		return "", err
	}
	told := fmt.Sprintf("it says that in session %d, their latest, it sent %d frames and received %d; ",
		theirs.Session, theirs.Sent.Frames, theirs.Received.Frames)
	here := &f.State
	switch {
	case theirs.Received.Frames <= here.Sent.Frames && theirs.Received.Chain != f.SentAt:
		return told + "what it received are other frames than were sent by this party", nil
	case theirs.Sent.Frames <= here.Received.Frames && theirs.Sent.Chain != f.ReceivedAt:
		return told + "what it sent are other frames than came to this party", nil
	case theirs.Sent.Frames < f.Signed[1] || theirs.Received.Frames < f.Signed[0]:
		return told + fmt.Sprintf("it has signed for %d and %d", f.Signed[1], f.Signed[0]), nil
	case f.After:
		return told + "it has signed the link in a later session", nil
	}
	return "", nil
}

// exchangeStates exchanges with the other parties the states of all links. All stand between the
// same two operations, so that both ends of every link have the same of it.
func (s *Session) exchangeStates(ctx context.Context) error {
	states, err := s.config.Recorder.States()
	if err != nil {
		return err
	}
	h := header{class: contract.ClassControl, kind: contract.KindStates, operation: s.operation}
	own := EncodeStates(states, s.self)
	all, err := s.stated(ctx, h, own)
	if err != nil {
		return err
	}
	decoded := make([][]LinkState, len(all))
	for i, b := range all {
		if decoded[i], err = decodeStates(b, len(all)-1); err != nil {
			return s.fail(i, &h, deviation("it says of its links: %v", err))
		}
	}
	const why = "the two have not recorded the same of the link between them: what one sent is not what the other received"
	for i := range all {
		if i != s.self && !decoded[i][without(i, s.self)].mirrors(&decoded[s.self][without(s.self, i)]) {
			return s.contradiction(i, s.self, &h, why, nil)
		}
	}
	differ := func(a, b *LinkState) bool { return !a.mirrors(b) }
	return s.compareOthers(&h, decoded, differ, why)
}

// sendPast sends a peer of a job over clients what this party's transcript holds of the sessions before, once and
// before anything else.
func (l *Links) sendPast(ctx context.Context, to int) error {
	r := l.wire.config.Recorder
	if r == nil || l.pastSent[to] {
		return nil
	}
	l.pastSent[to] = true
	own, err := r.Past()
	if err != nil {
		return err
	}
	if !l.kept {
		if err := r.Sync(); err != nil {
			return err
		}
		l.kept = true
	}
	b := own.EncodeFor(to)
	link := *l
	link.group = 0 // it is said of the link, not of a group
	return link.send(ctx, to, Message{Kind: contract.KindPast, Class: contract.ClassControl,
		Size: uint64(len(b)), Payload: b})
}

// receivePast wants the first message of a peer to be its past, and holds it against the own transcript.
func (l *Links) receivePast(m Message) error {
	c := &l.wire.config
	switch {
	case c.Recorder == nil:
		return nil
	case l.pastReceived[m.From] != (m.Kind == contract.KindPast):
		l.pastReceived[m.From] = true
	case l.pastReceived[m.From]:
		return l.Deviation(m, "what its transcript holds of the sessions before came again")
	default:
		return l.Deviation(m, "it came before what its transcript holds of the sessions before")
	}
	if m.Kind != contract.KindPast {
		return nil
	}
	p, err := decodePast(m.Payload, c.Number, 1)
	if err == nil && m.Class != contract.ClassControl {
		err = fmt.Errorf("a message of class %s", m.Class)
	}
	if err != nil {
		return l.Deviation(m, "it says of its transcript: %v", err)
	}
	own, err := c.Recorder.Past()
	if err != nil {
		return err
	}
	why, err := judgePast(c.Recorder, m.From, &own.Links[m.From], &p.Links[0])
	if err != nil || why == "" {
		return err
	}
	return &StepError{Peer: l.Name(m.From), Other: l.Name(l.Self()), Kind: m.Kind, Err: deviation("%s", why)}
}
