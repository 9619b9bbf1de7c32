package enrol

import (
	"time"

	"github.com/hanse-project/hanse/keys"
)

// Waiting is a version of the charter that is proposed here and not in force.
type Waiting struct {
	Version int
	Digest  keys.Hash
	By      string    // the first member that has signed it
	Created time.Time // when it was drafted, by its drafter's clock
	File    string    // where this node's owner reads it and signs it
	Signed  bool      // by this node's owner
	Missing []string  // whose signatures it lacks, in its order
	New     []string  // of these whose key is new: they sign with hanse join
}

// Waiting lists the versions that wait for signatures, the oldest first.
func (e *Enrolment) Waiting() []Waiting {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Waiting
	for _, h := range e.inOrder() {
		p := e.proposals[h]
		all = append(all, Waiting{Version: p.charter.Version, Digest: h, By: e.proposer(p), Created: p.charter.Created,
			File: p.path, Signed: p.charter.SignedBy(e.self), Missing: missingNames(p.charter),
			New: NewKeys(p.charter, e.charter)})
	}
	return all
}

// replaces reports whether a member of a version has another key in the one before.
func replaces(m keys.Member, before *keys.SignedCharter) bool {
	old, ok := before.MemberNamed(m.Name)
	return ok && old.ID != m.ID
}

// NewKeys lists those who have yet to sign a version that gives them a new key.
func NewKeys(c, before *keys.SignedCharter) []string {
	var names []string
	for _, m := range c.Members {
		if replaces(m, before) && !c.SignedBy(m.ID) {
			names = append(names, m.Name)
		}
	}
	return names
}
