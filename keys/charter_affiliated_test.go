package keys

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// kin is threeMembers() with the bank and the insurer in one group.
func kin() Charter {
	c := threeMembers()
	c.Affiliations = [][]string{{"bank", "insurer"}}
	return c
}

func TestCharterTextWithAffiliations(t *testing.T) {
	s := mustCharter(t, kin(), "bank", "insurer", "telco")
	golden(t, "charter-affiliated.txt", s.Text())
	back, err := ParseCharter(s.Text())
	must(t, err)
	if err := back.Complete(); err != nil || !reflect.DeepEqual(back.Charter, s.Charter) {
		t.Errorf("read back %+v, %v", back.Charter, err)
	}
}

// No groups and an empty list of them are the charter that it was before there were any.
func TestEmptyAffiliationsAreNone(t *testing.T) {
	c := threeMembers()
	c.Affiliations = [][]string{}
	s := mustCharter(t, c)
	if s.Affiliations != nil || s.Digest() != mustCharter(t, threeMembers()).Digest() {
		t.Errorf("affiliations are %v", s.Affiliations)
	}
	body := strings.Replace(string(s.Body), "[rules]", "affiliated = []\n[rules]", 1)
	byHand, err := ParseCharter(resigned(charterDomain, body))
	must(t, err)
	if byHand.Affiliations != nil || byHand.Affiliated("bank", "insurer") {
		t.Errorf("an empty list reads as %v", byHand.Affiliations)
	}
}

func TestAffiliated(t *testing.T) {
	c := threeMembers()
	c.Members = append(c.Members, memberNamed("lab"))
	c.Affiliations = [][]string{{"insurer", "bank"}, {"bank", "lab"}}
	s := mustCharter(t, c)
	for _, p := range []struct {
		a, b string
		want bool
	}{
		{"bank", "insurer", true}, {"insurer", "bank", true}, {"lab", "bank", true}, {"insurer", "lab", false},
		{"bank", "telco", false}, {"bank", "bank", false}, {"bank", "stranger", false}, {"", "", false},
	} {
		if got := s.Affiliated(p.a, p.b); got != p.want {
			t.Errorf("%q and %q: affiliated is %v, want %v", p.a, p.b, got, p.want)
		}
	}
}

// Two members are affiliated exactly when a group, looked through word by word, has both.
func TestAffiliatedIsMembershipOfOneGroup(t *testing.T) {
	names := []string{"bank", "insurer", "telco"}
	rapid.Check(t, func(rt *rapid.T) {
		c := threeMembers()
		for range rapid.IntRange(0, 4).Draw(rt, "groups") {
			group := rapid.Permutation(names).Draw(rt, "group")
			c.Affiliations = append(c.Affiliations, group[:rapid.IntRange(2, 3).Draw(rt, "size")])
		}
		s := mustCharter(t, c)
		back, err := ParseCharter(s.Text())
		if err != nil || !reflect.DeepEqual(back.Charter, s.Charter) {
			rt.Fatalf("read back %+v, %v", back, err)
		}
		together := make(map[[2]string]bool)
		for _, group := range c.Affiliations {
			for _, a := range group {
				for _, b := range group {
					together[[2]string{a, b}] = a != b
				}
			}
		}
		for _, a := range names {
			for _, b := range names {
				if got := back.Affiliated(a, b); got != together[[2]string{a, b}] {
					rt.Fatalf("%s and %s: affiliated is %v with the groups %v", a, b, got, c.Affiliations)
				}
			}
		}
	})
}

func TestAffiliationsAreRefused(t *testing.T) {
	for _, r := range []struct {
		groups [][]string
		want   string
	}{
		{[][]string{{}}, `charter "credit": affiliated group 1: it names 0, want at least 2 members`},
		{[][]string{{"bank", "telco"}, {"bank"}}, `charter "credit": affiliated group 2: it names 1, want at least 2 members`},
		{[][]string{{"bank", "bank"}}, `charter "credit": affiliated group 1: bank is named twice`},
		{[][]string{{"bank", "lab"}}, `charter "credit": affiliated group 1: there is no member "lab"`},
		{[][]string{{"bank", "\x1b[2J"}}, `charter "credit": affiliated group 1: there is no member "\x1b[2J"`},
		{make([][]string, MaxMembers+1), `charter "credit": affiliated has 4097 groups, at most 4096 are allowed`},
	} {
		c := threeMembers()
		c.Rules = c.Rules.withDefaults()
		c.Affiliations = r.groups
		_, err := NewCharter(c)
		wantError(t, err, r.want)
		if strings.Contains(r.want, `\x1b`) {
			continue // it is not written as it stands
		}
		_, err = ParseCharter(NewDocument(charterDomain, c.body()).Text())
		wantError(t, err, r.want)
	}
}

func TestAffiliationsInForeignTexts(t *testing.T) {
	c := threeMembers()
	c.Rules = c.Rules.withDefaults()
	body := string(c.body())
	for _, r := range []struct{ line, want string }{
		{`affiliated = "bank"`, `charter: line 12: affiliated: want a list, got a string`},
		{`affiliated = ["bank", "telco"]`, `charter: line 12: affiliated: want a list, got a string`},
		{`affiliated = [[1, 2]]`, `charter: line 12: affiliated: want a string, got an integer`},
		{`affiliates = [["bank", "telco"]]`, `charter: line 12: unknown key "affiliates"; did you mean "affiliated"?`},
		{`affiliated = [["bank", "\u001b[2J"]]`, `charter "credit": affiliated group 1: there is no member "\x1b[2J"`},
	} {
		_, err := ParseCharter(resigned(charterDomain, strings.Replace(body, "[rules]", r.line+"\n[rules]", 1)))
		wantError(t, err, r.want)
	}
}

// A draft has its own groups; a renewed card keeps them, and who is revoked leaves them.
func TestAffiliationsInTheNextVersion(t *testing.T) {
	c := kin()
	c.Affiliations = append(c.Affiliations, []string{"telco", "bank", "insurer"})
	first := mustCharter(t, c)
	renamed := Card(memberNamed("insurer"))
	renamed.Name = "assurance"
	for _, v := range []struct {
		change func(*Charter) error
		want   [][]string
		line   string
	}{
		{func(c *Charter) error { c.Admit(renamed); return nil },
			[][]string{{"bank", "assurance"}, {"telco", "bank", "assurance"}},
			"affiliated: bank and insurer, telco and bank and insurer -> bank and assurance, telco and bank and assurance"},
		{func(c *Charter) error { return c.Revoke("insurer", "left") }, [][]string{{"telco", "bank"}},
			"affiliated: bank and insurer, telco and bank and insurer -> telco and bank"},
		{func(c *Charter) error { c.Affiliations[0][1] = "telco"; return nil },
			[][]string{{"bank", "telco"}, {"telco", "bank", "insurer"}},
			"affiliated: bank and insurer, telco and bank and insurer -> bank and telco, telco and bank and insurer"},
		{func(c *Charter) error { c.Affiliations = nil; return nil }, nil,
			"affiliated: bank and insurer, telco and bank and insurer -> none"},
	} {
		draft := first.Next()
		must(t, v.change(&draft))
		next := later(t, draft)
		if fmt.Sprint(next.Affiliations) != fmt.Sprint(v.want) || !slices.Contains(next.Changes(first), v.line) {
			t.Errorf("groups are %v, changes\n%s\nwant %v and\n%s", next.Affiliations, strings.Join(next.Changes(first), "\n"),
				v.want, v.line)
		}
		if !reflect.DeepEqual(first.Affiliations, c.Affiliations) {
			t.Fatalf("a draft changed the groups of the version it was made from to %v", first.Affiliations)
		}
	}
}
