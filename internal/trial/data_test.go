package trial

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
)

// TestFilesAreReadBack cuts a table with codes, empty cells and an id of another name, and reads every party's files
// as Options says: the same columns of the same kinds come back.
func TestFilesAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.csv")
	text := "key,id,code,job,rate,default\n" +
		"a,9,1,clerk,0.5,01\nb,8,2,,,02\nc,7,1,pilot,0.25,01\nd,6,3,,0.75,02\ne,5,2,clerk,1,01\n" +
		"f,4,1,pilot,,02\ng,3,3,,0,01\nh,2,2,smith,0.5,02\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	o := dataset.Options{ID: "key", Categorical: []string{"code", "default"}, Missing: "mean,level"}
	d, err := Files([]string{path}, o, 3, 1)
	must(t, err)
	if d.Label != "default" {
		t.Fatalf("the label is %q", d.Label)
	}
	dir := t.TempDir()
	must(t, d.Write(dir))
	for i, name := range d.Names {
		for file, want := range map[string]*dataset.Table{"train.csv": d.Train[i], "test.csv": d.Test[i]} {
			got, err := dataset.Read(filepath.Join(dir, name, file), d.Options(i))
			must(t, err)
			if rendered(t, got) != rendered(t, want) {
				t.Errorf("%s, %s: the table is\n%s, want\n%s", name, file, rendered(t, got), rendered(t, want))
			}
			for c := range want.Columns {
				if a, b := got.Columns[c], want.Columns[c]; a.Kind != b.Kind {
					t.Errorf("%s, %s: column %s is %v, want %v", name, file, b.Name, a.Kind, b.Kind)
				}
			}
		}
	}
}

// rendered returns a table as a CSV file.
func rendered(t *testing.T, table *dataset.Table) string {
	t.Helper()
	var b bytes.Buffer
	must(t, table.WriteCSV(&b))
	return b.String()
}
