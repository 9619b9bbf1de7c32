package keys

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// later makes the next version out of a draft.
func later(t *testing.T, draft Charter) *SignedCharter {
	t.Helper()
	draft.Created = noon.Add(time.Hour)
	return mustCharter(t, draft)
}

func TestNextVersions(t *testing.T) {
	first := mustCharter(t, threeMembers())
	lab := memberNamed("lab", "/ip4/10.0.0.8/tcp/4001")
	second := later(t, first.WithMember(Card(lab)))
	draft, err := second.WithoutMember("telco", "left the league")
	must(t, err)
	third := later(t, draft)
	for _, s := range [][2]*SignedCharter{{second, first}, {third, second}} {
		if err := s[0].Follows(s[1]); err != nil {
			t.Error(err)
		}
	}
	if second.Version != 2 || second.Parent != first.Digest() || !reflect.DeepEqual(second.Members[3], lab) {
		t.Errorf("version 2 is %+v", second.Charter)
	}
	if _, still := third.MemberNamed("telco"); still || len(third.Members) != 3 ||
		third.Revoked[0] != (Revoked{"telco", keyNamed("telco").ID(), "left the league"}) {
		t.Errorf("version 3 is %+v", third.Charter)
	}
	if !reflect.DeepEqual(first.Charter, mustCharter(t, threeMembers()).Charter) {
		t.Error("a draft changed the version it was made from")
	}
}

// A member whose addresses change sends a new card.
func TestAdmitRenewsACard(t *testing.T) {
	c := mustCharter(t, threeMembers()).WithMember(Card(memberNamed("telco", "/ip4/10.0.0.9/tcp/4001")))
	if len(c.Members) != 3 || !reflect.DeepEqual(c.Members[2], memberNamed("telco", "/ip4/10.0.0.9/tcp/4001")) {
		t.Errorf("the members are %+v", c.Members)
	}
}

func TestDraftNeedsATime(t *testing.T) {
	_, err := NewCharter(mustCharter(t, threeMembers()).Next())
	wantError(t, err, `charter "credit": created is missing`)
}

func TestFollowsErrors(t *testing.T) {
	first := mustCharter(t, threeMembers())
	other := threeMembers()
	other.Rules.MinContributors = 2
	twin := mustCharter(t, other)
	second := later(t, first.Next())
	third := later(t, second.Next())
	renamed := threeMembers()
	renamed.Name = "loans"
	for _, c := range []struct {
		child, parent *SignedCharter
		want          string
	}{
		{first, first, `charter "credit": version 1 does not follow version 1: want version 2`},
		{third, first, `charter "credit": version 3 does not follow version 1: want version 2`},
		{first, second, `charter "credit": version 1 does not follow version 2: want version 3`},
		{second, mustCharter(t, renamed), `charter "credit" does not follow "loans": the names differ`},
		{second, twin, fmt.Sprintf(`charter "credit": version 2 follows a version 1 with the hash %s, not this one with the hash %s`, first.Digest().Short(), twin.Digest().Short())},
	} {
		wantError(t, c.child.Follows(c.parent), c.want)
	}
}

func TestWithoutMemberErrors(t *testing.T) {
	s := mustCharter(t, threeMembers())
	_, err := s.WithoutMember("lab", "closed")
	wantError(t, err, `charter "credit": there is no member "lab" to revoke`)
	_, err = s.WithoutMember("telco", "")
	wantError(t, err, `charter "credit": telco: the reason is missing: say why the key is revoked`)
}

// Who lost a key is revoked and admitted with a new one; the name stays.
func TestNewKeyForAMember(t *testing.T) {
	s := mustCharter(t, threeMembers())
	draft := s.WithMember(Card{Name: "telco", ID: keyNamed("telco again").ID()})
	draft.Created = noon
	_, err := NewCharter(draft)
	wantError(t, err, `charter "credit": members 3 and 4 are both named "telco"`)
	draft, err = s.WithoutMember("telco", "lost")
	must(t, err)
	draft.Admit(Card{Name: "telco", ID: keyNamed("telco again").ID()})
	later(t, draft)
	draft.Admit(Card{Name: "telco2", ID: keyNamed("telco").ID()})
	draft.Created = noon
	_, err = NewCharter(draft)
	wantError(t, err, `charter "credit": telco2 is a member with the revoked key `+keyNamed("telco").ID().String())
}

func TestDiff(t *testing.T) {
	first := mustCharter(t, threeMembers())
	bank, insurer, telco := keyNamed("bank").ID(), keyNamed("insurer").ID(), keyNamed("telco").ID()
	for _, c := range []struct {
		change func(*Charter)
		want   []string
	}{
		{func(c *Charter) {}, nil},
		{func(c *Charter) { c.Admit(Card(memberNamed("lab"))) },
			[]string{"adds lab (" + keyNamed("lab").ID().String() + ")"}},
		{func(c *Charter) { c.Revoke("telco", "lost its key") },
			[]string{"revokes telco (" + telco.String() + "): lost its key"}},
		{func(c *Charter) { c.Members = c.Members[:2] }, []string{"removes telco (" + telco.String() + ")"}},
		{func(c *Charter) { c.Members[2].Name = "carrier" }, []string{"renames " + telco.String() + ": telco -> carrier"}},
		{func(c *Charter) { c.Members[1].Addresses = nil; c.Members[2].Addresses = []string{"/dns/t/tcp/1"} }, []string{
			"addresses of insurer: /ip6/2001:db8::7/tcp/4001 -> none",
			"addresses of telco: none -> /dns/t/tcp/1",
		}},
		{func(c *Charter) {
			c.Rules = Rules{PrivacySealed, 2, []string{"tcp", "quic"}, []string{"dht"}, 0, 0}
		}, []string{
			"min_privacy: masked -> sealed",
			"min_contributors: 3 -> 2",
			"transports: tcp -> tcp, quic",
			"discovery: addresses, mdns -> dht",
		}},
		{func(c *Charter) { c.Members[0].Name, c.Members[1].Name = "insurer", "bank" }, []string{
			"renames " + bank.String() + ": bank -> insurer",
			"renames " + insurer.String() + ": insurer -> bank",
		}},
		{func(c *Charter) { slices.Reverse(c.Members) }, nil},
	} {
		draft := first.Next()
		c.change(&draft)
		if got := Diff(first, later(t, draft)); !slices.Equal(got, c.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestDiffOfRevocations(t *testing.T) {
	c := threeMembers()
	lab, mill := keyNamed("lab").ID(), keyNamed("mill").ID()
	c.Revoked = []Revoked{{"lab", lab, "closed"}, {"mill", mill, "lost"}}
	first := mustCharter(t, c)
	draft := first.Next()
	draft.Revoked = []Revoked{{"mill", mill, "stolen"}}
	want := []string{
		"says of the revoked key " + mill.String() + ": mill, lost -> mill, stolen",
		"no longer revokes lab (" + lab.String() + ")",
	}
	if got := Diff(first, later(t, draft)); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// The largest charter there may be is read and checked, and a larger one is refused by its size.
func TestLargestCharter(t *testing.T) {
	c := threeMembers()
	c.Members = nil
	for i := range MaxMembers {
		m := Member{Name: fmt.Sprintf("client-%d", i)}
		m.ID = ID(HashOf("id", []byte(m.Name)))
		for j := range 4 {
			m.Addresses = append(m.Addresses, fmt.Sprintf("/dns4/node-%d.client.example/tcp/%d", i, 4000+j))
		}
		c.Members = append(c.Members, m)
	}
	s := mustCharter(t, c)
	back, err := ParseCharter(s.Text())
	must(t, err)
	if back.Digest() != s.Digest() || len(back.Members) != MaxMembers {
		t.Error("the charter read back differs")
	}
	want := `charter "credit" is not in force: client-0, client-1, client-2, client-3, client-4 and 4091 others have not signed it`
	wantError(t, back.Complete(), want)
	for i := range c.Members {
		for j := range c.Members[i].Addresses {
			c.Members[i].Addresses[j] = strings.Replace(c.Members[i].Addresses[j], "client",
				strings.Repeat("a", 60)+"."+strings.Repeat("b", 60)+"."+strings.Repeat("c", 60), 1)
		}
	}
	_, err = NewCharter(c)
	wantError(t, err, `charter "credit": 4791868 bytes with all signatures, at most 4194304 are allowed: give fewer addresses`)
}
