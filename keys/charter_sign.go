package keys

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
)

// SignedCharter is a charter together with the very bytes its members sign. Its fields are to be
// read only: a changed charter is a new version.
type SignedCharter struct {
	Charter
	*Document

	parent *SignedCharter // by which fewer signatures are enough; see After
}

// NewCharter checks a charter, fills in the defaults of its rules and renders the text to be
// signed. Equal charters give equal bytes. Created is cut to whole seconds.
func NewCharter(c Charter) (*SignedCharter, error) {
	c = c.clone()
	c.Rules = c.Rules.withDefaults()
	c.Created = c.Created.UTC().Truncate(time.Second)
	if err := c.check(); err != nil {
		return nil, err
	}
	d := NewDocument(charterDomain, c.body())
	if n := len(d.Text()) + len(c.Members)*signatureLine; n > MaxDocument {
		return nil, fmt.Errorf("charter %q: %d bytes with all signatures, at most %d are allowed: give fewer addresses",
			c.Name, n, MaxDocument)
	}
	return &SignedCharter{Charter: c, Document: d}, nil
}

// ParseCharter reads a charter. Its structure and every signature present are good when it
// returns; whether all have signed is for Complete to say.
func ParseCharter(text []byte) (*SignedCharter, error) {
	d, err := splitDocument(charterDomain, text)
	if err != nil {
		return nil, err
	}
	var t charterText
	if err := decodeBody("charter", charterFormat, d.Body, &t, &t.Format); err != nil {
		return nil, err
	}
	c, err := t.parse()
	if err != nil {
		return nil, err
	}
	s := &SignedCharter{Charter: c, Document: d}
	// Every signature is verified, once it is clear that all are of members.
	members := membersByID(&s.Charter)
	for _, id := range slices.SortedFunc(maps.Keys(s.Signatures), ID.Compare) {
		if _, ok := members[id]; !ok {
			return nil, s.stranger(id)
		}
	}
	if err := s.verify(func(id ID) string { return members[id].Name }); err != nil {
		return nil, err
	}
	return s, nil
}

// Digest names the charter: it goes into every greeting between nodes, so that two nodes with
// different charters notice. Signatures are not part of it.
func (s *SignedCharter) Digest() Hash { return s.Hash() }

// Sign adds the signature of k. The key of somebody who is not a member is refused.
func (s *SignedCharter) Sign(k *PrivateKey) error {
	if err := s.checkSigner(k.ID()); err != nil {
		return err
	}
	s.Document.Sign(k)
	return nil
}

// AddSignature adds a member's signature made elsewhere, after verifying it.
func (s *SignedCharter) AddSignature(id ID, sig []byte) error {
	if err := s.checkSigner(id); err != nil {
		return err
	}
	return s.Document.AddSignature(id, sig)
}

// Complete returns an *UnsignedError unless every member has signed or, of a version that revokes one, as many as the
// version before asks for; see After.
func (s *SignedCharter) Complete() error {
	missing := s.Missing(s.IDs())
	if len(missing) == 0 || s.enough() {
		return nil
	}
	e := &UnsignedError{Charter: s.Name, lacking: s.lacking()}
	for _, m := range s.Members {
		if !s.SignedBy(m.ID) {
			e.Members = append(e.Members, m.Name)
		}
	}
	return e
}

// InForce is a charter that all have signed who must: its members or, of a revocation, enough of them. Only
// SignedCharter.InForce makes one; the zero value proves nothing.
type InForce struct{ charter *SignedCharter }

// Charter returns the charter with all its signatures, nil of the zero value. It must not be changed.
func (f InForce) Charter() *SignedCharter { return f.charter }

// InForce checks that all have signed who must; the error is Complete's.
func (s *SignedCharter) InForce() (InForce, error) {
	if err := s.Complete(); err != nil {
		return InForce{}, err
	}
	return InForce{s}, nil
}

// checkSigner refuses signatures of strangers.
func (s *SignedCharter) checkSigner(id ID) error {
	if _, ok := s.Member(id); !ok {
		return s.stranger(id)
	}
	return nil
}

// stranger is the error for a signer who is not a member.
func (s *SignedCharter) stranger(id ID) error {
	return fmt.Errorf("charter %q: %s is not a member, so its signature has no place here", s.Name, id.Short())
}

// UnsignedError says that a charter is not in force, and who has to sign it.
type UnsignedError struct {
	Charter string
	Members []string // names, in the order of the charter

	lacking string // of a revocation: how many signatures are enough
}

// Error implements error.
func (e *UnsignedError) Error() string {
	verb := "have"
	if len(e.Members) == 1 {
		verb = "has"
	}
	const most = 5 // names in a sentence
	names := e.Members
	if len(names) > most+1 {
		names = append(names[:most:most], fmt.Sprintf("%d others", len(names)-most))
	}
	return fmt.Sprintf("charter %q is not in force: %s %s not signed it%s", e.Charter, wording.List(names, "and"), verb,
		e.lacking)
}
