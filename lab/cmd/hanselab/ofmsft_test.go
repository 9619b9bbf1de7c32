package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
)

// TestOFMSFTReportsAllRows runs a few rounds on a small stand-in of the air set.
func TestOFMSFTReportsAllRows(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteAirStream(t, dir)
	var r ofmsft.Report
	hanselab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--seeds", "2", "--clients", "6", "--rounds", "8",
		"--warm-up", "2", "--window", "3", "--plot", dir, "--json")
	if len(r.Rows) != 19 || r.Clients != 6 || r.Rounds != 8 || r.Seeds != 2 || r.Window != 3 ||
		r.Unit != "mean squared error x 1e3" {
		t.Fatalf("%d rows, %d clients, %d rounds, %d seeds, window %d, unit %q", len(r.Rows), r.Clients, r.Rounds,
			r.Seeds, r.Window, r.Unit)
	}
	for _, row := range r.Rows {
		if row.Mean <= 0 || row.Spread <= 0 || row.First == nil || row.Paper != nil || row.Diverged != "" {
			t.Errorf("%s, %s: %+v", row.Algorithm, row.Update, row)
		}
		if ours := row.Algorithm == "OFMS-FT"; ours != (row.Regret != nil) || ours != (row.Downloaded > 0) {
			t.Errorf("%s, %s: regret %v, %v bytes", row.Algorithm, row.Update, row.Regret, row.Downloaded)
		}
	}
	if first := r.Rows[0]; first.Update != "equation-11" || first.Budget != 2 {
		t.Errorf("the first row is %+v", first)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ofmsft-air.svg"))
	if err != nil || !bytes.Contains(text, []byte("mean squared error x 1e3, so far")) || !bytes.Contains(text,
		[]byte("regret")) {
		t.Errorf("the figure does not say what it shows (%v)", err)
	}
}

// TestOFMSFTTablesAreForPeople reads the printed tables of one case on a small stand-in of MNIST.
func TestOFMSFTTablesAreForPeople(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteMNISTStream(t, dir)
	var out, said bytes.Buffer
	args := []string{"hanselab", "ofmsft", "--set", "mnist", "--data", dir, "--seeds", "1", "--clients", "10",
		"--rounds", "6", "--update", "none", "--baselines"}
	if code := run(t.Context(), args, nil, &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	for _, want := range []string{"accuracy in %", "| OFMS-FT", "| Non-Fed-OMS", "earlier runs",
		"the set-up is not the paper's", "networks at first"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables have no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "PerFedAvg") {
		t.Errorf("PerFedAvg fine-tunes, and was run:\n%s", out.String())
	}
}

// TestScansCompareSteps has a small step, and one so large that its elements are cut.
func TestScansCompareSteps(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteAirStream(t, dir)
	var r ofmsft.Report
	args := []string{"--set", "air", "--data", dir, "--seeds", "1", "--clients", "6", "--rounds", "30", "--warm-up",
		"2", "--window", "3"}
	hanselab(t, &r, append(append([]string{"ofmsft"}, args...), "--scan", "--steps", "0.01", "--steps", "1e12",
		"--plot", dir, "--json")...)
	if len(r.Rows) != 3 || r.Rows[0].Update != "none" || r.Rows[1].Step != 0.01 || r.Rows[1].Diverged != "" ||
		r.Best == nil || r.Best.Step != 0.01 {
		t.Fatalf("rows %+v, best %+v", r.Rows, r.Best)
	}
	if r.Rows[1].Clipped != 0 || r.Rows[2].Clipped == 0 {
		t.Errorf("%d and %d elements were cut", r.Rows[1].Clipped, r.Rows[2].Clipped)
	}
	if _, err := os.Stat(filepath.Join(dir, "ofmsft-air-steps.svg")); err != nil {
		t.Error(err)
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
		{[]string{"--set", "air", "--baselines", "--rounds-per-upload", "2"},
			"--rounds-per-upload is 2 with --baselines, which know 1 alone"},
		{[]string{"--set", "air", "--bounds", "--budget", "2"},
			"--bounds has its own cases, want it without --budget"},
		{[]string{"--set", "air", "--bounds", "--hindsight", "0"}, "--hindsight is 0, want at least 1"},
		{[]string{"--set", "air", "--bounds", "--update", "none"},
			`--update is "none" with --bounds, want equation-11 or in-place`},
		{[]string{"--set", "air", "--mixed", "--times"}, "--times has the cases of table 5, want it without --mixed"},
		{[]string{"--set", "air", "--mixed", "--budget", "2"},
			"--mixed has the cases of table 2, want it without --budget"},
		{[]string{"--set", "air", "--times", "--update", "none"},
			"--times has the cases of table 5, want it without --update"},
		{[]string{"--set", "air", "--only", "FedAvg"}, `--only names "FedAvg", want some of OFMS-FT, MAB`},
		{[]string{"--set", "air", "--update", "none", "--only", "MAB"},
			"--only MAB leaves nothing to run with these updates and budgets"},
		{[]string{"--set", "air", "--scan", "--step", "1"},
			"--scan goes with --steps, and without --step, --update and --baselines"},
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
	labtest.WriteAirStream(t, dir)
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
