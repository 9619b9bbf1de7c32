package keys

import (
	"errors"
	"fmt"
)

// charterText is the body of a charter.
//
// Evolution: a key is never renamed and never changes its meaning. A key may be added when its
// absence says what charters said before it, as that of roles, of affiliated, of ids and of relay does; it is written
// where it says something, so that charters without it keep their bytes. Readers refuse keys they do not
// know: an older program stops at such a charter and does not pass over a rule of it. Anything else
// needs the format "hanse-charter-v2" and a domain of its own. A body is never rendered anew:
// others signed these very bytes.
type charterText struct {
	Format  string                    `toml:"format"`
	Name    string                    `toml:"name"`
	Version int                       `toml:"version"`
	Parent  string                    `toml:"parent"`
	Created string                    `toml:"created"`
	Groups  [][]string                `toml:"affiliated"` // absent or empty: none
	Rules   rulesText                 `toml:"rules"`
	IDs     map[string]identifierText `toml:"ids"`   // absent or empty: none
	Relay   relayText                 `toml:"relay"` // absent or zeros: no limits
	Member  []charterMemberText       `toml:"member"`
	Revoked []revokedText             `toml:"revoked"`
}

// charterMemberText is a member as its card says, and what the charter adds to that. Its evolution
// is that of charterText.
type charterMemberText struct {
	memberText
	Roles []string `toml:"roles"` // absent or empty: any
}

// revokedText is a revoked key in a charter. Its evolution is that of charterText.
type revokedText struct {
	Name   string `toml:"name"`
	ID     string `toml:"id"`
	Reason string `toml:"reason"`
}

// parse reads what is not plain text and holds the whole against the rules.
func (t charterText) parse() (Charter, error) {
	if err := CheckName(t.Name); err != nil {
		return Charter{}, fmt.Errorf("charter: %w", err)
	}
	c := Charter{Name: t.Name, Version: t.Version, Rules: t.Rules.parse(), Affiliations: cloneAffiliations(t.Groups),
		Identifiers: parseIdentifiers(t.IDs), Relay: RelayLimits(t.Relay)}
	for _, read := range []func(*Charter) error{t.readVersion, t.readMembers, t.readRevoked} {
		if err := read(&c); err != nil {
			return Charter{}, fmt.Errorf("charter %q: %w", t.Name, err)
		}
	}
	if err := c.check(); err != nil {
		return Charter{}, err
	}
	return c, nil
}

// readVersion reads parent and time of creation.
func (t charterText) readVersion(c *Charter) (err error) {
	if t.Parent != "" {
		if err := c.Parent.UnmarshalText([]byte(t.Parent)); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
		if c.Parent.String() != t.Parent || c.Parent.IsZero() {
			return errors.New("parent: want a hash in lower case that is not zero")
		}
	}
	c.Created, err = parseStamp("created", t.Created)
	return err
}

// readMembers reads the members' ids and roles.
func (t charterText) readMembers(c *Charter) error {
	if n := len(t.Member); n > MaxMembers {
		return fmt.Errorf("%d members, want 1 to %d", n, MaxMembers)
	}
	roles := make(map[ID][]string)
	for i, mt := range t.Member {
		if err := CheckName(mt.Name); err != nil {
			return fmt.Errorf("member %d: %w", i+1, err)
		}
		m, err := mt.parse()
		if err != nil {
			return fmt.Errorf("member %d: %s: %w", i+1, mt.Name, err)
		}
		c.Members = append(c.Members, m)
		roles[m.ID] = mt.Roles
	}
	c.Roles = cloneRoles(roles)
	return nil
}

// readRevoked reads the revoked ids.
func (t charterText) readRevoked(c *Charter) error {
	if n := len(t.Revoked); n > MaxMembers {
		return fmt.Errorf("%d revoked keys, at most %d are allowed", n, MaxMembers)
	}
	for i, rt := range t.Revoked {
		if err := CheckName(rt.Name); err != nil {
			return fmt.Errorf("revoked key %d: %w", i+1, err)
		}
		id, err := ParseID(rt.ID)
		if err != nil {
			return fmt.Errorf("revoked key %d: %s: %w", i+1, rt.Name, err)
		}
		c.Revoked = append(c.Revoked, Revoked{rt.Name, id, rt.Reason})
	}
	return nil
}

// body renders the charter for people: equal charters give equal bytes.
func (c *Charter) body() []byte {
	var p page
	p.comment(fmt.Sprintf("Charter %q, version %d.", c.Name, c.Version), "",
		"This text is the agreement of the members below. Each member reads it and signs it;",
		"it is in force when all have signed. The signatures cover every byte, comments and",
		"empty lines included: to change anything, make a new version and sign that.")
	p.gap()
	p.text("format", charterFormat)
	p.text("name", c.Name)
	p.number("version", c.Version)
	if !c.Parent.IsZero() {
		p.comment(fmt.Sprintf("The hash of version %d, which this text replaces.", c.Version-1))
		p.text("parent", c.Parent.String())
	}
	p.text("created", stamp(c.Created))
	if len(c.Affiliations) > 0 {
		p.comment("Groups of members that belong together: where parties of a job must be independent of",
			"each other, two of one group are refused.")
		// Adds lists of short strings, on a line each.
		groups := c.Affiliations
		fmt.Fprintf(&p.b, "%s = [\n", "affiliated")
		for _, group := range groups {
			fmt.Fprintf(&p.b, "  %s,\n", inLine(group))
		}
		p.b.WriteString("]\n")
	}
	p.gap()
	c.Rules.write(&p)
	p.gap()
	writeIdentifiers(&p, c.Identifiers)
	c.Relay.write(&p)
	p.comment("The members. The id is the public key of a member's node; the addresses are where it",
		"listens. A member without addresses dials the others.")
	if len(c.Roles) > 0 {
		p.comment("The roles are those that a member may have in jobs over clients: \"server\", \"client\".",
			"A member without roles may have any.")
	}
	for _, m := range c.Members {
		p.table("[[member]]")
		m.write(&p)
		if roles := c.Roles[m.ID]; len(roles) > 0 {
			p.words("roles", roles)
		}
		p.gap()
	}
	if len(c.Revoked) > 0 {
		p.comment("Keys that are refused from this version on.")
	}
	for _, r := range c.Revoked {
		p.table("[[revoked]]")
		p.text("name", r.Name)
		p.text("id", r.ID.String())
		p.text("reason", r.Reason)
		p.gap()
	}
	return p.bytes()
}
