package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
	"github.com/hanse-project/hanse/lab/sets"
)

// TestUJIAndWECAreLearned runs a few rounds on files of their shapes.
func TestUJIAndWECAreLearned(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteUJI(t, dir, 19937, 1111)
	var r pofmkl.Report
	hanselab(t, &r, "pofmkl", "--set", "uji", "--data", dir, "--draws", "1", "--xi-draws", "0", "--rounds", "1",
		"--json")
	if len(r.Rows) != 11 || r.Clients != 42 || r.Columns != 520 || r.Rows[5].Paper.Value != 33.02 ||
		r.Rows[5].PaperRegret.Value != 13.23 || r.Rows[5].Spec != nil {
		t.Errorf("%d rows, %d clients, %d columns, the sixth is %+v", len(r.Rows), r.Clients, r.Columns, r.Rows[5])
	}
	labtest.WriteWEC(t, dir, 400, sets.WECSites()...)
	if _, err := pofmkl.ReadSet("wec", dir); err == nil || !strings.Contains(err.Error(),
		"Adelaide_Data.csv: there are 399 rows, want 70000") {
		t.Errorf("error %v", err)
	}
}

// TestWECAndCIFARWantNetworks takes any that fit from a folder, and says so when there are none.
func TestWECAndCIFARWantNetworks(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteWEC(t, dir, 10001, "Adelaide", "Perth")
	_, err := ofmsft.ReadSet("wec", dir, "")
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "ofmsft-models",
		"wec")+` has 0 networks, want 2 to 100 pre-trained ones of the set "wec" as *.safetensors, or --models`) {
		t.Errorf("error %v", err)
	}
	labtest.WriteNetworks(t, dir, "wec", []string{"b", "a", "c"}, []int{48},
		nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear})
	set, err := ofmsft.ReadSet("wec", dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Names, []string{"a", "b", "c"}) || len(set.Labels) != 100 || set.Low != 1300000.25 ||
		set.High != 1301996.25 {
		t.Errorf("networks %v, %d clients, labels from %v to %v", set.Names, len(set.Labels), set.Low, set.High)
	}
	var cifar bytes.Buffer
	for i := range 10000 {
		cifar.WriteByte(byte(i % 10))
		cifar.Write(bytes.Repeat([]byte{byte(i)}, 3072))
	}
	labtest.WriteText(t, filepath.Join(dir, "cifar10", "test_batch.bin"), cifar.String())
	if _, err := ofmsft.ReadSet("cifar10", dir, filepath.Join(dir, "ofmsft-models", "wec")); err == nil ||
		!strings.Contains(err.Error(), "the network has 48 inputs, want 3072") {
		t.Errorf("error %v", err)
	}
	labtest.WriteNetworks(t, dir, "mine", []string{"x", "y"}, []int{32, 32, 3},
		nn.Layer{Kind: nn.Dense, Units: 10, Activation: nn.Softmax})
	var r ofmsft.Report
	hanselab(t, &r, "ofmsft", "--set", "cifar10", "--data", dir, "--models", filepath.Join(dir, "ofmsft-models",
		"mine"),
		"--update", "none", "--budget", "2", "--seeds", "1", "--rounds", "5", "--clients", "10", "--json")
	if len(r.Rows) != 1 || r.Clients != 10 || r.Unit != "accuracy in %" {
		t.Errorf("%d rows, %d clients, %s", len(r.Rows), r.Clients, r.Unit)
	}
}

// TestSetsAreListed with one that is here.
func TestSetsAreListed(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteText(t, filepath.Join(dir, "real-sim.bz2"), "")
	var r struct{ Sets []sets.ListedSet }
	hanselab(t, &r, "sets", "--data", dir, "--json")
	for _, s := range r.Sets {
		if here := len(s.Files) > 0; here != (s.Name == "real-sim") || here != (s.Absent == "") {
			t.Errorf("%+v", s)
		}
	}
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"hanselab", "sets", "--data", dir}, nil, &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	table, rest, _ := strings.Cut(out.String(), "\n\n")
	for _, line := range strings.Split(table, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of the table has %d characters: %s", len(line), line)
		}
	}
	if !strings.Contains(rest, "GiveMeSomeCredit") || strings.Contains(rest, "real-sim") {
		t.Errorf("the absent ones are\n%s", rest)
	}
}
