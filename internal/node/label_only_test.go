package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// TestALabelHolderWithLabelsAlone trains on and scores the others' columns: the label is the sign of the product of
// theirs, and the holder of labels has nothing beside them.
func TestALabelHolderWithLabelsAlone(t *testing.T) {
	const rows = 200
	sealed := fmt.Sprintf("privacy = %q\n", keys.PrivacySealed)
	same := func(text []byte) []byte { return text }
	for _, c := range []struct {
		name, head, parameters string
		of                     func(text []byte) []byte
		verdict                audit.Verdict
	}{
		{"masked", "", activeBank + "features = 128\nloss = \"square\"\n", same,
			audit.Disclosed},
		{"sealed", sealed, activeBank + "features = 64\nloss = \"square\"\n", same,
			audit.Clean},
		{"glm", sealed, "active = [\"bank\"]\nlabel = \"y\"\nloss = \"square\"\nbins = 6\n", asGLM, audit.Clean},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTestNetwork(t, 3, rows)
			for _, table := range []string{"train", "test"} {
				var files [3]strings.Builder
				for i, head := range []string{"id,y", "id,a", "id,b"} {
					files[i].WriteString(head + "\n")
				}
				for r := range rows {
					a, b := r*7%23-11, r*5%19-9
					y := "no"
					if a+b > 0 {
						y = "yes"
					}
					fmt.Fprintf(&files[0], "r%03d,%s\n", r, y)
					fmt.Fprintf(&files[1], "r%03d,%d\n", r, a)
					fmt.Fprintf(&files[2], "r%03d,%d\n", r, b)
				}
				for i := range files {
					l.writeTable(i, table, files[i].String())
				}
			}
			l.startAll()
			l.nodes[0].config.Speeds = func() (*forecast.Speeds, error) { return forecast.ReadSpeeds(l.dirs[0]) }
			trained, h, err := l.propose(c.of(l.job("train", c.head+`record = "full"`, c.parameters)))
			must(t, err)
			l.wantVerdict(h, c.verdict)
			head := c.head + fmt.Sprintf("model = %q\ntable = \"test\"\nopen_to = \"bank\"\n", h)
			predicted, scored, err := l.propose(c.of(l.job("predict", head, "")))
			must(t, err)
			for what, r := range map[string]*jobs.Report{"training": trained, "prediction": predicted} {
				if r.Forecast == nil || r.Forecast.Forecast.Seconds == 0 {
					t.Errorf("the %s was forecast as %+v", what, r.Forecast)
				}
				opens := what == "prediction" || c.head == ""
				if (r.Figures != nil) != opens || opens && !slices.ContainsFunc(r.Figures.Against,
					func(a figures.Rival) bool { return a.Name == figures.Guessing }) {
					t.Errorf("the %s has figures %+v", what, r.Figures)
				}
			}
			labels, wrong := allLines(t, l.tablePath(0, "test")), 0
			lines := allLines(t, l.scoresOf("bank", scored))
			for i, line := range lines[1:] {
				if cells := strings.Split(line, ","); !strings.HasSuffix(labels[1+i], ","+cells[2]) {
					wrong++
				}
			}
			if len(lines) != rows+1 || wrong > rows/10 {
				t.Errorf("%d lines, %d of %d rows have the wrong label", len(lines), wrong, rows)
			}
		})
	}
}

// TestALabelFarOutStopsAJobBeforeConsent: a label that a sealed training refuses is found at its holder when the job is
// proposed; nobody is asked for consent, and others learn no word of it.
func TestALabelFarOutStopsAJobBeforeConsent(t *testing.T) {
	for proposer := range 2 {
		l := newTestNetwork(t, 3, 400)
		l.relabel(func(row int, a, y string) string { return map[bool]string{true: "40000", false: a}[row == 7] })
		l.startAll()
		_, err := l.nodes[proposer].Prepare(t.Context(), l.job("train", fmt.Sprintf("privacy = %q", keys.PrivacySealed),
			activeBank+"features = 16\ntarget = \"regression\""), nil)
		if err == nil {
			t.Fatalf("proposed by %s: no error", l.names[proposer])
		}
		const said = "deviations from its mean, and scores of this job end at 16: propose it with score_range = 32"
		if own := strings.Contains(err.Error(), said); own != (proposer == 0) {
			t.Errorf("proposed by %s: %v", l.names[proposer], err)
		}
		for i, n := range l.nodes {
			if jobs := n.Jobs(); len(jobs) > 0 {
				t.Errorf("%s has %d jobs", l.names[i], len(jobs))
			}
		}
	}
}
