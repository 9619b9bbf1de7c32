package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// The privacy modes, from the weakest to the strongest; what each opens to whom is part of a
// job's contract.
const (
	PrivacyPublished = "published" // the protocols of the papers, which let parties rebuild data
	PrivacyMasked    = "masked"    // parties learn sums only
	PrivacySealed    = "sealed"    // parties learn results only
)

// Privacies lists the modes from the weakest to the strongest.
func Privacies() []string { return []string{PrivacyPublished, PrivacyMasked, PrivacySealed} }

// DefaultMinRows is how many rows must be common for an alignment to open, under a charter that says nothing of it.
const DefaultMinRows = 100

// maxMinRows is the largest MinRows.
const maxMinRows = 1<<31 - 1

// Rules are what the members agreed on for every job under a charter. The zero value of a field
// stands for its default.
type Rules struct {
	MinPrivacy      string   // the weakest mode a job may use; default masked
	MinContributors int      // below it a sum is not opened, 2 to MaxMembers; default 3
	Transports      []string // "tcp", "quic", in order of preference; default tcp
	Discovery       []string // "addresses", "mdns", "dht": how members may look for each other; default addresses
	MinRows         int      // fewest common rows that an alignment may open; default 0: see LeastCommon
	RevokeBy        int      // how many members can revoke another, see Charter.Quorum; default 0: all others
}

// rulesText is the table of rules in a charter. A pointer tells a missing key, which stands for
// the default, from one whose value is zero, which is a mistake.
//
// Evolution: a key is never renamed, never changes its meaning, and its default never changes:
// charters are signed without it. Readers refuse keys they do not know, so that a new rule needs
// a new format name.
type rulesText struct {
	MinPrivacy      *string   `toml:"min_privacy"`
	MinContributors *int      `toml:"min_contributors"`
	Transports      *[]string `toml:"transports"`
	Discovery       *[]string `toml:"discovery"`
	MinRows         *int      `toml:"min_rows"`
	RevokeBy        *int      `toml:"revoke_by"`
}

// AllowsPrivacy reports whether a job may use the given mode: it is known and at least as strong
// as MinPrivacy.
func (r Rules) AllowsPrivacy(mode string) bool {
	order := Privacies()
	least := slices.Index(order, r.withDefaults().MinPrivacy)
	return least >= 0 && slices.Index(order, mode) >= least
}

// LeastCommon is the fewest common rows that an alignment may open. An alignment of one row says whether one person is
// in the others' tables; so only a charter can say less than DefaultMinRows, to which all members have put their names.
func (r Rules) LeastCommon() int { return cmp.Or(r.MinRows, DefaultMinRows) }

// withDefaults fills in the fields that are zero.
func (r Rules) withDefaults() Rules {
	if r.MinPrivacy == "" {
		r.MinPrivacy = PrivacyMasked
	}
	if r.MinContributors == 0 {
		r.MinContributors = 3
	}
	if r.Transports == nil {
		r.Transports = []string{"tcp"}
	}
	if r.Discovery == nil {
		r.Discovery = []string{"addresses"}
	}
	return r
}

// parse fills in what is missing; check must follow.
func (t rulesText) parse() Rules {
	r := Rules{}.withDefaults()
	setIf(&r.MinPrivacy, t.MinPrivacy)
	setIf(&r.MinContributors, t.MinContributors)
	setIf(&r.Transports, t.Transports)
	setIf(&r.Discovery, t.Discovery)
	setIf(&r.MinRows, t.MinRows)
	setIf(&r.RevokeBy, t.RevokeBy)
	return r
}

// setIf replaces a default by the value given, if one is.
func setIf[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

// check holds each rule against the values it may have.
func (r Rules) check() error {
	if !slices.Contains(Privacies(), r.MinPrivacy) {
		return fmt.Errorf("min_privacy is %q, want one of %s", wording.ClipAt(r.MinPrivacy, 40),
			strings.Join(Privacies(), ", "))
	}
	if r.MinContributors < 2 || r.MinContributors > MaxMembers {
		return fmt.Errorf("min_contributors is %d, want 2 to %d: a sum of one is that member's own value", r.MinContributors,
			MaxMembers)
	}
	if r.MinRows < 0 || r.MinRows > maxMinRows {
		return fmt.Errorf("min_rows is %d, want 0 to %d", r.MinRows, maxMinRows)
	}
	if r.RevokeBy != 0 && (r.RevokeBy < 2 || r.RevokeBy > MaxMembers) {
		return fmt.Errorf("revoke_by is %d, want 2 to %d, or none: one member revokes nobody", r.RevokeBy, MaxMembers)
	}
	if err := checkChoice("transports", r.Transports, "tcp", "quic"); err != nil {
		return err
	}
	return checkChoice("discovery", r.Discovery, "addresses", "mdns", "dht")
}

// checkChoice accepts at least one of the values, each at most once.
func checkChoice(key string, got []string, values ...string) error {
	if len(got) == 0 {
		return fmt.Errorf("%s is empty, want at least one of %s", key, strings.Join(values, ", "))
	}
	for i, v := range got {
		if !slices.Contains(values, v) {
			return fmt.Errorf("%s has %q, want some of %s", key, wording.ClipAt(v, 40), strings.Join(values, ", "))
		}
		if slices.Contains(got[:i], v) {
			return fmt.Errorf("%s has %q twice", key, v)
		}
	}
	return nil
}

// write renders the rules, each under a line that says what it means.
func (r Rules) write(p *page) {
	p.table("[rules]")
	p.comment("The weakest privacy a job may use: \"published\" < \"masked\" < \"sealed\".")
	p.text("min_privacy", r.MinPrivacy)
	p.comment("A sum over fewer members than this is never opened.")
	p.number("min_contributors", r.MinContributors)
	p.comment("How nodes may connect: \"tcp\", \"quic\". Always TLS 1.3, always to members only.")
	p.words("transports", r.Transports)
	p.comment("How nodes may look for each other: \"addresses\" below, \"mdns\" on the local network, \"dht\" among " +
		"members.")
	p.words("discovery", r.Discovery)
	if r.MinRows > 0 {
		p.comment("An alignment over fewer common rows than this opens nothing.")
		p.number("min_rows", r.MinRows)
	}
	if r.RevokeBy > 0 {
		p.comment("So many members, and more than half of all, can revoke another, and do nothing else without the rest.")
		p.number("revoke_by", r.RevokeBy)
	}
}
