package auditing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
)

// TestReadings takes the audit's flags apart. Bank and telco both have a column "plan", codes at one and numbers at
// the other; the insurer has neither it nor an id of the others' name.
func TestReadings(t *testing.T) {
	dir := t.TempDir()
	var data []string
	for party, header := range map[string]string{"bank": "key,plan,x", "insurer": "id,y", "telco": "key,plan,a=b"} {
		path := filepath.Join(dir, party+".csv")
		if err := os.WriteFile(path, []byte(header+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		data = append(data, party+"="+path)
	}
	parties := []string{"bank", "insurer", "telco"}
	for _, c := range []struct {
		flags string
		want  [3]dataset.Options
		err   string
	}{
		{"", [3]dataset.Options{}, ""},
		{"--id key --categorical plan --missing mean,level", [3]dataset.Options{
			{ID: "key", Categorical: []string{"plan"}, Missing: "mean,level"}, {Missing: "mean,level"},
			{ID: "key", Categorical: []string{"plan"}, Missing: "mean,level"},
		}, ""},
		{"--id key --categorical telco=plan --missing level --missing bank=median", [3]dataset.Options{
			{ID: "key", Missing: "median"}, {Missing: "level"},
			{ID: "key", Categorical: []string{"plan"}, Missing: "level"},
		}, ""},
		{"--id bank=key --id telco=plan --categorical a=b --categorical plan", [3]dataset.Options{
			{ID: "key", Categorical: []string{"plan"}}, {}, {ID: "plan", Categorical: []string{"a=b"}},
		}, ""},
		{"--categorical nothing", [3]dataset.Options{},
			"--categorical nothing: no table that is given with --data has that column; want COLUMN, or PARTY=COLUMN"},
		{"--id butcher=key", [3]dataset.Options{},
			"--id butcher=key: no table that is given with --data has that column; want COLUMN, or PARTY=COLUMN"},
		{"--missing butcher=mean", [3]dataset.Options{},
			"--missing butcher=mean: want HOW, or PARTY=HOW with one of the parties bank, insurer, telco"},
		{"--id bank=key --id bank=x", [3]dataset.Options{}, "--id is given twice for bank, as key and x"},
	} {
		var w Words
		flags := strings.Fields(c.flags)
		for i := 0; i < len(flags); i += 2 {
			list := map[string]*[]string{"--id": &w.ID, "--categorical": &w.Categorical, "--missing": &w.Missing}[flags[i]]
			*list = append(*list, flags[i+1])
		}
		r, err := newReadings(w, parties, data)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error %v, want %s", c.flags, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.flags, err)
			continue
		}
		for i, party := range parties {
			got, err := r.of(party, filepath.Join(dir, party+".csv"), dataset.Options{}, nil)
			if g, w := options(t, got), options(t, c.want[i]); err != nil || g != w {
				t.Errorf("%s: %s reads %s (%v), want %s", c.flags, party, g, err, w)
			}
		}
	}
}

// options writes what options say, without where they stand.
func options(t *testing.T, o dataset.Options) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
