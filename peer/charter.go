package peer

import (
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// newJudge prepares a charter for the questions of admission.
func newJudge(self keys.ID, c *keys.SignedCharter, cfg Config) judge {
	return judge{self: nameIn(c, self), charter: c, stance: stanceOf(c), invited: cfg.Invited, worker: cfg.Worker,
		spent: cfg.Spent}
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
		return fmt.Errorf("charter %q version %d leaves this node's key %s out: it ends its membership, so close the host "+
			"instead",
			c.Name, c.Version, h.self)
	}
	h.mu.Lock()
	now := h.judge.stance
	if c.Name != now.name || uint32(c.Version) <= now.version {
		h.mu.Unlock()
		return fmt.Errorf("charter %q version %d cannot follow %s: want the same name and a later version", c.Name, c.Version,
			now)
	}
	h.judge = newJudge(h.self, c, h.cfg)
	close(h.charterChanged)
	h.charterChanged = make(chan struct{})
	h.mu.Unlock()
	h.dismissFormer(h.setMembers())

	// The links that stay are weighed again, and their members told of the version now in force.
	h.mu.Lock()
	news := h.judge.stance.encode()
	var links []*link
	for _, m := range h.members {
		if m.link != nil {
			links = append(links, m.link)
			h.weighLink(m, m.link, m.link.theirs.charter)
		}
		h.notify(m)
	}
	h.mu.Unlock()
	for _, l := range links {
		h.spawn(func() { l.send(kindCharter, news, newsPatience) })
	}
	return nil
}

// dismissFormer disconnects those whom the charter in force gives another place than they had:
// former members, and newcomers and workers who have become members, or been revoked, since they were let in.
// Those who came as invitees stay, to finish what they came for.
func (h *Host) dismissFormer(former []*link) {
	h.mu.Lock()
	j := h.judge
	for _, a := range h.admissions {
		l := a.link
		if l == nil || l.may(levelCharter) {
			continue
		}
		_, member := j.charter.Member(l.peer)
		_, revoked := j.charter.RevokedID(l.peer)
		if revoked || member && l.theirs.role != roleInvitee {
			former = append(former, l)
		}
	}
	h.mu.Unlock()
	for _, l := range former {
		reason := fmt.Sprintf("%s is not a member any longer, as %s says", l.name, j.stance)
		told := j.word(fault.CodeRemoved, l.name)
		if r, ok := j.charter.RevokedID(l.peer); ok {
			reason = fmt.Sprintf("%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason)
			told = j.word(fault.CodeRevoked, r.Name)
		} else if m, ok := j.charter.Member(l.peer); ok {
			reason = fmt.Sprintf("%s is a member under %s now and is to connect as one", m.Name, j.stance)
			told = j.word(fault.CodeAnew, m.Name)
		}
		h.spawn(func() { l.leave(reason, told) })
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
	h.notify(m)
	h.mu.Unlock()
	if exclusion != "" {
		l.end(exclusion)
	}
}

// judge holds what a hello is weighed against.
type judge struct {
	self    string // own name in the charter
	charter *keys.SignedCharter
	stance  stance // of charter
	invited func(keys.ID) bool
	worker  func(keys.ID) bool
	spent   func(keys.ID) (fault.Fault, bool)
}

func (j judge) invites(id keys.ID) bool {
	return j.invited != nil && j.invited(id)
}

// isWorker reports whether a key is one of this node's workers'. A member's never is.
func (j judge) isWorker(id keys.ID) bool {
	_, member := j.charter.Member(id)
	_, revoked := j.charter.RevokedID(id)
	return !member && !revoked && j.worker != nil && j.worker(id)
}

// isSpent reports whether a key was one of this node's workers', and says why it is none.
func (j judge) isSpent(id keys.ID) (why fault.Fault, ok bool) {
	if _, member := j.charter.Member(id); member || j.spent == nil {
		return why, false
	}
	return j.spent(id)
}

// weigh answers a hello from a caller whose key TLS has proved.
func (j judge) weigh(from keys.ID, h hello) verdict {
	if h.version != WireVersion {
		return refused(fault.Fault{Code: fault.CodeProgram, Numbers: []int64{int64(h.version), WireVersion}},
			"%s", apart(program{who: j.self, wire: WireVersion}, program{who: nameIn(j.charter, from), wire: h.version}))
	}
	if r, ok := j.charter.RevokedID(from); ok {
		return refused(j.word(fault.CodeRevoked, r.Name), "%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason)
	}
	_, member := j.charter.Member(from)
	switch {
	case h.role == roleWorker && j.isWorker(from):
		return verdict{level: levelWorker}
	case h.role == roleWorker:
		if why, ok := j.isSpent(from); ok {
			return refused(why, "a worker's key is good no more: %s", &why)
		}
		return refused(fault.Fault{Code: fault.CodeWorker}, "%s is no worker of this node", nameIn(j.charter, from))
	case member && h.role == roleMember:
		return j.compare(from, h)
	case member || j.invites(from):
		return verdict{level: levelJoin}
	default:
		return refused(fault.Fault{Code: fault.CodeMember},
			"%s is neither a member of %s nor invited to it: ask a member for an invitation", from, j.stance)
	}
}

// compare weighs a member's charter against the one in force here. A member on another version
// of the same charter is let in, to bring the charters together and for nothing else.
func (j judge) compare(from keys.ID, h hello) verdict {
	mine, theirs := j.stance, h.charter
	switch {
	case theirs == mine:
		return verdict{level: levelFull}
	case theirs.name == mine.name && theirs.version != mine.version:
		return verdict{level: levelCharter}
	default:
		return refused(j.word(fault.CodeApart, mine.name),
			"%s stands under %s and %s under %s: one of them has the wrong charter file",
			nameIn(j.charter, from), theirs, j.self, mine)
	}
}

// word is a fault about a name under the charter in force here.
func (j judge) word(code fault.Code, name string) fault.Fault {
	return fault.Fault{Code: code, Names: []string{name}, Numbers: []int64{int64(j.stance.version)}}
}

// nameIn returns what the charter calls an identity, or the short form of its key. The name in a
// hello is the caller's own claim and would let it pose as another in the log.
func nameIn(c *keys.SignedCharter, id keys.ID) string {
	if m, ok := c.Member(id); ok {
		return m.Name
	}
	if r, ok := c.RevokedID(id); ok {
		return r.Name
	}
	return id.Short()
}
