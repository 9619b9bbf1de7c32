package columns

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestScoresFilesSayWhoseTheyAre reads a file as of the class that its header names, whichever the model takes for the
// event, and one from before headers did as of the later class.
func TestScoresFilesSayWhoseTheyAre(t *testing.T) {
	m := &joint.Model{Goal: joint.Goal{Active: []string{"bank"}}, Classes: []string{"bad", "good"}}
	for _, c := range []struct {
		header  string
		classes []string
		want    float64 // of a row whose score is 1 in the file, as the model has it
		err     string
	}{
		{"score good", []string{"bad", "good"}, 1, ""},
		{"score bad", []string{"bad", "good"}, -1, ""},
		{"score bad", []string{"good", "bad"}, 1, ""},
		{"score", []string{"bad", "good"}, 1, ""},
		{"score", []string{"good", "bad"}, -1, ""}, // the job says that it is bad
		{"score", []string{"10", "9"}, 1, ""},      // texts, of which 9 is the later
		{"score", []string{"9", "10"}, 1, ""},
		{"score late", []string{"bad", "good"}, 0, `scores: they are of the class "late", and the model tells ["bad" ` +
			`"good"] apart`},
	} {
		m.Classes, m.Goal.Positive = c.classes, ""
		if c.classes[1] == "bad" {
			m.Goal.Positive = "bad"
		}
		got, err := readScores([]byte("id,"+c.header+",class\nr1,1,x\n"), m)
		switch {
		case c.err != "":
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error is %v, want %s", c.header, err, c.err)
			}
		case err != nil || got["r1"][0] != c.want:
			t.Errorf("%s of %q: scores %v, %v, want %v", c.header, c.classes, got, err, c.want)
		}
	}
}

// TestScoresAreReadBackAsTheyOpened writes scores as a label holder does that takes the first class for the event, and
// reads what opened from it.
func TestScoresAreReadBackAsTheyOpened(t *testing.T) {
	m := &joint.Model{Goal: joint.Goal{Active: []string{"bank"}}, Probable: true, Classes: []string{"bad", "good"},
		Turned: true}
	opened := []float64{0.5, -2}
	var b bytes.Buffer
	must(t, renderScores(&b, []string{"r1", "r2"}, opened, nil, reading{model: m}))
	const want = "id,score bad,class,probability bad\nr1,-0.5,good,0.37754067\nr2,2,bad,0.88079708\n"
	if b.String() != want {
		t.Errorf("the file is\n%s\nwant\n%s", b.String(), want)
	}
	got, err := readScores(b.Bytes(), m)
	if err != nil || got["r1"][0] != opened[0] || got["r2"][0] != opened[1] {
		t.Errorf("read back as %v, %v, want %v", got, err, opened)
	}
}

// TestTheLabelHolderReadsTheRarerClass has one of two parties choose the event, of rows of which the first class has
// fewer: where it alone reads scores of its own labels, and the labels do not say the event. What the other has is as
// it was.
func TestTheLabelHolderReadsTheRarerClass(t *testing.T) {
	rarer := &joint.Labels{Values: []float64{-1, 1, 1}, Classes: []string{"bad", "good"}}
	later := &joint.Labels{Values: []float64{-1, -1, 1}, Classes: []string{"bad", "good"}}
	even := &joint.Labels{Values: []float64{-1, 1}, Classes: []string{"bad", "good"}}
	called := func(a, b string) *joint.Labels { return &joint.Labels{Values: rarer.Values, Classes: []string{a, b}} }
	bank := fdskl.Params{Active: []string{"bank"}, Label: "y"}
	for _, c := range []struct {
		name   string
		self   string
		change func(p *fdskl.Params)
		labels *joint.Labels
		by     string
		turned bool
		event  string
	}{
		{"the first is rarer", "bank", nil, rarer, jobs.ByRows, true, "bad"},
		{"the later is rarer", "bank", nil, later, jobs.ByRows, false, "good"},
		{"as many", "bank", nil, even, jobs.ByRows, false, "good"},
		{"1 of 0 and 1", "bank", nil, called("0", "1"), jobs.ByLabel, false, "1"},
		{"1.0 of 0.0 and 1.0", "bank", nil, called("0.0", "1.0"), jobs.ByLabel, false, "1.0"},
		{"01 of 00 and 01", "bank", nil, called("00", "01"), jobs.ByLabel, false, "01"},
		{"1 of -1 and 1", "bank", nil, called("-1", "1"), jobs.ByLabel, false, "1"},
		{"true of False and True", "bank", nil, called("False", "True"), jobs.ByLabel, false, "True"},
		{"1 of 1 and 2", "bank", nil, called("1", "2"), jobs.ByRows, true, "1"},
		{"another party", "telco", nil, nil, jobs.ByOrder, false, "good"},
		{"the job says", "bank", func(p *fdskl.Params) { p.Positive = "good" }, rarer, jobs.ByJob, false, "good"},
		{"two label holders", "bank", func(p *fdskl.Params) { p.Active = []string{"bank", "telco"} }, rarer, jobs.ByOrder,
			false, "good"},
		{"points of all owners", "bank", func(p *fdskl.Params) { p.Bins, p.Points = 5, fdskl.ToOwners }, rarer,
			jobs.ByOrder, false, "good"},
		{"numbers", "bank", func(p *fdskl.Params) { p.Target = joint.Regression }, &joint.Labels{Values: []float64{1, 2}},
			jobs.ByOrder, false, ""},
	} {
		p := bank
		if c.change != nil {
			c.change(&p)
		}
		m := &joint.Model{Goal: p.Goal(), Classes: []string{"bad", "good"}}
		if c.labels != nil && len(c.labels.Classes) == 2 {
			m.Classes = c.labels.Classes
		}
		member := New(&jobs.Member{Name: func() string { return c.self }}, registry.Program())
		own := &training{member: member, goal: m.Goal}
		turned, by := own.chooseEvent(c.labels)
		m.Turned = turned
		if by != c.by || m.Turned != c.turned || m.Event() != c.event || (positiveOf(m, by) == nil) != (c.event == "") {
			t.Errorf("%s: %q chooses %q, turned %v, want %q, %q and %v", c.name, by, m.Event(), m.Turned, c.by, c.event,
				c.turned)
		}
	}
}

// TestForecastsKnowTheNodesAlgorithms: a job of an algorithm that this node lists is no stranger to its forecast.
func TestForecastsKnowTheNodesAlgorithms(t *testing.T) {
	list := registry.List{Columns: []*joint.Algorithm{{Name: "line"}}}
	known := New(new(jobs.Member), list).Known(&contract.Job{Task: contract.TaskTrain})
	if got := known.Algorithms.OverColumns(&contract.Job{Algorithm: "line"}).Name; got != "line" {
		t.Errorf("the forecast knows %q, want line", got)
	}
}

// TestOldScoresOfCodesThatAreTexts: of codes 10 and 9 that are listed as categorical 9 is the later, byte by byte. A
// scores file that was written before headers said the event is of it, and columns are called as ever.
func TestOldScoresOfCodesThatAreTexts(t *testing.T) {
	m := &joint.Model{Goal: joint.Goal{Active: []string{"bank"}, Label: "y"}, Classes: []string{"10", "9"}}
	scores, err := readScores([]byte("id,score,class\na,1.5,9\n"), m)
	if err != nil || !slices.Equal(scores["a"], []float64{1.5}) {
		t.Errorf("scores %v, %v, want 1.5", scores, err)
	}
	if name := namedEvent(m); name != "" {
		t.Errorf("the header says %q", name)
	}
	m.Turned = true
	if name := namedEvent(m); name != " 10" {
		t.Errorf("of the rarer class the header says %q", name)
	}
	// Of one whose job says it, another model could not tell which of two orders is meant.
	for _, classes := range [][]string{{"10", "9"}, {"9", "10"}} {
		m := &joint.Model{Goal: joint.Goal{Positive: joint.ClassName(classes[1])}, Classes: classes}
		if name := namedEvent(m); name != " "+classes[1] {
			t.Errorf("of %s, as the job says, the header says %q", classes[1], name)
		}
	}
}
