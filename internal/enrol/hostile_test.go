package enrol

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/keys"
)

// liar is an inviter's node that alters the offer it hands out.
type liar struct {
	Conn
	change func(*offerReply)
	peer   keys.ID // who it has proved to be; zero for the honest node's id
}

// Peer implements Conn.
func (l *liar) Peer() keys.ID {
	if l.peer.IsZero() {
		return l.Conn.Peer()
	}
	return l.peer
}

// Call implements Conn.
func (l *liar) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	data, err := l.Conn.Call(ctx, method, request)
	if err != nil || method != methodJoinFetch {
		return data, err
	}
	var reply offerReply
	if err := control.Decode(data, &reply); err != nil {
		return nil, err
	}
	l.change(&reply)
	return cbor.Marshal(reply)
}

// lie is what a newcomer must not believe.
type lie struct {
	name   string
	change func(*offerReply) // what it is told instead
	peer   keys.ID           // by whom
	want   string            // the error; "" for any
}

// forgery makes invitations and proposals that go beyond what Invite makes.
type forgery struct {
	*testNetwork
	issued *Issued
}

// invitation is the text of an invitation for telco that is changed before it is signed.
func (f forgery) invitation(signer string, change func(*keys.Invitation)) string {
	i := keys.Invitation{Charter: "credit", Inviter: f.keys[signer].ID(), Card: f.card("telco"),
		Proposal: f.issued.Proposal.Digest(),
		Expires:  time.Now().Add(time.Hour), Address: []string{"/ip4/10.0.0.7/tcp/4001"}}
	change(&i)
	return string(must(i.Sign(f.keys[signer]))(f.t).Text())
}

// proposal is a version with telco that is changed before somebody signs it.
func (f forgery) proposal(signer string, change func(*keys.Charter)) *keys.SignedCharter {
	draft := f.first.WithMember(f.card("telco"))
	draft.Created = time.Now()
	change(&draft)
	c := must(keys.NewCharter(draft))(f.t)
	f.sign(c, signer)
	return c
}

// founded is a first version with telco, which the insurer has signed.
func (f forgery) founded() *keys.SignedCharter {
	c := f.charter("insurer", "telco").Unsigned()
	f.sign(c, "insurer")
	return c
}

// charterLies are those about the proposal and its parent.
func (f forgery) charterLies() []lie {
	insurer, telco := f.keys["insurer"].ID(), f.keys["telco"].ID()
	return []lie{
		{"proposal tampered with", func(r *offerReply) { r.Proposal = r.Proposal[:200] + "x" + r.Proposal[201:] }, insurer,
			`charter: the signature of insurer does not fit the text above it: one of the two was changed, or it was made for another text`},
		{"another proposal", func(r *offerReply) {
			r.Proposal = string(f.proposal("insurer", func(d *keys.Charter) { d.Rules.MinPrivacy = "published" }).Text())
		}, insurer, ""},
		{"another name for the newcomer", func(r *offerReply) {
			r.Proposal = string(f.proposal("insurer", func(d *keys.Charter) { d.Members[2].Name = "telecom" }).Text())
		}, insurer, `charter "credit", version 2, says of this member: telecom at [/dns4/telco.example/tcp/4001]; its card says: telco at [/dns4/telco.example/tcp/4001]`},
		{"the newcomer left out", func(r *offerReply) { r.Proposal = r.Parent }, insurer,
			fmt.Sprintf(`charter "credit", version 1, does not have the key %s as a member`, telco.Short())},
		{"unsigned by the inviter", func(r *offerReply) {
			c := f.proposal("bank", func(*keys.Charter) {})
			r.Proposal, r.Invitation = string(c.Text()), f.invitation("insurer",
				func(i *keys.Invitation) { i.Proposal = c.Digest() })
		}, insurer, `charter "credit", version 2: insurer, who invites to it, has not signed it`},
		{"parent incomplete", func(r *offerReply) {
			c := must(keys.ParseCharter([]byte(r.Parent)))(f.t)
			delete(c.Signatures, f.keys["bank"].ID())
			r.Parent = string(c.Text())
		}, insurer, `the charter in force: charter "credit" is not in force: bank has not signed it`},
		{"parent is another charter", func(r *offerReply) { r.Parent = string(f.charter("insurer").Text()) }, insurer, ""},
	}
}

// invitationLies are those about the invitation.
func (f forgery) invitationLies() []lie {
	bank, insurer, telco := f.keys["bank"].ID(), f.keys["insurer"].ID(), f.keys["telco"].ID()
	retailer, stranger := f.keys["retailer"].ID(), f.keys["stranger"].ID()
	return []lie{
		{"expired", func(r *offerReply) {
			r.Invitation = f.invitation("insurer", func(i *keys.Invitation) { i.Expires = time.Now() })
		}, insurer, ""},
		{"for another card", func(r *offerReply) {
			r.Invitation = f.invitation("insurer", func(i *keys.Invitation) { i.Card = f.card("retailer") })
		}, insurer, fmt.Sprintf("invitation: it is for retailer with the key %s, not for the key %s", retailer.Short(), telco.Short())},
		{"for other addresses", func(r *offerReply) {
			r.Invitation = f.invitation("insurer", func(i *keys.Invitation) { i.Card.Addresses = nil })
		}, insurer, "invitation: it is for telco at [], but the proposed charter has telco at [/dns4/telco.example/tcp/4001]"},
		{"from another member", func(r *offerReply) { r.Invitation = f.invitation("bank", func(*keys.Invitation) {}) },
			insurer,
			fmt.Sprintf("invitation: it is from %s, but insurer answers", bank.Short())},
		{"to another charter", func(r *offerReply) {
			r.Invitation = f.invitation("insurer", func(i *keys.Invitation) { i.Proposal = f.first.Digest() })
		}, insurer, fmt.Sprintf(`invitation: it is to charter "credit" with the hash %s, but insurer hands out "credit" with the hash %s`, f.first.Digest().Short(), f.issued.Proposal.Digest().Short())},
		{"a stranger passes it on", func(*offerReply) {}, stranger,
			fmt.Sprintf(`invitation: %s is not a member of charter "credit", version 1, and only members invite`, stranger.Short())},
		{"another member passes it on", func(*offerReply) {}, bank,
			fmt.Sprintf("invitation: it is from %s, but bank answers", insurer.Short())},
		{"no invitation, from who has not signed", func(r *offerReply) { r.Invitation = "" }, bank,
			`charter "credit", version 2: bank, who invites to it, has not signed it`},
		{"no invitation, from a stranger", func(r *offerReply) { r.Invitation = "" }, stranger,
			fmt.Sprintf(`invitation: %s is not a member of charter "credit", version 1, and only members invite`, stranger.Short())},
		{"no invitation, to a first version", func(r *offerReply) {
			r.Invitation, r.Parent, r.Proposal = "", "", string(f.founded().Text())
		}, insurer, ""},
	}
}

// A newcomer refuses every offer whose parts do not fit together, or which is not meant for it.
func TestFetchRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco", "retailer", "stranger")
		f := forgery{l, l.invite("insurer", "telco")}
		for _, c := range append(f.charterLies(), f.invitationLies()...) {
			n := l.newcomer("telco", "insurer")
			n.Inviter = keys.ID{} // the address alone is known
			o, err := n.Fetch(t.Context(), &liar{l.dial("telco", "insurer"), c.change, c.peer})
			switch {
			case err == nil || o != nil:
				t.Errorf("%s: accepted", c.name)
			case c.want != "" && err.Error() != c.want:
				t.Errorf("%s: got  %s\nwant %s", c.name, err, c.want)
			}
		}
		stranger := l.keys["stranger"].ID()
		_, err := l.newcomer("telco", "insurer").Fetch(t.Context(),
			&liar{l.dial("telco", "insurer"), func(*offerReply) {}, stranger})
		wantError(t, err, fmt.Sprintf("%s answers instead of the inviter, %s: the address is wrong, or somebody is in between", stranger, l.keys["insurer"].ID()))
	})
}

// Who is no member, and who is not invited, gets nothing; a member gets no more than its due.
func TestHandleRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"}, "telco", "stranger")
		issued := l.invite("insurer", "telco")
		h, sig := issued.Proposal.Digest().String(), make([]byte, 64)
		stranger := l.keys["stranger"].ID()
		for _, c := range []struct {
			from, method string
			message      any
			want         string
		}{
			{"stranger", methodJoinFetch, nothing{}, "there is no invitation for " + stranger.Short()},
			{"stranger", methodJoinSign, signRequest{h, sig}, "there is no invitation for " + stranger.Short()},
			{"stranger", methodJoinCharter, charterRequest{h}, "there is no invitation for " + stranger.Short()},
			{"stranger", methodFetch, versionRequest{1}, fmt.Sprintf(`%s is not a member of charter "credit", version 1`,
				stranger.Short())},
			{"telco", methodPropose, textMessage{string(issued.Proposal.Text())},
				fmt.Sprintf(`%s is not a member of charter "credit", version 1`, l.keys["telco"].ID().Short())},
			{"telco", methodJoinSign, signRequest{h, sig}, fmt.Sprintf(`charter: the signature of %s does not fit the text above it: one of the two was changed, or it was made for another text`, l.keys["telco"].ID().Short())},
			{"telco", methodJoinSign, signRequest{l.first.Digest().String(), sig}, fmt.Sprintf("the signature is for another charter than the one that telco is invited to, with the hash %s", issued.Proposal.Digest().Short())},
			{"telco", methodJoinCharter, charterRequest{"x"}, "*"},
			{"bank", methodPropose, textMessage{string(l.next().Text())}, "*"},
			{"bank", methodPropose, textMessage{string(l.charter("bank", "insurer").Text()) + "x"}, "*"},
			{"bank", "charter/burn", nothing{}, `this node has no method "charter/burn"`},
			{"bank", methodSignature, signaturesRequest{h, []signature{{"x", sig}}}, "*"},
			{"bank", methodSignature, signaturesRequest{"x", nil}, "*"},
		} {
			request := must(cbor.Marshal(c.message))(t)
			_, err := l.nodes["insurer"].answer(l.keys[c.from].ID(), c.method, request)
			if _, told := l.nodes["insurer"].Handle(t.Context(), l.keys[c.from].ID(), c.method, request); err != nil &&
				(told == nil || told.Check() != nil || len(told.Names) > 0) {
				t.Errorf("%s, %s: is told %+v of %v", c.from, c.method, told, err)
			}
			switch {
			case err == nil:
				t.Errorf("%s, %s: accepted", c.from, c.method)
			case c.want != "*":
				wantError(t, err, c.want)
			}
		}
		if p := must(readCharter(issued.File))(t); len(p.Signatures) != 1 {
			t.Errorf("the proposal has %d signatures, want the inviter's", len(p.Signatures))
		}
	})
}

// A member can open a few proposals at another's node, and no more.
func TestFloodOfProposals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestNetwork(t, []string{"bank", "insurer"})
		for i := range maxBrought + 1 {
			draft := l.first.Next()
			draft.Created = time.Now()
			draft.Rules.MinContributors = 2 + i
			if i == 1 { // equal to the first version's rules
				draft.Rules.MinContributors = 100
			}
			c := must(keys.NewCharter(draft))(t)
			l.sign(c, "bank")
			_, err := l.nodes["insurer"].answer(l.keys["bank"].ID(), methodPropose,
				must(cbor.Marshal(textMessage{string(c.Text())}))(t))
			if i < maxBrought && err != nil {
				t.Errorf("proposal %d: %v", i+1, err)
			}
			if i == maxBrought {
				wantError(t, err, "no more proposals are taken: 4 are open from bank, at most 4, and 4 in all, at most 64")
			}
		}
		if files := l.nodes["insurer"].proposalFiles(t); len(files) != maxBrought {
			t.Errorf("%d files, want %d", len(files), maxBrought)
		}
	})
}

// Whatever a member's node sends, the answer is an answer or an error, and the charter stays.
func FuzzHandle(f *testing.F) {
	l := &testNetwork{keys: make(map[string]*keys.PrivateKey)}
	for _, name := range []string{"bank", "insurer"} {
		l.keys[name] = must(keys.GenerateKey())(f)
	}
	draft := keys.Charter{Name: "credit", Version: 1, Created: time.Now(),
		Members: []keys.Member{keys.Member(l.card("bank")), keys.Member(l.card("insurer"))}}
	c := must(keys.NewCharter(draft))(f)
	for _, k := range l.keys {
		mustDo(f, c.Sign(k))
	}
	methods := []string{methodJoinFetch, methodJoinSign, methodJoinCharter, methodPropose, methodSignature, methodFetch}
	for i, m := range []any{nothing{}, signRequest{c.Digest().String(), make([]byte, 64)},
		charterRequest{c.Digest().String()},
		textMessage{string(c.Text())}, signaturesRequest{c.Digest().String(),
			[]signature{{l.keys["bank"].ID().String(), make([]byte, 64)}}}, versionRequest{1}} {
		f.Add(uint8(i), must(cbor.Marshal(m))(f))
	}
	e := must(New(Config{Key: l.keys["bank"], Charter: c, CharterFile: f.TempDir() + "/charter.toml",
		Dir: f.TempDir()}))(f)
	f.Fuzz(func(t *testing.T, method uint8, request []byte) {
		response, told := e.Handle(t.Context(), l.keys["insurer"].ID(), methods[int(method)%len(methods)], request)
		if told == nil && len(response) == 0 || told != nil && told.Check() != nil {
			t.Error("neither a response nor a fault")
		}
		if e.charter.Digest() != c.Digest() || len(e.proposals) > 0 {
			t.Error("the charter changed, or there is a proposal that no member has signed")
		}
	})
}

// Whatever the inviter's node sends, there is no offer without good signatures.
func FuzzFetch(f *testing.F) {
	n := &Newcomer{Key: must(keys.GenerateKey())(f)}
	f.Add(must(cbor.Marshal(offerReply{"a", "b", "c", []string{"d"}}))(f))
	f.Add(must(cbor.Marshal(nothing{}))(f))
	f.Fuzz(func(t *testing.T, reply []byte) {
		if o, err := n.Fetch(t.Context(), echo(reply)); err == nil {
			t.Errorf("an offer: %+v", o)
		}
	})
}

// echo is a node that has one answer to everything.
type echo []byte

// Peer implements Conn.
func (echo) Peer() keys.ID { return keys.ID{1} }

// Call implements Conn.
func (e echo) Call(context.Context, string, []byte) ([]byte, error) { return e, nil }

// Close implements Conn.
func (echo) Close() error { return nil }
