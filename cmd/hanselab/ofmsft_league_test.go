package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/stream"
)

// TestALeagueIsBesideItsJobInOneProcess lets a stand-in be the program, and looks at what it was given.
func TestALeagueIsBesideItsJobInOneProcess(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	writeAirStream(t, data)
	says := `{"clients": ["a"], "mse": 7.5, "mse_sd": 5.5, "train_seconds": 3, "bytes_down": 2000, "bytes_up": 1000, "sessions": 1, "audit": {"verdict": "disclosed"}}`
	p := standIn(t, says, 0)
	var r ofmsftLeague
	args := []string{"ofmsft", "--set", "air", "--data", data, "--league", "--hanse", p.path, "--clients", "4", "--rounds", "6", "--dir", dir}
	lab(t, &r, append(args, "--warm-up", "2", "--json")...)
	if r.Clients != 4 || r.Rounds != 6 || r.Budget != 5 || r.Bandwidth != 10 || r.Window != 1 || r.WarmUp != 2 || !(r.Step > 0.00163 && r.Step < 0.00164) {
		t.Errorf("job %+v", r)
	}
	if r.Round != 500 || r.Down != 2000 || r.Up != 1000 || r.MSE != 7.5 || r.SD != 5.5 || r.Verdict != "disclosed" {
		t.Errorf("the demo's figures are %+v", r)
	}
	if !(r.ClearMSE > 0 && r.UntunedMSE > 0 && r.ClearSD > 0 && r.PaperDown > r.PaperUp && r.PaperUp > 0 && r.Total > 0) {
		t.Errorf("one process has %+v", r)
	}
	checkLeagueFiles(t, data, dir)

	var out, said bytes.Buffer
	if code := run(t.Context(), append([]string{"hanselab"}, args...), nil, &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	for _, want := range []string{"air: 4 clients x 6 rounds over TLS, masked", "the audit says disclosed", " 7.50 (5.50) |", "| the paper's count"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// checkLeagueFiles compares the files of a league of four clients with the set.
func checkLeagueFiles(t *testing.T, data, dir string) {
	t.Helper()
	set, err := readOFMSFTSet(setAir, data, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := stream.Open(filepath.Join(dir, "streams", "client-002.csv"), airLabel, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 6 {
		row, err := s.Next(t.Context())
		if err != nil || !slices.Equal(row.Inputs, set.live.rows[25][i]) || row.Label != set.labels[25][i] {
			t.Fatalf("row %d is %v, %v", i+1, row, err)
		}
	}
	if _, err := s.Next(t.Context()); err == nil {
		t.Error("the stream has more than 6 rows")
	}
	for k, name := range set.names {
		file, err := os.ReadFile(filepath.Join(dir, "networks", name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := nn.Parse(file); err != nil || n.Hash() != set.live.networks[k].Hash() {
			t.Errorf("%s: %v, or it is another network", name, err)
		}
	}
}

// TestLeagueArgumentsSayTheWholeJob lists them.
func TestLeagueArgumentsSayTheWholeJob(t *testing.T) {
	p := ofmsft.Params{Rounds: 200, Budget: 5, Bandwidth: 250, Step: 0.007, Window: 1, InputNorm: 10052.25, LabelLow: 2, LabelHigh: 228, MaxImportance: 20, WarmUp: 50}
	got := strings.Join(leagueArgs(p, "x"), " ")
	for _, want := range []string{
		"--label NO2", "--rounds 200", "--budget 5", "--bandwidth 250", "--step 0.007", "--window 1", "--input-norm 10052.25", "--label-range 2:228", "--max-importance 20", "--warm-up 50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %s", got, want)
		}
	}
	p.MaxImportance, p.WarmUp = 0, 0
	if got := strings.Join(leagueArgs(p, "x"), " "); strings.Contains(got, "importance") || strings.Contains(got, "warm") {
		t.Errorf("%q names numbers of 0", got)
	}
}

func TestBadLeaguesAreRefused(t *testing.T) {
	data := t.TempDir()
	writeAirStream(t, data)
	bad := standIn(t, `{"mse": 1}`, 0).path
	dead := standIn(t, "", 1).path
	for want, args := range map[string][]string{
		"--league is of air, not of mnist":                        {"--set", "mnist"},
		"--league goes without --scan":                            {"--set", "air", "--scan"},
		"--league goes without --update":                          {"--set", "air", "--update", "none"},
		"--clients is 2, want at least 3 with --league":           {"--set", "air", "--clients", "2"},
		"--max-importance is 0, want a cap above 0 with --league": {"--set", "air", "--max-importance", "0"},
		"--rounds is 201, want 1 to 200":                          {"--set", "air", "--rounds", "201"},
		"hanse demo prints a result without a mean squared error": {"--set", "air", "--clients", "3", "--rounds", "2", "--hanse", bad},
		"--label NO2 --rounds 2":                                  {"--set", "air", "--clients", "3", "--rounds", "2", "--hanse", dead},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "ofmsft", "--league", "--data", data}, args...), nil, &out, &said)
		if code != 1 || !strings.Contains(said.String(), want) {
			t.Errorf("%v: exit code %d, said %q, want %q", args, code, said.String(), want)
		}
	}
}
