package fdskl

import (
	"math"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
)

// TestPositiveOfJobs reads the event as jobs write it, and refuses it where there are not two classes.
func TestPositiveOfJobs(t *testing.T) {
	const roles = "active = [\"bank\"]\nlabel = \"y\"\n"
	parties := []string{"bank", "insurer", "telco"}
	for text, want := range map[string]joint.ClassName{
		"positive = \"bad\"\n": "bad", "positive = 1\n": "1", "positive = -1\nclasses = 2\n": "-1", "positive = 1.0\n": "1",
		"positive = \"+1\"\n": "+1", "positive = true\n": "true", "": "",
	} {
		p, err := ParseParams([]byte(roles+text), parties)
		if err != nil || p.Positive != want || p.ChoosesEvent() != (want == "") {
			t.Errorf("%s: positive is %q, %v, want %q", text, p.Positive, err, want)
		}
	}
	for text, want := range map[string]string{
		"positive = \"\"\n": "positive is empty, want the class that is the event, or leave it out",
		"positive = [\"bad\"]\n": "parameters: line 3: positive is of type []interface {}, want a class of the label, as " +
			"its column has it",
		"positive = \"bad\"\ntarget = \"regression\"\n": "positive is \"bad\" and target \"regression\": numbers have no " +
			"event; leave one of the two out",
		"positive = \"bad\"\nclasses = 3\n": "positive is \"bad\" with 3 classes: it says which of two is the event; leave " +
			"it out",
		"positive = \"b\\nd\"\n": "positive is \"b\\nd\", want at most 256 bytes without control characters",
	} {
		_, err := ParseParams([]byte(roles+text), parties)
		wantError(t, err, want)
	}
}

// TestWhoChoosesTheEvent: one label holder for itself, and nobody where others are to read the same numbers.
func TestWhoChoosesTheEvent(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want bool
	}{
		{Params{Active: []string{"bank"}}, true},
		{Params{Active: []string{"bank", "telco"}}, false},
		{Params{Active: []string{"bank"}, Classes: 3}, false},
		{Params{Active: []string{"bank"}, Target: joint.Regression}, false},
		{Params{Active: []string{"bank"}, Positive: "bad"}, false},
		{Params{Active: []string{"bank"}, BinParams: BinParams{Bins: 5, Points: "bank", ZScores: "bank"}}, true},
		{Params{Active: []string{"bank"}, BinParams: BinParams{Bins: 5, Points: ToOwners}}, false},
		{Params{Active: []string{"bank"}, BinParams: BinParams{Bins: 5, ZScores: "telco"}}, false},
	} {
		if got := c.p.ChoosesEvent(); got != c.want {
			t.Errorf("%+v: the label holder chooses: %v, want %v", c.p, got, c.want)
		}
	}
}

// TestClassesHoweverWritten finds a class of a label by its text, or its number.
func TestClassesHoweverWritten(t *testing.T) {
	for _, c := range []struct {
		written joint.ClassName
		classes []string
		want    int
	}{
		{"bad", []string{"bad", "good"}, 0}, {"Bad", []string{"bad", "good"}, -1}, {"+1", []string{"-1", "1"}, 1},
		{"1.0", []string{"0", "1"}, 1}, {"1", []string{"01", "1"}, 1}, {"01", []string{"01", "1"}, 0},
		{"nan", []string{"NaN", "1"}, -1}, {"", []string{"", "x"}, 0},
	} {
		if got := c.written.In(c.classes); got != c.want {
			t.Errorf("%q among %q is in place %d, want %d", c.written, c.classes, got, c.want)
		}
	}
}

// TestADescriptionKeepsTheEvent refuses a leader that tells the classes in another order than the job says.
func TestADescriptionKeepsTheEvent(t *testing.T) {
	p := Params{Active: []string{"bank"}, Label: "y", Positive: "1"}.WithDefaults()
	for _, c := range []struct {
		classes []string
		want    string
	}{
		{[]string{"0", "1"}, "<nil>"}, {[]string{"0", "1.0"}, "<nil>"},
		{[]string{"1", "0"}, `the second class is "0", and the job says that the event is "1"`},
	} {
		wantError(t, description{Scale: 1, Classes: c.classes}.validate(p), c.want)
	}
	for _, positive := range []joint.ClassName{"0", "1", "bad"} {
		p.Positive = positive
		if err := blankDescription(p).validate(p); err != nil {
			t.Errorf("the description by which messages are counted: %v", err)
		}
	}
}

// TestTurnedModels reads scores the other way round, and is refused where a job leaves no choice.
func TestTurnedModels(t *testing.T) {
	m := &Model{Params: Params{Active: []string{"bank"}}, Classes: []string{"bad", "good"}}
	scores := []float64{1.5, -2, 0, math.NaN()}
	read := m.Model()
	if read.Turn(scores); read.Event() != "good" || scores[0] != 1.5 {
		t.Errorf("the event is %q, scores %v", read.Event(), scores)
	}
	m.Turned = true
	read = m.Model()
	read.Turn(scores)
	if read.Sides() != [2]string{"good", "bad"} || read.Event() != "bad" ||
		!slices.Equal(scores[:3], []float64{-1.5, 2, 0}) || math.Signbit(scores[2]) || !math.IsNaN(scores[3]) {
		t.Errorf("turned, the sides are %q and scores %v", read.Sides(), scores)
	}
	if err := m.validateTurned(); err != nil {
		t.Error(err)
	}
	m.Params.Positive = "good"
	wantError(t, m.validateTurned(), "scores are read the other way round, and the job leaves no choice of the event")
}
