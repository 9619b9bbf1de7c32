package keys

import (
	"fmt"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/wording"
)

// Follows returns an error unless s is the next version of parent: the same name, the version
// one higher and the parent's digest. It says nothing about signatures: a node replaces its
// charter only by one that is complete, and so signed by its own organisation, unless enough others revoke a member.
func (s *SignedCharter) Follows(parent *SignedCharter) error {
	switch {
	case s.Name != parent.Name:
		return fmt.Errorf("charter %q does not follow %q: the names differ", s.Name, parent.Name)
	case s.Version != parent.Version+1:
		return fmt.Errorf("charter %q: version %d does not follow version %d: want version %d", s.Name, s.Version,
			parent.Version, parent.Version+1)
	case s.Parent != parent.Digest():
		return fmt.Errorf("charter %q: version %d follows a version %d with the hash %s, not this one with the hash %s",
			s.Name, s.Version, parent.Version, s.Parent.Short(), parent.Digest().Short())
	}
	return nil
}

// Next returns the draft of the next version, equal but for Version and Parent. Created is zero:
// whoever finishes the draft sets it and calls NewCharter.
func (s *SignedCharter) Next() Charter {
	c := s.Charter.clone()
	c.Version++
	c.Parent = s.Digest()
	c.Created = time.Time{}
	return c
}

// WithMember returns the draft of the next version with one more member; see Next and Admit.
func (s *SignedCharter) WithMember(card Card) Charter {
	c := s.Next()
	c.Admit(card)
	return c
}

// WithoutMember returns the draft of the next version with one member fewer, its key revoked;
// see Next and Revoke.
func (s *SignedCharter) WithoutMember(name, reason string) (Charter, error) {
	c := s.Next()
	if err := c.Revoke(name, reason); err != nil {
		return Charter{}, err
	}
	return c, nil
}

// Admit adds the card's owner to a draft, or renews the name and the addresses of the member
// with this ID, whose roles and affiliations stay.
func (c *Charter) Admit(card Card) {
	m := Member(card)
	m.Addresses = copied(m.Addresses)
	if i := slices.IndexFunc(c.Members, func(old Member) bool { return old.ID == m.ID }); i >= 0 {
		c.renameAffiliated(c.Members[i].Name, m.Name)
		c.Members[i] = m
		return
	}
	c.Members = append(c.Members, m)
}

// Revoke takes a member out of a draft, with its roles and affiliations, and revokes its key. A member who has lost
// its key is revoked and then admitted with a new card.
func (c *Charter) Revoke(name, reason string) error {
	i := slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("charter %q: there is no member %q to revoke", c.Name, wording.ClipAt(name, MaxName))
	}
	r := Revoked{Name: name, ID: c.Members[i].ID, Reason: reason}
	if err := r.check(); err != nil {
		return fmt.Errorf("charter %q: %w", c.Name, err)
	}
	delete(c.Roles, r.ID)
	// Takes a member of a draft out of the groups; a group of one is none.
	var kept [][]string
	for _, group := range c.Affiliations {
		rest := slices.DeleteFunc(slices.Clone(group), func(n string) bool { return n == name })
		if len(rest) >= 2 {
			kept = append(kept, rest)
		}
	}
	c.Affiliations = kept
	c.Members = slices.Delete(c.Members, i, i+1)
	c.Revoked = append(c.Revoked, r)
	return nil
}
