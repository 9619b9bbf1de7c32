package node

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// rehearsedJob is a small training.
const rehearsedJob = `format = "hanse-job-v1"
name = "credit"
algorithm = "fdskl"
task = "train"
privacy = "masked"
parties = ["bank", "insurer", "telco"]
[parameters]
active = ["bank"]
label = "y"
features = 16
`

// TestADraftIsTheContractAndIsKeptNowhere drafts a job, and then proposes it.
func TestADraftIsTheContractAndIsKeptNowhere(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	d, err := l.nodes[0].Draft(t.Context(), []byte(rehearsedJob), nil)
	must(t, err)
	for i, n := range l.nodes {
		if all := n.Jobs(); len(all) > 0 {
			t.Errorf("%s has the job %q of a draft", l.names[i], all[0].Name)
		}
	}
	drafted, err := contract.ParseContract([]byte(d.Contract))
	must(t, err)
	proposed, err := l.nodes[0].Prepare(t.Context(), []byte(rehearsedJob), nil)
	must(t, err)
	if drafted.Hash() == proposed.Hash() {
		t.Error("the draft is the proposal itself")
	}
	if a, b := likenessOf(t, drafted), likenessOf(t, proposed); a != b {
		t.Errorf("the draft has likeness %s, the proposal %s", a, b)
	}
	again, err := l.nodes[0].DraftOf(proposed.Hash())
	if err != nil || again.Self != "bank" || again.Contract != string(proposed.Document.Text()) {
		t.Errorf("the draft of the proposal is %+v, error %v", again, err)
	}
	if charter, err := keys.ParseCharter([]byte(again.Charter)); err != nil || charter.Digest() != l.charter.Digest() {
		t.Errorf("the draft's charter: %v", err)
	}
}

func likenessOf(t *testing.T, c *contract.Contract) keys.Hash {
	t.Helper()
	h, err := c.Likeness()
	must(t, err)
	return h
}

// TestASummaryHasItsOwnRehearsalAlone keeps a rehearsal at the bank: the bank's summary of such a contract tells of
// it, that of another contract does not, and nobody else's does.
func TestASummaryHasItsOwnRehearsalAlone(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	same, err := l.nodes[0].Prepare(t.Context(), []byte(rehearsedJob), nil)
	must(t, err)
	text := strings.Replace(rehearsedJob, "features = 16", "features = 32", 1)
	other, err := l.nodes[0].Prepare(t.Context(), []byte(text), nil)
	must(t, err)
	r := &rehearsal.Result{Job: "credit", At: time.Unix(1, 0), Seconds: 2.5, Likeness: likenessOf(t, same),
		Rehearsed: likenessOf(t, other), Audit: rehearsal.Audit{Verdict: "clean"},
		Parties: []rehearsal.Party{{Name: "bank", Sent: 12_000, Received: 13_000}, {Name: "insurer"}, {Name: "telco"}}}
	keep := func() error {
		text, err := json.Marshal(r)
		must(t, err)
		return l.nodes[0].keepRehearsal(bytes.NewReader(text))
	}
	if err := keep(); err == nil {
		t.Error("a rehearsal of another contract is kept")
	}
	r.Rehearsed = r.Likeness
	must(t, keep())
	const told = "rehearsed here on 1970-01-01 00:00 UTC on made-up data of the same shape: 2.5 s in the session, " +
		"12.0 kB sent and 13.0 kB received by bank; 3 nodes shared one machine; audit clean"
	for i, n := range l.nodes {
		for _, c := range []*contract.Contract{same, other} {
			said := strings.Join(strings.Fields(n.summaryOf(c).text), " ")
			if got, want := strings.Contains(said, told), i == 0 && c == same; got != want ||
				strings.Contains(said, "rehearsed") != want {
				t.Errorf("%s, job with %v features: tells of a rehearsal %v, want %v:\n%s", l.names[i],
					c.Job.Parameters["features"], got, want, said)
			}
		}
	}
}
