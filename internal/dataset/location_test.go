package dataset

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLocations(t *testing.T) {
	for _, c := range []struct {
		location, source string
		want             Options
		err              string
	}{
		{"train.csv", "train.csv", Options{}, ""},
		{"train.csv?id=customer&categorical=region,product&missing=level", "train.csv",
			Options{ID: "customer", Categorical: []string{"region", "product"}, Missing: "level"}, ""},
		{"train.csv?columns=a,b%2Cc&ignore=d e&levels=error&dates=dmy", "train.csv",
			Options{Columns: []string{"a", "b,c"}, Ignore: []string{"d e"}, Levels: "error", Dates: "dmy"}, ""},
		{"train.csv?na=-,%20,", "train.csv", Options{NA: []string{"-", " ", ""}}, ""},
		{"train.csv?na=", "train.csv", Options{NA: []string{""}}, ""},
		{"really?.csv", "really?.csv", Options{}, ""},
		{"postgres://db/bank?sslmode=require&id=customer&query=select * from a where b = 'x?'",
			"postgres://db/bank?sslmode=require&query=select * from a where b = 'x?'", Options{ID: "customer"}, ""},
		{"sqlite:bank.db?missing=refuse&query=select 1", "sqlite:bank.db?query=select 1", Options{Missing: "refuse"}, ""},
		{"exec: curl 'https://bank/rows?id=7'", "exec: curl 'https://bank/rows?id=7'", Options{}, ""},
		{"train.csv?id=a&id=b", "", Options{}, "train.csv: id is given twice"},
		{"train.csv?id=", "", Options{}, "train.csv: id has an empty word; leave it out, or give a value"},
		{"train.csv?ignore=100%", "", Options{}, `train.csv: ignore has "100%": a percent sign is written %25`},
	} {
		source, o, err := ParseLocation(c.location)
		if c.err != "" {
			wantError(t, err, c.err)
			continue
		}
		o.home = home{}
		if err != nil || source != c.source || !reflect.DeepEqual(o, c.want) {
			t.Errorf("%s is %s with %+v (%v), want %s with %+v", c.location, source, o, err, c.source, c.want)
		}
	}
}

// TestOptionsBesideATable takes each option from the first that says it: location, file, defaults.
func TestOptionsBesideATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.csv")
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path+".toml", []byte(text), 0o600))
	}
	defaults := Options{ID: "nr", Missing: "mean", Categorical: []string{"plan"}}
	for _, c := range []struct {
		file, query string
		want        Options
	}{
		{"", "", defaults},
		{"id = \"customer\"\nna = []\n", "", Options{ID: "customer", NA: []string{}, Missing: "mean",
			Categorical: []string{"plan"}}},
		{"id = \"customer\"\nmissing = \"level\"\ncategorical = []\ncolumns = [\"a\"]\n", "?id=key&dates=text",
			Options{ID: "key", Missing: "level", Categorical: []string{}, Columns: []string{"a"}, Dates: "text"}},
	} {
		write(c.file)
		source, o, err := Locate(path+c.query, defaults)
		o.home = home{}
		if err != nil || source != path || !reflect.DeepEqual(o, c.want) {
			t.Errorf("%q and %q: %s with %+v (%v), want %+v", c.file, c.query, source, o, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"identity = \"x\"": `unknown key "identity"; a table has id, categorical, missing, na, columns, ignore, levels, ` +
			`dates, delimiter, decimal, thousands, units and refresh`,
		"missing = \"guess\"":                    `unknown way "guess" to treat missing values`,
		"id = 7":                                 "line 1: ",
		"id = " + strings.Repeat("{a=", 100_000): "nested deeper",
	} {
		write(text)
		if _, _, err := Locate(path, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestRefreshIsOfSources takes from a database's location when it is read anew, and refuses what is no time, or of a
// file.
func TestRefreshIsOfSources(t *testing.T) {
	const query = "sqlite:bank.db?query=SELECT 1"
	for _, refresh := range []string{"24h", Manual} {
		source, o, err := Locate(query+"&refresh="+refresh, Options{Refresh: "1h"})
		if err != nil || source != query || o.Refresh != refresh {
			t.Errorf("refresh %s: %s, %+v, %v", refresh, source, o, err)
		}
	}
	if _, o, err := Locate("exec:cat x?refresh=24h", Options{Refresh: "1h"}); err != nil || o.Refresh != "1h" {
		t.Errorf("a command has what the flag says: %+v, %v", o, err)
	}
	for location, want := range map[string]string{
		query + "&refresh=1s": "one minute or more", query + "&refresh=often": "such as 24h, or manual",
		"train.csv?refresh=24h": "a file is looked at whenever it is used",
	} {
		if _, _, err := Locate(location, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", location, err, want)
		}
	}
}

// FuzzLocation: what is taken out of a location says the same as a file beside the table, and of what is left nothing
// more is ours.
func FuzzLocation(f *testing.F) {
	f.Add("train.csv?id=a&categorical=b,c%2Cd&na=&ignore=x&query=1", "na = [\"-\"]\nignore = [\"a\"]")
	f.Add("postgres://u:p@h/d?sslmode=x&missing=mean,level", "columns = []")
	f.Fuzz(func(t *testing.T, location, text string) {
		if source, o, err := ParseLocation(location); err == nil {
			if again, none, err := ParseLocation(source); err != nil || again != source ||
				!reflect.DeepEqual(none, Options{}) {
				t.Fatalf("%q leaves %q, which is %q with %+v (%v)", location, source, again, none, err)
			}
			o.home = home{}
			checkWritten(t, o)
		}
		if o, err := parseWritten(text); err == nil {
			checkWritten(t, o)
		}
	})
}

// checkWritten writes options and reads them back; an empty list but na's is as none.
func checkWritten(t *testing.T, o Options) {
	t.Helper()
	for _, list := range []*[]string{&o.Categorical, &o.Columns, &o.Ignore} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	text, err := o.TOML()
	must(t, err)
	back, err := parseWritten(string(text))
	if err != nil || !reflect.DeepEqual(back, o) {
		t.Fatalf("%+v is written\n%s\nand read %+v (%v)", o, text, back, err)
	}
}
