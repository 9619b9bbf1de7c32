package keys

import (
	"slices"
	"time"
)

const (
	charterDomain = "hanse charter v1"
	charterFormat = "hanse-charter-v1"
)

// MaxMembers is the largest number of members of a charter, and of keys it revokes.
const MaxMembers = 4096

// Charter is what the members agree on: who they are and by which rules they work.
type Charter struct {
	Name    string    // see CheckName; the same in all versions
	Version int       // from 1
	Parent  Hash      // the digest of the version before; zero in version 1 only
	Created time.Time // whole seconds
	Rules   Rules
	Members []Member  // in the order of the text; at most MaxMembers
	Revoked []Revoked // keys that are refused from now on; at most MaxMembers

	// Roles are those that members may have in jobs over clients, by their IDs: RoleServer,
	// RoleClient or both. A member that is not in it may have any. See Allows and SetRoles.
	Roles map[ID][]string

	// Affiliations are groups of members that belong together, by name: each at least two different
	// members. See Affiliated.
	Affiliations [][]string

	// Identifiers say what identifies a row: at most MaxIdentifiers, in the order of their names.
	Identifiers []Identifier

	// Relay bounds what members that relay carry for others.
	Relay RelayLimits
}

// Revoked is a key that was a member's and is no longer good. The name may belong to a member
// still: one who lost a key and has a new one.
type Revoked struct {
	Name   string
	ID     ID
	Reason string // one printable line, at most 200 bytes
}

// Member returns the member with the given ID.
func (c *Charter) Member(id ID) (Member, bool) {
	return found(c.Members, func(m Member) bool { return m.ID == id })
}

// MemberNamed returns the member with the given name.
func (c *Charter) MemberNamed(name string) (Member, bool) {
	return found(c.Members, func(m Member) bool { return m.Name == name })
}

// RevokedID returns what the charter says about a revoked key.
func (c *Charter) RevokedID(id ID) (Revoked, bool) {
	return found(c.Revoked, func(r Revoked) bool { return r.ID == id })
}

// IDs returns the IDs of all members in increasing order.
func (c *Charter) IDs() []ID {
	ids := make([]ID, len(c.Members))
	for i, m := range c.Members {
		ids[i] = m.ID
	}
	slices.SortFunc(ids, ID.Compare)
	return ids
}

// found returns the first element that fits.
func found[T any](list []T, fits func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}

// clone shares no memory with c.
func (c Charter) clone() Charter {
	c.Rules.Transports = slices.Clone(c.Rules.Transports)
	c.Rules.Discovery = slices.Clone(c.Rules.Discovery)
	c.Members = slices.Clone(c.Members)
	for i := range c.Members {
		c.Members[i].Addresses = copied(c.Members[i].Addresses)
	}
	c.Revoked = slices.Clone(c.Revoked)
	c.Roles = cloneRoles(c.Roles)
	c.Affiliations = cloneAffiliations(c.Affiliations)
	c.Identifiers = cloneIdentifiers(c.Identifiers)
	return c
}
