package keys

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

// telcoInvitation is an invitation by the bank that breaks no rule.
func telcoInvitation() Invitation {
	return Invitation{
		Charter:  "credit",
		Inviter:  keyNamed("bank").ID(),
		Card:     Card(memberNamed("telco", "/ip4/10.0.0.9/tcp/4001")),
		Proposal: HashOf("a charter"),
		Expires:  noon.Add(72 * time.Hour),
		Address:  []string{"/ip4/10.0.0.7/tcp/4001"},
	}
}

func TestInvitationText(t *testing.T) {
	d, err := telcoInvitation().Sign(keyNamed("bank"))
	must(t, err)
	golden(t, "invitation.txt", d.Text())
	back, doc, err := ParseInvitation(d.Text(), noon)
	must(t, err)
	if !reflect.DeepEqual(back, telcoInvitation()) || !bytes.Equal(doc.Text(), d.Text()) {
		t.Errorf("read back %+v", back)
	}
}

func TestInvitationExpires(t *testing.T) {
	i := telcoInvitation()
	d, err := i.Sign(keyNamed("bank"))
	must(t, err)
	if _, _, err := ParseInvitation(d.Text(), i.Expires.Add(-time.Nanosecond)); err != nil {
		t.Error(err)
	}
	_, _, err = ParseInvitation(d.Text(), i.Expires)
	wantError(t, err, "invitation: expired at 2026-11-23T12:00:00Z, and the clock here says 2026-11-23T12:00:00Z: ask "+
		i.Inviter.Short()+" for a new one, or set the clock if it is wrong")
}

func TestInvitationSignErrors(t *testing.T) {
	bank, telco := keyNamed("bank"), keyNamed("telco")
	for _, c := range []struct {
		change func(*Invitation)
		want   string
	}{
		{func(i *Invitation) { i.Charter = "" }, "invitation: charter: the name is missing"},
		{func(i *Invitation) { i.Inviter = ID{} }, "invitation: inviter: the id is missing"},
		{func(i *Invitation) { i.Inviter = ID{1} },
			"invitation: inviter: id " + ID{1}.String() + " is a weak key, which anybody can sign for"},
		{func(i *Invitation) { i.Inviter = telco.ID(); i.Card.ID = bank.ID() },
			"invitation: the inviter " + telco.ID().Short() + " is not the owner of the key, " + bank.ID().Short()},
		{func(i *Invitation) { i.Card.ID = bank.ID() }, "invitation: telco invites itself"},
		{func(i *Invitation) { i.Card.Addresses = []string{"x"} },
			`invitation: card: telco: malformed address "x": ` + addressShape},
		{func(i *Invitation) { i.Proposal = Hash{} }, "invitation: the proposal is missing"},
		{func(i *Invitation) { i.Expires = time.Time{} }, "invitation: expires is missing"},
		{func(i *Invitation) { i.Expires = noon.Add(1) }, "invitation: expires 2026-11-20T12:00:00.000000001Z is not in whole seconds of a year up to 9999"},
		{func(i *Invitation) { i.Address = nil }, "invitation: no address of the inviter: give one the invited can dial"},
		{func(i *Invitation) { i.Address = []string{"x"} }, `invitation: malformed address "x": ` + addressShape},
	} {
		i := telcoInvitation()
		c.change(&i)
		_, err := i.Sign(bank)
		wantError(t, err, c.want)
	}
}

func TestParseInvitationErrors(t *testing.T) {
	i := telcoInvitation()
	body := string(i.body())
	bank := keyNamed("bank").ID()
	swap := func(old, new string) []byte {
		if !strings.Contains(body, old) {
			t.Fatalf("%q is not in the body", old)
		}
		return resigned(invitationDomain, strings.Replace(body, old, new, 1), "bank")
	}
	for _, c := range []struct {
		text []byte
		want string
	}{
		{resigned(invitationDomain, body), "invitation: the inviter, " + bank.Short() + ", has not signed it"},
		{resigned(invitationDomain, body, "telco"), "invitation: the inviter, " + bank.Short() + ", has not signed it"},
		{resigned(invitationDomain, body, "bank", "telco"),
			"invitation: 2 signatures, want that of the inviter, " + bank.Short() + ", only"},
		{resigned(cardDomain, body, "bank"), "invitation: the signature of the inviter, " + bank.Short() + ", does not fit the text above it: one of the two was changed, or it was made for another text"},
		{swap("invitation-v1", "invitation-v7"), `invitation: format "hanse-invitation-v7", but this program reads "hanse-invitation-v1"`},
		{swap(`inviter = "hanse`, `inviter = "tanse`),
			`invitation: inviter: malformed member id "tanse-id1` + bank.String()[9:24] + `…": it must start with "hanse-id1"`},
		{swap(i.Proposal.String(), "00"), `invitation: proposal: malformed hash "00": want 64 hexadecimal digits`},
		{swap(i.Proposal.String(), strings.ToUpper(i.Proposal.String())),
			"invitation: proposal: write the hash in lower case"},
		{swap("2026-11-23T12:00:00Z", "soon"), `invitation: malformed expires "soon": want UTC and whole seconds, as in "2006-01-02T15:04:05Z"`},
		{swap("[card]", "[crad]"), `invitation: line 14: unknown key "crad"; did you mean "card"?`},
		{swap(`id = "`+i.Card.ID.String()+`"`, ""), "invitation: card: the id is missing"},
	} {
		got, doc, err := ParseInvitation(c.text, noon)
		wantError(t, err, c.want)
		if !reflect.DeepEqual(got, Invitation{}) || doc != nil {
			t.Errorf("a partial result is kept: %+v", got)
		}
	}
}

// An invitation with any one byte changed, left out or doubled is refused.
func TestInvitationTampering(t *testing.T) {
	d, err := telcoInvitation().Sign(keyNamed("bank"))
	must(t, err)
	tamper(d.Text(), func(what string, text []byte) {
		if _, _, err := ParseInvitation(text, noon); err == nil {
			t.Errorf("%s: accepted", what)
		}
	})
}

// Whatever body is read as an invitation is rendered and read the same.
func FuzzInvitationBody(f *testing.F) {
	f.Add(string(telcoInvitation().body()))
	f.Fuzz(func(t *testing.T, body string) {
		i, _, err := ParseInvitation(resigned(invitationDomain, body, "bank"), noon)
		if err != nil {
			return
		}
		back, _, err := ParseInvitation(resigned(invitationDomain, string(i.body()), "bank"), noon)
		if err != nil || !reflect.DeepEqual(back, i) {
			t.Fatalf("%q gives %+v, rendered it gives %+v, %v", body, i, back, err)
		}
	})
}
