package peer

import (
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// level is what a link may be used for.
type level uint8

const (
	levelNone    level = iota
	levelJoin          // calls whose method starts with "join/"
	levelCharter       // calls whose method starts with "charter/": the versions differ
	levelFull          // everything
)

// Verdict codes as sent. Numbers are never used again for another meaning.
const (
	verdictAccepted  = 0
	verdictRefused   = 1 // for a reason that people must settle
	verdictDuplicate = 2 // the two are connected already: nothing is wrong
)

// verdict is a side's answer to the other's hello.
type verdict struct {
	code   uint8
	level  level           // when accepted; not sent, each side computes it from the two hellos
	reason string          // when refused: one sentence for this side
	told   *protocol.Fault // when refused: what the other side is told of it
}

func (v verdict) encode() []byte {
	var p packer
	p.u8(v.code)
	told := v.told
	if told == nil {
		told = &protocol.Fault{Code: protocol.CodeTwice} // the verdict's code says it all
	}
	p.text(string(told.Encode()), maxReason)
	return p
}

func decodeVerdict(body []byte) (v verdict, err error) {
	u := unpacker{rest: body}
	v.code = u.u8()
	v.told = protocol.DecodeFault([]byte(u.text("reason", maxReason)))
	if err := u.end(); err != nil {
		return verdict{}, err
	}
	if v.code > verdictDuplicate {
		return verdict{}, fmt.Errorf("the verdict has the unknown code %d", v.code)
	}
	return v, nil
}

// refused is a verdict with what the other side is told, and a sentence for this one.
func refused(told protocol.Fault, format string, args ...any) verdict {
	return verdict{code: verdictRefused, told: &told, reason: fmt.Sprintf(format, args...)}
}

// judge holds what a hello is weighed against.
type judge struct {
	self    string // own name in the charter
	charter *keys.SignedCharter
	stance  stance // of charter
	invited func(keys.ID) bool
}

// meets reports whether a caller may say hello at all: others are cut after the handshake.
func (j judge) meets(id keys.ID) bool {
	if _, member := j.charter.Member(id); member {
		return true
	}
	_, revoked := j.charter.RevokedID(id)
	return revoked || j.invites(id)
}

func (j judge) invites(id keys.ID) bool {
	return j.invited != nil && j.invited(id)
}

// weigh answers a hello from a caller whose key TLS has proved.
func (j judge) weigh(from keys.ID, h hello) verdict {
	if h.version != wireVersion {
		return refused(protocol.Fault{Code: protocol.CodeProgram, Numbers: []int64{int64(h.version), wireVersion}},
			"%s speaks wire version %d and %s version %d: the older one must be updated",
			j.called(from), h.version, j.self, wireVersion)
	}
	if r, ok := j.charter.RevokedID(from); ok {
		return refused(j.word(protocol.CodeRevoked, r.Name), "%s was revoked, as %s says: %s", r.Name, j.stance, r.Reason)
	}
	_, member := j.charter.Member(from)
	switch {
	case member && h.role == roleMember:
		return j.compare(from, h)
	case member || j.invites(from):
		return verdict{level: levelJoin}
	default:
		return refused(protocol.Fault{Code: protocol.CodeMember},
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
		return refused(j.word(protocol.CodeApart, mine.name),
			"%s stands under %s and %s under %s: one of them has the wrong charter file",
			j.called(from), theirs, j.self, mine)
	}
}

// word is a fault about a name under the charter in force here.
func (j judge) word(code protocol.Code, name string) protocol.Fault {
	return protocol.Fault{Code: code, Names: []string{name}, Numbers: []int64{int64(j.stance.version)}}
}

// called returns the name that the charter gives a caller, or the short form of its key. The
// name in the hello is the caller's own claim and would let it pose as another in the log.
func (j judge) called(id keys.ID) string {
	return nameIn(j.charter, id)
}

// nameIn returns what the charter calls an identity, or the short form of its key.
func nameIn(c *keys.SignedCharter, id keys.ID) string {
	if m, ok := c.Member(id); ok {
		return m.Name
	}
	if r, ok := c.RevokedID(id); ok {
		return r.Name
	}
	return id.Short()
}
