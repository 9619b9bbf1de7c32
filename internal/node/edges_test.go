package node

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestEdgesAskNothing has a proposer put edges into jobs that nobody has consented to, to find by halving how large the
// largest value of a column of the insurer's is: what it is told before a consent must be the same for all of them.
func TestEdgesAskNothing(t *testing.T) {
	l := newTestNetwork(t, 3, 100)
	text := "id,salary,team\n"
	for i, row := range lines(t, l.tablePath(1, "train")) {
		text += fmt.Sprintf("%s,%d,%d\n", strings.Split(row, ",")[0], 30_000+911*i, i%7)
	}
	l.writeTable(1, "train", text)
	l.policy = nil // a person would be asked
	l.startAll()
	c := l.proposed(asGLM(l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"\nmin_cell = 5")))
	told := func(edges map[string]any) string {
		job := *c.Job
		job.Parameters = maps.Clone(c.Job.Parameters)
		job.Parameters["edges"] = edges
		text, err := job.Text()
		must(t, err)
		d, err := l.nodes[1].serveDescribe(l.keys[0].ID(), describeRequest{Job: string(text)})
		must(t, err)
		return fmt.Sprintf("%+v", d.Facts)
	}
	want := told(map[string]any{})
	for _, edges := range []map[string]any{
		{"salary": []any{31_000}}, {"salary": []any{119_000}}, {"salary": []any{200_000}}, {"team": []any{2, 3}},
		{"age": []any{1}},
	} {
		if got := told(edges); got != want {
			t.Errorf("with edges %v the insurer says %s before any consent, without %s", edges, got, want)
		}
	}
	theirs := asGLM(l.job("train", "privacy = \"sealed\"",
		"active = [\"bank\"]\nlabel = \"y\"\nedges = { salary = [31_000] }"))
	if _, err := l.nodes[0].Prepare(t.Context(), theirs, nil); err == nil ||
		!strings.Contains(err.Error(), `edges has "salary", which is no column of the proposer's`) {
		t.Errorf("edges of another's column: %v", err)
	}
}

// TestCellsAreNotCounted has a proposer ask the insurer again and again for its number of bins, each time with another
// min_cell: where one more row a bin makes one bin less, a cell has that many rows. After a few answers it hears no
// more, and of cells of fewer rows than the insurer's policy wants it hears nothing at all.
func TestCellsAreNotCounted(t *testing.T) {
	l := newTestNetwork(t, 3, 100)
	text := "id,team\n"
	for i, row := range lines(t, l.tablePath(1, "train")) {
		team := 1
		if i < 23 { // the size of this cell is what the proposer is after
			team = 0
		}
		text += fmt.Sprintf("%s,%d\n", strings.Split(row, ",")[0], team)
	}
	l.writeTable(1, "train", text)
	l.policy = rulesOf(t, "min_cell = 8\n") // a person would be asked
	l.startAll()
	c := l.proposed(asGLM(l.job("train", "privacy = \"sealed\"", "active = [\"bank\"]\nlabel = \"y\"\nmin_cell = 40")))
	ask := func(minCell int) (int, error) {
		job := *c.Job
		job.Parameters = maps.Clone(c.Job.Parameters)
		job.Parameters["min_cell"] = int64(minCell)
		text, err := job.Text()
		must(t, err)
		d, err := l.nodes[1].serveDescribe(l.keys[0].ID(), describeRequest{Job: string(text)})
		return d.Facts.Bins, err
	}
	told := make(map[int]int)
	for minCell := 40; minCell >= 9; minCell-- {
		if bins, err := ask(minCell); err == nil {
			told[minCell] = bins
		} else if !faults.WithCode(fault.CodeTable)(err) || !strings.Contains(err.Error(), "how many rows its cells have") {
			t.Fatalf("min_cell = %d: %v", minCell, err)
		}
	}
	if len(told) != 8 || told[40] != told[33] {
		t.Errorf("the insurer tells its number of bins for %v, want 8 answers and the cell's size not between them", told)
	}
	if bins, err := ask(40); err != nil || bins != told[40] {
		t.Errorf("what was told before is %d (%v) when asked again", bins, err)
	}
	for minCell, want := range map[int]fault.Code{7: fault.CodePolicy, 4: fault.CodeJob} {
		if _, err := ask(minCell); !faults.WithCode(want)(err) {
			t.Errorf("min_cell = %d: %v, want the code %q", minCell, err, want)
		}
	}
}
