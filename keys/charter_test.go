package keys

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCharterText(t *testing.T) {
	s := mustCharter(t, threeMembers(), "bank", "insurer", "telco")
	golden(t, "charter.txt", s.Text())
	if err := s.Complete(); err != nil {
		t.Error(err)
	}
	second, err := s.WithoutMember("telco", "the key was on a laptop that is gone")
	must(t, err)
	second.Created = noon.Add(time.Hour)
	second.Admit(Card(Member{"telco", keyNamed("telco again").ID(), []string{"/ip4/10.0.0.9/tcp/4001"}, false}))
	golden(t, "charter-2.txt", mustCharter(t, second, "bank").Text())
}

// Equal charters give equal bytes, whatever shares memory with whatever.
func TestNewCharterIsDeterministic(t *testing.T) {
	a, b := mustCharter(t, threeMembers()), mustCharter(t, threeMembers())
	if !bytes.Equal(a.Text(), b.Text()) || a.Digest() != b.Digest() {
		t.Error("the texts differ")
	}
	c := threeMembers()
	s := mustCharter(t, c)
	c.Members[0].Addresses[0] = "changed"
	c.Members[1].Name = "changed"
	if !reflect.DeepEqual(s.Charter, a.Charter) {
		t.Error("the charter shares memory with the caller's")
	}
}

func TestNewCharterFillsInDefaults(t *testing.T) {
	c := threeMembers()
	c.Rules = Rules{}
	c.Created = noon.Add(999 * time.Millisecond).In(time.FixedZone("", 3600))
	s := mustCharter(t, c)
	want := Rules{PrivacyMasked, 3, []string{"tcp"}, []string{"addresses"}, 0, 0}
	if !reflect.DeepEqual(s.Rules, want) || !reflect.DeepEqual(s.Created, noon) {
		t.Errorf("got %+v, %v", s.Rules, s.Created)
	}
}

// A charter that was written by hand keeps its own bytes: they are what is signed.
func TestParseCharterKeepsForeignBytes(t *testing.T) {
	body := "# ours\nversion   = 1\nname='credit'\nformat = \"hanse-charter-v1\"\ncreated = \"2026-11-20T12:00:00Z\"\nmember = [{name = \"bank\", id = \"" + goldenID + "\"}]\n"
	text := resigned(charterDomain, body, "bank")
	s, err := ParseCharter(text)
	must(t, err)
	if err := s.Complete(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(s.Text(), text) || s.Rules.MinContributors != 3 || s.Members[0].Addresses != nil {
		t.Errorf("read %+v", s.Charter)
	}
	if same := mustCharter(t, s.Charter); same.Digest() == s.Digest() {
		t.Error("the digest is of a rendered body, not of the body that came")
	}
}

func TestLookups(t *testing.T) {
	c := threeMembers()
	c.Revoked = []Revoked{{"lab", keyNamed("lab").ID(), "closed"}}
	if m, ok := c.Member(keyNamed("telco").ID()); !ok || m.Name != "telco" {
		t.Error("Member does not find telco")
	}
	if m, ok := c.MemberNamed("insurer"); !ok || m.ID != keyNamed("insurer").ID() {
		t.Error("MemberNamed does not find the insurer")
	}
	if r, ok := c.RevokedID(keyNamed("lab").ID()); !ok || r.Reason != "closed" {
		t.Error("RevokedID does not find the lab")
	}
	_, a := c.Member(keyNamed("lab").ID())
	_, b := c.MemberNamed("lab")
	_, d := c.RevokedID(keyNamed("bank").ID())
	if a || b || d {
		t.Error("somebody is found who is not there")
	}
	if ids := c.IDs(); len(ids) != 3 || !slices.IsSortedFunc(ids, ID.Compare) {
		t.Errorf("IDs are %v", ids)
	}
}

func TestAllowsPrivacy(t *testing.T) {
	for least, want := range map[string][]bool{
		"published": {true, true, true, false},
		"masked":    {false, true, true, false},
		"":          {false, true, true, false},
		"sealed":    {false, false, true, false},
		"unknown":   {false, false, false, false},
	} {
		for i, mode := range []string{"published", "masked", "sealed", "clear"} {
			if got := (Rules{MinPrivacy: least}).AllowsPrivacy(mode); got != want[i] {
				t.Errorf("least %q, job %q: allowed is %v", least, mode, got)
			}
		}
	}
}

func TestComplete(t *testing.T) {
	s := mustCharter(t, threeMembers())
	for _, c := range []struct{ signer, want string }{
		{"insurer", `charter "credit" is not in force: bank and telco have not signed it`},
		{"bank", `charter "credit" is not in force: telco has not signed it`},
	} {
		must(t, s.Sign(keyNamed(c.signer)))
		wantError(t, s.Complete(), c.want)
	}
	wantError(t, mustCharter(t, threeMembers()).Complete(), `charter "credit" is not in force: bank, insurer and telco have not signed it`)
	var unsigned *UnsignedError
	if !errors.As(s.Complete(), &unsigned) || !slices.Equal(unsigned.Members, []string{"telco"}) {
		t.Errorf("got %+v", unsigned)
	}
}

func TestUnsignedErrorStaysOneLine(t *testing.T) {
	names := strings.Fields("a b c d e f g h")
	for n, want := range map[int]string{
		6: "a, b, c, d, e and f have",
		7: "a, b, c, d, e and 2 others have",
		8: "a, b, c, d, e and 3 others have",
	} {
		e := &UnsignedError{Charter: "credit", Members: names[:n]}
		wantError(t, e, `charter "credit" is not in force: `+want+` not signed it`)
	}
	if strings.Join(names, " ") != "a b c d e f g h" {
		t.Error("the names are changed")
	}
}

func TestStrangersCannotSignACharter(t *testing.T) {
	s := mustCharter(t, threeMembers())
	k := keyNamed("stranger")
	want := `charter "credit": ` + k.ID().Short() + ` is not a member, so its signature has no place here`
	wantError(t, s.Sign(k), want)
	wantError(t, s.AddSignature(k.ID(), k.Sign(charterDomain, s.Body)), want)
	bank := keyNamed("bank")
	wantError(t, s.AddSignature(bank.ID(), bank.Sign("hanse job v1", s.Body)), "charter: the signature of "+bank.ID().Short()+" does not fit the text above it: one of the two was changed, or it was made for another text")
	if err := s.AddSignature(bank.ID(), bank.Sign(charterDomain, s.Body)); err != nil || !s.SignedBy(bank.ID()) {
		t.Error("the bank cannot sign:", err)
	}
}

// No text that differs from a complete charter in one byte or line is a complete charter, unless
// only the order of the signatures differs.
func TestCharterTampering(t *testing.T) {
	c := threeMembers()
	c.Members = []Member{memberNamed("bank"), memberNamed("telco")}
	s := mustCharter(t, c, "bank", "telco")
	refused := 0
	tamper(s.Text(), func(what string, text []byte) {
		got, err := ParseCharter(text)
		if err != nil || got.Complete() != nil {
			refused++
			return
		}
		if !bytes.Equal(got.Text(), s.Text()) {
			t.Errorf("%s: accepted with other content:\n%s", what, text)
		}
	})
	if refused < 5*len(s.Text()) {
		t.Errorf("only %d of the changed texts were refused", refused)
	}
}

// drawCharter makes any charter that breaks no rule.
func drawCharter(t *rapid.T) Charter {
	c := Charter{
		Name:    rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`).Draw(t, "name"),
		Version: rapid.IntRange(1, 1000).Draw(t, "version"),
		Created: time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "created"), 0).UTC(),
		Rules: Rules{
			MinPrivacy:      rapid.SampledFrom(Privacies()).Draw(t, "privacy"),
			MinContributors: rapid.IntRange(2, MaxMembers).Draw(t, "contributors"),
			Transports: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tcp", "quic"}), 1, 2, rapid.ID).Draw(t,
				"transports"),
			Discovery: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"addresses", "mdns", "dht"}), 1, 3,
				rapid.ID).Draw(t, "discovery"),
		},
	}
	if c.Version > 1 {
		c.Parent = HashOf(c.Name)
	}
	port := 0
	for i := range rapid.IntRange(1, 5).Draw(t, "members") {
		m := memberNamed(fmt.Sprint("m", i))
		for range rapid.IntRange(0, 3).Draw(t, "addresses") {
			port++
			m.Addresses = append(m.Addresses, fmt.Sprintf("/ip4/10.0.0.7/tcp/%d", port))
		}
		c.Members = append(c.Members, m)
		if roles := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{RoleServer, RoleClient}), 0, 2, rapid.ID).Draw(t,
			"roles"); len(roles) > 0 {
			must(t, c.SetRoles(m.Name, roles...))
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "revoked") {
		name := fmt.Sprint("r", i)
		reason := rapid.StringMatching(`[ -~äß世"\\#]{1,60}`).Draw(t, "reason")
		c.Revoked = append(c.Revoked, Revoked{name, keyNamed(name).ID(), reason})
	}
	return c
}

// Every charter that breaks no rule is read back as it was, with the signatures it had.
func TestCharterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCharter(t)
		s, err := NewCharter(c)
		must(t, err)
		for _, m := range rapid.SliceOfNDistinct(rapid.SampledFrom(c.Members), 0, len(c.Members),
			func(m Member) string { return m.Name }).Draw(t, "signers") {
			must(t, s.Sign(keyNamed(m.Name)))
		}
		back, err := ParseCharter(s.Text())
		if err != nil {
			t.Fatalf("%v in\n%s", err, s.Text())
		}
		if !reflect.DeepEqual(back, s) || !reflect.DeepEqual(back.Charter, c) {
			t.Fatalf("got %+v\nwant %+v", back, s)
		}
	})
}

// Whatever body is read as a charter is rendered and read the same.
func FuzzCharterBody(f *testing.F) {
	c := threeMembers()
	c.Revoked = []Revoked{{"lab", keyNamed("lab").ID(), `"closed" \o/`}}
	s := mustCharter(f, c)
	f.Add(string(s.Body))
	f.Add("format = 'hanse-charter-v1'\nname = 'c'\nversion = 1\ncreated = '2026-11-20T12:00:00Z'\nmember = [{name = 'bank', id = '" + goldenID + "'}]\n")
	f.Add("format = 'hanse-charter-v1'\nname = 'c'\nversion = 1\ncreated = '2026-11-20T12:00:00Z'\nmember = [{name = 'bank', id = '" + goldenID + "', roles = ['client']}]\n")
	f.Add(string(mustCharter(f, kin()).Body))
	f.Fuzz(func(t *testing.T, body string) {
		s, err := ParseCharter(NewDocument(charterDomain, []byte(body)).Text())
		if err != nil {
			return
		}
		again, err := NewCharter(s.Charter)
		if err != nil {
			t.Fatalf("%q is read, but cannot be rendered: %v", body, err)
		}
		back, err := ParseCharter(again.Text())
		if err != nil || !reflect.DeepEqual(back, again) || !reflect.DeepEqual(back.Charter, s.Charter) {
			t.Fatalf("%q gives %+v, rendered it gives %+v, %v", body, s.Charter, back, err)
		}
	})
}
