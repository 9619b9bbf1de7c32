package node

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

const activeBank = "active = [\"bank\"]\nlabel = \"y\"\nseed = \"s\"\n"

func TestTrainAndPredict(t *testing.T) {
	for i, c := range []struct {
		name, head, parameters string
		limit                  float64
	}{
		{"square", "", "loss = \"square\"\nfeatures = 256\nlambda = 1e-4", 0.3},
		{"logistic with a given width, along a ring", "topology = \"ring\"",
			"features = 128\nsigma = 1.5\nscale = \"standard\"", 0.35},
		{"smooth hinge, Matern, along a star", "topology = \"star\"",
			"loss = \"smooth-hinge\"\nkernel = \"matern52\"\nfeatures = 128", 0.35},
		{"doubly stochastic", "", "schedule = \"doubly-stochastic\"\niterations = 60\nbatch = 32\nblock_features = " +
			"8\nstep = 2.0\nsigma = 1.0\nscale = \"standard\"", 0.46},
		{"published", "privacy = \"published\"", "loss = \"square\"\nfeatures = 128\nsigma = 1.5\nscale = " +
			"\"standard\"\nlambda = 1e-3", 0.4},
	} {
		if !drawn.Today(t, i, 3) {
			continue
		}
		t.Run(c.name, func(t *testing.T) { testTrainAndPredict(t, c.head, c.parameters, c.limit) })
	}
}

// testTrainAndPredict trains on one table and scores another; the scores must beat guessing.
func testTrainAndPredict(t *testing.T, head, parameters string, limit float64) {
	l := newTestNetwork(t, 4, 600)
	l.startAll()
	report, h, err := l.propose(l.job("train", head, activeBank+parameters))
	must(t, err)
	if report.Rows != 600 || report.BytesOut == 0 || report.Trained == nil {
		t.Errorf("report is %+v", report)
	}
	predict := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\n%s", h, privacyOf(head))
	report, _, err = l.propose(l.job("predict", predict, ""))
	must(t, err)
	if wrong := wrongShare(t, report.Scores, l.tablePath(0, "test")); wrong > limit {
		t.Errorf("%.3f of the labels are wrong, guessing gives 0.5", wrong)
	}
}

func privacyOf(head string) string {
	if strings.Contains(head, "privacy") {
		return head
	}
	return ""
}

// wrongShare compares the labels in a scores file with those of a table whose last column is y.
func wrongShare(t *testing.T, scores, table string) float64 {
	t.Helper()
	got, want := lines(t, scores), lines(t, table)
	if len(got) != len(want) {
		t.Fatalf("%d scores for %d rows", len(got), len(want))
	}
	wrong := 0
	for i := range got {
		g, w := strings.Split(got[i], ","), strings.Split(want[i], ",")
		if g[0] != w[0] {
			t.Fatalf("row %d is %s, want %s", i, g[0], w[0])
		}
		if g[2] != w[len(w)-1] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(got))
}

// lines returns a file's lines behind its header.
func lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
}
