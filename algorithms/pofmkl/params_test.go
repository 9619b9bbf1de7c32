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
		{roles + "features = 65536\n", "features is 65536 with 51 kernels, which makes 6684672 words of theta, want at most 4194304"},
		{roles + "chosen = 0\n", "chosen is 0, want 1 to 4096"},
		{roles + "chosen = -1\n", "chosen is -1, want 1 to 4096"},
		{roles + "chosen = 52\n", "chosen is 52, want 1 to 51, the number of kernels"},
		{roles + "bandwidths = [1, 2]\nchosen = 3\n", "chosen is 3, want 1 to 2, the number of kernels"},
		{roles + "bandwidths = []\n", "bandwidths has 0 numbers, want 1 to 4096"},
		{roles + "bandwidths = [1, 0]\n", "bandwidth 2 is 0, want a positive number"},
		{roles + "bandwidths = [nan]\n", "bandwidth 1 is NaN, want a positive number"},
		{roles + "bandwidths = [1e-20]\n", "bandwidth 1 is 1e-20: kernel width sigma is 1e-10: it must lie in [1e-06, 1e+09]"},
		{roles + "explore = 0\n", "explore is 0, want a number above 0 and at most 1"},
		{roles + "explore = -0.1\n", "explore is -0.1, want a number above 0 and at most 1"},
		{roles + "explore = 1.5\n", "explore is 1.5, want a number above 0 and at most 1"},
		{roles + "explore = nan\n", "explore is NaN, want a number above 0 and at most 1"},
		{roles + "explore = 1e-12\n", "an update's elements may reach 9.12e+11, want at most 16777216: lower step, clip or rounds_per_upload, or raise explore or chosen"},
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
		{roles + "label_low = -1e308\nlabel_high = 1e308\n", "label_high is 1e+308, want a finite number above label_low, which is -1e+308"},
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
	want := Params{Server: "hub", Label: "y", Bandwidths: Dictionary51(), Features: 100, Chosen: 1, Explore: 1, Rounds: 100,
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
	f.Add("explore = -inf\nstep = 0x10\n[server]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParams([]byte(text), parties())
		if err != nil {
			return
		}
		if err := p.Validate(parties()); err != nil {
			t.Fatal(err)
		}
	})
}
