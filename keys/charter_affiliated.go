package keys

import (
	"fmt"
	"slices"
	"strings"
)

// Affiliated reports whether the charter declares the members with two names affiliated: some group has
// both. Nobody is affiliated with itself.
func (c *Charter) Affiliated(a, b string) bool {
	return a != b && slices.ContainsFunc(c.Affiliations, func(group []string) bool {
		return slices.Contains(group, a) && slices.Contains(group, b)
	})
}

// checkAffiliations holds the groups against the members.
func (c *Charter) checkAffiliations() error {
	if n := len(c.Affiliations); n > MaxMembers {
		return fmt.Errorf("affiliated has %d groups, at most %d are allowed", n, MaxMembers)
	}
	names := make(map[string]bool, len(c.Members))
	for _, m := range c.Members {
		names[m.Name] = true
	}
	for i, group := range c.Affiliations {
		if err := checkGroup(group, names); err != nil {
			return fmt.Errorf("affiliated group %d: %w", i+1, err)
		}
	}
	return nil
}

// checkGroup accepts at least two different members.
func checkGroup(group []string, members map[string]bool) error {
	seen := make(map[string]bool)
	for _, name := range group {
		if !members[name] {
			return fmt.Errorf("there is no member %q", clipAt(name, MaxName))
		}
		if seen[name] {
			return fmt.Errorf("%s is named twice", name)
		}
		seen[name] = true
	}
	if len(group) < 2 {
		return fmt.Errorf("it names %d, want at least 2 members", len(group))
	}
	return nil
}

// cloneAffiliations shares no memory with groups; nil stands for none, so that equal charters are deeply
// equal.
func cloneAffiliations(groups [][]string) [][]string {
	var clone [][]string
	for _, group := range groups {
		clone = append(clone, slices.Clone(group))
	}
	return clone
}

// renameAffiliated gives a member of a draft its new name in the groups.
func (c *Charter) renameAffiliated(old, name string) {
	c.Affiliations = cloneAffiliations(c.Affiliations)
	for _, group := range c.Affiliations {
		if i := slices.Index(group, old); i >= 0 {
			group[i] = name
		}
	}
}

// dropAffiliated takes a member of a draft out of the groups; a group of one is none.
func (c *Charter) dropAffiliated(name string) {
	var kept [][]string
	for _, group := range c.Affiliations {
		rest := slices.DeleteFunc(slices.Clone(group), func(n string) bool { return n == name })
		if len(rest) >= 2 {
			kept = append(kept, rest)
		}
	}
	c.Affiliations = kept
}

// writeAffiliations renders the groups, if there are any.
func (c *Charter) writeAffiliations(p *page) {
	if len(c.Affiliations) == 0 {
		return
	}
	p.comment("Groups of members that belong together: where parties of a job must be independent of",
		"each other, two of one group are refused.")
	p.groups("affiliated", c.Affiliations)
}

// groupsIn writes the groups for a line of changes.
func groupsIn(groups [][]string) string {
	var lines []string
	for _, group := range groups {
		lines = append(lines, strings.Join(group, " and "))
	}
	return words(lines)
}
