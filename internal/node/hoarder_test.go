package node

import (
	"testing"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/protocol/contract"
)

// hoarder is a member whose jobs a rule accepts, and who starts none of them.
type hoarder struct{ *stuffer }

// newHoarder starts a test network in which the second member's policy accepts all trainings of the third, who hoards.
func newHoarder(t *testing.T) hoarder {
	s, _ := newStuffer(t, &consent.Policy{Format: consent.Format, Tables: openPolicy().Tables,
		Accept: []consent.Rule{{Proposers: []string{"bank", "telco"}, Tasks: []string{contract.TaskTrain}}}})
	return hoarder{s}
}

// signed asks for consent to so many contracts and counts the signatures that come.
func (h hoarder) signed(contracts int) (n int) {
	for _, text := range h.contracts(contracts) {
		var r consentResponse
		if err := h.ask(methodConsent, consentRequest{Contract: text}, &r); err == nil && r.Signature != nil {
			n++
		}
	}
	return n
}

// TestHoarderSucceeds: of a member whose jobs a rule accepts, a node signs as many as come, and keeps all, though none
// is ever started. This is what the program does, not what it should.
func TestHoarderSucceeds(t *testing.T) {
	h := newHoarder(t)
	if n := h.signed(60); n != 60 || h.l.folders(1) != 60 {
		t.Errorf("%d of 60 contracts are signed, %d kept", n, h.l.folders(1))
	}
}
