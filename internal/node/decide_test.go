package node

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestNoJobEndsWithoutAReason: the node itself refuses a reason that says nothing, or that others would read half of,
// whoever speaks to its socket; the job still waits.
func TestNoJobEndsWithoutAReason(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.policy = nil
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 8"), 1)
	l.serveSocketOf(1)
	client, err := NewClient(l.folder(1))
	must(t, err)
	long := strings.Repeat("x", contract.MaxReason+1)
	for reason, want := range map[string]string{"": "the reason is empty", " \t\n": "the reason is empty",
		long: "the reason has 201 bytes, at most 200 are told"} {
		_, err := client.Decide(t.Context(), Decision{Contract: c.Hash(), Reason: reason})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a refusal with reason %q: error %v, want %q", reason, err, want)
		}
		if err := client.Cancel(t.Context(), c.Job.Name, reason); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a cancellation with reason %q: error %v, want %q", reason, err, want)
		}
	}
	if s, ok := l.nodes[1].job(c.Hash()); !ok || s.State() != job.Proposed {
		t.Fatal("the job does not wait any longer")
	}
	decided, err := client.Decide(t.Context(), Decision{Contract: c.Hash(), Reason: "not before the audit"})
	if err != nil || decided.State != job.Refused {
		t.Errorf("a refusal with a reason: %+v, error %v", decided, err)
	}
}
