package enrol

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// withNewKey is the version in which a member's place is that of a guest's key, signed by some.
func (l *testNetwork) withNewKey(name, guest string, signers ...string) *keys.SignedCharter {
	l.t.Helper()
	draft := l.first.Next()
	draft.Created = time.Now()
	if err := draft.Revoke(name, "new key"); err != nil {
		l.t.Fatal(err)
	}
	card := l.card(guest)
	card.Name = name
	draft.Admit(card)
	c := must(keys.NewCharter(draft))(l.t)
	l.sign(c, signers...)
	return c
}

// TestAMemberWithANewKeyIsNotLetIn documents what is wrong: a version that gives a member a new key is signed by all
// others, and whoever has the key is let in by nobody to read and sign it.
func TestAMemberWithANewKeyIsNotLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "telco"}, "telco-2027")
		l.kill("telco")
		l.propose("bank", l.withNewKey("telco", "telco-2027", "bank"))
		settle()
		l.signOnDisk("insurer")
		settle()
		for _, at := range []string{"bank", "insurer"} {
			if l.nodes[at].Invited(l.keys["telco-2027"].ID()) {
				t.Errorf("%s lets the new key in", at)
			}
		}
		l.wantVersion(1, "bank", "insurer")
	})
}
