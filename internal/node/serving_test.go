package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
)

func TestServingPrediction(t *testing.T) {
	l := newTestNetwork(t, 4, 120)
	l.startAll()
	_, model, err := l.propose(l.job("train", "", activeBank+"loss = \"square\"\nfeatures = 64"))
	must(t, err)
	head := fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\nrecord = \"full\"\n", model)
	batch, scored, err := l.propose(l.job("predict", head, ""))
	must(t, err)
	c, err := l.nodes[0].Prepare(t.Context(), l.job("predict", head+"requests = 5", ""), nil)
	must(t, err)
	served := make(chan *jobs.Report, 1)
	go func() {
		r, err := l.nodes[0].Launch(t.Context(), c.Hash(), nil)
		if err != nil {
			t.Error(err)
		}
		served <- r
	}()
	want := scoresByID(t, batch.Scores)
	for _, id := range []string{"r00007", "r00119", "r00007"} {
		row, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), id)
		if err != nil || strings.Join(row, ",") != want[id] {
			t.Errorf("%s: row is %v (%v), the batch has %s", id, row, err, want[id])
		}
	}
	row, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), "smith")
	if err != nil || len(row) != strings.Count(want["r00007"], ",")+1 || row[0] != "smith" || row[1] != "no match" {
		t.Errorf("an unknown id gives %q, %v", row, err)
	}
	if _, err := l.nodes[0].ScoreRow(t.Context(), c.Hash(), ""); err != nil {
		t.Error(err)
	}
	if r := <-served; r == nil || r.Rows != 2 {
		t.Errorf("report is %+v, want 2 rows: the third request has the first one's score", r)
	}
	mustVerify(t, l.audit(scored), audit.Disclosed)
	for _, a := range l.audit(c.Hash()).Attacks { // two sums of a row each
		if a.Name == "difference" && a.View == "active party" && (a.Rows != 2 || *a.RecoveredShare != 1) {
			t.Errorf("of what was served: %+v", a)
		}
	}
}

// scoresByID reads a scores file's lines.
func scoresByID(t testing.TB, path string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, line := range lines(t, path) {
		id, _, _ := strings.Cut(line, ",")
		all[id] = line
	}
	return all
}
