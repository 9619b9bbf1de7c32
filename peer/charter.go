package peer

import (
	"fmt"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// newJudge prepares a charter for the questions of admission.
func newJudge(self keys.ID, c *keys.SignedCharter, invited func(keys.ID) bool) judge {
	return judge{self: nameIn(c, self), charter: c, stance: stanceOf(c), invited: invited}
}

// SetCharter puts a new version of the charter into force: members that it adds are dialled,
// those it leaves out or revokes are disconnected and told why, and the others are told of the
// version. A link to a member on another version carries only "charter/" calls until both
// agree; sessions that run go on, since their contract names their charter.
//
// It must be a later version of the same charter, signed by all its members, this one among
// them; that it descends from the version before is for the caller to check (Follows).
func (h *Host) SetCharter(c *keys.SignedCharter) error {
	if err := c.Complete(); err != nil {
		return err
	}
	if _, ok := c.Member(h.self); !ok {
		return fmt.Errorf("charter %q version %d leaves this node's key %s out: it ends its membership, so close the host instead",
			c.Name, c.Version, h.self)
	}
	h.mu.Lock()
	now := h.judge.stance
	if c.Name != now.name || uint32(c.Version) <= now.version {
		h.mu.Unlock()
		return fmt.Errorf("charter %q version %d cannot follow %s: want the same name and a later version", c.Name, c.Version, now)
	}
	h.judge = newJudge(h.self, c, h.cfg.Invited)
	h.mu.Unlock()
	h.part(h.setMembers())
	h.spreadCharter()
	return nil
}

// part disconnects those whom the charter in force gives another place than they had.
func (h *Host) part(former []*link) {
	h.mu.Lock()
	j := h.judge
	former = append(former, h.outgrown()...)
	h.mu.Unlock()
	for _, l := range former {
		reason, told := j.partingWord(l)
		h.spawn(func() { l.leave(reason, told) })
	}
}

// outgrown returns the links of newcomers who have become members, or been revoked, since they
// were let in. Those who came as invitees stay, to finish what they came for. Host.mu is held.
func (h *Host) outgrown() (links []*link) {
	for _, a := range h.admissions {
		l := a.link
		if l == nil || level(l.level.Load()) != levelJoin {
			continue
		}
		_, member := h.judge.charter.Member(l.peer)
		_, revoked := h.judge.charter.RevokedID(l.peer)
		if revoked || member && l.theirs.role == roleMember {
			links = append(links, l)
		}
	}
	return links
}

// partingWord says why a link ends under a new charter, to this side and to the other.
func (j judge) partingWord(l *link) (reason string, told protocol.Fault) {
	if r, ok := j.charter.RevokedID(l.peer); ok {
		return fmt.Sprintf("%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason), j.word(protocol.CodeRevoked, r.Name)
	}
	if m, ok := j.charter.Member(l.peer); ok {
		return fmt.Sprintf("%s is a member under %s now and is to connect as one", m.Name, j.stance),
			j.word(protocol.CodeAnew, m.Name)
	}
	return fmt.Sprintf("%s is not a member any longer, as %s says", l.name, j.stance), j.word(protocol.CodeRemoved, l.name)
}

// spreadCharter weighs all links again and tells the members of the version now in force.
func (h *Host) spreadCharter() {
	h.mu.Lock()
	news := encodeCharter(h.judge.stance)
	var links []*link
	for _, m := range h.members {
		if m.link != nil {
			links = append(links, m.link)
			h.weighLink(m, m.link, m.link.theirs.charter)
		}
		h.ring(m)
	}
	h.mu.Unlock()
	for _, l := range links {
		h.spawn(func() { l.send(kindCharter, news, newsPatience) })
	}
}

// charterOf handles a member's news that it stands under another charter than in its hello.
func (h *Host) charterOf(l *link, s stance) {
	h.mu.Lock()
	m := h.members[l.peer]
	if m == nil || m.link != l {
		h.mu.Unlock()
		return
	}
	l.theirs.charter = s
	exclusion := h.weighLink(m, l, s)
	h.ring(m)
	h.mu.Unlock()
	if exclusion != "" {
		l.end(exclusion)
	}
}

// skew says what restricts a link between two versions of the charter.
func (j judge) skew(name string, theirs stance) string {
	return fmt.Sprintf("%s is on version %d of the charter and %s on version %d: no data until both have the same",
		name, theirs.version, j.self, j.stance.version)
}

// nameOf returns what the charter in force calls an identity.
func (h *Host) nameOf(id keys.ID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return nameIn(h.judge.charter, id)
}

// noteRefusal keeps why an inbound connection was refused, on either side's account.
func (h *Host) noteRefusal(c network.Conn, err error) {
	id, idErr := memberID(c.RemotePeer())
	if idErr != nil || err == errDuplicate {
		return
	}
	h.mu.Lock()
	m := h.members[id]
	name := nameIn(h.judge.charter, id)
	h.mu.Unlock()
	if ended(err) || timedOut(err) {
		err = fmt.Errorf("%s broke the connection off during the hello", name)
	}
	if m != nil {
		h.noteTrouble(m, err)
		return
	}
	h.refuseStranger(c.RemotePeer(), c.RemoteMultiaddr(), err.Error())
}
