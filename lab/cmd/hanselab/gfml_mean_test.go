package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/papers/gfml"
)

// TestGFMLMeanIsPredicted: with independent rows the prediction is close from the first iterations on, and runs are
// the same each time.
func TestGFMLMeanIsPredicted(t *testing.T) {
	folder := t.TempDir()
	var r, again gfml.MeanReport
	hanselab(t, &r, "gfml-mean", "--runs", "2", "--iterations", "20", "--samples", "60", "--plot", folder, "--json")
	hanselab(t, &again, "gfml-mean", "--runs", "2", "--iterations", "20", "--samples", "60", "--json")
	if len(r.Curves) != 4 || r.Curves[0].Name != "O-GFML" {
		t.Fatalf("the curves are %+v", r.Curves)
	}
	for i, c := range r.Curves {
		if len(c.Runs) != 2 || c.Runs[1] != again.Curves[i].Runs[1] || c.Exact[1] != again.Curves[i].Exact[1] {
			t.Errorf("%s: %v, again %v", c.Name, c, again.Curves[i])
		}
		if g := gfml.Gap(c.Exact, c.Fresh); g > 1 {
			t.Errorf("%s: the prediction is off by %.2f dB", c.Name, g)
		}
		if c.Model[1] > c.Runs[1] {
			t.Errorf("%s: the mean model is worse than the models: %v dB, %v", c.Name, c.Model[1], c.Runs[1])
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "gfml-mean.svg"))
	if err != nil || !bytes.Contains(text, []byte("predicted, equation 18")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
	var said strings.Builder
	if err := r.Print(&said); err != nil || !strings.Contains(said.String(), "at most, the prediction is off") {
		t.Errorf("error %v, the report is\n%s", err, said.String())
	}
}

// TestGFMLMeanFlagsThatCannotBe names what is wrong.
func TestGFMLMeanFlagsThatCannotBe(t *testing.T) {
	var out, said bytes.Buffer
	code := run(t.Context(), strings.Fields("hanselab gfml-mean --iterations 9"), nil, &out, &said)
	want := "hanselab: --runs is 10, --iterations 9 and --samples 1000, want at least 1, 10 and 1\n"
	if code != 1 || said.String() != want {
		t.Errorf("code %d, says %q, want %q", code, said.String(), want)
	}
}
