package node

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// purpose ends a job's text.
const purpose = "[purpose]\ntext = \"who repays\"\nlegal_basis = \"GDPR Art. 6(1)(f)\"\n"

// TestAPurposeIsWanted: a node whose policy wants a purpose takes part in no job without one, whoever proposes it, and
// the proposer hears what to add. What is stated is shown, signed, and handed on to predictions.
func TestAPurposeIsWanted(t *testing.T) {
	l := newTestNetwork(t, 3, 60)
	l.startAll()
	l.stops[1]()
	l.policy = wideRules(t, "purpose = [\"text\", \"legal_basis\"]\n[[accept]]\nproposers = [\"bank\", \"insurer\"]\n")
	l.start(1)
	job := l.job("train", "", activeBank+"features = 8")
	_, err := l.nodes[0].Prepare(t.Context(), job, nil)
	want := "insurer: the policy of its owner wants the job to say what it is for: add text, legal_basis to [purpose] in " +
		"the job file"
	if err == nil || !strings.HasPrefix(err.Error(), want) || !faults.WithCode(fault.CodePolicy)(err) {
		t.Errorf("a job without a purpose: %v, want %s", err, want)
	}
	_, err = l.nodes[0].Prepare(t.Context(), append(job, "[purpose]\ntext = \"who repays\"\n"...), nil)
	if err == nil || !strings.Contains(err.Error(), "add legal_basis to [purpose]") {
		t.Errorf("half a purpose: %v", err)
	}
	if _, err := l.nodes[1].Prepare(t.Context(), job, nil); err == nil || !strings.Contains(err.Error(),
		"[purpose] does not say text, legal_basis, which the policy") {
		t.Errorf("its own job: %v", err)
	}

	report, h, err := l.propose(append(job, purpose...))
	must(t, err)
	s, _ := l.nodes[1].job(h)
	if said := l.nodes[1].summaryOf(s.Contract()).text; !strings.Contains(said,
		"\n  purpose: who repays\n  legal basis: GDPR Art. 6(1)(f)\n") {
		t.Errorf("the summary does not say it:\n%s", said)
	}
	scoring, err := l.nodes[0].Prepare(t.Context(), l.job("predict", "table = \"test\"\nopen_to = \"bank\"\nmodel = \""+
		report.Contract+"\"", ""), nil)
	must(t, err)
	if p := scoring.Job.Purpose; p == nil || *p != *s.Contract().Job.Purpose {
		t.Errorf("the prediction's purpose is %+v", p)
	}

	// A proposer that changes it after others were asked has another contract, which nobody has signed.
	agreed := l.nodes[1].whole(s)
	other := *agreed.Job
	other.Purpose = &contract.Purpose{Text: "who moves"}
	changed, err := contract.NewContract(&other, agreed.Parties, agreed.Openings, agreed.Operations)
	must(t, err)
	for id, signature := range agreed.Signatures {
		if err := changed.AddSignature(id, signature); err == nil {
			t.Errorf("%s has signed another purpose", id.Short())
		}
	}
}
