package ofmsft

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// parties are the members of the jobs in these tests.
func parties() []string { return []string{"hub", "ann", "bob", "cem"} }

// jobText is a job's parameters, models last.
func jobText(lines ...string) string {
	text := "server = \"hub\"\nlabel = \"y\"\ninputs = 3\nbudget = 2\n" + strings.Join(lines, "\n") + "\n"
	for k, size := range []int{50, 100, 80} {
		text += fmt.Sprintf("[[models]]\nname = \"m%d\"\nsize = %d\nhash = %q\n", k+1, size,
			strings.Repeat(fmt.Sprintf("%02x", k+1), 32))
	}
	return text
}

// TestDefaultsAreThePapers parses what a job has to say.
func TestDefaultsAreThePapers(t *testing.T) {
	p, err := ParseParams([]byte(jobText()), parties())
	mustDo(t, err)
	if p.Rounds != 200 || p.Rate != 10/math.Sqrt(200) || p.Step != 1e-3/math.Sqrt(200) || p.Bandwidth != 3 ||
		p.Update != UpdateEquation11 || p.Clip != 1 || p.Window != 1 || p.RoundsPerUpload != 1 || p.MaxImportance != 0 ||
		p.WarmUp != 0 {
		t.Errorf("parameters %+v", p)
	}
	if p.Models[0].Cost != 0.5 || p.Models[1].Cost != 1 || p.Models[2].Bandwidth != 0.8 || p.Words() != 230 ||
		p.Uploads() != 200 {
		t.Errorf("models %+v, %d words", p.Models, p.Words())
	}
	if again := p.WithDefaults(3); !reflect.DeepEqual(again, p) {
		t.Errorf("the defaults of defaults are others: %+v", again)
	}
	var text bytes.Buffer
	mustDo(t, toml.NewEncoder(&text).Encode(p))
	again, err := ParseParams([]byte(strings.ReplaceAll(text.String(), "label_low = 0.0\n", "")), parties())
	if err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("written and read again: error %v, parameters %+v", err, again)
	}
	table := map[string]any{}
	mustDo(t, toml.Unmarshal([]byte(jobText()), &table))
	again, err = ParamsOf(table, parties())
	if err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("of a table: error %v, parameters %+v", err, again)
	}
}

// TestDefaultBandwidths are half of all budgets, but enough for a client.
func TestDefaultBandwidths(t *testing.T) {
	for text, want := range map[string]float64{
		"budgets = { ann = 6, bob = 2 }": 6,    // half is 5
		"budgets = { ann = 6, bob = 8 }": 8,    // half is 8
		"broadcast = true":               3.45, // half of three times 2.3
	} {
		p, err := ParseParams([]byte(jobText(text)), parties())
		mustDo(t, err)
		near(t, text, p.Bandwidth, want, 1e-12)
	}
	p, err := ParseParams([]byte(jobText()), parties()[:2])
	mustDo(t, err)
	if p.Bandwidth != 2 {
		t.Errorf("one client has bandwidth %v, want its budget", p.Bandwidth)
	}
}

// TestRatesByName: who has none of its own has the others'.
func TestRatesByName(t *testing.T) {
	p, err := ParseParams([]byte(jobText("rate = 0.5", "rates = { bob = 0.1 }")), parties())
	mustDo(t, err)
	if p.RateOf("ann") != 0.5 || p.RateOf("bob") != 0.1 {
		t.Errorf("rates %v and %v", p.RateOf("ann"), p.RateOf("bob"))
	}
}

// TestRoundsAreCut has rounds that are no multiple of rounds_per_upload.
func TestRoundsAreCut(t *testing.T) {
	p, err := ParseParams([]byte(jobText("rounds = 10", "rounds_per_upload = 4", "warm_up = 4")), parties())
	mustDo(t, err)
	if p.Uploads() != 3 || p.RoundsOf(0) != 4 || p.RoundsOf(2) != 2 || p.Tunes(0) || !p.Tunes(1) {
		t.Errorf("%d uploads of %d and %d rounds; tunes %v, %v", p.Uploads(), p.RoundsOf(0), p.RoundsOf(2), p.Tunes(0),
			p.Tunes(1))
	}
}

// TestBadParameters are refused by rule and value.
func TestBadParameters(t *testing.T) {
	model := "[[models]]\nname = \"m4\"\nsize = 3\nhash = \"" + strings.Repeat("aa", 32) + "\"\n"
	for _, c := range []struct{ text, want string }{
		{jobText("colour = 1"), `unknown key "colour"`},
		{strings.Replace(jobText(), "hub", "eve", 1), `server is "eve", which is not among the job's parties`},
		{strings.Replace(jobText(), "label = \"y\"\n", "", 1), "label is missing"},
		{strings.Replace(jobText(), "inputs = 3", "inputs = 0", 1), "inputs is 0, want 1 to 1048576"},
		{strings.Replace(jobText(), "budget = 2\n", "", 1), "budget is 0, want a positive number"},
		{strings.Replace(jobText(), "budget = 2\n", "budget = 0\n", 1), "budget is 0, want a positive number"},
		{strings.Replace(jobText(), "budget = 2\n", "budget = 1.7\n", 1), `budget is 1.7, want at least 1.8, the costs of models "m2" and "m3" together`},
		{jobText("budgets = { bob = 1.5 }"), `client "bob": budget is 1.5, want at least 1.8, the costs of models "m2" and "m3" together`},
		{jobText("budgets = { eve = 3 }"), `budgets names "eve", which is not among the job's clients`},
		{jobText("budgets = { hub = 3 }"), `budgets names "hub", which is not among the job's clients`},
		{jobText("bandwidth = 1.7"), "bandwidth is 1.7, want at least 1.8, which the networks of one client with budget " +
			"2 may need"},
		{jobText("bandwidth = 0"), "bandwidth is 0, want a positive number"},
		{jobText("broadcast = true", "bandwidth = 2"), "bandwidth is 2, want at least 2.3, which the networks of one " +
			"client with budget 2 may need"},
		{jobText("update = \"in-place\""), `update is "in-place", which is for one process, want "equation-11" or "none"`},
		{jobText("update = \"mean\""), `update is "mean", want "equation-11" or "none"`},
		{jobText("classes = 1"), "classes is 1, want 2 to 1048576, or 0 where the networks predict a number"},
		{jobText("rounds = 0"), "rounds is 0, want 1 to 16777216"},
		{jobText("rounds_per_upload = 5000"), "rounds_per_upload is 5000, want 1 to 4096"},
		{jobText("window = -1"), "window is -1, want 1 to 4096"},
		{strings.Replace(jobText("window = 4096"), "inputs = 3", "inputs = 1000000", 1),
			"which makes 4096 rows of 1000000 inputs, want at most 67108864 numbers"},
		{jobText("warm_up = -1"), "warm_up is -1, want 0 to 16777216"},
		{jobText("max_importance = -2.0"), "max_importance is -2, want a positive number, or 0 for no cap"},
		{jobText("max_importance = nan"), "max_importance is NaN"},
		{jobText("rate = 0"), "rate is 0, want a positive number"},
		{jobText("rates = { eve = 0.3 }"), `rates names "eve", which is not among the job's clients`},
		{jobText("rates = { hub = 0.3 }"), `rates names "hub", which is not among the job's clients`},
		{jobText("rates = { ann = 0.3, bob = 0 }"), `rates of "bob" is 0, want a positive number`},
		{jobText("rates = { cem = inf, bob = nan }"), `rates of "bob" is NaN, want a positive number`},
		{jobText("rates = 3"), `rates: want a table, got an integer`},
		{jobText("step = inf"), "step is +Inf, want a positive number"},
		{jobText("clip = 1e9"), "clip is 1e+09, want at most 16777216"},
		{jobText("input_norm = -1"), "input_norm is -1, want a positive number"},
		{jobText("label_low = 2"), "label_high is 0, want a finite number above label_low, which is 2"},
		{jobText("label_low = nan"), "label_low is NaN, want a finite number"},
		{jobText() + strings.Replace(model, "m4", "m1", 1), `model "m1" occurs twice`},
		{jobText() + strings.Replace(model, "m4", "", 1), "model 4 has a name of 0 bytes, want 1 to 100"},
		{jobText() + strings.Replace(model, "size = 3", "size = 0", 1), `size of model "m4" is 0, want 1 to 67108864`},
		{jobText() + strings.Replace(model, "hash", "cost = 0\nhash", 1), "cost of model 4 is 0, want a positive number"},
		{jobText() + strings.Replace(model, "hash", "bandwidth = 0.0\nhash", 1),
			"bandwidth of model 4 is 0, want a positive number"},
		{jobText() + strings.Replace(model, "hash", "cost = nan\nhash", 1),
			`cost of model "m4" is NaN, want a positive number`},
		{jobText() + strings.Replace(model, "aa", "", 32), "malformed hash"},
		{jobText() + "[[models]]\nname = \"m4\"\nsize = 3\n", `model "m4" has no hash, want that of its network`},
		{"server = \"hub\"\nlabel = \"y\"\ninputs = 3\nbudget = 2\n", "there are 0 models, want 1 to 1024"},
	} {
		_, err := ParseParams([]byte(c.text), parties())
		wantError(t, err, c.want)
	}
	_, err := ParseParams([]byte(jobText()), parties()[:1])
	wantError(t, err, `server "hub" has no clients, want at least one other party`)
}

// TestTooManyBudgetsAreRefused gives every client another one.
func TestTooManyBudgetsAreRefused(t *testing.T) {
	p, err := ParseParams([]byte(jobText()), parties())
	mustDo(t, err)
	p.Budgets = map[string]float64{}
	for i := range 70 {
		p.Budgets[fmt.Sprintf("c%02d", i)] = 2 + float64(i+1)/100
	}
	wantError(t, p.ValidateNumbers(), "the clients have more than 64 different budgets")
}

// FuzzParseParams never panics, and what it lets through is valid.
func FuzzParseParams(f *testing.F) {
	f.Add(jobText("window = 3", "warm_up = 5"))
	f.Add(jobText("budgets = { ann = 6, bob = 2 }", "broadcast = true", "classes = 10"))
	f.Add("budget = -inf\nmodels = 3\n[server]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParams([]byte(text), parties())
		if err != nil {
			return
		}
		mustDo(t, p.Validate(parties()))
	})
}
