package keys

import (
	"fmt"
	"strings"
)

// Diff says in lines for people what child changes in parent: members added, revoked, removed
// and changed, keys no longer revoked, rules. IDs are given in full, to be compared. Equal
// charters but for version and time give no line.
func Diff(parent, child *SignedCharter) []string {
	var d difference
	before, after := membersByID(&parent.Charter), membersByID(&child.Charter)
	for _, m := range child.Members {
		old, stays := before[m.ID]
		if !stays {
			d.add("adds %s (%s)", m.Name, m.ID)
			continue
		}
		d.changed("renames "+m.ID.String(), old.Name, m.Name)
		d.changed("addresses of "+m.Name, words(old.Addresses), words(m.Addresses))
		d.changed("relays: "+m.Name, fmt.Sprint(old.Relay), fmt.Sprint(m.Relay))
	}
	revokedBefore, revoked := revokedByID(&parent.Charter), revokedByID(&child.Charter)
	for _, m := range parent.Members {
		_, stays := after[m.ID]
		_, isRevoked := revoked[m.ID]
		if !stays && !isRevoked {
			d.add("removes %s (%s)", m.Name, m.ID)
		}
	}
	for _, r := range child.Revoked {
		old, was := revokedBefore[r.ID]
		switch {
		case !was:
			d.add("revokes %s (%s): %s", r.Name, r.ID, r.Reason)
		case old != r:
			d.add("says of the revoked key %s: %s, %s -> %s, %s", r.ID, old.Name, old.Reason, r.Name, r.Reason)
		}
	}
	for _, r := range parent.Revoked {
		if _, still := revoked[r.ID]; !still {
			d.add("no longer revokes %s (%s)", r.Name, r.ID)
		}
	}
	old, rules := parent.Rules, child.Rules
	d.changed("min_privacy", old.MinPrivacy, rules.MinPrivacy)
	d.changed("min_contributors", fmt.Sprint(old.MinContributors), fmt.Sprint(rules.MinContributors))
	d.changed("transports", words(old.Transports), words(rules.Transports))
	d.changed("discovery", words(old.Discovery), words(rules.Discovery))
	d.changed("min_rows", fmt.Sprint(old.MinRows), fmt.Sprint(rules.MinRows))
	d.changed("limits of relays", parent.Relay.String(), child.Relay.String())
	d.changed("revoke_by", fmt.Sprint(old.RevokeBy), fmt.Sprint(rules.RevokeBy))
	return d.lines
}

// difference collects lines.
type difference struct{ lines []string }

// add appends a line.
func (d *difference) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// changed appends a line when a value is not what it was.
func (d *difference) changed(what, old, new string) {
	if old != new {
		d.add("%s: %s -> %s", what, old, new)
	}
}

// words joins a list for a line; an empty one is "none".
func words(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// membersByID indexes the members.
func membersByID(c *Charter) map[ID]Member {
	index := make(map[ID]Member, len(c.Members))
	for _, m := range c.Members {
		index[m.ID] = m
	}
	return index
}

// revokedByID indexes the revoked keys.
func revokedByID(c *Charter) map[ID]Revoked {
	index := make(map[ID]Revoked, len(c.Revoked))
	for _, r := range c.Revoked {
		index[r.ID] = r
	}
	return index
}
