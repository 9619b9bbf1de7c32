package node

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/keys"
)

// TestSealedTrainAndPredict trains sealed jobs and predicts with them, whole tables and single rows, and audits.
func TestSealedTrainAndPredict(t *testing.T) {
	for i, c := range []struct {
		name, parameters, openTo string
		idle                     int // who has no table; 0: nobody
		limit                    float64
	}{
		{"square", "features = 128\nlambda = 1e-4", "bank", 0, 0.3},
		{"square, a helper without data", "features = 128\nlambda = 1e-4\nhelper = \"retailer\"\nring = 48", "telco", 3, 0.3},
		{"logistic", "loss = \"logistic\"\nfeatures = 64\niterations = 60\nouter = 24\nsigma = 1.5\nscale = \"standard\"",
			"insurer", 0, 0.4},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 400)
			if c.idle > 0 {
				for _, name := range []string{"train", "test"} {
					must(t, os.Remove(l.tablePath(c.idle, name)))
				}
				l.idle = c.idle
			}
			l.startAll()
			report, h, err := l.propose(l.job("train", "privacy = \"sealed\"\nrecord = \"full\"", activeBank+c.parameters))
			must(t, err)
			if report.Rows != 400 || report.BytesOut == 0 {
				t.Errorf("report is %+v", report)
			}
			l.wantVerdict(h, audit.Clean)
			head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = %q\nprivacy = \"sealed\"\n", h, c.openTo)
			_, scored, err := l.propose(l.job("predict", head, ""))
			must(t, err)
			scores := l.scoresOf(c.openTo, scored)
			if wrong := wrongShare(t, scores, l.tablePath(0, "test")); wrong > c.limit {
				t.Errorf("%.3f of the labels are wrong, guessing gives 0.5", wrong)
			}
			l.wantVerdict(scored, audit.Partial) // its payloads were not kept
		})
	}
}

// TestSealedJobsThatAreRefused are refused by text before anything is sent.
func TestSealedJobsThatAreRefused(t *testing.T) {
	l := newTestNetwork(t, 4, 50)
	l.startAll()
	for _, c := range []struct{ head, parameters, want string }{
		{"", "keeper = \"bank\"", `keeper is "bank", who is the label holder`},
		{"", "keeper = \"telco\"\nhelper = \"telco\"", `keeper and helper are both "telco"`},
		{"", "schedule = \"doubly-stochastic\"", `schedule is "doubly-stochastic": a sealed job wants "fixed"`},
		{"aggregation = \"he\"", "", `aggregation is "he": the sums of a sealed job are under masks`},
	} {
		_, _, err := l.propose(l.job("train", "privacy = \"sealed\"\n"+c.head, activeBank+c.parameters))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
	two := strings.Replace(string(l.job("train", "privacy = \"sealed\"", activeBank)),
		`"bank", "insurer", "telco", "retailer"`, `"bank", "insurer"`, 1)
	if _, _, err := l.propose([]byte(two)); err == nil || !strings.Contains(err.Error(),
		"name any third member of the charter") {
		t.Errorf("error is %v, want the hint to name a third member", err)
	}
}

// wantVerdict audits a job from all parties' transcripts.
func (l *testNetwork) wantVerdict(h keys.Hash, want audit.Verdict) *audit.Report {
	l.t.Helper()
	r := l.audit(h)
	if r.Verdict != want {
		l.t.Errorf("verdict is %s, want %s: %s %q", r.Verdict, want, r.Summary, r.NotLookedAt)
	}
	for _, c := range r.Checks {
		if c.Verdict == audit.Failed || c.Verdict == audit.Leak {
			l.t.Errorf("%s (%s): %s", c.Name, c.Party, c.Detail)
		}
	}
	return r
}
