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
	s := mustCharter(t, league(), "bank", "insurer", "telco")
	golden(t, "charter.txt", s.Text())
	if err := s.Complete(); err != nil {
		t.Error(err)
	}
	second, err := s.WithoutMember("telco", "the key was on a laptop that is gone")
	if err != nil {
		t.Fatal(err)
	}
	second.Created = noon.Add(time.Hour)
	second.Admit(Card(Member{"telco", keyNamed("telco again").ID(), []string{"/ip4/10.0.0.9/tcp/4001"}}))
	golden(t, "charter-2.txt", mustCharter(t, second, "bank").Text())
}

// Equal charters give equal bytes, whatever shares memory with whatever.
func TestNewCharterIsDeterministic(t *testing.T) {
	a, b := mustCharter(t, league()), mustCharter(t, league())
	if !bytes.Equal(a.Text(), b.Text()) || a.Digest() != b.Digest() {
		t.Error("the texts differ")
	}
	c := league()
	s := mustCharter(t, c)
	c.Members[0].Addresses[0] = "changed"
	c.Members[1].Name = "changed"
	if !reflect.DeepEqual(s.Charter, a.Charter) {
		t.Error("the charter shares memory with the caller's")
	}
}

func TestNewCharterFillsInDefaults(t *testing.T) {
	c := league()
	c.Created = noon.Add(999 * time.Millisecond).In(time.FixedZone("", 3600))
	s := mustCharter(t, c)
	want := Rules{PrivacyMasked, 3, []string{"tcp"}, []string{"addresses", "mdns"}}
	if !reflect.DeepEqual(s.Rules, want) || !reflect.DeepEqual(s.Created, noon) {
		t.Errorf("got %+v, %v", s.Rules, s.Created)
	}
}

// rule is one way to break league().
type rule struct {
	change func(*Charter)
	want   string
}

// headRules are about name, version, rules.
var headRules = []rule{
	{func(c *Charter) { c.Name = "" }, `charter: the name is missing`},
	{func(c *Charter) { c.Name = "Credit" }, `charter: malformed name "Credit": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
	{func(c *Charter) { c.Version = 0 }, `charter "credit": version is 0, want 1 or more`},
	{func(c *Charter) { c.Version = -1 }, `charter "credit": version is -1, want 1 or more`},
	{func(c *Charter) { c.Version = 2 }, `charter "credit": version 2 has no parent: it must name the hash of version 1`},
	{func(c *Charter) { c.Parent = Hash{0xab} }, `charter "credit": version 1 has the parent ab000000, but nothing comes before version 1`},
	{func(c *Charter) { c.Created = time.Time{} }, `charter "credit": created is missing`},
	{func(c *Charter) { c.Created = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, `charter "credit": created 10000-01-01T00:00:00Z is not in whole seconds of a year up to 9999`},
	{func(c *Charter) { c.Rules.MinPrivacy = "open" }, `charter "credit": min_privacy is "open", want one of published, masked, sealed`},
	{func(c *Charter) { c.Rules.MinContributors = 1 }, `charter "credit": min_contributors is 1, want 2 to 4096: a sum of one is that member's own value`},
	{func(c *Charter) { c.Rules.MinContributors = 4097 }, `charter "credit": min_contributors is 4097, want 2 to 4096: a sum of one is that member's own value`},
	{func(c *Charter) { c.Rules.Transports = []string{} }, `charter "credit": transports is empty, want at least one of tcp, quic`},
	{func(c *Charter) { c.Rules.Transports = []string{"ws"} }, `charter "credit": transports has "ws", want some of tcp, quic`},
	{func(c *Charter) { c.Rules.Discovery = []string{"dht", "dht"} }, `charter "credit": discovery has "dht" twice`},
}

// memberRules are about members and revoked keys.
var memberRules = []rule{
	{func(c *Charter) { c.Members = nil }, `charter "credit": 0 members, want 1 to 4096`},
	{func(c *Charter) { c.Members = make([]Member, 4097) }, `charter "credit": 4097 members, want 1 to 4096`},
	{func(c *Charter) { c.Members[1].Name = "Insurer" }, `charter "credit": member 2: malformed name "Insurer": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
	{func(c *Charter) { c.Members[1].ID = ID{} }, `charter "credit": member 2: insurer: the id is missing`},
	{func(c *Charter) { c.Members[1].ID = ID{1} }, `charter "credit": member 2: insurer: id ` + ID{1}.String() + ` is a weak key, which anybody can sign for`},
	{func(c *Charter) { c.Members[2].Name = "bank" }, `charter "credit": members 1 and 3 are both named "bank"`},
	{func(c *Charter) { c.Members[2].ID = c.Members[0].ID }, `charter "credit": bank and telco have the same id ` + goldenID},
	{func(c *Charter) { c.Members[2].Addresses = make([]string, 9) }, `charter "credit": member 3: telco: 9 addresses, at most 8 are allowed`},
	{func(c *Charter) { c.Members[2].Addresses = []string{"10.0.0.9"} }, `charter "credit": member 3: telco: malformed address "10.0.0.9": ` + addressShape},
	{func(c *Charter) { c.Members[0].Addresses[1] = c.Members[0].Addresses[0] }, `charter "credit": member 1: bank: address "/ip4/10.0.0.7/tcp/4001" is given twice`},
	{func(c *Charter) { c.Members[2].Addresses = c.Members[1].Addresses }, `charter "credit": insurer and telco have the same address "/ip6/2001:db8::7/tcp/4001"`},
	{func(c *Charter) { c.Revoked = []Revoked{{"old", c.Members[0].ID, "lost"}} }, `charter "credit": bank is a member with the revoked key ` + goldenID},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, "lost"}, {"b", ID{9}, "lost"}} }, `charter "credit": the key ` + ID{9}.String() + ` is revoked twice`},
	{func(c *Charter) { c.Revoked = make([]Revoked, 4097) }, `charter "credit": 4097 revoked keys, at most 4096 are allowed`},
	{func(c *Charter) { c.Revoked = []Revoked{{"", ID{9}, "lost"}} }, `charter "credit": revoked key 1: the name is missing`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{}, "lost"}} }, `charter "credit": revoked key 1: a: the id is missing`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, ""}} }, `charter "credit": revoked key 1: a: the reason is missing: say why the key is revoked`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, strings.Repeat("x", 201)}} }, `charter "credit": revoked key 1: a: the reason has 201 bytes, at most 200 are allowed`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, "two\nlines"}} }, `charter "credit": revoked key 1: a: the reason "two\nlines" has the character U+000A, which cannot be seen`},
}

func TestNewCharterErrors(t *testing.T) {
	for _, r := range append(headRules, memberRules...) {
		c := league()
		r.change(&c)
		s, err := NewCharter(c)
		wantError(t, err, r.want)
		if s != nil {
			t.Error("a partial result is kept")
		}
	}
}

// The same rules hold for a charter that others wrote. What render cannot write is left out:
// times beyond the calendar, reasons of two lines and lists that are too long.
func TestParseCharterHoldsTheSameRules(t *testing.T) {
	for _, r := range append(headRules, memberRules...) {
		c := league()
		c.Rules = c.Rules.withDefaults()
		r.change(&c)
		if c.Created.IsZero() || c.Created.Year() > 9999 || len(c.Members) > MaxMembers || len(c.Revoked) > MaxMembers || strings.Contains(r.want, "two") {
			continue
		}
		_, err := ParseCharter(NewDocument(charterDomain, c.body()).Text())
		wantError(t, err, r.want)
	}
}

func TestParseCharterErrors(t *testing.T) {
	c := league()
	c.Rules = c.Rules.withDefaults()
	c.Revoked = []Revoked{{"lab", keyNamed("lab").ID(), "closed"}}
	body := string(c.body())
	bank, stranger := keyNamed("bank").ID(), keyNamed("stranger").ID()
	swap := func(old, new string) []byte {
		if !strings.Contains(body, old) {
			t.Fatalf("%q is not in the body", old)
		}
		return resigned(charterDomain, strings.Replace(body, old, new, 1), "bank")
	}
	for _, c := range []struct {
		text []byte
		want string
	}{
		{swap("charter-v1", "charter-v2"), `charter: format "hanse-charter-v2", but this program reads "hanse-charter-v1"`},
		{swap("[rules]", "[ports]\ntcp = 1\n[rules]"), `charter: line 12: unknown key "ports"`},
		{swap("min_contributors", "min_contributor"), `charter: line 16: unknown key "rules.min_contributor"`},
		{swap("min_contributors = 3", "min_contributors = 0"), `charter "credit": min_contributors is 0, want 2 to 4096: a sum of one is that member's own value`},
		{swap(`min_privacy = "masked"`, `min_privacy = ""`), `charter "credit": min_privacy is "", want one of published, masked, sealed`},
		{swap("version = 1", "version = \"1\""), `charter: line 9: version: want an integer, got a string`},
		{swap("version = 1", "version = 1\nparent = \"\\u0030\""), `charter "credit": parent: malformed hash "0": want 64 hexadecimal digits`},
		{swap("version = 1", "version = 2\nparent = \""+strings.Repeat("AB", 32)+`"`), `charter "credit": parent: want a hash in lower case that is not zero`},
		{swap("version = 1", "version = 1\nparent = \""+strings.Repeat("00", 32)+`"`), `charter "credit": parent: want a hash in lower case that is not zero`},
		{swap(`created = "2026-11-20T12:00:00Z"`, `created = 2026-11-20T12:00:00Z`), `charter: line 10: created: want a string, got a date without quotes`},
		{swap(`created = "2026-11-20T12:00:00Z"`, ``), `charter "credit": created is missing`},
		{swap(`id = "`+bank.String(), `id = "`+bank.String()[:30]), `charter "credit": member 1: bank: malformed member id "` + bank.String()[:24] + `…": want 58 characters of base32 after the prefix`},
		{swap(`id = "`+bank.String()+`"`, ""), `charter "credit": member 1: bank: the id is missing`},
		{swap(`name = "lab"`, `name = "\u001b[2J"`), `charter "credit": revoked key 1: malformed name "\x1b[2J": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
		{swap(keyNamed("lab").ID().String(), "hanse-id1"), `charter "credit": revoked key 1: lab: malformed member id "hanse-id1": want 58 characters of base32 after the prefix`},
		{swap(`reason = "closed"`, `reason = "clo\u202esed"`), "charter \"credit\": revoked key 1: lab: the reason \"clo\\u202esed\" has the character U+202E, which cannot be seen"},
		{swap(`reason = "closed"`, `reason = "two\nlines"`), `charter "credit": revoked key 1: lab: the reason "two\nlines" has the character U+000A, which cannot be seen`},
		{resigned(charterDomain, body, "bank", "stranger"), `charter "credit": ` + stranger.Short() + ` is not a member, so its signature has no place here`},
		{resigned(charterDomain, body, "lab"), `charter "credit": ` + keyNamed("lab").ID().Short() + ` is not a member, so its signature has no place here`},
		{resigned(cardDomain, body, "bank"), `charter: the signature of bank does not fit the text above it: one of the two was changed, or it was made for another text`},
		{[]byte("credit"), `charter: the line "# --- signatures over every byte above this line ---" stands there 0 times, want once`},
	} {
		s, err := ParseCharter(c.text)
		wantError(t, err, c.want)
		if s != nil {
			t.Error("a partial result is kept")
		}
	}
}

// A charter that was written by hand keeps its own bytes: they are what is signed.
func TestParseCharterKeepsForeignBytes(t *testing.T) {
	body := "# ours\nversion   = 1\nname='credit'\nformat = \"hanse-charter-v1\"\ncreated = \"2026-11-20T12:00:00Z\"\nmember = [{name = \"bank\", id = \"" + goldenID + "\"}]\n"
	text := resigned(charterDomain, body, "bank")
	s, err := ParseCharter(text)
	if err != nil {
		t.Fatal(err)
	}
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
	c := league()
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
	s := mustCharter(t, league())
	for _, c := range []struct{ signer, want string }{
		{"insurer", `charter "credit" is not in force: bank and telco have not signed it`},
		{"bank", `charter "credit" is not in force: telco has not signed it`},
	} {
		if err := s.Sign(keyNamed(c.signer)); err != nil {
			t.Fatal(err)
		}
		wantError(t, s.Complete(), c.want)
	}
	wantError(t, mustCharter(t, league()).Complete(), `charter "credit" is not in force: bank, insurer and telco have not signed it`)
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
		e := &UnsignedError{"credit", names[:n]}
		wantError(t, e, `charter "credit" is not in force: `+want+` not signed it`)
	}
	if strings.Join(names, " ") != "a b c d e f g h" {
		t.Error("the names are changed")
	}
}

func TestStrangersCannotSignACharter(t *testing.T) {
	s := mustCharter(t, league())
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
	c := league()
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
			MinPrivacy:      rapid.SampledFrom(privacyOrder()).Draw(t, "privacy"),
			MinContributors: rapid.IntRange(2, MaxMembers).Draw(t, "contributors"),
			Transports:      rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tcp", "quic"}), 1, 2, rapid.ID).Draw(t, "transports"),
			Discovery:       rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"addresses", "mdns", "dht"}), 1, 3, rapid.ID).Draw(t, "discovery"),
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
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rapid.SliceOfNDistinct(rapid.SampledFrom(c.Members), 0, len(c.Members), func(m Member) string { return m.Name }).Draw(t, "signers") {
			if err := s.Sign(keyNamed(m.Name)); err != nil {
				t.Fatal(err)
			}
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
	c := league()
	c.Revoked = []Revoked{{"lab", keyNamed("lab").ID(), `"closed" \o/`}}
	s := mustCharter(f, c)
	f.Add(string(s.Body))
	f.Add("format = 'hanse-charter-v1'\nname = 'c'\nversion = 1\ncreated = '2026-11-20T12:00:00Z'\nmember = [{name = 'bank', id = '" + goldenID + "'}]\n")
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
