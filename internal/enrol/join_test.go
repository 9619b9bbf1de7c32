package enrol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A newcomer joins: the whole way, from the invitation to the charter in force everywhere.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "retailer"}, "telco")
		issued := l.invite("insurer", "telco")
		settle()
		for _, name := range []string{"bank", "retailer"} {
			file := l.nodes[name].proposalFiles(t)[0]
			l.wantLine(name, fmt.Sprintf("insurer proposes charter version 2: adds telco (%s); see it with: hanse charter show %s; sign it with: hanse charter sign --key FILE.key %s",
				l.keys["telco"].ID(), file, file))
		}
		o := l.join("telco", "insurer")
		if o.Inviter.Name != "insurer" || o.InForce() || o.Proposal.Digest() != issued.Proposal.Digest() ||
			o.Parent.Digest() != l.first.Digest() {
			t.Errorf("the offer is %+v", o)
		}
		settle()
		l.wantLine("bank", "charter version 2 is signed by telco; missing: bank, retailer")

		var missing [][]string
		w := Wait{
			Dial:    func(context.Context) (Conn, error) { return nil, errors.New("not needed") },
			Missing: func(names []string) { missing = append(missing, names) },
			Trouble: func(err error) { t.Error(err) },
		}
		time.AfterFunc(10*time.Second, func() { l.signOnDisk("bank") })
		time.AfterFunc(20*time.Second, func() { l.signOnDisk("retailer") })
		c := must(w.Until(t.Context(), l.dial("telco", "insurer"), o))(t)
		if err := c.Complete(); err != nil || c.Digest() != issued.Proposal.Digest() {
			t.Errorf("the newcomer got %s, %v", c.Digest(), err)
		}
		if want := [][]string{{"bank", "retailer"}, {"retailer"}}; !slices.EqualFunc(missing, want, slices.Equal) {
			t.Errorf("was told of %v, want %v", missing, want)
		}
		settle()
		l.wantVersion(2, "bank", "insurer", "retailer")
		for _, name := range l.names {
			l.wantSettled(name)
		}
	})
}

// wantSettled checks what is left in a member's folder once version 2 is in force.
func (l *testNetwork) wantSettled(name string) {
	l.t.Helper()
	n := l.nodes[name]
	if kept := must(readCharter(filepath.Join(n.dir, "charter-v1.toml")))(l.t); kept.Digest() != l.first.Digest() {
		l.t.Errorf("%s keeps another version 1", name)
	}
	if files := n.proposalFiles(l.t); len(files) > 0 {
		l.t.Errorf("%s keeps the proposals %v", name, files)
	}
	if !slices.Equal(n.told(), []int{2}) {
		l.t.Errorf("%s was told of the versions %v, want 2 once", name, n.told())
	}
}

// Two are invited at once; both sign, and there is one new version.
func TestJoinTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco", "retailer")
		l.invite("bank", "telco", "retailer")
		settle()
		l.join("telco", "bank")
		l.join("retailer", "bank")
		settle()
		l.signOnDisk("insurer")
		settle()
		l.wantVersion(2, "bank", "insurer")
	})
}

// One member does not sign: nothing comes into force, the newcomer leaves and comes back.
func TestMemberRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer", "retailer"}, "telco")
		l.invite("insurer", "telco")
		o := l.join("telco", "insurer")
		settle()
		l.signOnDisk("bank")
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		var missing []string
		_, err := Wait{Missing: func(names []string) { missing = names }}.Until(ctx, l.dial("telco", "insurer"), o)
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(missing, []string{"retailer"}) {
			t.Errorf("waited for %v and ended with %v", missing, err)
		}
		l.wantVersion(1, l.names...)

		// The invitation is over, but telco has accepted it in time.
		if !l.nodes["insurer"].Invited(l.keys["telco"].ID()) {
			t.Error("who has signed is shut out")
		}
		l.signOnDisk("retailer")
		settle()
		l.wantVersion(2, l.names...)
		again := must(l.newcomer("telco", "insurer").Fetch(t.Context(), l.dial("telco", "insurer")))(t)
		if !again.InForce() || again.Proposal.Digest() != o.Proposal.Digest() {
			t.Errorf("coming back gave %+v", again)
		}
	})
}

// The inviter's node dies while the newcomer waits; it is dialled again.
func TestInviterRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		l.invite("insurer", "telco")
		o := l.join("telco", "insurer")
		settle()
		l.kill("insurer")
		time.AfterFunc(30*time.Second, func() { l.restart("insurer"); l.signOnDisk("bank") })
		troubles, dials := 0, 0
		w := Wait{
			Dial:    func(context.Context) (Conn, error) { dials++; return l.dial("telco", "insurer"), nil },
			Missing: func([]string) {},
			Trouble: func(error) { troubles++ },
		}
		c := must(w.Until(t.Context(), l.dial("telco", "insurer"), o))(t)
		if c.Complete() != nil || troubles != 1 || dials == 0 {
			t.Errorf("complete: %v, told %d times of trouble, dialled %d times", c.Complete(), troubles, dials)
		}
		settle()
		l.wantVersion(2, "bank", "insurer")
	})
}

// An invitation is good for one card, until it expires.
func TestInvited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco", "retailer")
		insurer, telco, retailer := l.nodes["insurer"], l.keys["telco"].ID(), l.keys["retailer"].ID()
		if insurer.Invited(telco) {
			t.Error("invited before the invitation")
		}
		issued := l.invite("insurer", "telco")
		if !insurer.Invited(telco) || insurer.Invited(retailer) || l.nodes["bank"].Invited(telco) {
			t.Error("the invitation is telco's, by the insurer")
		}
		// An invitation that is copied into another's folder is no invitation.
		other := guestDir(insurer.dir, retailer)
		mustDo(t, errors.Join(os.MkdirAll(other, 0o700), os.Link(filepath.Join(issued.Folders[0], invitationFile),
			filepath.Join(other, invitationFile))))
		if insurer.Invited(retailer) {
			t.Error("a copied invitation lets another in")
		}
		_, err := l.newcomer("retailer", "insurer").Fetch(t.Context(), l.dial("retailer", "insurer"))
		wantRemote(t, l.nodes["insurer"], err, fault.CodeInvitation, "there is no invitation for "+retailer.Short())

		time.Sleep(10*time.Minute + time.Second)
		if insurer.Invited(telco) {
			t.Error("invited after the expiry")
		}
		_, err = l.newcomer("telco", "insurer").Fetch(t.Context(), l.dial("telco", "insurer"))
		wantRemote(t, l.nodes["insurer"], err, fault.CodeInvitation,
			"the invitation for telco expired at 2000-01-01 00:10 UTC: ask insurer for a new one")

		// Inviting again renews it: the proposal is the same.
		if again := l.invite("insurer", "telco"); again.Proposal.Digest() != issued.Proposal.Digest() ||
			!insurer.Invited(telco) {
			t.Error("the invitation is not renewed")
		}
	})
}

// Another version comes into force before the newcomer signs.
func TestInvitationOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		issued := l.invite("insurer", "telco")
		settle()
		rival := l.next("bank", "insurer")
		l.write(filepath.Join(l.nodes["insurer"].dir, "charter.toml"), rival)
		settle()
		l.wantVersion(2, "bank", "insurer")
		_, err := l.newcomer("telco", "insurer").Fetch(t.Context(), l.dial("telco", "insurer"))
		wantRemote(t, l.nodes["insurer"], err, fault.CodeOutdated,
			fmt.Sprintf("the charter that telco is invited to, with the hash %s, is no longer proposed: "+
				"ask insurer for a new invitation", issued.Proposal.Digest().Short()))
	})
}

// A newcomer that waits hears that its charter will not come into force.
func TestWaitOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		l.invite("insurer", "telco")
		o := l.join("telco", "insurer")
		l.write(filepath.Join(l.nodes["insurer"].dir, "charter.toml"), l.next("bank", "insurer"))
		_, err := Wait{Missing: func([]string) {}}.Until(t.Context(), l.dial("telco", "insurer"), o)
		if want := "insurer: the charter that this is for is no longer proposed there: ask for a new invitation, " +
			"or join again"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A node that hands out something else than was signed is not believed.
func TestWaitLiedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco")
		l.invite("insurer", "telco")
		o := l.join("telco", "insurer")
		other := must(cbor.Marshal(charterReply{Text: string(l.first.Text())}))(t)
		_, err := Wait{}.Until(t.Context(), &liar{Conn: echo(other), peer: o.Inviter.ID}, o)
		wantError(t, err, "insurer hands out another charter than the one that was signed")
		_, err = Wait{}.Until(t.Context(), echo(other), o)
		wantError(t, err, keys.ID{1}.Short()+" answers instead of insurer")
	})
}

// next makes a version 2 with other rules, signed by some.
func (l *testNetwork) next(signers ...string) *keys.SignedCharter {
	l.t.Helper()
	draft := l.first.Next()
	draft.Created = time.Now()
	draft.Rules.MinContributors = 2
	c := must(keys.NewCharter(draft))(l.t)
	l.sign(c, signers...)
	return c
}

// Invite refuses what cannot lead to a new member.
func TestInviteErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco", "retailer")
		good := func() Guests {
			return Guests{Key: l.keys["bank"], Charter: l.first, Cards: []keys.Card{l.card("telco")},
				Expires: time.Now().Add(time.Hour)}
		}
		dir := t.TempDir()
		for _, c := range []struct {
			change func(*Guests)
			want   string
		}{
			{func(g *Guests) { g.Key = l.keys["telco"] }, fmt.Sprintf(`charter "credit": the key %s is not that of a member, and only members invite`, l.keys["telco"].ID().Short())},
			{func(g *Guests) { g.Cards = nil }, "nobody is invited: give the newcomer's card"},
			{func(g *Guests) { g.Cards[0] = l.card("insurer") }, `charter "credit": insurer is a member already`},
			{func(g *Guests) { g.Cards[0].Name = "insurer" }, `charter "credit": members 2 and 3 are both named "insurer"`},
			{func(g *Guests) { g.Charter = l.next("bank") }, `charter "credit" is not in force: insurer has not signed it`},
			{func(g *Guests) { g.Addresses = []string{"x"} }, `invitation: malformed address "x": want /ip4/…, /ip6/…, /dns/…, /dns4/… or /dns6/… with /tcp/PORT or /udp/PORT/quic-v1`},
		} {
			g := good()
			c.change(&g)
			_, err := Invite(dir, g)
			wantError(t, err, c.want)
		}
		if files := must(filepath.Glob(filepath.Join(dir, "*", "*.toml")))(t); len(files) > 0 {
			t.Errorf("a refused invitation left %v", files)
		}
		issued := must(Invite(dir, good()))(t)
		g := good()
		g.Cards[0] = l.card("retailer")
		_, err := Invite(dir, g)
		wantError(t, err, fmt.Sprintf(`charter "credit": another version 2 carries this member's signature, %s: let it come into force first, or delete it; several newcomers can be invited at once`, issued.File))
	})
}
