package keys

import (
	"reflect"
	"strings"
	"testing"
)

// identified is threeMembers() with two identifiers and a least number of rows.
func identified() Charter {
	c := threeMembers()
	c.Rules = c.Rules.withDefaults()
	c.Rules.MinRows = 100
	c.Identifiers = []Identifier{
		{"person", []IDColumn{{Name: "sur\"name", NFKC: true, Trim: true, Casefold: true},
			{Name: "born", Date: "02.01.2006"}}},
		{"phone", []IDColumn{{Name: "phone", Trim: true, E164: "+31"}}},
	}
	return c
}

func TestCharterTextWithIdentifiers(t *testing.T) {
	s := mustCharter(t, identified(), "bank", "insurer", "telco")
	back, err := ParseCharter(s.Text())
	must(t, err)
	if err := back.Complete(); err != nil || !reflect.DeepEqual(back.Charter, s.Charter) {
		t.Errorf("read back %+v, %v", back.Charter, err)
	}
	for _, line := range []string{"min_rows = 100", "[ids.phone]", `{ name = "phone", trim = true, e164 = "+31" },`} {
		if !strings.Contains(string(s.Body), line) {
			t.Errorf("the text lacks %q:\n%s", line, s.Body)
		}
	}
	plain := mustCharter(t, threeMembers())
	lines := strings.Join(s.Changes(plain), "\n")
	for _, want := range []string{"min_rows: 0 -> 100", `ids.phone: none -> { name = "phone", trim = true, e164 = "+31" }`} {
		if !strings.Contains(lines, want) {
			t.Errorf("the changes lack %q:\n%s", want, lines)
		}
	}
}

func TestIdentifiersAreChecked(t *testing.T) {
	for want, columns := range map[string][]IDColumn{
		"0 columns":               nil,
		"9 columns":               make([]IDColumn, 9),
		"the name is missing":     {{Trim: true}},
		"named twice":             {{Name: "a"}, {Name: "a", Trim: true}},
		"201 bytes":               {{Name: strings.Repeat("a", 201)}},
		"U+0007":                  {{Name: "a\a"}},
		"at most one":             {{Name: "a", Digits: true, E164: "+31"}},
		"has 2 of number, digits": {{Name: "a", Number: true, Digits: true}},
		`e164 is "31"`:            {{Name: "a", E164: "31"}},
		`e164 is "+0"`:            {{Name: "a", E164: "+0"}},
		`layout "02.01.06"`:       {{Name: "a", Date: "02.01.06"}},
		`layout "2006-01"`:        {{Name: "a", Date: "2006-01"}},
		`layout "anything else"`:  {{Name: "a", Date: "anything else"}},
	} {
		c := identified()
		c.Identifiers = []Identifier{{"key", columns}}
		if err := c.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	c := identified()
	c.Identifiers[0], c.Identifiers[1] = c.Identifiers[1], c.Identifiers[0]
	if err := c.check(); err == nil || !strings.Contains(err.Error(), "in the order of their names") {
		t.Errorf("identifiers out of order: %v", err)
	}
	body := string(mustCharter(t, identified()).Body)
	for _, bad := range []string{`fuzzy = true`, `trim = "yes"`} {
		text := resigned(charterDomain, strings.Replace(body, "trim = true", bad, 1))
		if _, err := ParseCharter(text); err == nil {
			t.Errorf("a charter with %q is accepted", bad)
		}
	}
}

// TestCharterTextWithNumber: a charter without number has the text that it had before there was one, comment and all.
func TestCharterTextWithNumber(t *testing.T) {
	before := mustCharter(t, identified())
	if !strings.Contains(string(before.Body), "# made alike in the order nfkc, trim, casefold, and then digits, e164 or date.\n") {
		t.Errorf("the comment is another:\n%s", before.Body)
	}
	c := identified()
	c.Identifiers = append(c.Identifiers, Identifier{"reference", []IDColumn{{Name: "ref", Trim: true, Number: true}}})
	s := mustCharter(t, c, "bank", "insurer", "telco")
	back, err := ParseCharter(s.Text())
	if err != nil || back.Complete() != nil || !reflect.DeepEqual(back.Charter, s.Charter) {
		t.Fatalf("read back %+v, %v", back, err)
	}
	for _, line := range []string{
		`{ name = "ref", trim = true, number = true },`, "and then number, digits, e164 or date.",
	} {
		if !strings.Contains(string(s.Body), line) {
			t.Errorf("the text lacks %q:\n%s", line, s.Body)
		}
	}
}
