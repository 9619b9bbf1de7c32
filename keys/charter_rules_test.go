package keys

import (
	"strings"
	"testing"
	"time"
)

// rule is one way to break threeMembers().
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
	{func(c *Charter) { c.Members[1].ID = ID{1} },
		`charter "credit": member 2: insurer: id ` + ID{1}.String() + ` is a weak key, which anybody can sign for`},
	{func(c *Charter) { c.Members[2].Name = "bank" }, `charter "credit": members 1 and 3 are both named "bank"`},
	{func(c *Charter) { c.Members[2].ID = c.Members[0].ID },
		`charter "credit": bank and telco have the same id ` + goldenID},
	{func(c *Charter) { c.Members[2].Addresses = make([]string, 9) }, `charter "credit": member 3: telco: 9 addresses, at most 8 are allowed`},
	{func(c *Charter) { c.Members[2].Addresses = []string{"10.0.0.9"} }, `charter "credit": member 3: telco: malformed address "10.0.0.9": ` + addressShape},
	{func(c *Charter) { c.Members[0].Addresses[1] = c.Members[0].Addresses[0] }, `charter "credit": member 1: bank: address "/ip4/10.0.0.7/tcp/4001" is given twice`},
	{func(c *Charter) { c.Members[2].Addresses = c.Members[1].Addresses }, `charter "credit": insurer and telco have the same address "/ip6/2001:db8::7/tcp/4001"`},
	{func(c *Charter) { c.Revoked = []Revoked{{"old", c.Members[0].ID, "lost"}} },
		`charter "credit": bank is a member with the revoked key ` + goldenID},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, "lost"}, {"b", ID{9}, "lost"}} },
		`charter "credit": the key ` + ID{9}.String() + ` is revoked twice`},
	{func(c *Charter) { c.Revoked = make([]Revoked, 4097) }, `charter "credit": 4097 revoked keys, at most 4096 are allowed`},
	{func(c *Charter) { c.Revoked = []Revoked{{"", ID{9}, "lost"}} },
		`charter "credit": revoked key 1: the name is missing`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{}, "lost"}} },
		`charter "credit": revoked key 1: a: the id is missing`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, ""}} }, `charter "credit": revoked key 1: a: the reason is missing: say why the key is revoked`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, strings.Repeat("x", 201)}} }, `charter "credit": revoked key 1: a: the reason has 201 bytes, at most 200 are allowed`},
	{func(c *Charter) { c.Revoked = []Revoked{{"a", ID{9}, "two\nlines"}} }, `charter "credit": revoked key 1: a: the reason "two\nlines" has the character U+000A, which cannot be seen`},
}

func TestNewCharterErrors(t *testing.T) {
	for _, r := range append(headRules, memberRules...) {
		c := threeMembers()
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
		c := threeMembers()
		c.Rules = c.Rules.withDefaults()
		r.change(&c)
		if c.Created.IsZero() || c.Created.Year() > 9999 || len(c.Members) > MaxMembers || len(c.Revoked) > MaxMembers ||
			strings.Contains(r.want, "two") {
			continue
		}
		_, err := ParseCharter(NewDocument(charterDomain, c.body()).Text())
		wantError(t, err, r.want)
	}
}

func TestParseCharterErrors(t *testing.T) {
	c := threeMembers()
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
		{swap("min_contributors", "min_contributor"), `charter: line 16: unknown key "rules.min_contributor"; did you mean "min_contributors"?`},
		{swap("min_contributors = 3", "min_contributors = 0"), `charter "credit": min_contributors is 0, want 2 to 4096: a sum of one is that member's own value`},
		{swap(`min_privacy = "masked"`, `min_privacy = ""`), `charter "credit": min_privacy is "", want one of published, masked, sealed`},
		{swap("version = 1", "version = \"1\""), `charter: line 9: version: want an integer, got a string`},
		{swap("version = 1", "version = 1\nparent = \"\\u0030\""), `charter "credit": parent: malformed hash "0": want 64 hexadecimal digits`},
		{swap("version = 1", "version = 2\nparent = \""+strings.Repeat("AB", 32)+`"`), `charter "credit": parent: want a hash in lower case that is not zero`},
		{swap("version = 1", "version = 1\nparent = \""+strings.Repeat("00", 32)+`"`), `charter "credit": parent: want a hash in lower case that is not zero`},
		{swap(`created = "2026-11-20T12:00:00Z"`, `created = 2026-11-20T12:00:00Z`), `charter: line 10: created: want a string, got a date without quotes`},
		{swap(`created = "2026-11-20T12:00:00Z"`, ``), `charter "credit": created is missing`},
		{swap(`id = "`+bank.String(), `id = "`+bank.String()[:30]),
			`charter "credit": member 1: bank: malformed member id "` + bank.String()[:24] +
				`…": want 58 characters of base32 after the prefix`},
		{swap(`id = "`+bank.String()+`"`, ""), `charter "credit": member 1: bank: the id is missing`},
		{swap(`name = "lab"`, `name = "\u001b[2J"`), `charter "credit": revoked key 1: malformed name "\x1b[2J": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
		{swap(keyNamed("lab").ID().String(), "hanse-id1"), `charter "credit": revoked key 1: lab: malformed member id "hanse-id1": want 58 characters of base32 after the prefix`},
		{swap(`reason = "closed"`, `reason = "clo\u202esed"`), "charter \"credit\": revoked key 1: lab: the reason \"clo\\u202esed\" has the character U+202E, which cannot be seen"},
		{swap(`reason = "closed"`, `reason = "two\nlines"`), `charter "credit": revoked key 1: lab: the reason "two\nlines" has the character U+000A, which cannot be seen`},
		{resigned(charterDomain, body, "bank", "stranger"),
			`charter "credit": ` + stranger.Short() + ` is not a member, so its signature has no place here`},
		{resigned(charterDomain, body, "lab"),
			`charter "credit": ` + keyNamed("lab").ID().Short() + ` is not a member, so its signature has no place here`},
		{resigned(cardDomain, body, "bank"), `charter: the signature of bank does not fit the text above it: one of the two was changed, or it was made for another text`},
		{[]byte("credit"), `charter: the line "# --- signatures over every byte above this line ---", with which signatures begin, is not there: is it the right file?`},
	} {
		s, err := ParseCharter(c.text)
		wantError(t, err, c.want)
		if s != nil {
			t.Error("a partial result is kept")
		}
	}
}
