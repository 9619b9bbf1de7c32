package fdskl

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/joint"
)

// TestBadParameters has every way to write a job's parameters wrongly.
func TestBadParameters(t *testing.T) {
	const roles = "active = [\"bank\"]\nlabel = \"y\"\n"
	const stochastic = roles + "schedule = \"doubly-stochastic\"\n"
	for _, c := range []struct{ text, want string }{
		{roles + "featuers = 12\n", `parameters: line 3: unknown key "featuers"; did you mean "features"?`},
		{roles + "features = 1e3\n", `parameters: line 3: features: want an integer, got a number`},
		{roles + "features = 0\n", "features is 0, want 1 to 1048576"},
		{roles + "features = -3\n", "features is -3, want 1 to 1048576"},
		{roles + "features = 1000000000\n", "features is 1000000000, want 1 to 1048576"},
		{roles + "iterations = 0\n", "iterations is 0, want 1 to 1048576"},
		{roles + "iterations = -1\n", "iterations is -1, want 1 to 1048576"},
		{roles + "batch = 0\n", "batch is 0, want 1 to 65536"},
		{stochastic + "batch = 65537\n", "batch is 65537, want 1 to 65536"},
		{stochastic + "block_features = 0\n", "block_features is 0, want 1 to 1048576"},
		{stochastic + "block_features = 1048577\n", "block_features is 1048577, want 1 to 1048576"},
		{stochastic + "iterations = 1048576\n", "features is 16777216, want iterations times block_features, which is " +
			"16777216, and at most 1048576"},
		{stochastic + "iterations = 10\nfeatures = 1000\n", "features is 1000, want iterations times block_features, " +
			"which is 160: give one of features and iterations"},
		{roles + "lambda = 0.0\n", `parameters: line 3: lambda is 0, want a positive number or "auto"`},
		{roles + "lambda = -1\n", `parameters: line 3: lambda is -1, want a positive number or "auto"`},
		{roles + "lambda = nan\n", `parameters: line 3: lambda is NaN, want a positive number or "auto"`},
		{roles + "lambda = inf\n", `parameters: line 3: lambda is +Inf, want a positive number or "auto"`},
		{stochastic + "step = 0\n", "step is 0, want a positive number"},
		{stochastic + "step = nan\n", "step is NaN, want a positive number"},
		{stochastic + "step = 2\nlambda = 0.5\n", "step is 2, want a positive number below 1/lambda = 2"},
		{roles + "sigma = -2.5\n", "sigma is -2.5, want a positive number, or none for the median heuristic"},
		{roles + "sigma = 0\n", "sigma is 0, want a positive number, or none for the median heuristic"},
		{roles + "sigma = nan\n", "sigma is NaN, want a positive number, or none for the median heuristic"},
		{roles + "sigma = 1e-7\n", "kernel width sigma is 1e-07: it must lie in [1e-06, 1e+09]"},
		{roles + "target = \"ranking\"\n", `target is "ranking", want "classification" or "regression"`},
		{roles + "schedule = \"fast\"\n", `schedule is "fast", want "fixed" or "doubly-stochastic"`},
		{roles + "loss = \"hinge\"\n", `unknown loss "hinge": it must be one of square, logistic, smooth-hinge`},
		{roles + "target = \"regression\"\nloss = \"logistic\"\n", `loss "logistic" is for two classes, want "square" for a regression target`},
		{roles + "target = \"regression\"\nloss = \"smooth-hinge\"\n", `loss "smooth-hinge" is for two classes, want "square" for a regression target`},
		{roles + "kernel = \"linear\"\n", `unknown kernel "linear": it must be one of gaussian, laplace, matern32, matern52`},
		{roles + "scale = \"log\"\n", `scale is "log", want "auto", "minmax", "standard" or "rank"`},
		{roles + "constant = \"keep\"\n", `constant is "keep", want "refuse" or "drop"`},
		{roles + "loss = \"square\"\nfeatures = 20000\n", "features is 20000, want at most 16384 for the square loss, " +
			"which is solved in closed form"},
		{"label = \"y\"\n", "active is empty, want the names of the parties that hold labels"},
		{"active = [\"bank\"]\n", "label is missing, want the name of the label's column at bank"},
		{"active = [\"shop\"]\nlabel = \"y\"\n", `active party "shop" is not among the job's parties`},
		{"active = [\"bank\", \"bank\"]\nlabel = \"y\"\n", `active names "bank" twice`},
		{"active = [\"bank\", \"telco\"]\nlabel = \"y\"\nfeatures = 2\n",
			"features is 2, want at least two for each of the 2 active parties"},
		{roles + "ring = 0\n", "ring is 0, want 32, 48 or 64"},
		{roles + "ring = \"auto\"\n", "parameters: line 3: ring: want an integer, got a string"},
		{roles + "score_bits = 0\n", "score_bits is 0, want 1 to 16"},
		{roles + "score_range = 0\n", "score_range is 0, want a power of two from 4 to 1024"},
		{roles + "outer = 0\n", "outer is 0, want 1 or more"},
		{roles + "bins = 5\nloss = \"logistic\"\nouter = 0\n", "outer is 0, want 1 or more"},
		{roles + "features = 33\n", "features is 33, want an even number: they are cosine and sine of half as many angles"},
	} {
		p, err := ParseParams([]byte(c.text), []string{"bank", "insurer", "telco"})
		wantError(t, err, c.want)
		if !reflect.DeepEqual(p, Params{}) {
			t.Errorf("%q: a partial result is kept: %+v", c.text, p)
		}
	}
}

// TestDefaults fills in what a job leaves out.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		text string
		want Params
	}{
		{"", Params{Target: joint.Classification, Schedule: Fixed, Loss: "logistic", Features: 1024, Iterations: 300}},
		{"target = \"regression\"\nfeatures = 8", Params{Target: "regression", Schedule: Fixed, Loss: "square", Features: 8,
			Iterations: 300}},
		{"schedule = \"doubly-stochastic\"", Params{Target: "classification", Schedule: DoublyStochastic, Loss: "logistic",
			Features: 3200, Iterations: 200, Batch: 64, BlockFeatures: 16, Step: 1}},
		{"schedule = \"doubly-stochastic\"\nfeatures = 100\nbatch = 2",
			Params{Target: joint.Classification, Schedule: DoublyStochastic, Loss: "logistic", Features: 112, Iterations: 7,
				Batch: 2, BlockFeatures: 16, Step: 1}},
		{"schedule = \"doubly-stochastic\"\nfeatures = 30\niterations = 10\nblock_features = 3",
			Params{Target: joint.Classification, Schedule: DoublyStochastic, Loss: "logistic", Features: 30, Iterations: 10,
				Batch: 64, BlockFeatures: 3, Step: 1}},
	} {
		got, err := ParseParams([]byte("active = [\"a\"]\nlabel = \"y\"\n"+c.text), []string{"a", "b"})
		c.want.Active, c.want.Label, c.want.Kernel, c.want.Scale, c.want.Constant = []string{"a"}, "y", "gaussian",
			"auto", "drop"
		if c.want.Schedule == DoublyStochastic {
			c.want.Lambda = DefaultLambda
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: error %v, parameters\n%+v, want\n%+v", c.text, err, got, c.want)
		}
		if again := got.WithDefaults(); !reflect.DeepEqual(again, got) {
			t.Errorf("%q: the defaults of defaults are others: %+v", c.text, again)
		}
		var text bytes.Buffer
		mustDo(t, toml.NewEncoder(&text).Encode(got))
		if again, err := ParseParams(text.Bytes(), []string{"a", "b"}); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q written and read again: error %v, parameters %+v", c.text, err, again)
		}
	}
}

// FuzzParseParams never panics, and what it lets through is valid.
func FuzzParseParams(f *testing.F) {
	f.Add("active = [\"a\"]\nlabel = \"y\"\nfeatures = 12\nsigma = 0.5\n")
	f.Add("active = [\"a\", \"b\"]\nlabel = \"y\"\nschedule = \"doubly-stochastic\"\niterations = " +
		"9223372036854775807\nblock_features = 1048576")
	f.Add("active = []\nstep = -inf\nfeatures = 0x10\n[active]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParams([]byte(text), []string{"a", "b"})
		if err != nil {
			return
		}
		mustDo(t, p.Validate([]string{"a", "b"}))
	})
}
