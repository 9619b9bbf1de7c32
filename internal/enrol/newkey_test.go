package enrol

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

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

// TestAMemberComesBackWithANewKey: a version that gives a member a new key comes into force over the wire, with its
// signature: each member that has signed lets the key in, and nobody else does. That holds of a version in which the
// nodes say who is missing, and who of them is to join.
func TestAMemberComesBackWithANewKey(t *testing.T) {
	for _, at := range []string{"bank", "insurer"} {
		synctest.Test(t, func(t *testing.T) {
			l := newTestNetwork(t, []string{"bank", "insurer", "telco"}, "telco-2027")
			l.kill("telco")
			key := l.keys["telco-2027"].ID()
			l.propose("bank", l.withNewKey("telco", "telco-2027", "bank"))
			settle()
			w := l.nodes["insurer"].Waiting()
			if len(w) != 1 || w[0].By != "bank" || w[0].Signed || strings.Join(w[0].Missing, ", ") != "insurer, telco" ||
				strings.Join(w[0].New, ", ") != "telco" || w[0].File == "" {
				t.Errorf("%+v waits at insurer", w)
			}
			if !l.nodes["bank"].Invited(key) || l.nodes["insurer"].Invited(key) {
				t.Error("bank alone has signed, and is to let the new key in")
			}
			l.signOnDisk("insurer")
			settle()
			n := l.newcomer("telco-2027", at)
			n.Card.Name = "telco"
			c := l.dial("telco-2027", at)
			o := must(n.Fetch(t.Context(), c))(t)
			if !o.Expires.IsZero() || o.Parent == nil || o.Inviter.Name != at {
				t.Errorf("the offer is %+v", o)
			}
			mustDo(t, n.Sign(t.Context(), c, o))
			settle()
			l.wantVersion(2, "bank", "insurer")
			if got := must(Wait{}.Until(t.Context(), c, o))(t); got.Version != 2 {
				t.Errorf("telco has version %d", got.Version)
			}
			if w := l.nodes["bank"].Waiting(); len(w) > 0 {
				t.Errorf("%+v still waits", w)
			}
		})
	}
}

// pusher is a member that gives another member's place to a key of its own, and has its node carry that round.
type pusher struct{ *testNetwork }

// TestPusherOpensNoDoor: the key in a version that the pusher alone has signed is let in at no other member, and no
// signature of it is taken there. The control is the pusher's own node, which lets it in: its owner has signed. It lets
// in no other key.
func TestPusherOpensNoDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pusher{newTestNetwork(t, []string{"bank", "insurer", "telco"}, "puppet", "stranger")}
		c := p.withNewKey("telco", "puppet", "insurer")
		p.propose("insurer", c)
		settle()
		if files := p.nodes["bank"].proposalFiles(t); len(files) != 1 {
			t.Fatalf("bank has %v, want the pusher's version", files)
		}
		puppet := p.keys["puppet"].ID()
		r := signRequest{c.Digest().String(), make([]byte, 64)}
		for _, at := range []string{"bank", "telco"} {
			_, err := p.nodes[at].answer(puppet, methodJoinFetch, must(cbor.Marshal(nothing{}))(t))
			_, signed := p.nodes[at].answer(puppet, methodJoinSign, must(cbor.Marshal(r))(t))
			if p.nodes[at].Invited(puppet) || err == nil || signed == nil {
				t.Errorf("%s lets the puppet in: %v, %v", at, err, signed)
			}
		}
		if !p.nodes["insurer"].Invited(puppet) || p.nodes["insurer"].Invited(p.keys["stranger"].ID()) {
			t.Error("the pusher's own node is to let the puppet in, and no stranger")
		}
	})
}

// TestAnInvitationThatExpiredStaysSo: the signature on an invitation's proposal does not prolong it, neither at who
// invites nor at another member that has signed.
func TestAnInvitationThatExpiredStaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		l.invite("insurer", "telco")
		settle()
		l.signOnDisk("bank")
		settle()
		guest := l.keys["telco"].ID()
		if !l.nodes["insurer"].Invited(guest) || l.nodes["bank"].Invited(guest) {
			t.Error("it is to be invited by the insurer, and by nobody else")
		}
		time.Sleep(time.Hour)
		if l.nodes["insurer"].Invited(guest) || l.nodes["bank"].Invited(guest) {
			t.Error("it is invited for ever")
		}
	})
}
