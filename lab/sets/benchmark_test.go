package sets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/lab/labtest"
)

// TestFilesAreCutToSize prepares sets as the program reads them.
func TestFilesAreCutToSize(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	labtest.WriteText(t, filepath.Join(dir, "cod-rna"), "+1 1:0.5 8:2\n-1 2:1\n+1 3:1\n")
	labtest.WriteText(t, filepath.Join(dir, "givemecredit", "cs-training.csv"),
		`"",SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,`+
			"NumberOfTime30-59DaysPastDueNotWorse,DebtRatio,MonthlyIncome,NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,"+
			"NumberRealEstateLoansOrLines,NumberOfTime60-89DaysPastDueNotWorse,NumberOfDependents\n"+
			"1,1,0.7,45,2,0.8,9120,13,0,6,0,2\n2,0,0.9,40,0,0.1,NA,4,0,0,0,NA\n3,0,0.6,38,1,0.08,3042,2,1,0,0,0\n")
	chosen, err := Choose([]string{"cod-rna", "givemecredit"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Clone(chosen[0].Files)
	rna := chosen[0]
	if err := rna.Prepare(work, 0); err != nil || !slices.Equal(rna.Files, whole) {
		t.Errorf("files %v, %v, want %v as they are", rna.Files, err, whole)
	}
	for i := range chosen {
		if err := chosen[i].Prepare(work, 2); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(chosen[i].Files)
		if err := chosen[i].Prepare(work, 1); err != nil || !slices.Equal(before, chosen[i].Files) {
			t.Errorf("prepared twice: %v, %v", chosen[i].Files, err)
		}
		table, err := dataset.Read(chosen[i].Files[0], chosen[i].Options())
		if err != nil {
			t.Fatal(err)
		}
		if table.Rows() != 2 {
			t.Errorf("%s has %d rows, want 2", chosen[i].Name, table.Rows())
		}
	}
	if flags := strings.Join(chosen[1].Flags(4, 1), " "); !strings.Contains(flags, "--missing median") ||
		!strings.Contains(flags, "--label SeriousDlqin2yrs") {
		t.Errorf("flags are %s", flags)
	}
	labtest.WriteText(t, filepath.Join(dir, "cod-rna"), "+1 9:1\n")
	chosen[0].Files, chosen[0].ready = whole, false
	if err := chosen[0].Prepare(work, 2); err == nil ||
		err.Error() != whole[0]+": line 1: index 9 comes after 0, want indices that increase up to 8" {
		t.Errorf("error %v", err)
	}
}

func TestSVMGamma(t *testing.T) {
	if got := (&Benchmark{Sigma: 2}).SVMGamma(); got != 0.125 {
		t.Errorf("gamma %v, want 1/8", got)
	}
	if got := (&Benchmark{Sigma: 2, Gamma: 0.25}).SVMGamma(); got != 0.25 {
		t.Errorf("gamma %v, want the set's own", got)
	}
}

// TestAnyTakesAFile takes a set by its name, and only a file.
func TestAnyTakesAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "epsilon"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := Any("mine", dir); err != nil || s.Files[0] != filepath.Join(dir, "mine.gz") {
		t.Errorf("mine: %v, %v", s, err)
	}
	if _, err := Any("epsilon", dir); err == nil {
		t.Error("a folder is taken for a set")
	}
}
