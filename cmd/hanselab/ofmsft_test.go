package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// TestOFMSFTReportsAllRows runs a few rounds on a small stand-in of the air set.
func TestOFMSFTReportsAllRows(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	var r ofmsftReport
	lab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--seeds", "2", "--clients", "6", "--rounds", "8", "--warm-up", "2", "--window", "3", "--plot", dir, "--json")
	if len(r.Rows) != 19 || r.Clients != 6 || r.Rounds != 8 || r.Seeds != 2 || r.Window != 3 || r.Unit != "mean squared error x 1e3" {
		t.Fatalf("%d rows, %d clients, %d rounds, %d seeds, window %d, unit %q", len(r.Rows), r.Clients, r.Rounds, r.Seeds, r.Window, r.Unit)
	}
	for _, row := range r.Rows {
		if row.Mean <= 0 || row.Spread <= 0 || row.First == nil || row.Paper != nil || row.Diverged != "" {
			t.Errorf("%s, %s: %+v", row.Algorithm, row.Update, row)
		}
		if ours := row.Algorithm == ofmsFT; ours != (row.Regret != nil) || ours != (row.Downloaded > 0) {
			t.Errorf("%s, %s: regret %v, %v bytes", row.Algorithm, row.Update, row.Regret, row.Downloaded)
		}
	}
	if first := r.Rows[0]; first.Update != ofmsft.UpdateEquation11 || first.Budget != 2 {
		t.Errorf("the first row is %+v", first)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ofmsft-air.svg"))
	if err != nil || !bytes.Contains(text, []byte("mean squared error x 1e3, so far")) || !bytes.Contains(text, []byte("regret")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
}

// TestOFMSFTTablesAreForPeople reads the printed tables of one case on a small stand-in of MNIST.
func TestOFMSFTTablesAreForPeople(t *testing.T) {
	dir := t.TempDir()
	writeMNISTStream(t, dir)
	var out, said bytes.Buffer
	args := []string{"hanselab", "ofmsft", "--set", "mnist", "--data", dir, "--seeds", "1", "--clients", "10", "--rounds", "6", "--update", "none", "--baselines"}
	if code := run(t.Context(), args, nil, &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	for _, want := range []string{"accuracy in %", "| OFMS-FT", "| Non-Fed-OMS", "earlier runs", "the set-up is not the paper's", "networks at first"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables have no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), perFedAvg) {
		t.Errorf("PerFedAvg fine-tunes, and was run:\n%s", out.String())
	}
}

// TestScansCompareSteps has a small step, and one so large that its elements are cut.
func TestScansCompareSteps(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	var r ofmsftReport
	args := []string{"--set", "air", "--data", dir, "--seeds", "1", "--clients", "6", "--rounds", "30", "--warm-up", "2", "--window", "3"}
	lab(t, &r, append(append([]string{"ofmsft"}, args...), "--scan", "--steps", "0.01", "--steps", "1e12", "--plot", dir, "--json")...)
	if len(r.Rows) != 3 || r.Rows[0].Update != ofmsft.UpdateNone || r.Rows[1].Step != 0.01 || r.Rows[1].Diverged != "" || r.Best == nil || r.Best.Step != 0.01 {
		t.Fatalf("rows %+v, best %+v", r.Rows, r.Best)
	}
	if r.Rows[1].Clipped != 0 || r.Rows[2].Clipped == 0 {
		t.Errorf("%d and %d elements were cut", r.Rows[1].Clipped, r.Rows[2].Clipped)
	}
	if _, err := os.Stat(filepath.Join(dir, "ofmsft-air-steps.svg")); err != nil {
		t.Error(err)
	}
}

// TestScansTellHowRunsEnd has a step that diverged and is not the best.
func TestScansTellHowRunsEnd(t *testing.T) {
	rows := []ofmsftRow{{Mean: 8, Late: 6}, {Step: 0.1, Mean: 7, Late: 5}, {Step: 1, Diverged: "round 60: the loss is NaN"}, {Step: 0.5, Mean: 7.5, Late: 7}, {Step: 0.7, Mean: 9, Late: 12}}
	r := ofmsftReport{Unit: "error", Rows: rows, Best: bestStep(rows, false)}
	var out bytes.Buffer
	if err := r.printScan(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"diverges, round 60: the loss is NaN", " worse than none |", " diverges |", "best step: 0.1, 7.00 against 8.00 without fine-tuning"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the scan does not say %q:\n%s", want, out.String())
		}
	}
	if best := bestStep(rows, true); best.Step != 0.7 {
		t.Errorf("the largest is at step %v", best.Step)
	}
	digits := ofmsftReport{Set: setMNIST}
	if h := digits.harm(ofmsftRow{Step: 1, Late: 80}, ofmsftRow{Late: 90}); h != "diverges" {
		t.Errorf("80 %% after 90 %%: %q", h)
	}
	if bestStep(rows[2:3], false) != nil {
		t.Error("a step that diverged is the best")
	}
}

// TestFrozenNetworksAreTheNetworks runs selection on both.
func TestFrozenNetworksAreTheNetworks(t *testing.T) {
	dir := t.TempDir()
	writeMNISTStream(t, dir)
	writeAirStream(t, dir)
	for _, name := range []string{setAir, setMNIST} {
		set, err := readOFMSFTSet(name, dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := set.keep(5); err != nil {
			t.Fatal(err)
		}
		l := &ofmsftLab{set: set, workers: 2, log: io.Discard, options: ofmsftOptions{rounds: 20, perUpload: 1, window: 1, seeds: 1, bandwidth: 1}}
		if err := l.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 5}
		frozen, err := l.runAll(t.Context(), []ofmsftCase{c})
		if err != nil {
			t.Fatal(err)
		}
		l.frozen = &set.live
		live, err := l.runAll(t.Context(), []ofmsftCase{c})
		if err != nil {
			t.Fatal(err)
		}
		a, b := frozen[0][0], live[0][0]
		for t0 := range a.scores {
			if math.Abs(a.scores[t0]-b.scores[t0]) > 1e-6 || math.Abs(a.first[t0]-b.first[t0]) > 1e-5 {
				t.Fatalf("%s, round %d: score %v and regret %v, want %v and %v", name, t0+1, a.scores[t0], a.first[t0], b.scores[t0], b.first[t0])
			}
		}
		if a.downloaded != b.downloaded {
			t.Errorf("%s: %v bytes, want %v", name, a.downloaded, b.downloaded)
		}
	}
}

// TestPublishedFiguresAreThePapers has a case of each table.
func TestPublishedFiguresAreThePapers(t *testing.T) {
	for _, c := range []struct {
		set         string
		of          ofmsftCase
		paper, spec string
	}{
		{setAir, ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: 5}, "7.46 (5.10)", "7.40 (4.89)"},
		{setAir, ofmsftCase{algorithm: fedOMD, update: updateOwn, budget: 5}, "11.37 (7.16)", ""},
		{setMNIST, ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: 10}, "92.93 (2.58)", "92.60"},
		{setAir, ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: 5, step: 1}, "", ""},
		{setAir, ofmsftCase{algorithm: ofmsMAB, update: ofmsft.UpdateNone, budget: 2}, "", ""},
	} {
		paper, spec := publishedOFMSFT(c.set, c.of)
		if paper.clients() != c.paper || spec.clients() != c.spec {
			t.Errorf("%s, %s: %q and %q, want %q and %q", c.set, c.of.name(), paper.clients(), spec.clients(), c.paper, c.spec)
		}
	}
	if figure := (&pofmklFigure{Value: 7.46}); figure.offBy(7.4) != "-0.06" {
		t.Errorf("off by %s", figure.offBy(7.4))
	}
}

// TestProbabilitiesBelowSinglePrecisionKeepTheirLoss has a label whose probability is rounded to 0.
func TestProbabilitiesBelowSinglePrecisionKeepTheirLoss(t *testing.T) {
	said := [][]float64{{1, 0}, {0.5, 0.5}}
	logarithms(said, []float64{1, 0}, func(into []float64) { into[0], into[1] = 240, 7 })
	if said[0][0] != 0 || said[0][1] != -240 || said[1][0] != math.Log(0.5) {
		t.Errorf("logarithms %v", said)
	}
}

// TestWrongOFMSFTCommandLines names what is wrong.
func TestWrongOFMSFTCommandLines(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--set", "wec"}, `the set "wec" is not here: ` + filepath.Join(dir, "wec") +
			" has no Adelaide_Data.csv, plain, .gz or .bz2; get it from: UCI"},
		{[]string{"--set", "naval"}, `there is no set "naval"; there are air, wec, mnist, cifar10`},
		{[]string{"--set", "air"}, `the set "air" is not here: ` + filepath.Join(dir, "air") +
			" has no PRSA_Data_Aotizhongxin.csv"},
		{[]string{"--set", "mnist"}, `the set "mnist" is not here: ` + filepath.Join(dir, "mnist") +
			" has no t10k-images-idx3-ubyte"},
		{[]string{"--set", "air", "--update", "all"}, `--update is "all", want equation-11, in-place, none or own`},
		{[]string{"--set", "air", "--update", "own"}, "--update own is for baselines, want --baselines with it"},
		{[]string{"--set", "air", "--rounds", "201"}, "--rounds is 201, want 1 to 200"},
		{[]string{"--set", "air", "--seeds", "0"}, "--seeds is 0, want at least 1"},
		{[]string{"--set", "air", "--window", "0"}, "--window is 0, want at least 1"},
		{[]string{"--set", "air", "--warm-up", "-1"}, "--warm-up is -1, want at least 0"},
		{[]string{"--set", "air", "--step", "0"}, "--step is 0, want a positive number"},
		{[]string{"--set", "air", "--budget", "NaN"}, "--budget is NaN, want a positive number"},
		{[]string{"--set", "air", "--baselines", "--rounds-per-upload", "2"}, "--rounds-per-upload is 2 with --baselines, which know 1 alone"},
		{[]string{"--set", "air", "--bounds", "--budget", "2"}, "--bounds has its own cases, want it without --budget"},
		{[]string{"--set", "air", "--bounds", "--hindsight", "0"}, "--hindsight is 0, want at least 1"},
		{[]string{"--set", "air", "--bounds", "--update", "none"},
			`--update is "none" with --bounds, want equation-11 or in-place`},
		{[]string{"--set", "air", "--mixed", "--times"}, "--times has the cases of table 5, want it without --mixed"},
		{[]string{"--set", "air", "--mixed", "--budget", "2"}, "--mixed has the cases of table 2, want it without --budget"},
		{[]string{"--set", "air", "--times", "--update", "none"},
			"--times has the cases of table 5, want it without --update"},
		{[]string{"--set", "air", "--only", "FedAvg"}, `--only names "FedAvg", want some of OFMS-FT, MAB`},
		{[]string{"--set", "air", "--update", "none", "--only", "MAB"},
			"--only MAB leaves nothing to run with these updates and budgets"},
		{[]string{"--set", "air", "--scan", "--step", "1"}, "--scan goes with --steps, and without --step, --update and --baselines"},
		{[]string{"--set", "air", "--scan", "--steps", "-1"}, "--steps has -1, want positive numbers"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "ofmsft", "--data", dir}, c.args...), nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%v: exit code %d, said %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}

// TestOFMSFTRefusesWhatTheSetDoesNotHave asks for too many clients, too small a budget and a network that is missing.
func TestOFMSFTRefusesWhatTheSetDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	writeAirStream(t, dir)
	for _, c := range []struct{ args, want string }{
		{"--clients 101", "--clients is 101, want 1 to 100 for air"},
		{"--clients 4 --rounds 2 --budget 1", "budget is 1, want at least 2"},
		{"", "ff_air_25_d2.safetensors is missing, want the paper's networks"},
	} {
		if c.args == "" {
			if err := os.Remove(filepath.Join(dir, "ofmsft-models", "air", "ff_air_25_d2.safetensors")); err != nil {
				t.Fatal(err)
			}
		}
		var out, said bytes.Buffer
		args := append([]string{"hanselab", "ofmsft", "--set", "air", "--data", dir}, strings.Fields(c.args)...)
		if code := run(t.Context(), args, nil, &out, &said); code != 1 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: exit code %d, said %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}
