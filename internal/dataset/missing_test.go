package dataset

import (
	"reflect"
	"testing"
)

func TestImputation(t *testing.T) {
	const content = "id,age\na,10\nb,\nc,20\nd,60\n"
	for _, tc := range []struct {
		name string
		o    Options
		want float64
	}{
		{"mean", Options{Missing: "mean"}, 30},
		{"median", Options{Missing: "median"}, 20},
		{"with levels", Options{Missing: "median,level"}, 20},
		{"given", Options{Fill: map[string]float64{"age": 7, "other": 1}}, 7},
		{"given before mean", Options{Missing: "mean", Fill: map[string]float64{"age": 7}}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := mustRead(t, content, asCSV, tc.o)
			if v := mustColumn(t, table, "age").Values; !reflect.DeepEqual(v, []float64{10, tc.want, 20, 60}) {
				t.Errorf("values %v", v)
			}
			if !reflect.DeepEqual(table.Fills, map[string]float64{"age": tc.want}) {
				t.Errorf("fills %v", table.Fills)
			}
		})
	}
}

func TestFillsAreKnownWithoutHoles(t *testing.T) {
	table := mustRead(t, "id,age\na,10\nb,20\n", asCSV, Options{Missing: "median"})
	if table.Fills["age"] != 15 {
		t.Errorf("fills %v: a row to predict on may have a hole where training had none", table.Fills)
	}
	if plain := mustRead(t, "id,age\na,10\n", asCSV, Options{}); plain.Fills != nil {
		t.Errorf("fills %v without an imputation", plain.Fills)
	}
}

func TestOneRowToPredictOn(t *testing.T) {
	o := Options{Missing: "mean,level", Categorical: []string{"region"}, Fill: map[string]float64{"age": 30}}
	table := mustRead(t, "id,age,region\na,,\n", asCSV, o)
	if v := mustColumn(t, table, "age").Values; v[0] != 30 {
		t.Errorf("age %v", v)
	}
	if c := mustColumn(t, table, "region"); c.Levels[c.Codes[0]] != "" {
		t.Errorf("region %+v", c)
	}
}

func TestImputationDoesNotDependOnTheOrderOfRows(t *testing.T) {
	o := Options{Missing: "mean"}
	one := mustRead(t, "id,x\na,0.1\nb,0.2\nc,0.3\nd,\n", asCSV, o)
	two := mustRead(t, "id,x\nc,0.3\nd,\nb,0.2\na,0.1\n", asCSV, o)
	if !reflect.DeepEqual(one.Columns, two.Columns) {
		t.Errorf("%v and %v", one.Columns, two.Columns)
	}
}

func TestOnlySomeColumnsAreLookedAt(t *testing.T) {
	o := Options{Only: []string{"age"}}
	table := mustRead(t, "id,y,age,note\na,,10,\nb,,20,7\n", asCSV, o)
	if names := table.Names(); !reflect.DeepEqual(names, []string{"age"}) {
		t.Errorf("columns %q", names)
	}
	o.Label = "y"
	table = mustRead(t, "id,y,age,note\na,,10,\nb,,20,7\n", asCSV, o)
	if names := table.Names(); !reflect.DeepEqual(names, []string{"y", "age"}) {
		t.Errorf("columns %q", names)
	}
	table = mustRead(t, "1 1:2 2:3\n0 1:4\n", asLIBSVM, Options{Only: []string{"f1"}})
	if names := table.Names(); !reflect.DeepEqual(names, []string{"f1"}) {
		t.Errorf("columns %q", names)
	}
}

func TestWithLevels(t *testing.T) {
	for way, want := range map[string]string{
		"": "level", "refuse": "level", "level": "level", "mean": "mean,level",
		"median": "median,level", "mean,level": "mean,level", "mode": "mode",
	} {
		if got := WithLevels(way); got != want {
			t.Errorf("%q with levels is %q, want %q", way, got, want)
		}
	}
}
