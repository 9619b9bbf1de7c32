package node

import (
	"fmt"
	"strings"
	"testing"
)

// TestAColumnCalledAsTheLabel: an owner whose table has the label under its name is told so before anybody consents, by
// the summary and the log, and nobody else is.
func TestAColumnCalledAsTheLabel(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	for i, head := range []string{"id,age,y", "id,income,Y", "id,b,c"} {
		var file strings.Builder
		file.WriteString(head + "\n")
		for r := range 60 {
			fmt.Fprintf(&file, "r%02d,%d,%d\n", r, r*7%31, r%2)
		}
		l.writeTable(i, "train", file.String())
	}
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 8"), 1, 2)
	for i := range 3 {
		s, _ := l.nodes[i].job(c.Hash())
		said := strings.Join(strings.Fields(l.nodes[i].summaryOf(s.Contract()).text), " ")
		const want = `Your table train has a column "Y", called as the label that others hold: it would be a feature here, and ` +
			`a model of it looks better than it is. If it is the label, refuse the job, and leave the column out: ignore = ["Y"] ` +
			`in the table's options.`
		first, _, _ := strings.Cut(said, ` job "`)
		if is := strings.HasSuffix(first, want); is != (i == 1) {
			t.Errorf("%s is told: %v, want %v:\n%s", l.names[i], is, i == 1, said)
		}
	}
}

// TestColumnsByNameToTheirOwnerAlone: a party's summary names its own columns that a training uses, as many as the
// contract counts, and nothing that leaves its node has a name of them.
func TestColumnsByNameToTheirOwnerAlone(t *testing.T) {
	l := newTestNetwork(t, 3, 0)
	regions := []string{"north", "south", "west"}
	files := make([]strings.Builder, 3)
	for i, head := range []string{"id,age,y", "id,canary_income,canary_region,canary_flat", "id,b"} {
		files[i].WriteString(head + "\n")
	}
	for r := range 60 {
		fmt.Fprintf(&files[0], "r%02d,%d,%d\n", r, r*7%31, r%2)
		fmt.Fprintf(&files[1], "r%02d,%d,%s,1\n", r, r*5%37, regions[r%3])
		fmt.Fprintf(&files[2], "r%02d,%d\n", r, r*3%29)
	}
	for i := range files {
		l.writeTable(i, "train", files[i].String())
	}
	l.startAll()
	c := l.proposed(l.job("train", "", activeBank+"features = 8"), 1, 2)
	if got := c.Parties[1].Columns; got != 3 {
		t.Errorf("the insurer brings %d columns, want 3", got)
	}
	for i, want := range []string{"age", "canary_income, canary_region (as 3), canary_flat (left out)", "b"} {
		s, _ := l.nodes[i].job(c.Hash())
		said := l.nodes[i].summaryOf(s.Contract()).text
		if !strings.Contains(said, "\n  its columns: "+want+"\n") {
			t.Errorf("%s is not told that %s are its columns:\n%s", l.names[i], want, said)
		}
		if i != 1 && (strings.Contains(said, "canary") || strings.Contains(string(s.Text()), "canary")) {
			t.Errorf("%s learns the insurer's columns", l.names[i])
		}
	}
}
