package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// TestWhoElseHasConsentedIsKnownBySignature: a person at one party reads which others have consented, as soon as their
// signatures are there. A proposer who claims a consent that it does not have is refused, and nothing of it is shown.
func TestWhoElseHasConsentedIsKnownBySignature(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.policy = nil
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 32"), 1, 2, 3)
	telco := l.nodes[2]
	shown := func() []string { return telco.Jobs()[0].Consented }
	ask := func(text string) error {
		_, err := telco.serveConsent(l.keys[0].ID(), consentRequest{Contract: text})
		return err
	}
	if got := shown(); len(got) > 0 {
		t.Errorf("before anybody has signed %v have consented", got)
	}
	sign := func(i int) {
		must(t, c.AddSignature(l.keys[i].ID(), l.keys[i].Sign(c.Domain, c.Body)))
	}
	sign(0)
	must(t, ask(string(c.Document.Text())))
	if got := shown(); !slices.Equal(got, []string{"bank"}) {
		t.Errorf("with the bank's signature %v have consented", got)
	}

	// The bank puts its own signature behind the insurer's name.
	_, own, _ := strings.Cut(string(c.Document.Text()), l.keys[0].ID().String()+"\" = ")
	forged := string(c.Document.Text()) + "\"" + l.keys[1].ID().String() + "\" = " + own
	if err := ask(forged); err == nil {
		t.Error("a contract with a forged signature is taken")
	}
	if got := shown(); !slices.Equal(got, []string{"bank"}) {
		t.Errorf("after a forgery %v have consented", got)
	}

	// Strangers sign too, which tells nobody anything and takes nothing away.
	before := string(c.Document.Text())
	for range 3 {
		stranger, err := keys.GenerateKey()
		must(t, err)
		must(t, c.AddSignature(stranger.ID(), stranger.Sign(c.Domain, c.Body)))
	}
	must(t, ask(string(c.Document.Text())))
	if got := shown(); !slices.Equal(got, []string{"bank"}) {
		t.Errorf("with three strangers' signatures %v have consented", got)
	}
	must(t, ask(before))

	sign(3)
	must(t, ask(string(c.Document.Text())))
	if got := shown(); !slices.Equal(got, []string{"bank", "retailer"}) {
		t.Errorf("with two signatures %v have consented", got)
	}
	const want = "\nbank and retailer have consented; insurer and telco have not yet\n"
	if said := telco.Jobs()[0].Summary; !strings.Contains(said, want) {
		t.Errorf("the summary does not say so:\n%s", said)
	}
	if _, err := telco.consentHere(telco.allJobs()[0], Decision{Contract: c.Hash(), Yes: true}); err != nil {
		t.Fatal(err)
	}
	if j := telco.Jobs()[0]; j.LacksConsent || j.Consented != nil || strings.Contains(j.Summary, "not yet") {
		t.Errorf("a party that is told no more of it says that %v have consented:\n%s", j.Consented, j.Summary)
	}
}
