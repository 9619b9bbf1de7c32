package peer

import (
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// newJudge prepares a charter for the questions of admission.
func newJudge(self keys.ID, c *keys.SignedCharter, cfg Config) judge {
	return judge{self: nameIn(c, self), charter: c, stance: stanceOf(c), invited: cfg.Invited, worker: cfg.Worker,
		spent: cfg.Spent}
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
	if h.Version != WireVersion {
		return refused(fault.Fault{Code: fault.CodeProgram, Numbers: []int64{int64(h.Version), WireVersion}},
			"%s", apart(program{who: j.self, wire: WireVersion}, program{who: nameIn(j.charter, from), wire: h.Version}))
	}
	if r, ok := j.charter.RevokedID(from); ok {
		return refused(j.word(fault.CodeRevoked, r.Name), "%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason)
	}
	_, member := j.charter.Member(from)
	switch {
	case h.Role == roleWorker && j.isWorker(from):
		return verdict{level: levelWorker}
	case h.Role == roleWorker:
		if why, ok := j.isSpent(from); ok {
			return refused(why, "a worker's key is good no more: %s", &why)
		}
		return refused(fault.Fault{Code: fault.CodeWorker}, "%s is no worker of this node", nameIn(j.charter, from))
	case member && h.Role == roleMember:
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
	mine, theirs := j.stance, h.Charter
	switch {
	case theirs == mine:
		return verdict{level: levelFull}
	case theirs.Name == mine.Name && theirs.Version != mine.Version:
		return verdict{level: levelCharter}
	default:
		return refused(j.word(fault.CodeApart, mine.Name),
			"%s stands under %s and %s under %s: one of them has the wrong charter file",
			nameIn(j.charter, from), theirs, j.self, mine)
	}
}

// word is a fault about a name under the charter in force here.
func (j judge) word(code fault.Code, name string) fault.Fault {
	return fault.Fault{Code: code, Names: []string{name}, Numbers: []int64{int64(j.stance.Version)}}
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
