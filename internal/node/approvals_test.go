package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// approvers are persons of one organisation, with their keys.
type approvers struct {
	names []string
	keys  map[string]*keys.PrivateKey
}

// newApprovers makes keys for people.
func newApprovers(t *testing.T, names ...string) approvers {
	t.Helper()
	a := approvers{names, make(map[string]*keys.PrivateKey)}
	for _, name := range names {
		k, err := keys.GenerateKey()
		must(t, err)
		a.keys[name] = k
	}
	return a
}

// policy lists them, of whom so many must approve.
func (a approvers) policy(t *testing.T, wanted int) *consent.Policy {
	text := fmt.Sprintf("approvals = %d\n", wanted)
	for _, name := range a.names {
		text += fmt.Sprintf("[[approver]]\nname = %q\nid = %q\n", name, a.keys[name].ID())
	}
	return wideRules(t, text)
}

// approval is a person's approval, as a decision.
func (a approvers) approval(t *testing.T, name string, h keys.Hash, member keys.ID) Decision {
	t.Helper()
	return Decision{Contract: h, Yes: true, Approval: signedApproval(t, a.keys[name], name, h, member)}
}

// signedApproval is the text of an approval.
func signedApproval(t *testing.T, key *keys.PrivateKey, name string, h keys.Hash, member keys.ID) string {
	t.Helper()
	a, err := consent.Approve(key, name, h, member, time.Unix(1e9, 0))
	must(t, err)
	return string(a.Text())
}

// refusedBy wants a decision to be refused for a reason, and to change nothing.
func refusedBy(t *testing.T, n *Node, d Decision, want string) {
	t.Helper()
	s, _ := n.job(d.Contract)
	before := fmt.Sprint(n.approvedBy(s))
	if _, err := n.Decide(d); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
	if after := fmt.Sprint(n.approvedBy(s)); after != before || s.State() != job.Proposed {
		t.Errorf("the job is %s, approved by %s, before by %s", s.State(), after, before)
	}
}

// TestTwoPersonsApprove: a node whose policy wants two approvals signs nothing that two persons have not approved. They
// who try are the node's operator, who has its socket and its key, a person who would count twice, one whose key is not
// listed, and somebody with an approval that was given for something else. What has come survives a restart.
func TestTwoPersonsApprove(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	people := newApprovers(t, "alice", "bob", "carol")
	stranger := newApprovers(t, "mallory", "alice")
	l.startAll()
	l.stops[1]()
	l.policy = people.policy(t, 2)
	l.start(1)
	n, self := l.nodes[1], l.keys[1].ID()
	j := l.job("train", "", activeBank+"features = 8")
	other, c := l.proposed(j, 1), l.proposed(j, 1)
	h := c.Hash()
	asks := func() []byte {
		t.Helper()
		r, err := n.serveConsent(l.keys[0].ID(), consentRequest{Contract: string(c.Document.Text())})
		must(t, err)
		return r.Signature
	}

	refusedBy(t, n, Decision{Contract: h, Yes: true, Person: "root"}, "wants the approval of 2 of alice, bob and carol")
	changed := strings.Replace(people.approval(t, "alice", h, self).Approval, h.String()[:8], other.Hash().String()[:8], 1)
	replayed := people.approval(t, "alice", other.Hash(), self).Approval
	for want, text := range map[string]string{
		"is not among the approvers":                 stranger.approval(t, "mallory", h, self).Approval,
		"key " + stranger.keys["alice"].ID().Short(): stranger.approval(t, "alice", h, self).Approval, // a listed name
		"is of contract":                             replayed,
		"it speaks for the member":                   people.approval(t, "alice", h, l.keys[2].ID()).Approval,
		"key " + self.Short():                        signedApproval(t, l.keys[1], "alice", h, self),
		"that of alice in policy":                    signedApproval(t, people.keys["alice"], "bob", h, self),
		"signature":                                  changed,
		"approval: ":                                 strings.Repeat("#", consent.MaxApproval+1),
	} {
		refusedBy(t, n, Decision{Contract: h, Yes: true, Approval: text}, want)
	}

	if d, err := n.Decide(people.approval(t, "alice", h, self)); err != nil || d.State != job.Proposed ||
		len(d.Approved) != 1 || d.Approvals != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	refusedBy(t, n, people.approval(t, "alice", h, self), "alice has approved job \"trial\" already")
	refusedBy(t, n, Decision{Contract: h, Yes: true, Approval: signedApproval(t, people.keys["alice"], "bob", h, self)},
		"that of alice in policy")
	if asks() != nil {
		t.Fatal("the node signs what one person has approved")
	}

	// The operator writes a consent of the owner into the node's record, with what there is of approvals.
	l.stops[1]()
	l.start(1)
	n = l.nodes[1]
	s, _ := n.job(h)
	if got := n.approvedBy(s); len(got) != 1 || got[0] != "alice" {
		t.Fatalf("after a restart %v have approved it", got)
	}
	kept := s.Record()
	twice := []string{kept.Pending.Approvals[0], signedApproval(t, people.keys["alice"], "bob", h, self)}
	for _, forged := range [][]string{nil, kept.Pending.Approvals, append(twice[:1:1], twice[0]), twice} {
		if signature, err := n.signContract(l.rewritten(1, h, func(r *job.Record) {
			r.State, r.Consent = job.Agreed, n.salted(job.Consent{By: job.ByOwner, Approvals: forged})
		})); err == nil || signature != nil {
			t.Errorf("the node signs a forged record of %d approvals: %v", len(forged), err)
		}
	}
	if signature, err := n.signContract(l.rewritten(1, h, func(r *job.Record) {
		r.State, r.Consent = job.Agreed, n.salted(job.Consent{By: job.ByPolicy, Rule: "accept rule 1",
			Policy: n.config.Policy.Digest().String()})
	})); err == nil || signature != nil {
		t.Errorf("the node signs a forged record of a rule that accepts nothing: %v", err)
	}
	l.rewritten(1, h, func(r *job.Record) { *r = kept })

	if d, err := n.Decide(people.approval(t, "carol", h, self)); err != nil || d.State != job.Agreed {
		t.Fatalf("%+v, %v", d, err)
	}
	if !self.Verify(contract.DomainContract, c.Body, asks()) {
		t.Error("the node does not sign what two persons have approved")
	}
	if by := s.Record().Consent; len(by.Approvals) != 2 || by.Policy != l.policy.Digest().String() {
		t.Errorf("the record of the consent is %+v", by)
	}
	// one is enough to refuse
	if d, err := n.Decide(Decision{Contract: other.Hash(), Reason: "no"}); err != nil || d.State != job.Refused {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestAProposerWithApprovals: a job that a node proposes waits for its own approvals too, and runs when they have come.
func TestAProposerWithApprovals(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	people := newApprovers(t, "alice", "bob")
	l.startAll()
	l.stops[0]()
	l.policy = people.policy(t, 2)
	l.start(0)
	c, err := l.nodes[0].Prepare(t.Context(), l.job("train", "", activeBank+"features = 8"), nil)
	must(t, err)
	waits := make(chan string, 100)
	ended := make(chan error, 1)
	go func() {
		_, err := l.nodes[0].launch(minute(t), c.Hash(), "root", func(e jobs.Event) {
			if strings.Contains(e.Text, "approval of 2 of alice and bob") {
				waits <- e.Text
			}
		})
		ended <- err
	}()
	<-waits
	for i, name := range people.names {
		d, err := l.nodes[0].Decide(people.approval(t, name, c.Hash(), l.keys[0].ID()))
		if err != nil || len(d.Approved) != i+1 {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
	}
	must(t, <-ended)
	s, _ := l.nodes[0].job(c.Hash())
	if s.State() != job.Done {
		t.Errorf("the job is %s", s.State())
	}
}
