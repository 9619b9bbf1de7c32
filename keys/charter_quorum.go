package keys

import (
	"bytes"
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
)

// A version of a charter is in force when all its members have signed it. So one member that is away keeps the others
// from revoking a key that was stolen. A charter with the rule revoke_by lets fewer do that, and nothing else.

// Quorum returns how many of the members that stay must sign a version that does nothing but revoke one member: as many
// as revoke_by says, and more than half of all members, so that no two groups revoke each other. 0: all must.
func (c *Charter) Quorum() int {
	if c.Rules.RevokeBy == 0 {
		return 0
	}
	return max(c.Rules.RevokeBy, len(c.Members)/2+1)
}

// After tells a version of the charter which one it follows, and reports whether fewer signatures than all members' are
// enough for it: parent is in force and has the rule revoke_by, and this version is parent without one member, whose
// key it revokes, and equal to it in everything else, byte for byte. Then Complete asks for no more.
func (s *SignedCharter) After(parent *SignedCharter) bool {
	if parent == nil || parent.Quorum() == 0 || s.Follows(parent) != nil || parent.Complete() != nil ||
		!s.onlyRevokes(parent) {
		return false
	}
	s.parent = parent
	return true
}

// Before returns the version by which this one is in force though not all have signed it, as After was told; nil of
// others.
func (s *SignedCharter) Before() *SignedCharter { return s.parent }

// onlyRevokes reports whether this version is parent without one member, and nothing more.
func (s *SignedCharter) onlyRevokes(parent *SignedCharter) bool {
	last := len(s.Revoked) - 1
	if last != len(parent.Revoked) {
		return false
	}
	draft, err := parent.WithoutMember(s.Revoked[last].Name, s.Revoked[last].Reason)
	if err != nil {
		return false
	}
	draft.Created = s.Created
	want, err := NewCharter(draft)
	return err == nil && bytes.Equal(want.Body, s.Body)
}

// enough reports whether those have signed who can revoke. All signatures are of members that stay.
func (s *SignedCharter) enough() bool {
	return s.parent != nil && len(s.Signatures) >= s.parent.Quorum()
}

// lacking says how many signatures a revocation lacks, nothing of other versions.
func (s *SignedCharter) lacking() string {
	if s.parent == nil {
		return ""
	}
	return fmt.Sprintf("; it revokes a member, for which %s are enough, and has %d",
		wording.Count(s.parent.Quorum(), "signature"), len(s.Signatures))
}

// Unsigned returns the same text without signatures, to which others can be added.
func (s *SignedCharter) Unsigned() *SignedCharter {
	bare := *s.Document
	bare.Signatures = make(map[ID][]byte)
	return &SignedCharter{Charter: s.Charter, Document: &bare, parent: s.parent}
}
