package keys

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// quorumNames are the members of quorumCharter.
var quorumNames = []string{"bank", "insurer", "telco", "lab", "mill", "farm", "mine"}

// quorumCharter is a charter of seven of whom four can revoke another, in force.
func quorumCharter(t *testing.T) *SignedCharter {
	t.Helper()
	c := threeMembers()
	for _, name := range quorumNames[3:] {
		c.Members = append(c.Members, memberNamed(name))
	}
	c.Affiliations = [][]string{{"bank", "mill", "telco"}}
	c.Roles = map[ID][]string{keyNamed("telco").ID(): {RoleClient}}
	c.Rules.RevokeBy = 4
	return mustCharter(t, c, quorumNames...)
}

// revocation is the version after parent that revokes a member, signed by some.
func revocation(t *testing.T, parent *SignedCharter, name string, signers ...string) *SignedCharter {
	t.Helper()
	draft, err := parent.WithoutMember(name, "stolen")
	must(t, err)
	draft.Created = noon.Add(time.Hour)
	return mustCharter(t, draft, signers...)
}

func TestAQuorumRevokes(t *testing.T) {
	parent := quorumCharter(t)
	text := string(parent.Text())
	if !strings.Contains(text, "\nrevoke_by = 4\n") {
		t.Errorf("the text has no revoke_by:\n%s", text)
	}
	back, err := ParseCharter(parent.Text())
	if err != nil || !reflect.DeepEqual(back.Charter, parent.Charter) {
		t.Fatalf("read back %+v, %v", back, err)
	}
	next := revocation(t, parent, "telco", "bank", "lab", "mill", "farm")
	wantError(t, next.Complete(), `charter "credit" is not in force: insurer and mine have not signed it`)
	if !next.After(parent) {
		t.Fatal("a revocation is none")
	}
	if f, err := next.InForce(); err != nil || f.Charter() != next || next.Before() != parent {
		t.Errorf("four of seven do not revoke: %v", err)
	}
	// By the rule of a version that not all have signed.
	again := revocation(t, next, "lab", "bank", "insurer", "mill", "farm")
	if !again.After(next) || again.Complete() != nil {
		t.Error("the quorum's version carries no other")
	}
	all := revocation(t, parent, "telco", "bank", "insurer", "lab", "mill", "farm", "mine")
	if all.Complete() != nil {
		t.Error("a version that all have signed needs no quorum")
	}
}

// TestAMinorityRevokesNobody: too few, or with the signature of who is revoked, and whatever revoke_by says, half of
// the members.
func TestAMinorityRevokesNobody(t *testing.T) {
	parent := quorumCharter(t)
	next := revocation(t, parent, "telco", "bank", "lab", "mill")
	if !next.After(parent) {
		t.Fatal("a revocation is none")
	}
	wantError(t, next.Complete(), `charter "credit" is not in force: insurer, farm and mine have not signed it; it `+
		`revokes a member, for which 4 signatures are enough, and has 3`)
	if err := next.Sign(keyNamed("telco")); err == nil {
		t.Error("who is revoked signs its own revocation")
	}
	c := quorumCharter(t).Charter
	c.Members = append(c.Members, memberNamed("a"), memberNamed("b"), memberNamed("c"))
	c.Rules.RevokeBy = 2
	large := mustCharter(t, c, append(quorumNames, "a", "b", "c")...)
	if large.Quorum() != 6 {
		t.Errorf("of ten members %d revoke, want 6: two groups of five would revoke each other", large.Quorum())
	}
	half := revocation(t, large, "telco", "bank", "lab", "mill", "farm", "a")
	if !half.After(large) || half.Complete() == nil {
		t.Error("half of the members revoke")
	}
	c.Rules.RevokeBy = 0
	without := mustCharter(t, c, append(quorumNames, "a", "b", "c")...)
	if revocation(t, without, "telco", "bank", "lab", "mill", "farm", "a", "b").After(without) {
		t.Error("a charter without revoke_by lets a quorum revoke")
	}
}

// TestAQuorumDoesNothingElse than revoke one member: each of these changes comes with a revocation that four sign.
func TestAQuorumDoesNothingElse(t *testing.T) {
	parent := quorumCharter(t)
	signers := []string{"bank", "lab", "mill", "farm"}
	for name, change := range map[string]func(*Charter){
		"a second revocation": func(c *Charter) { c.Revoke("insurer", "at once") },
		"a new member":        func(c *Charter) { c.Admit(Card(memberNamed("spy"))) },
		"the revoked member's new key": func(c *Charter) {
			c.Admit(Card{Name: "telco", ID: keyNamed("telco again").ID()})
		},
		"another's address":      func(c *Charter) { c.Members[1].Addresses = []string{"/dns4/spy.example/tcp/1"} },
		"another's name":         func(c *Charter) { c.Members[1].Name = "assurer" },
		"the order":              func(c *Charter) { c.Members[0], c.Members[1] = c.Members[1], c.Members[0] },
		"a weaker privacy":       func(c *Charter) { c.Rules.MinPrivacy = PrivacyPublished },
		"fewer contributors":     func(c *Charter) { c.Rules.MinContributors = 2 },
		"a smaller quorum":       func(c *Charter) { c.Rules.RevokeBy = 2 },
		"a removal, not revoked": func(c *Charter) { c.Members = c.Members[:5] },
		"no affiliations":        func(c *Charter) { c.Affiliations = nil },
		"roles":                  func(c *Charter) { c.Roles = map[ID][]string{keyNamed("insurer").ID(): {RoleClient}} },
		"an older revocation": func(c *Charter) {
			c.Revoked = append([]Revoked{{"old", keyNamed("old").ID(), "x"}}, c.Revoked...)
		},
		"identifiers":             func(c *Charter) { c.Identifiers = []Identifier{{"phone", []IDColumn{{Name: "phone"}}}} },
		"the version":             func(c *Charter) { c.Version++ },
		"the parent":              func(c *Charter) { c.Parent = HashOf("another") },
		"nobody revoked":          func(c *Charter) { *c = parent.Next(); c.Created = noon.Add(time.Hour) },
		"a key that is no member": func(c *Charter) { c.Revoked[0].ID = keyNamed("spy").ID() },
	} {
		t.Run(name, func(t *testing.T) {
			draft, err := parent.WithoutMember("telco", "stolen")
			must(t, err)
			draft.Created = noon.Add(time.Hour)
			change(&draft)
			next, err := NewCharter(draft)
			must(t, err)
			for _, who := range signers {
				must(t, next.Sign(keyNamed(who)))
			}
			if next.After(parent) || next.Complete() == nil {
				t.Error("four of seven put it into force")
			}
		})
	}
	forged := revocation(t, quorumCharter(t), "telco", signers...)
	unsigned := mustCharter(t, parent.Charter, signers...) // the version before, as four of seven would like it
	if forged.After(unsigned) {
		t.Error("a version follows one that is not in force")
	}
}

func TestRevokeByIsChecked(t *testing.T) {
	for n, want := range map[int]string{1: "one member revokes nobody", -1: "one member revokes nobody",
		MaxMembers + 1: "one member revokes nobody"} {
		c := threeMembers()
		c.Rules.RevokeBy = n
		if _, err := NewCharter(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("revoke_by %d: %v", n, err)
		}
	}
	first := mustCharter(t, threeMembers())
	draft := first.Next()
	draft.Rules.RevokeBy = 2
	if got := fmt.Sprint(Diff(first, later(t, draft))); got != "[revoke_by: 0 -> 2]" {
		t.Error(got)
	}
}
