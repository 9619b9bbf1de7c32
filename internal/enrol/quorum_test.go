package enrol

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// newQuorum is a federation of five, of whom three can revoke another.
func newQuorum(t *testing.T, guests ...string) *testNetwork {
	l := newTestNetwork(t, []string{"bank", "insurer", "telco", "lab", "mill"}, guests...)
	draft := l.first.Next()
	draft.Created = time.Now()
	draft.Rules.RevokeBy = 3
	second := must(keys.NewCharter(draft))(t)
	l.sign(second, l.names...)
	l.propose("bank", second)
	settle()
	l.wantVersion(2, l.names...)
	return l
}

// revoke is the next version, which takes telco out and changes what else is to be changed, signed by some.
func (l *testNetwork) revoke(change func(*keys.Charter), signers ...string) *keys.SignedCharter {
	l.t.Helper()
	draft := must(l.inForce("bank").WithoutMember("telco", "its key was stolen"))(l.t)
	draft.Created = time.Now()
	if change != nil {
		change(&draft)
	}
	c := must(keys.NewCharter(draft))(l.t)
	l.sign(c, signers...)
	return c
}

// wantInForce checks what stands in the charter files of some members, and proves it as a node does that starts.
func (l *testNetwork) wantInForce(version int, names ...string) {
	l.t.Helper()
	for _, name := range names {
		c, err := ReadInForce(filepath.Join(l.nodes[name].dir, "charter.toml"))
		if err != nil || c.Version != version {
			l.t.Errorf("%s: %+v, %v, want version %d; its log:\n%s", name, c, err, version, l.nodes[name].log)
		}
	}
}

// TestAQuorumRevokesWithoutTheAbsent: three of five sign while one is away and one is revoked. The absent member, who
// has not signed, takes the version over when it is back, and so do nodes that start again.
func TestAQuorumRevokesWithoutTheAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQuorum(t)
		l.kill("mill")
		l.propose("bank", l.revoke(nil, "bank"))
		settle()
		l.signOnDisk("insurer")
		settle()
		l.wantInForce(2, "bank", "insurer", "lab")
		l.signOnDisk("lab")
		settle()
		l.wantInForce(3, "bank", "insurer", "lab")
		l.wantLine("bank", "charter version 3 is signed by lab; they are enough to revoke a member, without mill")
		for _, name := range []string{"bank", "insurer", "lab"} {
			l.kill(name)
			l.restart(name)
		}
		l.restart("mill")
		time.Sleep(askEvery)
		settle()
		l.wantInForce(3, "mill")
		l.wantInForce(2, "telco") // it is told by its links, and its node takes no part in it
	})
}

// TestJoinAfterAQuorum: three of five have revoked one, and the fifth has signed nothing since. They invite a newcomer,
// which is shown how their version came into force; once all have signed the next one, it is in. A member that shows a
// version that too few have signed invites nobody to the next.
func TestJoinAfterAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newQuorum(t, "shop")
		l.kill("mill")
		l.propose("bank", l.revoke(nil, "bank"))
		for _, name := range []string{"insurer", "lab"} {
			settle()
			l.signOnDisk(name)
		}
		settle()
		l.wantInForce(3, "bank", "insurer", "lab")
		charter := must(ReadInForce(filepath.Join(l.nodes["bank"].dir, "charter.toml")))(t)
		issued := must(Invite(l.nodes["bank"].dir, Guests{Key: l.keys["bank"], Charter: charter,
			Cards: []keys.Card{l.card("shop")}, Expires: time.Now().Add(time.Hour)}))(t)
		settle()
		for name, change := range map[string]func(*offerReply){
			"without a proof": func(r *offerReply) { r.Proof = nil },
			"of two": func(r *offerReply) {
				parent := must(keys.ParseCharter([]byte(r.Parent)))(t)
				delete(parent.Signatures, l.keys["lab"].ID())
				r.Parent = string(parent.Text())
			},
			"with one that few have signed before": func(r *offerReply) {
				first := must(keys.ParseCharter([]byte(r.Proof[0])))(t)
				delete(first.Signatures, l.keys["lab"].ID())
				r.Proof[0] = string(first.Text())
			},
			"with another version before": func(r *offerReply) { r.Proof[0] = string(l.first.Text()) },
			"with itself before":          func(r *offerReply) { r.Proof = []string{r.Parent} },
			"with nonsense before":        func(r *offerReply) { r.Proof[0] = "nonsense" },
		} {
			o, err := l.newcomer("shop", "bank").Fetch(t.Context(), &liar{l.dial("shop", "bank"), change, keys.ID{}})
			if err == nil || o != nil {
				t.Errorf("a charter in force %s: accepted", name)
			}
		}
		o := l.join("shop", "bank")
		if o.Parent.Version != 3 || o.Proposal.Digest() != issued.Proposal.Digest() {
			t.Errorf("the offer is %+v", o)
		}
		l.restart("mill")
		time.Sleep(askEvery + retryAfter) // it refuses the invitation where it comes before the version that mill has missed
		for _, name := range []string{"insurer", "lab", "mill"} {
			settle()
			l.signOnDisk(name)
		}
		settle()
		l.wantInForce(4, "bank", "insurer", "lab", "mill")
	})
}

// TestAMinorityIsNotFollowed: two of five, who claim that they can revoke, and three who change a rule with it.
func TestAMinorityIsNotFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*keys.Charter)
		signers []string
	}{
		"two":                     {nil, []string{"bank", "lab"}},
		"three with another rule": {func(c *keys.Charter) { c.Rules.MinContributors = 2 }, []string{"bank", "lab", "mill"}},
		"three with another's address": {func(c *keys.Charter) { c.Members[1].Addresses = nil },
			[]string{"bank", "lab", "mill"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newQuorum(t)
				forged := l.revoke(c.change, c.signers...)
				l.propose("bank", forged)
				l.write(filepath.Join(l.nodes["lab"].dir, "charter.toml"), forged) // in the place of the one in force
				time.Sleep(askEvery)
				settle()
				l.wantInForce(2, "bank", "insurer", "telco", "mill")
			})
		})
	}
}
