package parameters

import (
	"fmt"
	"math"
	"testing"
)

// wantError wants an error of this text; "<nil>" is none.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}

// job is parameters.
type job struct {
	Rounds int     `toml:"rounds"`
	Step   float64 `toml:"step"`
	Name   string  `toml:"name"`
}

// parse reads a job whose rounds are 7 and whose name is that of the last party, if it does not say.
func parse(text []byte, parties []string) (job, error) {
	return Parse(text, Steps[job]{
		Start: job{Step: 0.5},
		Written: func(p job, written func(...string) bool) error {
			return Check([]Rule{Whole("rounds", p.Rounds, 10), Real("step", p.Step)}, written)
		},
		Complete: func(p job) job {
			if p.Rounds == 0 {
				p.Rounds = 7
			}
			if p.Name == "" {
				p.Name = parties[len(parties)-1]
			}
			return p
		},
		Validate: func(p job) error {
			if p.Name == "nobody" {
				return fmt.Errorf("name is %q", p.Name)
			}
			return nil
		},
	})
}

// TestParametersAreRead in order: strictly, what is written, the defaults, all of it.
func TestParametersAreRead(t *testing.T) {
	for text, c := range map[string]struct {
		want job
		err  string
	}{
		"":                              {job{7, 0.5, "b"}, "<nil>"},
		"rounds = 3\nstep = 2":          {job{3, 2, "b"}, "<nil>"},
		"rounds = 0":                    {job{}, "rounds is 0, want 1 to 10"},
		"rounds = 11":                   {job{}, "rounds is 11, want 1 to 10"},
		"step = 0":                      {job{}, "step is 0, want a positive number"},
		"step = nan\nrounds = -1":       {job{}, "rounds is -1, want 1 to 10"},
		"name = \"nobody\"":             {job{}, `name is "nobody"`},
		"colour = 1\nname = \"nobody\"": {job{}, `parameters: line 1: unknown key "colour"`},
	} {
		got, err := parse([]byte(text), []string{"a", "b"})
		wantError(t, err, c.err)
		if got != c.want {
			t.Errorf("%q: parameters %+v, want %+v", text, got, c.want)
		}
	}
	got, err := Of(map[string]any{"rounds": 3, "name": "c"}, []string{"a"}, parse)
	if want := (job{3, 0.5, "c"}); err != nil || got != want {
		t.Errorf("of a table: error %v, parameters %+v, want %+v", err, got, want)
	}
	if _, err := Of(map[string]any{"rounds": make(chan int)}, []string{"a"}, parse); err == nil {
		t.Error("a table of a channel is read")
	}
}

// TestNumbersOutOfRange, of all and of those that are written.
func TestNumbersOutOfRange(t *testing.T) {
	rules := []Rule{Real("good", 1), Whole("least", 1, 1), Real("endless", math.Inf(1)), Whole("less", 0, 3)}
	wantError(t, Check(rules, nil), "endless is +Inf, want a positive number")
	wantError(t, Check(rules, func(key ...string) bool { return key[0] != "endless" }), "less is 0, want 1 to 3")
	wantError(t, Check(rules, func(...string) bool { return false }), "<nil>")
	wantError(t, Positive("p", math.NaN()), "p is NaN, want a positive number")
}

func TestRangesOfLabels(t *testing.T) {
	none := func(...string) bool { return false }
	low := func(key ...string) bool { return key[0] == "label_low" }
	all := func(...string) bool { return true }
	for _, c := range []struct {
		low, high float64
		written   func(...string) bool
		want      string
	}{
		{0, 0, none, "<nil>"},
		{0, 0, low, "<nil>"},
		{0, 0, all, "label_high is 0, want a finite number above label_low, which is 0"},
		{-5, 0, low, "<nil>"},
		{5, 0, low, "label_high is 0, want a finite number above label_low, which is 5"},
		{math.NaN(), 1, low, "label_low is NaN, want a finite number"},
		{-math.MaxFloat64, math.MaxFloat64, all, fmt.Sprintf("label_high is %v, want a finite number above label_low, "+
			"which is %v", math.MaxFloat64, -math.MaxFloat64)},
		{1, 2, all, "<nil>"},
	} {
		wantError(t, LabelRangeWritten(c.low, c.high, c.written), c.want)
	}
}

// TestValuesByName: an error is of the first name that breaks the rule, and names are those of clients.
func TestValuesByName(t *testing.T) {
	own := map[string]float64{"north": 2, "south": -1, "west": 0}
	wantError(t, EachOf("steps", own, Positive), `steps of "south" is -1, want a positive number`)
	wantError(t, EachOf("steps", map[string]float64{"north": 2}, Positive), "<nil>")
	wantError(t, OfClients("steps", own, []string{"hub", "north", "south"}, "hub"),
		`steps names "west", which is not among the job's clients`)
	wantError(t, OfClients("steps", own, []string{"north", "south", "west"}, "north", "south"),
		`steps names "north", which is not among the job's clients`)
	wantError(t, OfClients("steps", own, []string{"north", "south", "west"}), "<nil>")
	if ValueOf("north", own, 7) != 2 || ValueOf("west", own, 7) != 0 || ValueOf("east", own, 7) != 7 {
		t.Errorf("values %v, %v and %v", ValueOf("north", own, 7), ValueOf("west", own, 7), ValueOf("east", own, 7))
	}
}
