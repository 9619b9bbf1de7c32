package charterfile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Report is what there is to say about a charter, as JSON.
type Report struct {
	File     string     `json:"file"`
	Name     string     `json:"name"`
	Version  int        `json:"version"`
	Hash     string     `json:"hash"`
	Parent   string     `json:"parent,omitempty"`
	Created  time.Time  `json:"created"`
	Rules    Rules      `json:"rules"`
	Members  []Member   `json:"members"`
	Revoked  []Member   `json:"revoked"`
	Missing  []string   `json:"missing"` // names of those who have not signed
	Complete bool       `json:"complete"`
	Changes  []string   `json:"changes,omitempty"`    // against the parent, where one is given
	Groups   [][]string `json:"affiliated,omitempty"` // members that belong together
	IDs      []IDs      `json:"ids,omitempty"`        // what identifies a row
	Relay    *Relay     `json:"relay,omitempty"`      // limits of members that relay
}

// Relay is the limits of members that relay; 0 is none.
type Relay struct {
	Minutes      int `json:"minutes"`
	MiB          int `json:"mib"`
	Reservations int `json:"reservations"`
	Circuits     int `json:"circuits"`
}

// IDs is what identifies a row: all columns together.
type IDs struct {
	Name    string     `json:"name"`
	Columns []IDColumn `json:"columns"`
}

// IDColumn is one column, and how its cells are made alike.
type IDColumn struct {
	Name     string `json:"name"`
	NFKC     bool   `json:"nfkc,omitempty"`
	Trim     bool   `json:"trim,omitempty"`
	Casefold bool   `json:"casefold,omitempty"`
	Digits   bool   `json:"digits,omitempty"`
	E164     string `json:"e164,omitempty"`
	Date     string `json:"date,omitempty"`
	Number   bool   `json:"number,omitempty"`
}

// Rules is the part about the rules.
type Rules struct {
	MinPrivacy      string   `json:"min_privacy"`
	MinContributors int      `json:"min_contributors"`
	Transports      []string `json:"transports"`
	Discovery       []string `json:"discovery"`
	MinRows         int      `json:"min_rows,omitempty"`
	RevokeBy        int      `json:"revoke_by,omitempty"`
}

// Member is one member, or one revoked key.
type Member struct {
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	Addresses []string `json:"addresses,omitempty"`
	Roles     []string `json:"roles,omitempty"` // none: any
	Relays    bool     `json:"relay,omitempty"`
	Signed    bool     `json:"signed,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// NewReport says everything about a charter in a file, and what it changes in its parent unless that is nil.
func NewReport(s, parent *keys.SignedCharter, path string) Report {
	r := Report{
		File: path, Name: s.Name, Version: s.Version, Hash: s.Digest().String(), Created: s.Created, Rules: Rules(s.Rules),
		Members: []Member{}, Revoked: []Member{}, Missing: []string{}, Complete: s.Complete() == nil, Groups: s.Affiliations,
	}
	if !s.Parent.IsZero() {
		r.Parent = s.Parent.String()
	}
	if s.Relay != (keys.RelayLimits{}) {
		limits := Relay(s.Relay)
		r.Relay = &limits
	}
	if parent != nil {
		r.Changes = s.Changes(parent)
	}
	for _, m := range s.Members {
		signed := s.SignedBy(m.ID)
		r.Members = append(r.Members, Member{
			Name: m.Name, ID: m.ID.String(), Addresses: m.Addresses, Roles: s.Roles[m.ID], Relays: m.Relay, Signed: signed,
		})
		if !signed {
			r.Missing = append(r.Missing, m.Name)
		}
	}
	for _, k := range s.Revoked {
		r.Revoked = append(r.Revoked, Member{Name: k.Name, ID: k.ID.String(), Reason: k.Reason})
	}
	for _, id := range s.Identifiers {
		report := IDs{Name: id.Name}
		for _, column := range id.Columns {
			report.Columns = append(report.Columns, IDColumn(column))
		}
		r.IDs = append(r.IDs, report)
	}
	return r
}

// Show prints a charter for people, and what it changes in its parent unless that is nil.
func Show(w io.Writer, s, parent *keys.SignedCharter) error {
	t := wording.NewTable(w, "")
	t.Row("charter", fmt.Sprintf("%s, version %d", s.Name, s.Version))
	t.Row("hash", s.Digest().String())
	if s.Version > 1 {
		t.Row("follows", s.Parent.String())
	}
	t.Row("created", wording.Time(s.Created))
	t.Row("privacy", fmt.Sprintf("%s or stronger; no sum over fewer than %d members is opened", s.Rules.MinPrivacy,
		s.Rules.MinContributors))
	t.Row("transports", strings.Join(s.Rules.Transports, ", "))
	t.Row("discovery", strings.Join(s.Rules.Discovery, ", "))
	for _, group := range s.Affiliations {
		t.Row("affiliated", strings.Join(group, ", "))
	}
	if n := s.Rules.MinRows; n > 0 {
		t.Row("alignments", fmt.Sprintf("of fewer than %d common rows open nothing", n))
	}
	if relays := s.Relays(); len(relays) > 0 {
		var names []string
		for _, m := range relays {
			names = append(names, m.Name)
		}
		t.Row("relays", fmt.Sprintf("%s; limits: %s", strings.Join(names, ", "), s.Relay))
	}
	if n := s.Quorum(); n > 0 {
		t.Row("revocation", fmt.Sprintf("by %d members, without the rest", n))
	}
	for _, id := range s.Identifiers {
		for _, column := range id.Columns {
			t.Row("ids."+id.Name, column.String())
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := showMembers(w, s); err != nil {
		return err
	}
	ShowChanges(w, s, parent)
	_, err := fmt.Fprintf(w, "\n%s\n", Standing(s))
	return err
}

// showMembers prints the members, with their roles if the charter gives any, and the keys that are
// revoked.
func showMembers(w io.Writer, s *keys.SignedCharter) error {
	t := wording.NewTable(w, "")
	row := func(name, signed, roles, where, id string) {
		if len(s.Roles) == 0 {
			t.Row(name, signed, where, id)
			return
		}
		t.Row(name, signed, roles, where, id)
	}
	t.Row()
	row("member", "signed", "roles", "addresses", "id")
	for _, m := range s.Members {
		signed := "no"
		if s.SignedBy(m.ID) {
			signed = "yes"
		}
		row(m.Name, signed, cmp.Or(strings.Join(s.Roles[m.ID], ", "), RoleAny),
			cmp.Or(strings.Join(m.Addresses, " "), "none"), m.ID.String())
	}
	if len(s.Revoked) > 0 {
		t.Row()
		t.Row("revoked", "reason", "id")
	}
	for _, r := range s.Revoked {
		t.Row(r.Name, r.Reason, r.ID.String())
	}
	return t.Flush()
}

// ShowChanges prints what a version changes.
func ShowChanges(w io.Writer, s, parent *keys.SignedCharter) {
	if parent == nil {
		return
	}
	fmt.Fprintf(w, "\nagainst version %d it\n", parent.Version)
	changes := s.Changes(parent)
	if len(changes) == 0 {
		changes = []string{"changes nothing"}
	}
	for _, line := range changes {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// Standing says in one line who has signed.
func Standing(s *keys.SignedCharter) string {
	if err := s.Complete(); err != nil {
		return err.Error()
	}
	if n := len(s.Signatures); n < len(s.Members) {
		return fmt.Sprintf("charter %q, version %d: signed by %d of its %s, which is enough to revoke one", s.Name, s.Version,
			n, wording.Count(len(s.Members), "member"))
	}
	return fmt.Sprintf("charter %q, version %d: signed by all of its %s", s.Name, s.Version,
		wording.Count(len(s.Members), "member"))
}

// RoleAny stands in --role for no roles: the member may have any.
const RoleAny = "any"

// ParseRoles reads words ROLE=MEMBER: the roles of each member that they name, none for any.
func ParseRoles(words []string) (map[string][]string, error) {
	roles := make(map[string][]string)
	for _, v := range words {
		role, name, ok := strings.Cut(v, "=")
		if !ok || role != keys.RoleServer && role != keys.RoleClient && role != RoleAny {
			return nil, usage.Errorf("--role %s: want server=MEMBER, client=MEMBER or any=MEMBER", v)
		}
		before, again := roles[name]
		if again && (role == RoleAny || len(before) == 0) {
			return nil, usage.Errorf("--role %s: %s has been given another role, and any stands alone", v, name)
		}
		if role == RoleAny {
			roles[name] = nil
		} else {
			roles[name] = append(before, role)
		}
	}
	return roles, nil
}

// SetRoles gives the members of a draft the roles that words ROLE=MEMBER give, in place of those they had.
func SetRoles(draft *keys.Charter, words []string) error {
	roles, err := ParseRoles(words)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if err := draft.SetRoles(name, roles[name]...); err != nil {
			return err
		}
	}
	return nil
}
