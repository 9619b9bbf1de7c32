package peer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/peer/session"
)

// reception says hello to members, and answers the hellos of all.
type reception struct {
	*base
	instance   uint64 // tells this host from the one that ran before
	admissions *admissions
	workers    *workers
	strangers  *strangers
	announcer  announcer
	puncher    *puncher
	tending    *tending
}

// greet says hello to a member that this side has dialled, and that it has met before or not.
func (r *reception) greet(ctx context.Context, who target, conn network.Conn, j judge, met bool) (*link, error) {
	return greeting{
		target: who,
		self:   r.self,
		mine:   r.hello(j, conn),
		runs:   program{j.self, WireVersion, r.cfg.Program},
		weigh:  func(theirs hello) verdict { return j.weigh(who.id, theirs) },
		heard:  r.meter.of(conn.RemotePeer()),
		now:    r.cfg.Now,
		met:    met,
	}.exchange(ctx, conn)
}

// install makes a link the member's link and opens the connection to streams, unless another one is to be kept.
func (r *reception) install(l *link) error {
	p := l.conn.RemotePeer()
	if !r.members.isMember(p) {
		return errDuplicate
	}
	if err := admit(r.node.limits, p); err != nil {
		r.log.Warn("a member has no more streams than a stranger", "member", l.name, "reason", err)
	}
	old, err := r.members.install(l)
	if err != nil {
		return err
	}
	r.admissions.decide(l.conn, l)
	if old != nil {
		old.end("replaced by a newer connection")
	}
	return nil
}

// answer is the acceptor's side of a hello. It runs as long as the link does.
func (r *reception) answer(s network.Stream) {
	l, err := r.accept(s)
	switch {
	case err == nil && l.isWorkers():
		r.workers.tend(l)
		return
	case err == nil:
		r.tending.tend(l)
		return
	}
	conn := s.Conn()
	id, noMember := memberID(conn.RemotePeer())
	r.admissions.decide(conn, nil)
	m, name := r.members.get(id), nameIn(r.members.inForce().charter, id)
	conn.Close()
	if noMember != nil || err == errDuplicate {
		return
	}
	if ended(err) || timedOut(err) {
		err = fmt.Errorf("%s broke the connection off during the hello", name)
	}
	if m != nil {
		r.members.noteTrouble(m, err)
	} else {
		r.strangers.refuse(conn.RemotePeer(), conn.RemoteMultiaddr(), err.Error())
	}
}

// accept reads a hello, answers it with this side's hello and verdict, and reads whether the
// dialler accepts as well. Then it opens the connection to the streams that its level allows. An
// error is the reason of a refusal.
func (r *reception) accept(s network.Stream) (*link, error) {
	conn := s.Conn()
	if !r.puncher.comesIn(conn) {
		return nil, errors.New("sent a hello on a connection that it did not dial")
	}
	from, err := memberID(conn.RemotePeer())
	if err != nil {
		return nil, err
	}
	s.SetDeadline(time.Now().Add(session.AnswerTime))
	defer s.SetDeadline(time.Time{})
	body, err := expectControl(s, kindHello)
	if err != nil {
		return nil, err
	}
	heard := r.cfg.Now()
	theirs, err := decodeHello(body)
	if err != nil {
		return nil, fmt.Errorf("sent a malformed hello: %w", err)
	}

	j := r.members.inForce()
	v := j.weigh(from, theirs)
	if v.level >= levelCharter {
		v = r.members.weighRival(from, theirs.Instance, v)
	}
	if v.level == levelWorker {
		v = r.workers.weigh(conn, from, theirs.Instance)
	}
	mine := r.hello(j, conn)
	if v.code != verdictAccepted || v.level == levelWorker {
		mine.Addresses = nil // no business of somebody who is refused, nor of a worker
	}
	var reply buffer
	writeControl(&reply, kindHello, mine.encode())
	writeControl(&reply, kindVerdict, v.encode())
	if _, err := s.Write(reply); err != nil {
		return nil, err
	}
	switch v.code {
	case verdictAccepted:
	case verdictDuplicate:
		awaitEnd(s)
		return nil, errDuplicate
	default:
		said := &refusal{text: "refused the connection: " + v.reason}
		if theirs.Version != WireVersion {
			runs := program{who: j.self, wire: WireVersion}
			if _, member := j.charter.Member(from); member { // nobody else learns what runs here
				runs.version = r.cfg.Program
			}
			sayProgram(s, runs.version)
			said.other = &program{nameIn(j.charter, from), theirs.Version, receiveProgram(s)}
			said.text = apart(runs, *said.other)
		}
		awaitEnd(s)
		return nil, said
	}

	asked := time.Now()
	if body, err = expectControl(s, kindVerdict); err != nil {
		return nil, err
	}
	theirVerdict, err := decodeVerdict(body)
	if err != nil {
		return nil, fmt.Errorf("sent a malformed verdict: %w", err)
	}
	if theirVerdict.code != verdictAccepted {
		return nil, &refusal{text: "the other side refused the connection: " + theirVerdict.told.String()}
	}
	rtt := time.Since(asked)
	l := newLink(from, nameIn(j.charter, from), s, r.meter.of(conn.RemotePeer()), r.cfg.Now)
	l.rtt.Store(int64(rtt))
	l.clock.set(clockAhead(theirs.Clock, heard, rtt))
	l.theirs, l.told, l.dialled = theirs, j.stance, false
	switch v.level {
	case levelJoin:
	case levelWorker:
		return l, r.workers.install(l)
	default:
		return l, r.install(l)
	}
	l.level.Store(uint32(levelJoin))
	r.admissions.decide(conn, l)
	return l, nil
}

// hello returns what this side says of itself over a connection.
func (r *reception) hello(j judge, over network.Conn) hello {
	mine := hello{
		Version:  WireVersion,
		Role:     roleMember,
		DHT:      r.cfg.discovers(DiscoverDHT),
		Instance: r.instance,
		Clock:    clockMillis(r.cfg.Now()),
		Charter:  j.stance,
		Name:     j.self,
	}
	for _, a := range r.announcer.announced(reachOver(over)) {
		if len(mine.Addresses) < maxAddresses && len(a.String()) <= maxAddress {
			mine.Addresses = append(mine.Addresses, a.String())
		}
	}
	return mine
}
