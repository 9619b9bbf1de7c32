package pofmkl

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// parties are those of a job in these tests.
func parties() []string { return []string{"hub", "north", "south"} }

// TestBadParameters has every way to write a job's parameters wrongly.
func TestBadParameters(t *testing.T) {
	const roles = "server = \"hub\"\nlabel = \"y\"\n"
	for _, c := range []struct{ text, want string }{
		{roles + "kernals = 12\n", `parameters: line 3: unknown key "kernals"`},
		{roles + "features = 1e3\n", `parameters: line 3: features: want an integer, got a number`},
		{roles + "features = 0\n", "features is 0, want 1 to 65536"},
		{roles + "features = -3\n", "features is -3, want 1 to 65536"},
		{roles + "features = 65536\n", "features is 65536 with 51 kernels, which makes 6684672 words of theta, want at " +
			"most 4194304"},
		{roles + "chosen = 0\n", "chosen is 0, want 1 to 4096"},
		{roles + "chosen = -1\n", "chosen is -1, want 1 to 4096"},
		{roles + "chosen = 52\n", "chosen is 52, want 1 to 51, the number of kernels"},
		{roles + "bandwidths = [1, 2]\nchosen = 3\n", "chosen is 3, want 1 to 2, the number of kernels"},
		{roles + "bandwidths = []\n", "bandwidths has 0 numbers, want 1 to 4096"},
		{roles + "bandwidths = [1, 0]\n", "bandwidth 2 is 0, want a positive number"},
		{roles + "bandwidths = [nan]\n", "bandwidth 1 is NaN, want a positive number"},
		{roles + "bandwidths = [1e-20]\n",
			"bandwidth 1 is 1e-20: kernel width sigma is 1e-10: it must lie in [1e-06, 1e+09]"},
		{roles + "explore = 0\n", "explore is 0, want a number above 0 and at most 1"},
		{roles + "explore = -0.1\n", "explore is -0.1, want a number above 0 and at most 1"},
		{roles + "explore = 1.5\n", "explore is 1.5, want a number above 0 and at most 1"},
		{roles + "explore = nan\n", "explore is NaN, want a number above 0 and at most 1"},
		{roles + "explore = 1e-12\n", "an update's elements may reach 9.12e+11, want at most 16777216: lower step, clip " +
			"or rounds_per_upload, or raise explore or chosen"},
		{roles + "explores = { north = 0.5, south = 0 }\n", `explores of "south" is 0, want a number above 0 and at most 1`},
		{roles + "explores = { hub = 0.5 }\n", `explores names "hub", which is not among the job's clients`},
		{roles + "explores = { west = 0.5 }\n", `explores names "west", which is not among the job's clients`},
		{roles + "explores = { north = 1e-12 }\n", "an update's elements may reach 9.12e+11, want at most 16777216: " +
			"lower step, clip or rounds_per_upload, or raise explore or chosen"},
		{roles + "weight_steps = { west = 0.5 }\n", `weight_steps names "west", which is not among the job's clients`},
		{roles + "weight_steps = { hub = 0.5 }\n", `weight_steps names "hub", which is not among the job's clients`},
		{roles + "weight_steps = { south = nan, north = -1 }\n", `weight_steps of "north" is -1, want a positive number`},
		{roles + "weight_steps = { south = 1e308 }\n", `weight_steps of "south" is 1e+308, want a positive number of at most 1e+06`},
		{roles + "weight_steps = [0.5]\n", `weight_steps: want a table, got a list`},
		{roles + "common_bin = 1\n", `common_bin: want true or false, got an integer`},
		{roles + "common_bin = true\nexplore = 0.5\n", "common_bin draws all bins with equal probability, which leaves " +
			"nothing to explore: leave out explore and explores, or common_bin"},
		{roles + "common_bin = true\nexplores = { north = 0.5 }\n",
			"common_bin draws all bins with equal probability, which leaves nothing to explore: leave out explore and " +
				"explores, or common_bin"},
		{roles + "step = 0\n", "step is 0, want a positive number"},
		{roles + "step = -1\n", "step is -1, want a positive number"},
		{roles + "step = inf\n", "step is +Inf, want a positive number"},
		{roles + "weight_step = 0.0\n", "weight_step is 0, want a positive number"},
		{roles + "clip = 0\n", "clip is 0, want a positive number"},
		{roles + "input_norm = -1\n", "input_norm is -1, want a positive number"},
		{roles + "lambda = -1\n", "lambda is -1, want 0 or a positive number"},
		{roles + "lambda = nan\n", "lambda is NaN, want 0 or a positive number"},
		{roles + "rounds = 0\n", "rounds is 0, want 1 to 16777216"},
		{roles + "rounds_per_upload = 0\n", "rounds_per_upload is 0, want 1 to 65536"},
		{roles + "label_low = 0\nlabel_high = 0\n", "label_high is 0, want a finite number above label_low, which is 0"},
		{roles + "label_low = 3\n", "label_high is 0, want a finite number above label_low, which is 3"},
		{roles + "label_low = nan\n", "label_low is NaN, want a finite number"},
		{roles + "label_low = -1e308\nlabel_high = 1e308\n", "label_high is 1e+308, want a finite number above " +
			"label_low, which is -1e+308"},
		{"server = \"hub\"\n", "label is missing, want the name of the label's column at the clients"},
		{"label = \"y\"\n", `server is "", which is not among the job's parties`},
		{"server = \"west\"\nlabel = \"y\"\n", `server is "west", which is not among the job's parties`},
	} {
		p, err := ParseParams([]byte(c.text), parties())
		wantError(t, err, c.want)
		if !reflect.DeepEqual(p, Params{}) {
			t.Errorf("%q: a partial result is kept: %+v", c.text, p)
		}
	}
	_, err := ParseParams([]byte(roles), []string{"hub"})
	wantError(t, err, `server "hub" has no clients, want at least one other party`)
}

// TestDefaults fills in what a job leaves out.
func TestDefaults(t *testing.T) {
	p, err := ParamsOf(map[string]any{"server": "hub", "label": "y", "rounds": 100}, parties())
	mustDo(t, err)
	want := Params{Server: "hub", Label: "y", Bandwidths: Dictionary51(), Features: 100, Chosen: 1, Explore: 1,
		Rounds:          100,
		RoundsPerUpload: 1, Step: 0.1, WeightStep: 0.1, Clip: 4, InputNorm: 1, LabelHigh: 1}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("parameters\n%+v, want\n%+v", p, want)
	}
	if again := p.WithDefaults(); !reflect.DeepEqual(again, p) {
		t.Errorf("the defaults of defaults are others: %+v", again)
	}
	var text bytes.Buffer
	mustDo(t, toml.NewEncoder(&text).Encode(p))
	again, err := ParseParams([]byte(strings.ReplaceAll(text.String(), "label_low = 0.0\n", "")), parties())
	if err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("written and read again: error %v, parameters %+v", err, again)
	}
	negative, err := ParseParams([]byte("server = \"hub\"\nlabel = \"y\"\nlabel_low = -5\n"), parties())
	if err != nil || negative.LabelLow != -5 || negative.LabelHigh != 0 {
		t.Errorf("labels from -5 to 0: error %v, parameters %+v", err, negative)
	}
}

// TestValuesByName: who has none of its own has the others'. The bound on updates is that of the client that explores
// least.
func TestValuesByName(t *testing.T) {
	p, err := ParseParams([]byte("server = \"hub\"\nlabel = \"y\"\nexplore = 0.8\nweight_step = 0.5\n"+
		"weight_steps = { south = 0.1 }\nexplores = { north = 0.2 }\n"), parties())
	mustDo(t, err)
	if p.WeightStepOf("north") != 0.5 || p.WeightStepOf("south") != 0.1 || p.ExploreOf("north") != 0.2 ||
		p.ExploreOf("south") != 0.8 {
		t.Errorf("north has %v and %v, south %v and %v", p.WeightStepOf("north"), p.ExploreOf("north"),
			p.WeightStepOf("south"), p.ExploreOf("south"))
	}
	all := p
	all.Explore, all.Explores = 0.2, nil
	if p.SumBound() != all.SumBound() {
		t.Errorf("the bound is %v, want %v", p.SumBound(), all.SumBound())
	}
}

// TestStepsOfCommonBins are the paper's where these are small enough.
func TestStepsOfCommonBins(t *testing.T) {
	for chosen, want := range map[int]float64{1: 0.5 / 51, 10: 0.5 / 6 / 2, 51: 1 / math.Sqrt(500)} {
		p := Params{CommonBin: true, Chosen: chosen}
		if chosen == 10 {
			p.RoundsPerUpload = 2
		}
		if got := p.WithDefaults().Step; math.Abs(got-want) > 1e-15 {
			t.Errorf("chosen %d: step %v, want %v", chosen, got, want)
		}
	}
}

// TestDictionary51IsThePapers checks the ends, the middle and the step.
func TestDictionary51IsThePapers(t *testing.T) {
	s := Dictionary51()
	if len(s) != 51 || math.Abs(s[0]-0.01) > 1e-15 || s[25] != 1 || math.Abs(s[50]-100) > 1e-12 {
		t.Errorf("bandwidths run from %v over %v to %v", s[0], s[25], s[len(s)-1])
	}
}

// FuzzParseParams never panics, and what it lets through is valid.
func FuzzParseParams(f *testing.F) {
	f.Add("server = \"hub\"\nlabel = \"y\"\nfeatures = 12\nexplore = 0.5\n")
	f.Add("server = \"hub\"\nlabel = \"y\"\nbandwidths = [1, 2, 3]\nchosen = 2\nrounds_per_upload = 5\nlabel_low = -3")
	f.Add("server = \"hub\"\nlabel = \"y\"\ncommon_bin = true\nweight_steps = { north = 0.2 }\n")
	f.Add("explore = -inf\nstep = 0x10\n[server]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParams([]byte(text), parties())
		if err != nil {
			return
		}
		mustDo(t, p.Validate(parties()))
	})
}
