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
	d.arrivals(&parent.Charter, &child.Charter)
	d.departures(&parent.Charter, &child.Charter)
	d.revocations(&parent.Charter, &child.Charter)
	d.rules(parent.Rules, child.Rules)
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

// arrivals reports new members and changes of those that stay.
func (d *difference) arrivals(parent, child *Charter) {
	before := membersByID(parent)
	for _, m := range child.Members {
		old, stays := before[m.ID]
		if !stays {
			d.add("adds %s (%s)", m.Name, m.ID)
			continue
		}
		d.changed("renames "+m.ID.String(), old.Name, m.Name)
		d.changed("addresses of "+m.Name, words(old.Addresses), words(m.Addresses))
	}
}

// departures reports members that leave without being revoked.
func (d *difference) departures(parent, child *Charter) {
	after, revoked := membersByID(child), revokedByID(child)
	for _, m := range parent.Members {
		_, stays := after[m.ID]
		_, isRevoked := revoked[m.ID]
		if !stays && !isRevoked {
			d.add("removes %s (%s)", m.Name, m.ID)
		}
	}
}

// revocations reports keys newly revoked, given another reason, and no longer revoked.
func (d *difference) revocations(parent, child *Charter) {
	before, after := revokedByID(parent), revokedByID(child)
	for _, r := range child.Revoked {
		old, was := before[r.ID]
		switch {
		case !was:
			d.add("revokes %s (%s): %s", r.Name, r.ID, r.Reason)
		case old != r:
			d.add("says of the revoked key %s: %s, %s -> %s, %s", r.ID, old.Name, old.Reason, r.Name, r.Reason)
		}
	}
	for _, r := range parent.Revoked {
		if _, still := after[r.ID]; !still {
			d.add("no longer revokes %s (%s)", r.Name, r.ID)
		}
	}
}

// rules reports changed rules.
func (d *difference) rules(old, new Rules) {
	d.changed("min_privacy", old.MinPrivacy, new.MinPrivacy)
	d.changed("min_contributors", fmt.Sprint(old.MinContributors), fmt.Sprint(new.MinContributors))
	d.changed("transports", words(old.Transports), words(new.Transports))
	d.changed("discovery", words(old.Discovery), words(new.Discovery))
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
