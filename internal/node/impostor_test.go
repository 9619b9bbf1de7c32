package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// impostor is the first member, who puts a key of its own making under another party's name, signs with it, and would
// have the others train and score with it.
type impostor struct {
	l    *testNetwork
	keys map[string]*keys.PrivateKey // by the name that each stands under
}

// as makes a contract in which the impostor's keys stand under the names of some parties.
func (a *impostor) as(c *contract.Contract, names ...string) *contract.Contract {
	a.l.t.Helper()
	a.keys = make(map[string]*keys.PrivateKey)
	parties := append([]contract.Facts(nil), c.Parties...)
	for _, name := range names {
		k, err := keys.GenerateKey()
		if err != nil {
			a.l.t.Fatal(err)
		}
		a.keys[name], parties[c.Job.Index(name)].ID = k, k.ID()
	}
	job := *c.Job
	job.Nonce = strings.Repeat("7", 32)
	changed, err := contract.NewContract(&job, parties, c.Openings, c.Operations)
	if err != nil {
		a.l.t.Fatal(err)
	}
	for _, k := range a.keys {
		changed.Sign(k)
	}
	changed.Sign(a.l.keys[0])
	return changed
}

// ask sends a request of the impostor's to a party, past its own node's checks.
func (a *impostor) ask(i int, method string, request, response any) error {
	return a.l.nodes[0].call(minute(a.l.t), contract.Party{Name: a.l.names[i], ID: a.l.keys[i].ID()}, method, request,
		response)
}

// mustFail has a party refuse a contract, name the impostor's party, and keep nothing.
func (a *impostor) mustFail(i int, c *contract.Contract, stands string) {
	a.l.t.Helper()
	var consent consentResponse
	err := a.ask(i, methodConsent, consentRequest{Contract: string(c.Document.Text())}, &consent)
	var said *faults.Error
	if !errors.As(err, &said) || said.Code != fault.CodeCharter || len(said.Said.Names) != 1 ||
		said.Said.Names[0] != stands ||
		consent.Signature != nil {
		a.l.t.Fatalf("%s answers %v, %+v, want that the charter in force has another key for %s", a.l.names[i], err,
			consent, stands)
	}
	full := a.l.underReference(i, err)
	right, _ := a.l.charter.MemberNamed(stands)
	if want := "names the key " + c.Parties[c.Job.Index(stands)].ID.Short() +
		" for " + stands; !strings.Contains(full, want) || !strings.Contains(full, right.ID.Short()) {
		a.l.t.Errorf("its owner reads %q, want both keys of %s in it", full, stands)
	}
	if _, ok := a.l.nodes[i].job(c.Hash()); ok {
		a.l.t.Errorf("%s keeps the job", a.l.names[i])
	}
	if err := a.ask(i, methodStart, startRequest{Contract: string(c.Document.Text()), Number: 1},
		new(startResponse)); err == nil {
		a.l.t.Errorf("%s starts a session", a.l.names[i])
	}
}

// TestImpostor: nobody stands under another party's name, in a training or a prediction, of any mode.
func TestImpostor(t *testing.T) {
	l, model := sealedNetwork(t, 40)
	a := &impostor{l: l}
	l.startAll()
	for name, text := range map[string][]byte{
		"sealed training": l.job("train", "privacy = \"sealed\"",
			activeBank+"features = 16\niterations = 4\nlambda = 1e-2\nsigma = 1.0"),
		"masked training": l.job("train", "privacy = \"masked\"", activeBank+"features = 16"),
		"prediction": l.job("predict",
			"privacy = \"sealed\"\ntable = \"test\"\nopen_to = \"bank\"\nmodel = \""+model.String()+"\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := l.nodes[0].Prepare(minute(t), text, nil)
			must(t, err)
			a.mustFail(1, a.as(c, "telco"), "telco")
			a.mustFail(3, a.as(c, "telco", "insurer"), "insurer")
			own := a.as(c, "insurer") // not even under the victim's own name
			if err := a.ask(1, methodConsent, consentRequest{Contract: string(own.Document.Text())},
				new(consentResponse)); err == nil {
				t.Error("the insurer signs a contract that gives its name to another key")
			}
		})
	}
}

// puppeteer is a server that invents its clients, so that the sum over them is one client's vector.
type puppeteer struct{ impostor }

// TestPuppeteer: the clients of a job are the charter's members, also though they never meet each other.
func TestPuppeteer(t *testing.T) {
	for algorithm, parameters := range map[string]string{"pofmkl": smallPOFMKL, "ofmsft": smallOFMSFT} {
		t.Run(algorithm, func(t *testing.T) {
			l := newTestNetwork(t, 5, 0)
			l.streams(1, 40)
			if algorithm == "ofmsft" {
				l.networks(3)
			}
			l.startAll()
			p := &puppeteer{impostor{l: l}}
			c, err := l.nodes[0].Prepare(minute(t), l.servedJob(algorithm, 1, "privacy = \"masked\"", parameters), nil)
			must(t, err)
			p.mustFail(1, p.as(c, "telco", "retailer", "baker"), "telco")
		})
	}
}

// nextCharter is the charter after some change, signed by all who stay and by those who come.
func (l *testNetwork) nextCharter(change func(*keys.Charter), come ...*keys.PrivateKey) *keys.SignedCharter {
	l.t.Helper()
	draft := l.charter.Next()
	draft.Created = time.Now()
	change(&draft)
	next, err := keys.NewCharter(draft)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, k := range slices.Concat(l.keys, come) {
		if _, ok := next.Member(k.ID()); ok {
			if err := next.Sign(k); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	return next
}

// TestOldContractsStopUnderANewCharter: where a key was revoked, a member left, or a rule became stricter, a contract
// that all had signed goes no further, and the error says for whose sake.
func TestOldContractsStopUnderANewCharter(t *testing.T) {
	fresh, err := keys.GenerateKey()
	must(t, err)
	revoke := func(c *keys.Charter) {
		old := c.Members[2]
		c.Members[2] = keys.Member{Name: old.Name, ID: fresh.ID(), Addresses: old.Addresses}
		c.Revoked = append(c.Revoked, keys.Revoked{Name: old.Name, ID: old.ID, Reason: "its key was stolen"})
	}
	for name, c := range map[string]struct {
		privacy string
		change  func(*keys.Charter)
		want    []string
	}{
		"revoked key": {"masked", revoke, []string{"for telco", "revoked", "its key was stolen"}},
		"stricter rule": {"masked", func(c *keys.Charter) { c.Rules.MinPrivacy = keys.PrivacySealed },
			[]string{`privacy is "masked"`, `at least "sealed"`}},
		"affiliation": {"sealed", func(c *keys.Charter) { c.Affiliations = [][]string{{"bank", "insurer"}} },
			[]string{"bank and insurer are affiliated"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 400)
			l.startAll()
			ctx := minute(t)
			text := l.job("train", "privacy = \""+c.privacy+"\"", activeBank+"features = 64")
			if c.privacy == "sealed" {
				text = l.job("train", "privacy = \"sealed\"", activeBank+"features = 64\niterations = 4\n"+
					"lambda = 1e-2\nsigma = 1.0")
			}
			contract, err := l.nodes[0].Prepare(ctx, text, nil)
			must(t, err)
			h := contract.Hash()
			l.launchAndKill(ctx, h, 3, 30) // the contract is in force, and a session has begun
			next := l.nextCharter(c.change, fresh)
			before := l.sessions(h)
			for _, i := range []int{0, 1} { // telco, whose key it is, has not heard of it
				l.nodes[i].SetCharter(inForce(t, next))
			}
			s, _ := l.nodes[1].job(h)
			a := &impostor{l: l} // a coordinator that has not heard of it either, or will not
			answer := new(startResponse)
			err = a.ask(1, methodStart, startRequest{Contract: string(s.Text()), Number: before + 7}, answer)
			ended := err == nil && len(answer.Ending) > 0 // the bank was faster, and ended it
			refused := new(faults.Error)
			fits := errors.As(err, &refused) && slices.Contains([]fault.Code{fault.CodeCharter, fault.CodeEnded, fault.CodeJob},
				refused.Code)
			if !ended && !fits {
				t.Errorf("the insurer starts a session of it: %v", err)
			}
			l.start(3)
			l.awaitState(ctx, 0, h, job.Failed)
			record := l.awaitState(ctx, 1, h, job.Failed)
			b, _ := l.nodes[0].job(h)
			reasons := b.Record().Reason + " | " + record.Reason
			for _, want := range c.want {
				if !strings.Contains(reasons, want) {
					t.Errorf("the reasons are %q, want %q in them", reasons, want)
				}
			}
			if n := l.sessions(h); n > before+1 {
				t.Errorf("%d sessions were opened, %d before", n, before)
			}
		})
	}
}

// TestAProposalOfAnOldCharterIsNotConsentedTo: a person who approves hears that the charter has changed.
func TestAProposalOfAnOldCharterIsNotConsentedTo(t *testing.T) {
	l := newTestNetwork(t, 4, 60)
	l.policy = nil
	l.startAll()
	c := l.proposed(l.job("train", "privacy = \"masked\"", activeBank+"features = 16"), 1)
	l.nodes[1].SetCharter(inForce(t, l.nextCharter(func(c *keys.Charter) { c.Rules.MinPrivacy = keys.PrivacySealed })))
	_, err := l.nodes[1].Decide(Decision{Contract: c.Hash(), Yes: true})
	s, _ := l.nodes[1].job(c.Hash())
	why := fmt.Sprint(err, s.Record().Reason) // the node may have ended the job by itself before
	if err == nil || !strings.Contains(why, `the charter asks for at least "sealed"`) {
		t.Errorf("consent gives %v", why)
	}
}

// TestAJobWhoseProposerWasRevokedEnds at those who stay: nobody waits for who cannot come.
func TestAJobWhoseProposerWasRevokedEnds(t *testing.T) {
	l := newTestNetwork(t, 4, 400)
	l.startAll()
	ctx := minute(t)
	contract, err := l.nodes[0].Prepare(ctx, l.job("train", "privacy = \"masked\"", activeBank+"features = 64"), nil)
	must(t, err)
	l.launchAndKill(ctx, contract.Hash(), 0, 30)
	next := l.nextCharter(func(c *keys.Charter) {
		c.Revoked = append(c.Revoked, keys.Revoked{Name: "bank", ID: c.Members[0].ID, Reason: "left the league"})
		c.Members = c.Members[1:]
	})
	for i := 1; i < 4; i++ {
		l.nodes[i].SetCharter(inForce(t, next))
	}
	for i := 1; i < 4; i++ {
		if r := l.awaitState(ctx, i, contract.Hash(), job.Failed); !strings.Contains(r.Reason,
			`party "bank" is not a member`) && !strings.Contains(r.Reason, "does not stand under the charter in force") {
			t.Errorf("%s: %q", l.names[i], r.Reason)
		}
	}
}
