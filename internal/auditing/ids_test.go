package auditing

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// TestIDsOfATableAndNearIt reads a table as an alignment does. A guess near one row may be another row of the table.
func TestIDsOfATableAndNearIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bank.csv")
	write := func(rows string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("id,a\n"+rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := &audit.Input{Contract: &contract.Contract{
		Job: &contract.Job{Task: contract.TaskAlign, Charter: keys.HashOf("a charter").String(),
			Parties: []string{"bank"}},
		Parties: []contract.Facts{{Name: "bank", Rows: 2}}}}
	read := func() ([][]psi.ID, [][]psi.ID) {
		t.Helper()
		got, err := readIDs(in, 0, path, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Lists, got.Guesses
	}
	write("P109,1\nP199,2\n")
	own, guesses := read()
	write("P110,1\nP200,2\n")
	above, _ := read()
	write("P108,1\nP198,2\n")
	below, _ := read()
	if len(own) != 1 || len(own[0]) != 2 || own[0][0] == own[0][1] {
		t.Fatalf("ids are %v", own)
	}
	if want := slices.Concat(below[0], above[0]); len(guesses) != 1 || !slices.Equal(guesses[0], want) {
		t.Errorf("guesses are %x, want %x", guesses, want)
	}
	write("P1,1\n")
	if _, err := readIDs(in, 0, path, dataset.Options{}); err == nil {
		t.Error("a table with another number of rows was read")
	}
}
