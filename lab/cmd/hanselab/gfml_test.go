package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/papers/gfml"
)

// TestGFMLIsMeasured on a few iterations: all curves, their bytes and the claims are there, and runs
// are the same each time.
func TestGFMLIsMeasured(t *testing.T) {
	folder := t.TempDir()
	var first, second gfml.Report
	hanselab(t, &first, "gfml", "--runs", "2", "--iterations", "10", "--json", "--plot", folder)
	hanselab(t, &second, "gfml", "--runs", "2", "--iterations", "10", "--json")
	if len(first.Curves) != 7 || len(first.Claims) != 4 {
		t.Fatalf("%d curves and %d claims, want 7 and 4", len(first.Curves), len(first.Claims))
	}
	for i, c := range first.Curves {
		if len(c.Points) != 1 || len(c.Readings) != 1 || c.Points[0] != second.Curves[i].Points[0] {
			t.Errorf("%s: points %v, again %v, readings %v", c.Name, c.Points, second.Curves[i].Points, c.Readings)
		}
		if c.SentBytes < c.PaperBytes || (c.SentBytes > c.PaperBytes) != strings.HasPrefix(c.Name, "uncoordinated") {
			t.Errorf("%s: %v bytes, the paper counts %v", c.Name, c.SentBytes, c.PaperBytes)
		}
	}
	for _, name := range []string{"gfml.svg", "gfml.png"} {
		if s, err := os.Stat(filepath.Join(folder, name)); err != nil || s.Size() == 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var text bytes.Buffer
	if err := first.Print(&text); err != nil || !strings.Contains(text.String(), "M = 40 is as good as O-GFML: ") {
		t.Errorf("error %v, the report is\n%s", err, &text)
	}
}

func TestGFMLFlagsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"gfml --runs 0", "--runs is 0, want at least 1"},
		{"gfml --iterations 9", "--iterations is 9, want at least 10"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab "+c.args), nil, &out, &said)
		if code != 1 || said.String() != "hanselab: "+c.want+"\n" {
			t.Errorf("hanselab %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
