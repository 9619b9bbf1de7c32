package keys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// Affiliated reports whether the charter declares the members with two names affiliated: some group has
// both. Nobody is affiliated with itself.
func (c *Charter) Affiliated(a, b string) bool {
	return a != b && slices.ContainsFunc(c.Affiliations, func(group []string) bool {
		return slices.Contains(group, a) && slices.Contains(group, b)
	})
}

// checkAffiliations holds the groups against the members: each names at least two of them, once.
func (c *Charter) checkAffiliations() error {
	if n := len(c.Affiliations); n > MaxMembers {
		return fmt.Errorf("affiliated has %d groups, at most %d are allowed", n, MaxMembers)
	}
	names := make(map[string]bool, len(c.Members))
	for _, m := range c.Members {
		names[m.Name] = true
	}
	for i, group := range c.Affiliations {
		seen := make(map[string]bool, len(group))
		for _, name := range group {
			if !names[name] {
				return fmt.Errorf("affiliated group %d: there is no member %q", i+1, wording.ClipAt(name, MaxName))
			}
			if seen[name] {
				return fmt.Errorf("affiliated group %d: %s is named twice", i+1, name)
			}
			seen[name] = true
		}
		if len(group) < 2 {
			return fmt.Errorf("affiliated group %d: it names %d, want at least 2 members", i+1, len(group))
		}
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

// groupsIn writes the groups for a line of changes.
func groupsIn(groups [][]string) string {
	var lines []string
	for _, group := range groups {
		lines = append(lines, strings.Join(group, " and "))
	}
	return words(lines)
}
