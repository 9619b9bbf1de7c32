package keys

import (
	"reflect"
	"strings"
	"testing"
)

// bankCard is a card that breaks no rule.
func bankCard() Card {
	return Card(memberNamed("bank", "/ip4/10.0.0.7/tcp/4001", "/dns4/bank.example/udp/4001/quic-v1"))
}

func TestCardText(t *testing.T) {
	d, err := bankCard().Sign(keyNamed("bank"))
	must(t, err)
	golden(t, "card.txt", d.Text())
	back, err := ParseCard(d.Text())
	must(t, err)
	if !reflect.DeepEqual(back, bankCard()) {
		t.Errorf("read back %+v", back)
	}
}

func TestCardSignErrors(t *testing.T) {
	bank, telco := keyNamed("bank"), keyNamed("telco")
	_, err := bankCard().Sign(telco)
	wantError(t, err, "card: bank: the id "+bank.ID().Short()+" is not that of the key, "+telco.ID().Short())
	_, err = Card{Name: "Bank", ID: bank.ID()}.Sign(bank)
	wantError(t, err, `card: malformed name "Bank": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`)
	_, err = Card{Name: "bank"}.Sign(bank)
	wantError(t, err, "card: bank: the id is missing")
}

func TestParseCardErrors(t *testing.T) {
	bank, telco := keyNamed("bank").ID(), keyNamed("telco").ID()
	body := string(bankCard().body())
	for _, c := range []struct {
		text []byte
		want string
	}{
		{resigned(cardDomain, body), "card: bank has not signed it"},
		{resigned(cardDomain, body, "telco"), "card: bank has not signed it"},
		{resigned(cardDomain, body, "bank", "telco"), "card: 2 signatures, want that of bank only"},
		{resigned(charterDomain, body, "bank"), "card: the signature of bank does not fit the text above it: one of the two was changed, or it was made for another text"},
		{resigned(cardDomain, strings.Replace(body, bank.String(), telco.String(), 1), "bank"),
			"card: bank has not signed it"},
		{resigned(cardDomain, strings.Replace(body, "card-v1", "card-v2", 1), "bank"), `card: format "hanse-card-v2", but this program reads "hanse-card-v1"`},
		{resigned(cardDomain, strings.Replace(body, "card-v1\"", "card-v2\"\ncolour = 3", 1), "bank"), `card: format "hanse-card-v2", but this program reads "hanse-card-v1"`},
		{resigned(cardDomain, strings.Replace(body, "format = \"hanse-card-v1\"\n", "", 1), "bank"),
			`card: format "", but this program reads "hanse-card-v1"`},
		{resigned(cardDomain, strings.Replace(body, "name =", "nmae =", 1), "bank"),
			`card: line 7: unknown key "nmae"; did you mean "name"?`},
		{resigned(cardDomain, "[extra]\n", "bank"), `card: line 1: unknown key "extra"`},
		{resigned(cardDomain, strings.Replace(body, `name = "bank"`, "", 1), "bank"), "card: the name is missing"},
		{resigned(cardDomain, strings.Replace(body, `id = "`+bank.String()+`"`, "", 1), "bank"), "card: the id is missing"},
		{resigned(cardDomain, strings.Replace(body, "10.0.0.7", "10.0.0", 1), "bank"), `card: bank: malformed address "/ip4/10.0.0/tcp/4001": "10.0.0" is not an ip4 address`},
		{resigned(cardDomain, strings.Replace(body, "/dns4/bank.example/udp/4001/quic-v1", "/ip4/10.0.0.7/tcp/4001", 1), "bank"), `card: bank: address "/ip4/10.0.0.7/tcp/4001" is given twice`},
	} {
		got, err := ParseCard(c.text)
		wantError(t, err, c.want)
		if !reflect.DeepEqual(got, Card{}) {
			t.Errorf("a partial result is kept: %+v", got)
		}
	}
}

func TestCardTooManyAddresses(t *testing.T) {
	c := bankCard()
	c.Addresses = make([]string, MaxAddresses+1)
	_, err := c.Sign(keyNamed("bank"))
	wantError(t, err, "card: bank: 9 addresses, at most 8 are allowed")
}

// A card with any one byte changed, left out or doubled is refused.
func TestCardTampering(t *testing.T) {
	d, err := bankCard().Sign(keyNamed("bank"))
	must(t, err)
	tamper(d.Text(), func(what string, text []byte) {
		if _, err := ParseCard(text); err == nil {
			t.Errorf("%s: accepted", what)
		}
	})
}

// Whatever body is read as a card is rendered and read the same.
func FuzzCardBody(f *testing.F) {
	f.Add(string(bankCard().body()))
	f.Add("format = \"hanse-card-v1\"\nname = \"a\"\nid = \"" + goldenID + "\"\naddresses = []\n")
	f.Fuzz(func(t *testing.T, body string) {
		c, err := ParseCard(resigned(cardDomain, body, "bank"))
		if err != nil {
			return
		}
		back, err := ParseCard(resigned(cardDomain, string(c.body()), "bank"))
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%q gives %+v, rendered it gives %+v, %v", body, c, back, err)
		}
	})
}
