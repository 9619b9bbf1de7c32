package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/fdskl"
	"github.com/hanse-project/hanse/lab/perf"
	"github.com/hanse-project/hanse/lab/perf/sum"
)

// TestMain lets the test binary stand for hanselab where it starts itself as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == perf.LinkWorkerName || os.Args[1] == sum.WorkerName) {
		os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	dir, err := os.MkdirTemp("", "hanselab-")
	if err != nil {
		panic(err)
	}
	build = sync.OnceValues(func() (*lab.Program, error) {
		return lab.BuildProgram(context.Background(), filepath.Join(dir, "hanse"))
	})
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds hanse once for all tests.
var build func() (*lab.Program, error)

// builtProgram returns hanse as it is in this checkout, whatever stands on PATH.
func builtProgram(t *testing.T) *lab.Program {
	t.Helper()
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hanselab runs hanselab, which must succeed, and decodes what it prints.
func hanselab(t *testing.T, result any, args ...string) {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(t.Context(), append([]string{"hanselab"}, args...), nil, &out, &said); code != 0 {
		t.Fatalf("hanselab %s: exit code %d\n%s", strings.Join(args, " "), code, said.String())
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
}

// checkFigure reads back a figure in both formats.
func checkFigure(t *testing.T, folder, name string) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, name+".png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Errorf("%s.png: %v", name, err)
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".svg"))
	if err != nil || !bytes.Contains(text, []byte("seconds")) {
		t.Errorf("%s.svg does not say what it measures (%v)", name, err)
	}
}

func TestFDSKLAndGrowth(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	t.Run("fdskl", func(t *testing.T) {
		labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
		var r fdskl.TimesReport
		hanselab(t, &r, "fdskl", "--data", dir, "--sets", "phishing", "--seeds", "2", "--hanse", p.Path, "--plot",
			dir, "--json")
		if len(r.Sets) != 1 {
			t.Fatalf("%d sets, want 1", len(r.Sets))
		}
		s := r.Sets[0]
		if s.Rows != 90 || s.Features != 2048 || s.SVM != nil || s.Error.Mean > 0.2 {
			t.Errorf("got %+v", s)
		}
		if least := int64(90 * 1024 * 2); s.PassiveBytes < least || s.Seconds <= 0 || s.Ratio <= 0 {
			t.Errorf("got %+v, want at least %d bytes sent and positive times", s, least)
		}
		checkFigure(t, dir, "fdskl")
	})
	t.Run("growth", func(t *testing.T) {
		var r fdskl.GrowthReport
		hanselab(t, &r, "growth", "--rows", "60,120", "--features", "16,32", "--parties", "3,4", "--iterations",
			"2,4", "--base-rows", "60",
			"--base-features", "16", "--schedule-rows", "60", "--repeat", "1", "--hanse", p.Path, "--plot", dir, "--json")
		if len(r.Panels) != 4 {
			t.Fatalf("%d panels, want 4", len(r.Panels))
		}
		for _, p := range r.Panels {
			if len(p.Curves) != 2 || len(p.Curves[0].Points) != 2 || p.Curves[1].Points[1].Seconds <= 0 {
				t.Errorf("got %+v", p)
			}
		}
		checkFigure(t, dir, "growth")
	})
}

func TestLink(t *testing.T) {
	var r perf.LinkReport
	hanselab(t, &r, "link", "--bytes", "3000000", "--repeat", "1", "--json")
	if len(r.Shapes) != 3 {
		t.Fatalf("%d shapes, want 3", len(r.Shapes))
	}
	for _, s := range r.Shapes {
		if s.MaskedSeconds <= 0 || s.BareSeconds <= 0 || s.Ratio <= 0 || s.MaskedCPU <= 0 || s.BareCPU <= 0 {
			t.Errorf("got %+v", s)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("HANSE_DATA", "")
	t.Chdir(empty)
	for _, c := range []struct{ args, want string }{
		{"fdskl --data " + empty + " --sets a9a,adult",
			`there is no set "adult"; there are a9a, defaultcredit, phishing, w8a, ijcnn1, gisette, cod-rna, real-sim, epsilon, givemecredit`},
		{"fdskl --data " + empty + " --sets epsilon", `the set "epsilon" is not here: ` + empty +
			"/epsilon has no epsilon_normalized or epsilon, plain, .gz or .bz2; " +
			"get it from: LIBSVM's data page, binary classification"},
		{"fdskl --data " + empty + " --seeds 0", "--seeds is 0, want at least 1"},
		{"fdskl-paper", "--data FOLDER is missing, with the data sets in it; or --reports FILES, of earlier runs"},
		{"fdskl-paper --data " + empty,
			"none of the paper's sets is in " + empty + ": want a file such as phishing.gz, in LIBSVM format"},
		{"fdskl-paper --data " + empty + " --sets a9a",
			`set "a9a" is not in ` + empty + ": want a file such as a9a.gz, in LIBSVM format"},
		{"fdskl-paper --data " + empty + " --figures 2", `--figures has "2", want some of 3, 4, 5, 6, table4, bound`},
		{"fdskl-paper --data " + empty + " --methods SVM", `--methods has "SVM", want some of FDSKL, our fixed, ` +
			"DSG constant, DSG diminishing, LIBSVM, PP-SVMV, FD-SVRG, boosted trees"},
		{"fdskl-paper --data " + empty + " --memory 0", "--memory is 0, want at least 1"},
		{"growth --repeat 0", "--repeat is 0, want at least 1"},
		{"growth --hanse hanse --rows 5", "--rows is [5], want two positive sizes or more that ascend"},
		{"growth --hanse hanse --features 64,32", "--features is [64 32], want two positive sizes or more that ascend"},
		{"link --bytes 7", "--bytes must be even and --repeat at least 1"},
		{"link --bytes 8 --topology mesh", `topology is "mesh", want "tree", "star" or "ring"`},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab "+c.args), nil, &out, &said)
		if code != 1 || said.String() != "hanselab: "+c.want+"\n" {
			t.Errorf("hanselab %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}

// TestFDSKLPaper repeats all parts on a tiny set under the name of a real one, and joins the report with itself.
func TestFDSKLPaper(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteSet(t, filepath.Join(dir, "phishing.gz"), 200)
	labtest.WriteSet(t, filepath.Join(dir, "cod-rna.gz"), 200) // a set without settings of its own
	var r fdskl.PaperReport
	hanselab(t, &r, "fdskl-paper", "--data", dir, "--quick", "--iterations", "16", "--splits", "1", "--json")
	if len(r.Figure3) != 2 || len(r.Figure5) != 2 || len(r.Figure6) != 2 || len(r.Table4) != 2 ||
		r.Figure4 == nil || r.Bound == nil {
		t.Fatalf("got %+v", r)
	}
	if r.Figure3[0].Set != "phishing" || r.Figure3[1].Set != "cod-rna" || len(r.Absent) != 8 ||
		r.Table4[0].Paper.SecureBoost != "10" {
		t.Errorf("sets %s and %s, absent %v", r.Figure3[0].Set, r.Figure3[1].Set, r.Absent)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "report.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	again := []string{"hanselab", "fdskl-paper", "--reports", path + "," + path, "--plot", dir}
	if code := run(t.Context(), again, nil, &out, &said); code != 0 {
		t.Fatal(said.String())
	}
	for _, want := range []string{
		"Figure 3: error against time, 150 training rows", "Figure 4: sum of a linear kernel matrix",
		"Figure 5: time against rows",
		"Figure 6: errors over 1 splits of 3:1", "Table 4: time to train", "Theorem 4: mean (f_t - f*)^2",
		"not in the folder: gisette, a9a,",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if n := strings.Count(out.String(), "Figure 3"); n != 4 {
		t.Errorf("%d tables of figure 3 in two reports, want 4", n)
	}
	for _, name := range []string{"fdskl-errors", "fdskl-shapes", "fdskl-rows"} {
		checkFigure(t, dir, name)
	}
}
