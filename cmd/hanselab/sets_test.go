package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/lab/sets"
)

// writeText writes a file, its folders too.
func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeUJI writes files of UJIIndoorLoc's shape: two access points are heard, the better the larger the latitude.
func writeUJI(t *testing.T, dir string, training, validation int) {
	t.Helper()
	var head []string
	for i := range 520 {
		head = append(head, fmt.Sprintf("WAP%03d", i+1))
	}
	head = append(head, "LONGITUDE", "LATITUDE", "FLOOR", "BUILDINGID", "SPACEID", "RELATIVEPOSITION", "USERID",
		"PHONEID", "TIMESTAMP")
	next := 0
	for name, rows := range map[string]int{"trainingData.csv": training, "validationData.csv": validation} {
		var b strings.Builder
		b.WriteString(strings.Join(head, ",") + "\n")
		for range rows {
			fmt.Fprintf(&b, "%d,%d,%s-7600.1,%d.25,0,1,106,2,2,23,1371713733\n", -next%90, -next%70,
				strings.Repeat("100,", 518), 4864000+next%90)
			next++
		}
		writeText(t, filepath.Join(dir, "uji", name), b.String())
	}
}

// writeWEC writes files of the wave energy converters' shape, without a head.
func writeWEC(t *testing.T, dir string, rows int, sites ...string) {
	t.Helper()
	for s, site := range sites {
		var b strings.Builder
		for i := range rows {
			for c := range 48 {
				fmt.Fprintf(&b, "%d.5,", (i*(c+3)+s)%566)
			}
			fmt.Fprintf(&b, "%d.25\n", 1300000+1000*s+i%997)
		}
		writeText(t, filepath.Join(dir, "wec", site+"_Data.csv"), b.String())
	}
}

// TestUJIAndWECAreLearned runs a few rounds on files of their shapes.
func TestUJIAndWECAreLearned(t *testing.T) {
	dir := t.TempDir()
	writeUJI(t, dir, 19937, 1111)
	var r pofmklReport
	lab(t, &r, "pofmkl", "--set", "uji", "--data", dir, "--draws", "1", "--xi-draws", "0", "--rounds", "1", "--json")
	if len(r.Rows) != 11 || r.Clients != 42 || r.Columns != 520 || r.Rows[5].Paper.Value != 33.02 ||
		r.Rows[5].PaperRegret.Value != 13.23 || r.Rows[5].Spec != nil {
		t.Errorf("%d rows, %d clients, %d columns, the sixth is %+v", len(r.Rows), r.Clients, r.Columns, r.Rows[5])
	}
	if p := pofmklPlans("wec", 1)[4]; p.row.Algorithm != emKOFL || p.row.Paper.Value != 20.14 {
		t.Errorf("WEC's fifth row is %+v", p.row)
	}
	writeWEC(t, dir, 400, sets.WECSites()...)
	if _, err := readPOFMKLSet("wec", dir); err == nil || !strings.Contains(err.Error(),
		"Adelaide_Data.csv: there are 399 rows, want 70000") {
		t.Errorf("error %v", err)
	}
}

// TestSitesAreDealtToTheirClients has four small sites, whose targets tell where a row is from.
func TestSitesAreDealtToTheirClients(t *testing.T) {
	const clients = 2
	all := make([][]example, 4)
	for site := range all {
		for i := range clients * 500 {
			all[site] = append(all[site], example{[]float64{float64(i)}, float64(site)})
		}
	}
	var s pofmklSet
	s.dealSites(all, clients)
	seen := map[[2]float64]bool{}
	for k, labels := range s.labels {
		own := 0
		for i, y := range labels {
			if y == float64(k/clients)/3 {
				own++
			}
			seen[[2]float64{s.rows[k][i][0], y}] = true
		}
		if own != 350 || len(labels) != 500 {
			t.Errorf("client %d has %d rows of its site among %d, want 350 of 500", k+1, own, len(labels))
		}
	}
	if len(s.labels) != 4*clients || len(seen) != 4*clients*500 {
		t.Errorf("%d clients have %d rows, want every row at one client", len(s.labels), len(seen))
	}
}

// TestWECAndCIFARWantNetworks takes any that fit from a folder, and says so when there are none.
func TestWECAndCIFARWantNetworks(t *testing.T) {
	dir := t.TempDir()
	writeWEC(t, dir, 10001, "Adelaide", "Perth")
	_, err := readOFMSFTSet(setWEC, dir, "")
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "ofmsft-models",
		"wec")+` has 0 networks, want 2 to 100 pre-trained ones of the set "wec" as *.safetensors, or --models`) {
		t.Errorf("error %v", err)
	}
	writeNetworks(t, dir, setWEC, []string{"b", "a", "c"}, []int{48},
		nn.Layer{Kind: nn.Dense, Units: 1, Activation: nn.Linear})
	set, err := readOFMSFTSet(setWEC, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.names, []string{"a", "b", "c"}) || len(set.labels) != 100 || set.low != 1300000.25 ||
		set.high != 1301996.25 {
		t.Errorf("networks %v, %d clients, labels from %v to %v", set.names, len(set.labels), set.low, set.high)
	}
	var cifar bytes.Buffer
	for i := range 10000 {
		cifar.WriteByte(byte(i % 10))
		cifar.Write(bytes.Repeat([]byte{byte(i)}, 3072))
	}
	writeText(t, filepath.Join(dir, "cifar10", "test_batch.bin"), cifar.String())
	if _, err := readOFMSFTSet(setCIFAR, dir, filepath.Join(dir, "ofmsft-models", "wec")); err == nil ||
		!strings.Contains(err.Error(), "the network has 48 inputs, want 3072") {
		t.Errorf("error %v", err)
	}
	writeNetworks(t, dir, "mine", []string{"x", "y"}, []int{32, 32, 3},
		nn.Layer{Kind: nn.Dense, Units: 10, Activation: nn.Softmax})
	var r ofmsftReport
	lab(t, &r, "ofmsft", "--set", "cifar10", "--data", dir, "--models", filepath.Join(dir, "ofmsft-models", "mine"),
		"--update", "none", "--budget", "2", "--seeds", "1", "--rounds", "5", "--clients", "10", "--json")
	if len(r.Rows) != 1 || r.Clients != 10 || r.Unit != "accuracy in %" {
		t.Errorf("%d rows, %d clients, %s", len(r.Rows), r.Clients, r.Unit)
	}
}

// TestFilesAreCutToSize prepares sets as the program reads them.
func TestFilesAreCutToSize(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	writeText(t, filepath.Join(dir, "cod-rna"), "+1 1:0.5 8:2\n-1 2:1\n+1 3:1\n")
	writeText(t, filepath.Join(dir, "givemecredit", "cs-training.csv"),
		`"",SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,`+
			"NumberOfTime30-59DaysPastDueNotWorse,DebtRatio,MonthlyIncome,NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,"+
			"NumberRealEstateLoansOrLines,NumberOfTime60-89DaysPastDueNotWorse,NumberOfDependents\n"+
			"1,1,0.7,45,2,0.8,9120,13,0,6,0,2\n2,0,0.9,40,0,0.1,NA,4,0,0,0,NA\n3,0,0.6,38,1,0.08,3042,2,1,0,0,0\n")
	chosen, err := chooseSets([]string{"cod-rna", "givemecredit"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Clone(chosen[0].files)
	rna := chosen[0]
	if err := rna.prepare(work, 0); err != nil || !slices.Equal(rna.files, whole) {
		t.Errorf("files %v, %v, want %v as they are", rna.files, err, whole)
	}
	for i := range chosen {
		if err := chosen[i].prepare(work, 2); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(chosen[i].files)
		if err := chosen[i].prepare(work, 1); err != nil || !slices.Equal(before, chosen[i].files) {
			t.Errorf("prepared twice: %v, %v", chosen[i].files, err)
		}
		table, err := dataset.Read(chosen[i].files[0], chosen[i].options())
		if err != nil {
			t.Fatal(err)
		}
		if table.Rows() != 2 {
			t.Errorf("%s has %d rows, want 2", chosen[i].name, table.Rows())
		}
	}
	if flags := strings.Join(chosen[1].flags(4, 1), " "); !strings.Contains(flags, "--missing median") ||
		!strings.Contains(flags, "--label SeriousDlqin2yrs") {
		t.Errorf("flags are %s", flags)
	}
	writeText(t, filepath.Join(dir, "cod-rna"), "+1 9:1\n")
	chosen[0].files, chosen[0].ready = whole, false
	if err := chosen[0].prepare(work, 2); err == nil ||
		err.Error() != whole[0]+": line 1: index 9 comes after 0, want indices that increase up to 8" {
		t.Errorf("error %v", err)
	}
}

// TestSetsAreListed with one that is here.
func TestSetsAreListed(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "real-sim.bz2"), "")
	var r struct{ Sets []listedSet }
	lab(t, &r, "sets", "--data", dir, "--json")
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
