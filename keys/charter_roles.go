package keys

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// The roles of members in jobs over clients.
const (
	RoleServer = "server" // aggregates what clients send
	RoleClient = "client" // learns on its own rows
)

// Allows reports whether the charter lets a member have a role in jobs over clients. A member to
// whom it gives no roles may have any.
func (c *Charter) Allows(id ID, role string) bool {
	roles := c.Roles[id]
	return len(roles) == 0 || slices.Contains(roles, role)
}

// MayServe lists the members that may be servers, in the order of the text.
func (c *Charter) MayServe() []Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return !c.Allows(m.ID, RoleServer) })
}

// SetRoles gives a member of a draft its roles in place of those it had; none lets it have any.
func (c *Charter) SetRoles(name string, roles ...string) error {
	m, ok := c.MemberNamed(name)
	if !ok {
		return fmt.Errorf("charter %q: there is no member %q to give a role", c.Name, wording.ClipAt(name, MaxName))
	}
	if err := checkRoles(roles); err != nil {
		return fmt.Errorf("charter %q: %s: %w", c.Name, name, err)
	}
	if c.Roles == nil {
		c.Roles = make(map[ID][]string)
	}
	c.Roles[m.ID] = copied(roles)
	if len(roles) == 0 {
		delete(c.Roles, m.ID)
	}
	return nil
}

// checkRoles accepts known roles, each at most once.
func checkRoles(roles []string) error {
	if len(roles) == 0 {
		return nil
	}
	return checkChoice("roles", roles, RoleServer, RoleClient)
}

// checkRoles holds the roles of all against what roles there are, and sees that they are members'.
func (c *Charter) checkRoles() error {
	members := membersByID(c)
	for i, m := range c.Members {
		if err := checkRoles(c.Roles[m.ID]); err != nil {
			return fmt.Errorf("member %d: %s: %w", i+1, m.Name, err)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.Roles), ID.Compare) {
		if _, ok := members[id]; !ok {
			return fmt.Errorf("%s has roles and is no member", id.Short())
		}
	}
	return nil
}

// cloneRoles shares no memory with roles; entries without a role are left out, and nil stands for
// no entries, so that equal charters are deeply equal.
func cloneRoles(roles map[ID][]string) map[ID][]string {
	var clone map[ID][]string
	for id, list := range roles {
		if len(list) == 0 {
			continue
		}
		if clone == nil {
			clone = make(map[ID][]string)
		}
		clone[id] = slices.Clone(list)
	}
	return clone
}

// Changes says in lines for people what s changes in its parent: what Diff says, the roles that
// are given and taken, who is affiliated, and what identifies a row. A key that takes the place of
// another under the same name is compared with it.
func (s *SignedCharter) Changes(parent *SignedCharter) []string {
	d := difference{Diff(parent, s)}
	for _, m := range s.Members {
		old, stays := parent.Member(m.ID)
		if !stays {
			old, stays = parent.MemberNamed(m.Name)
		}
		if stays || len(s.Roles[m.ID]) > 0 {
			d.changed("roles of "+m.Name, rolesIn(parent, old.ID), rolesIn(s, m.ID))
		}
	}
	d.changed("affiliated", groupsIn(parent.Affiliations), groupsIn(s.Affiliations))
	d.changedIdentifiers(&parent.Charter, &s.Charter)
	return d.lines
}

// rolesIn writes a member's roles; no roles are any.
func rolesIn(s *SignedCharter, id ID) string {
	if roles := s.Roles[id]; len(roles) > 0 {
		return strings.Join(roles, ", ")
	}
	return "any"
}
