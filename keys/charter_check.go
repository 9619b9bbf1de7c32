package keys

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxReason is the longest reason for a revocation, in bytes.
const maxReason = 200

// check holds a charter against every rule. The error names the member concerned.
func (c *Charter) check() error {
	if err := CheckName(c.Name); err != nil {
		return fmt.Errorf("charter: %w", err)
	}
	for _, rule := range []func() error{c.checkVersion, c.Rules.check, c.checkMembers, c.checkRoles, c.checkAffiliations,
		c.checkIdentifiers, c.checkAddresses, c.checkRelays, c.checkRevoked} {
		if err := rule(); err != nil {
			return fmt.Errorf("charter %q: %w", c.Name, err)
		}
	}
	return nil
}

// checkVersion holds version, parent and time of creation against each other.
func (c *Charter) checkVersion() error {
	switch {
	case c.Version < 1:
		return fmt.Errorf("version is %d, want 1 or more", c.Version)
	case c.Version == 1 && !c.Parent.IsZero():
		return fmt.Errorf("version 1 has the parent %s, but nothing comes before version 1", c.Parent.Short())
	case c.Version > 1 && c.Parent.IsZero():
		return fmt.Errorf("version %d has no parent: it must name the hash of version %d", c.Version, c.Version-1)
	}
	return checkStamp("created", c.Created)
}

// checkMembers holds members against each other: names and ids are unique.
func (c *Charter) checkMembers() error {
	if n := len(c.Members); n < 1 || n > MaxMembers {
		return fmt.Errorf("%d members, want 1 to %d", n, MaxMembers)
	}
	names, ids := map[string]int{}, map[ID]string{}
	for i, m := range c.Members {
		if err := m.check(); err != nil {
			return fmt.Errorf("member %d: %w", i+1, err)
		}
		if first, twice := names[m.Name]; twice {
			return fmt.Errorf("members %d and %d are both named %q", first, i+1, m.Name)
		}
		if first, twice := ids[m.ID]; twice {
			return fmt.Errorf("%s and %s have the same id %s", first, m.Name, m.ID)
		}
		names[m.Name], ids[m.ID] = i+1, m.Name
	}
	return nil
}

// checkAddresses sees that no two members claim one address.
func (c *Charter) checkAddresses() error {
	owner := map[string]string{}
	for _, m := range c.Members {
		for _, a := range m.Addresses {
			if first, twice := owner[a]; twice {
				return fmt.Errorf("%s and %s have the same address %q", first, m.Name, a)
			}
			owner[a] = m.Name
		}
	}
	return nil
}

// checkRevoked sees that a key is revoked once and is no member's.
func (c *Charter) checkRevoked() error {
	if n := len(c.Revoked); n > MaxMembers {
		return fmt.Errorf("%d revoked keys, at most %d are allowed", n, MaxMembers)
	}
	members := make(map[ID]string, len(c.Members))
	for _, m := range c.Members {
		members[m.ID] = m.Name
	}
	seen := make(map[ID]bool, len(c.Revoked))
	for i, r := range c.Revoked {
		if err := r.check(); err != nil {
			return fmt.Errorf("revoked key %d: %w", i+1, err)
		}
		if name, is := members[r.ID]; is {
			return fmt.Errorf("%s is a member with the revoked key %s", name, r.ID)
		}
		if seen[r.ID] {
			return fmt.Errorf("the key %s is revoked twice", r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}

// check holds one entry against the rules that concern it alone. Weak keys are accepted: to revoke
// one is right. The reason is one printable line.
func (r Revoked) check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch {
	case r.ID.IsZero():
		return fmt.Errorf("%s: the id is missing", r.Name)
	case r.Reason == "":
		return fmt.Errorf("%s: the reason is missing: say why the key is revoked", r.Name)
	case len(r.Reason) > maxReason:
		return fmt.Errorf("%s: the reason has %d bytes, at most %d are allowed", r.Name, len(r.Reason), maxReason)
	}
	for _, c := range r.Reason {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return fmt.Errorf("%s: the reason %q has the character U+%04X, which cannot be seen", r.Name, r.Reason, c)
		}
	}
	return nil
}
