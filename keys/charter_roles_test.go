package keys

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fleet is threeMembers() with roles: the bank serves, the insurer may do both, the telco is a client.
func fleet() Charter {
	c := threeMembers()
	c.Roles = map[ID][]string{
		c.Members[0].ID: {RoleServer},
		c.Members[1].ID: {RoleServer, RoleClient},
		c.Members[2].ID: {RoleClient},
	}
	return c
}

func TestCharterTextWithRoles(t *testing.T) {
	s := mustCharter(t, fleet(), "bank", "insurer", "telco")
	golden(t, "charter-roles.txt", s.Text())
	back, err := ParseCharter(s.Text())
	must(t, err)
	if err := back.Complete(); err != nil || !reflect.DeepEqual(back.Charter, s.Charter) {
		t.Errorf("read back %+v, %v", back.Charter, err)
	}
}

// A charter without roles has the bytes, the digest and the signatures it had before there were any.
func TestCharterWithoutRolesIsAsBefore(t *testing.T) {
	text, err := os.ReadFile("testdata/charter.txt")
	must(t, err)
	old, err := ParseCharter(text)
	must(t, err)
	const digest = "95f194fd4b9bb67a15d5bf53d1e2d5e2be4cae4cb5f56d4fafffebcbca97afe1" // as charter-2.txt names its parent
	again := mustCharter(t, old.Charter, "bank", "insurer", "telco")
	if old.Complete() != nil || old.Roles != nil || old.Digest().String() != digest || !bytes.Equal(again.Text(), text) {
		t.Errorf("the old charter reads as %+v", old.Charter)
	}
}

// No list and an empty one say the same: any role.
func TestEmptyRolesAreAnyRole(t *testing.T) {
	c := threeMembers()
	c.Roles = map[ID][]string{c.Members[0].ID: {}, c.Members[1].ID: nil}
	s := mustCharter(t, c)
	if s.Roles != nil || s.Digest() != mustCharter(t, threeMembers()).Digest() {
		t.Errorf("roles are %v", s.Roles)
	}
	body := strings.Replace(string(s.Body), `name = "telco"`, "name = \"telco\"\nroles = []", 1)
	byHand, err := ParseCharter(resigned(charterDomain, body))
	must(t, err)
	if byHand.Roles != nil || !byHand.Allows(keyNamed("telco").ID(), RoleServer) {
		t.Errorf("an empty list reads as %v", byHand.Roles)
	}
}

func TestAllows(t *testing.T) {
	s := mustCharter(t, fleet())
	plain := mustCharter(t, threeMembers())
	for name, want := range map[string][2]bool{"bank": {true, false}, "insurer": {true, true}, "telco": {false, true}} {
		id := keyNamed(name).ID()
		if got := [2]bool{s.Allows(id, RoleServer), s.Allows(id, RoleClient)}; got != want {
			t.Errorf("%s: server and client are %v, want %v", name, got, want)
		}
		if !plain.Allows(id, RoleServer) || !plain.Allows(id, RoleClient) {
			t.Errorf("%s has no roles and may not have any", name)
		}
	}
	if got := s.MayServe(); len(got) != 2 || got[0].Name != "bank" || got[1].Name != "insurer" {
		t.Errorf("servers are %v", got)
	}
	if len(s.Members) != 3 || s.Members[2].Name != "telco" {
		t.Error("MayServe changed the members")
	}
}

func TestRolesAreRefused(t *testing.T) {
	for _, r := range []struct {
		roles []string
		want  string
	}{
		{[]string{"judge"}, `charter "credit": member 2: insurer: roles has "judge", want some of server, client`},
		{[]string{"Server"}, `charter "credit": member 2: insurer: roles has "Server", want some of server, client`},
		{[]string{""}, `charter "credit": member 2: insurer: roles has "", want some of server, client`},
		{[]string{"client", "client"}, `charter "credit": member 2: insurer: roles has "client" twice`},
	} {
		c := threeMembers()
		c.Rules = c.Rules.withDefaults()
		c.Roles = map[ID][]string{c.Members[1].ID: r.roles}
		_, err := NewCharter(c)
		wantError(t, err, r.want)
		_, err = ParseCharter(NewDocument(charterDomain, c.body()).Text())
		wantError(t, err, r.want)
	}
	c := threeMembers()
	c.Roles = map[ID][]string{keyNamed("lab").ID(): {RoleClient}}
	_, err := NewCharter(c)
	wantError(t, err, `charter "credit": `+keyNamed("lab").ID().Short()+` has roles and is no member`)
}

func TestRolesInForeignTexts(t *testing.T) {
	c := threeMembers()
	c.Rules = c.Rules.withDefaults()
	body := string(c.body())
	for _, r := range []struct{ line, want string }{
		{`roles = "client"`, `charter: line 39: member.roles: want a list, got a string`},
		{`roles = [1]`, `charter: line 39: member.roles: want a string, got an integer`},
		{`role = ["client"]`, `charter: line 39: unknown key "member.role"; did you mean "roles"?`},
		{`roles = ["\u001b[2J"]`, `charter "credit": member 3: telco: roles has "\x1b[2J", want some of server, client`},
	} {
		text := strings.Replace(body, `name = "telco"`, "name = \"telco\"\n"+r.line, 1)
		_, err := ParseCharter(resigned(charterDomain, text))
		wantError(t, err, r.want)
	}
}

// A card says nothing about roles: they are what the others grant.
func TestCardsHaveNoRoles(t *testing.T) {
	body := strings.Replace(string(Card(memberNamed("bank")).body()), "addresses", "roles = [\"server\"]\naddresses", 1)
	_, err := ParseCard(resigned(cardDomain, body, "bank"))
	wantError(t, err, `card: line 9: unknown key "roles"`)
}

func TestSetRoles(t *testing.T) {
	c := threeMembers()
	for _, roles := range [][]string{{RoleClient}, {RoleServer, RoleClient}, nil} {
		must(t, c.SetRoles("telco", roles...))
		if got := c.Roles[keyNamed("telco").ID()]; !slices.Equal(got, roles) {
			t.Errorf("roles are %v, want %v", got, roles)
		}
	}
	wantError(t, c.SetRoles("lab", RoleClient), `charter "credit": there is no member "lab" to give a role`)
	wantError(t, c.SetRoles("telco", "judge"), `charter "credit": telco: roles has "judge", want some of server, client`)
}

// A draft has its own roles; a renewed card keeps them, and who is revoked loses them.
func TestRolesInTheNextVersion(t *testing.T) {
	first := mustCharter(t, fleet())
	draft := first.WithMember(Card(memberNamed("telco", "/dns/t/tcp/1")))
	must(t, draft.SetRoles("bank", RoleClient))
	draft.Roles[keyNamed("insurer").ID()][0] = RoleClient
	if !reflect.DeepEqual(first.Roles, fleet().Roles) {
		t.Errorf("a draft changed the roles of the version it was made from to %v", first.Roles)
	}
	if got := draft.Roles[keyNamed("telco").ID()]; !slices.Equal(got, []string{RoleClient}) {
		t.Errorf("with its card renewed the telco has the roles %v", got)
	}
	draft, err := first.WithoutMember("telco", "lost")
	must(t, err)
	if later(t, draft); len(draft.Roles) != 2 {
		t.Errorf("the roles of the others are %v", draft.Roles)
	}
}

func TestChangesOfRoles(t *testing.T) {
	first := mustCharter(t, fleet())
	for _, c := range []struct {
		change func(*Charter) error
		want   []string
	}{
		{func(c *Charter) error { return nil }, nil},
		{func(c *Charter) error { return c.SetRoles("bank") }, []string{"roles of bank: server -> any"}},
		{func(c *Charter) error { return c.SetRoles("telco", RoleServer) }, []string{"roles of telco: client -> server"}},
		{func(c *Charter) error {
			c.Admit(Card(memberNamed("lab")))
			return c.SetRoles("lab", RoleClient)
		}, []string{"adds lab (" + keyNamed("lab").ID().String() + ")", "roles of lab: any -> client"}},
		{func(c *Charter) error { c.Admit(Card(memberNamed("lab"))); return nil },
			[]string{"adds lab (" + keyNamed("lab").ID().String() + ")"}},
		{func(c *Charter) error { return c.Revoke("telco", "lost") },
			[]string{"revokes telco (" + keyNamed("telco").ID().String() + "): lost"}},
		{func(c *Charter) error {
			err := c.Revoke("telco", "lost")
			c.Admit(Card{Name: "telco", ID: keyNamed("telco again").ID()})
			return err
		}, []string{
			"adds telco (" + keyNamed("telco again").ID().String() + ")",
			"revokes telco (" + keyNamed("telco").ID().String() + "): lost",
			"roles of telco: client -> any",
		}},
		{func(c *Charter) error { c.Members[2].Name = "carrier"; return nil }, []string{
			fmt.Sprintf("renames %s: telco -> carrier", keyNamed("telco").ID()),
		}},
	} {
		draft := first.Next()
		must(t, c.change(&draft))
		if got := later(t, draft).Changes(first); !slices.Equal(got, c.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
