//go:build long

package audit

import (
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/he"
)

func TestLongEncryptedSumsAreFollowedOverTheirOperations(t *testing.T) {
	t.Parallel()
	f := newEncrypted(t, 650, 1, contract.Star,
		fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 1, Batch: 650, BlockFeatures: 850, Sigma: 1})
	if n := 650 * 850; n <= 64*he.Degree {
		t.Fatalf("%d angles go in one operation", n)
	}
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantNoneOf(t, r)
	wantRebuilt(t, r, "p0", views.ViewActive, finding.Disclosed, 9, 1e-3)
}

func TestInterruptedEncryptedRunsAreAttackedAsAWhole(t *testing.T) {
	t.Parallel()
	f := newEncrypted(t, 100, 2, contract.Tree,
		fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 12, Batch: 64, BlockFeatures: 4})
	f.learn(2, 9, errKilled)
	f.learn(0, 14, errKilled)
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantNoneOf(t, r)
	f.wantEncryptedViews(r, 2)
}
