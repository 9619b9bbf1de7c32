package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/keys"
)

// charterReport is what the charter commands say in JSON.
type charterReport struct {
	File     string         `json:"file"`
	Name     string         `json:"name"`
	Version  int            `json:"version"`
	Hash     string         `json:"hash"`
	Parent   string         `json:"parent,omitempty"`
	Created  time.Time      `json:"created"`
	Rules    rulesReport    `json:"rules"`
	Members  []memberReport `json:"members"`
	Revoked  []memberReport `json:"revoked"`
	Missing  []string       `json:"missing"` // names of those who have not signed
	Complete bool           `json:"complete"`
	Changes  []string       `json:"changes,omitempty"`    // against the parent, where one is given
	Groups   [][]string     `json:"affiliated,omitempty"` // members that belong together
}

// rulesReport is the part about the rules.
type rulesReport struct {
	MinPrivacy      string   `json:"min_privacy"`
	MinContributors int      `json:"min_contributors"`
	Transports      []string `json:"transports"`
	Discovery       []string `json:"discovery"`
}

// memberReport is one member, or one revoked key.
type memberReport struct {
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	Addresses []string `json:"addresses,omitempty"`
	Roles     []string `json:"roles,omitempty"` // none: any
	Signed    bool     `json:"signed,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// reportOf says everything about a charter.
func reportOf(s *keys.SignedCharter, path string) charterReport {
	r := charterReport{
		File: path, Name: s.Name, Version: s.Version, Hash: s.Digest().String(), Created: s.Created,
		Rules:   rulesReport(s.Rules),
		Members: []memberReport{}, Revoked: []memberReport{}, Missing: missingNames(s), Complete: s.Complete() == nil,
		Groups: s.Affiliations,
	}
	if !s.Parent.IsZero() {
		r.Parent = s.Parent.String()
	}
	for _, m := range s.Members {
		r.Members = append(r.Members, memberReport{Name: m.Name, ID: m.ID.String(), Addresses: m.Addresses, Roles: s.Roles[m.ID], Signed: s.SignedBy(m.ID)})
	}
	for _, k := range s.Revoked {
		r.Revoked = append(r.Revoked, memberReport{Name: k.Name, ID: k.ID.String(), Reason: k.Reason})
	}
	return r
}

// missingNames lists those who have not signed, in the order of the charter.
func missingNames(s *keys.SignedCharter) []string {
	names := []string{}
	for _, m := range s.Members {
		if !s.SignedBy(m.ID) {
			names = append(names, m.Name)
		}
	}
	return names
}

// charterShowCommand shows a charter.
func charterShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show a charter, and who has signed it",
		ArgsUsage: "CHARTER",
		Description: `   hanse charter show charter.toml
   hanse charter show charter-2.toml --parent charter.toml     # and what it changes`,
		Flags:  []cli.Flag{parentFlag(), jsonFlag()},
		Action: anyOrder(charterShow),
	}
}

// parentFlag names the version before.
func parentFlag() cli.Flag {
	return &cli.StringFlag{Name: "parent", Usage: "the `FILE` of the version before"}
}

// charterShow shows a charter.
func charterShow(c *cli.Context) error {
	charter, path, err := charterArgument(c)
	if err != nil {
		return err
	}
	parent, err := parentOf(c, charter)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		r := reportOf(charter, path)
		r.Changes = changesOf(parent, charter)
		return printJSON(c, r)
	}
	return showCharter(c.App.Writer, charter, parent)
}

// charterArgument reads the charter that is a command's only argument.
func charterArgument(c *cli.Context) (*keys.SignedCharter, string, error) {
	path, err := oneArgument(c, "charter", "charter.toml")
	if err != nil {
		return nil, "", err
	}
	charter, err := readCharter(path)
	return charter, path, err
}

// parentOf reads the version before, nil if none is given. It must be complete.
func parentOf(c *cli.Context, charter *keys.SignedCharter) (*keys.SignedCharter, error) {
	path := c.String("parent")
	if path == "" {
		return nil, nil
	}
	parent, err := readCompleteCharter(path)
	if err != nil {
		return nil, err
	}
	return parent, charter.Follows(parent)
}

// changesOf lists what a version changes; it is empty without a parent.
func changesOf(parent, charter *keys.SignedCharter) []string {
	if parent == nil {
		return nil
	}
	return charter.Changes(parent)
}

// showCharter prints a charter for people, and what it changes in its parent unless that is nil.
func showCharter(w io.Writer, s, parent *keys.SignedCharter) error {
	t := newTable(w)
	t.row("charter", fmt.Sprintf("%s, version %d", s.Name, s.Version))
	t.row("hash", s.Digest().String())
	if s.Version > 1 {
		t.row("follows", s.Parent.String())
	}
	t.row("created", s.Created.Format(time.RFC3339))
	t.row("privacy", fmt.Sprintf("%s or stronger; no sum over fewer than %d members is opened", s.Rules.MinPrivacy, s.Rules.MinContributors))
	t.row("transports", strings.Join(s.Rules.Transports, ", "))
	t.row("discovery", strings.Join(s.Rules.Discovery, ", "))
	for _, group := range s.Affiliations {
		t.row("affiliated", strings.Join(group, ", "))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := showMembers(w, s); err != nil {
		return err
	}
	showChanges(w, s, parent)
	_, err := fmt.Fprintf(w, "\n%s\n", standing(s))
	return err
}

// showMembers prints the members, with their roles if the charter gives any, and the keys that are
// revoked.
func showMembers(w io.Writer, s *keys.SignedCharter) error {
	t := newTable(w)
	row := func(name, signed, roles, where, id string) {
		if len(s.Roles) == 0 {
			t.row(name, signed, where, id)
			return
		}
		t.row(name, signed, roles, where, id)
	}
	t.row()
	row("member", "signed", "roles", "addresses", "id")
	for _, m := range s.Members {
		signed := "no"
		if s.SignedBy(m.ID) {
			signed = "yes"
		}
		row(m.Name, signed, firstOf(strings.Join(s.Roles[m.ID], ", "), roleAny), firstOf(strings.Join(m.Addresses, " "), "none"), m.ID.String())
	}
	if len(s.Revoked) > 0 {
		t.row()
		row("revoked", "", "", "reason", "id")
	}
	for _, r := range s.Revoked {
		row(r.Name, "", "", r.Reason, r.ID.String())
	}
	return t.flush()
}

// showChanges prints what a version changes.
func showChanges(w io.Writer, s, parent *keys.SignedCharter) {
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

// standing says in one line who has signed.
func standing(s *keys.SignedCharter) string {
	if err := s.Complete(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("charter %q, version %d: signed by all of its %s", s.Name, s.Version, plural(len(s.Members), "member"))
}

// charterVerifyCommand checks a charter.
func charterVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that all members have signed, and what a version follows",
		ArgsUsage: "CHARTER",
		Description: `Ends with status 1, and says whose signature is missing, unless all have signed.

   hanse charter verify charter.toml
   hanse charter verify charter-2.toml --parent charter.toml`,
		Flags:  []cli.Flag{parentFlag(), jsonFlag()},
		Action: anyOrder(charterVerify),
	}
}

// charterVerify checks a charter.
func charterVerify(c *cli.Context) error {
	charter, path, err := charterArgument(c)
	if err != nil {
		return err
	}
	parent, err := parentOf(c, charter)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		r := reportOf(charter, path)
		r.Changes = changesOf(parent, charter)
		if err := printJSON(c, r); err != nil {
			return err
		}
		return charter.Complete()
	}
	if err := charter.Complete(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintln(c.App.Writer, standing(charter))
	showChanges(c.App.Writer, charter, parent)
	return nil
}
