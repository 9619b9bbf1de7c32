package online

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// ownFiles are folders of streams and of networks for rows of two inputs.
type ownFiles struct {
	t *testing.T
	Files
}

// newFiles writes three streams of so many rows, and two networks whose last layer is given.
func newFiles(t *testing.T, rows int, last nn.Layer) *ownFiles {
	t.Helper()
	f := &ownFiles{t, Files{Streams: t.TempDir(), Networks: t.TempDir(), Label: "y"}}
	for k, name := range []string{"ann", "bob", "cem"} {
		f.stream(name+".csv", "a,b,y", rows+k)
	}
	f.network("large", 2, 5, last)
	f.network("small", 2, 3, last)
	return f
}

// stream writes a file with a header and rows of small whole numbers.
func (f *ownFiles) stream(name, header string, rows int) {
	f.t.Helper()
	text := header + "\n"
	for i := range rows {
		var cells []string
		for c := range strings.Count(header, ",") + 1 {
			cells = append(cells, fmt.Sprint((i+c)%4))
		}
		text += strings.Join(cells, ",") + "\n"
	}
	f.write(filepath.Join(f.Streams, name), []byte(text))
}

// network writes a network.
func (f *ownFiles) network(name string, inputs, hidden int, last nn.Layer) {
	f.t.Helper()
	n, err := nn.New([]int{inputs}, []nn.Layer{{Kind: nn.Dense, Units: hidden, Activation: nn.ReLU}, last},
		newDraw(uint64(hidden)).Rand)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(filepath.Join(f.Networks, name+nn.FileSuffix), n.Bytes())
}

// write writes a file.
func (f *ownFiles) write(path string, data []byte) {
	f.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// number is the last layer of networks that predict a number, classes of those that tell four classes apart.
func number() nn.Layer  { return nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear} }
func classes() nn.Layer { return nn.Layer{Kind: nn.Dense, Units: 4, Activation: nn.Softmax} }

func TestFilesMakeATrial(t *testing.T) {
	f := newFiles(t, 6, number())
	s, err := ReadFiles(t.Context(), Options{Seed: 3}, f.Files)
	must(t, err)
	if !slices.Equal(s.Parties(), []string{"server", "ann", "bob", "cem"}) || s.Rounds() != 6 ||
		s.Networks() != 2 || s.Budget() != 2 {
		t.Errorf("%q, %d rounds, %d networks, budget %v", s.Parties(), s.Rounds(), s.Networks(), s.Budget())
	}
	bob := s.Streams["bob"]
	if len(bob.Labels) != 6 || !slices.Equal(bob.Inputs[5], []float64{1, 2}) || bob.Labels[5] != 3 ||
		!slices.Equal(bob.Columns, []string{"a", "b"}) {
		t.Errorf("stream %+v", bob)
	}
	p := s.Parameters()
	if low, high := s.LabelRange(); low != 0 || high != 3 || p["label_high"] != 3.0 ||
		p["max_importance"] != 20.0 || p["bandwidth"] != 6.0 {
		t.Errorf("labels from %v to %v, parameters %v", low, high, p)
	}
	if want := 3e-3 / math.Sqrt(6); math.Abs(p["step"].(float64)-want) > 1e-15 {
		t.Errorf("step %v, want %v", p["step"], want)
	}
}

// TestNumbersOfAJobTakeThePlaceOfTheTrials gives all of them.
func TestNumbersOfAJobTakeThePlaceOfTheTrials(t *testing.T) {
	f := newFiles(t, 6, number())
	asked := ofmsft.Params{Step: 0.5, Window: 2, WarmUp: 3, MaxImportance: 4, Bandwidth: 5, InputNorm: 10,
		LabelLow: -1, LabelHigh: 9}
	s, err := ReadFiles(t.Context(), Options{Rounds: 4, Budget: 1.7, Tuning: asked}, f.Files)
	must(t, err)
	for name, want := range map[string]any{
		"step": 0.5, "window": 2, "warm_up": 3, "max_importance": 4.0, "bandwidth": 5.0, "input_norm": 10.0,
		"label_low": -1.0, "label_high": 9.0,
		"rounds": 4, "budget": 1.7,
	} {
		if got := s.Parameters()[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if at := s.at(3.4); at.Bandwidth != 10 || at.Budget != 3.4 {
		t.Errorf("twice the budget has a bandwidth of %v, want 10", at.Bandwidth)
	}
}

// TestErrorsOfNetworksAreThoseOfTheirLosses compares with nn's own on scaled rows and labels.
func TestErrorsOfNetworksAreThoseOfTheirLosses(t *testing.T) {
	f := newFiles(t, 8, number())
	s, err := ReadFiles(t.Context(), Options{Tuning: ofmsft.Params{InputNorm: 2, LabelLow: -1, LabelHigh: 4}}, f.Files)
	must(t, err)
	for _, name := range s.AllClients() {
		for k, n := range s.networks {
			for i, row := range s.Streams[name].Inputs {
				var loss [1]float64
				n.NewWorkspace().Losses([]float32{float32(row[0] / 2), float32(row[1] / 2)},
					[]float64{(s.Streams[name].Labels[i] + 1) / 5}, 1, loss[:])
				if got := s.losses[name][k][i]; math.Abs(got-loss[0]) > 1e-6*(1+loss[0]) {
					t.Errorf("%s, network %d, row %d: %v, want %v", name, k+1, i+1, got, loss[0])
				}
			}
		}
	}
}

// TestClassesAreJudgedByTheirErrors learns from labels 0 to 3.
func TestClassesAreJudgedByTheirErrors(t *testing.T) {
	f := newFiles(t, 8, classes())
	s, err := ReadFiles(t.Context(), Options{Seed: 1}, f.Files)
	must(t, err)
	if s.Classes != 4 || s.ErrorOf(2, 2) != 0 || s.ErrorOf(2, 3) != 1 {
		t.Errorf("%d classes, errors %v and %v", s.Classes, s.ErrorOf(2, 2), s.ErrorOf(2, 3))
	}
	o, err := s.Together()
	must(t, err)
	score, err := s.Score(o)
	must(t, err)
	wrong := 0
	for name, all := range o.Predictions {
		for i, p := range all {
			if p != s.Streams[name].Labels[i] {
				wrong++
			}
		}
	}
	if math.Abs(score.Error-float64(wrong)/24) > 1e-12 {
		t.Errorf("error %v, want %d of 24", score.Error, wrong)
	}
	for name, r := range o.Regret {
		if r != math.Trunc(r) {
			t.Errorf("%s has a regret of %v, want a number of rows", name, r)
		}
	}
}

func TestFilesWithOtherNamesAreNumbered(t *testing.T) {
	for _, odd := range []string{"Dora", "server", strings.Repeat("d", 33)} {
		f := newFiles(t, 4, number())
		f.stream(odd+".csv", "a,b,y", 4)
		s, err := ReadFiles(t.Context(), Options{}, f.Files)
		must(t, err)
		if want := []string{"client-001", "client-002", "client-003", "client-004"}; !slices.Equal(s.AllClients(), want) {
			t.Errorf("%s: clients %q, want %q", odd, s.AllClients(), want)
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	for want, c := range map[string]struct {
		change func(f *ownFiles)
		o      Options
	}{
		"DIR has 0 files *.csv, want 1 to 1000":         {change: func(f *ownFiles) { f.Streams = f.t.TempDir() }},
		"DIR has 0 files *.safetensors, want 1 to 1000": {change: func(f *ownFiles) { f.Networks = f.Streams }},
		"open DIR: no such file or directory": {change: func(f *ownFiles) {
			f.Streams = filepath.Join(f.Streams, "none")
		}},
		"DIR/dora.csv has 3 columns beside y, want 2, the inputs of the networks": {change: func(f *ownFiles) { f.stream("dora.csv", "a,b,c,y", 9) }},
		"DIR/dora.csv has the columns b, a, want a, b as DIR/ann.csv has":         {change: func(f *ownFiles) { f.stream("dora.csv", "b,a,y", 9) }},
		`DIR/dora.csv: there is no column "y" for the label; it has a, b, z`:      {change: func(f *ownFiles) { f.stream("dora.csv", "a,b,z", 9) }},
		"DIR/dora.csv has 0 rows, want at least 1, one for each round":            {change: func(f *ownFiles) { f.stream("dora.csv", "a,b,y", 0) }},
		"DIR/ann.csv has 6 rows, want at least 7, one for each round":             {o: Options{Rounds: 7}},
		`DIR/dora.csv: row 1, column a: "x", want a finite number`: {change: func(f *ownFiles) {
			f.write(filepath.Join(f.Streams, "dora.csv"), []byte("a,b,y\nx,1,2\n"))
		}},
		"DIR/large.safetensors: ": {change: func(f *ownFiles) {
			f.write(filepath.Join(f.Networks, "large.safetensors"), []byte("?"))
		}},
		"networks in DIR, in the order of their names: model 3 has 3 inputs": {change: func(f *ownFiles) { f.network("wide", 3, 3, number()) }},
		`ann: row 4, label column "y": the label is 1, want a number from 2 to 3`: {o: Options{Tuning: ofmsft.Params{LabelLow: 2, LabelHigh: 3}}, change: func(f *ownFiles) {
			f.write(filepath.Join(f.Streams, "ann.csv"), []byte("a,b,y\n1,1,2\n1,1,2\n1,1,2\n1,1,1\n"))
		}},
		`all labels "y" in DIR are 2, want different ones, or a range of labels with the job`: {o: Options{Rounds: 1}},
		"budget is 1, want at least ": {o: Options{Budget: 1}},
	} {
		f := newFiles(t, 6, number())
		if c.change != nil {
			c.change(f)
		}
		_, err := ReadFiles(t.Context(), c.o, f.Files)
		if err == nil {
			t.Errorf("no error, want %q", want)
			continue
		}
		said := filepath.ToSlash(err.Error())
		for _, dir := range []string{f.Streams, f.Networks} {
			said = strings.ReplaceAll(said, filepath.ToSlash(dir), "DIR")
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("error %q, want %q", said, want)
		}
	}
}

// TestClassesOutOfRangeAreRefused has a label that no network knows.
func TestClassesOutOfRangeAreRefused(t *testing.T) {
	f := newFiles(t, 6, nn.Layer{Kind: nn.Dense, Units: 3, Activation: nn.Softmax})
	_, err := ReadFiles(t.Context(), Options{}, f.Files)
	if want := `ann: row 2, label column "y": the label is 3, want a class from 0 to 2`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestStreamsOfTooManyNumbersAreRefused(t *testing.T) {
	f := newFiles(t, 6, number())
	_, err := readStream(t.Context(), filepath.Join(f.Streams, "ann.csv"), "y", 0, 2, 8)
	if err == nil || !strings.HasSuffix(err.Error(), "numbers up to row 3") {
		t.Errorf("error %v, want one of row 3", err)
	}
}
