package vertical

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/testnet/pgtest"
	"github.com/hanse-project/hanse/keys"
)

// credit is a row of the table that lies in every source.
type credit struct {
	ID      string   `parquet:"id"`
	Age     int32    `parquet:"age"`
	Income  *float64 `parquet:"income,optional"`
	Region  string   `parquet:"region"`
	Married bool     `parquet:"married"`
	Since   int32    `parquet:"since,date"`
}

// writeCredit lays one table into every source there is, and returns their locations by name.
func writeCredit(t *testing.T, rows int) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var list []credit
	var text, values strings.Builder
	text.WriteString("id,age,income,region,married,since\n")
	for i := range rows {
		c := credit{ID: fmt.Sprintf("%03d", i), Age: int32(20 + 7*i%50), Region: []string{"north", "süd", "O'Hara"}[i%3],
			Married: i%2 == 0, Since: int32(10_000 + i)}
		income, quoted := "", "NULL"
		if i%5 != 0 {
			v := float64(i) / 7 * 1e4
			c.Income = &v
			income = strconv.FormatFloat(v, 'g', -1, 64)
			quoted = income
		}
		day := time.Unix(int64(c.Since)*86400, 0).UTC().Format(time.DateOnly)
		list = append(list, c)
		fmt.Fprintf(&text, "%s,%d,%s,%s,%v,%s\n", c.ID, c.Age, income, c.Region, c.Married, day)
		fmt.Fprintf(&values, "('%s', %d, %s, '%s', %v, '%s'),\n", c.ID, c.Age, quoted,
			strings.ReplaceAll(c.Region, "'", "''"), c.Married, day)
	}
	csv := filepath.Join(dir, "credit.csv")
	insert := "INSERT INTO credit VALUES " + strings.TrimSuffix(values.String(), ",\n")
	const create = "CREATE TABLE credit (id text, age integer, income double precision, region text, married boolean, " +
		"since date)"

	parts := filepath.Join(dir, "parts")
	single := filepath.Join(dir, "credit.parquet")
	must(t, errors.Join(os.WriteFile(csv, []byte(text.String()), 0o600), os.Mkdir(parts, 0o700),
		parquet.WriteFile(single, list),
		parquet.WriteFile(filepath.Join(parts, "part-1.parquet"), list[:rows/3]),
		parquet.WriteFile(filepath.Join(parts, "part-0.parquet"), list[rows/3:])))

	lite := filepath.Join(dir, "credit.db")
	db, err := sql.Open("sqlite", lite)
	must(t, err)
	defer db.Close()
	for _, statement := range []string{create, insert} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"CSV": csv, "Parquet": single,
		"a folder of Parquet": parts, "a command": "exec:cat " + csv, "a command's Parquet": "exec:cat " + single,
		"SQLite":     "sqlite:" + lite + "?query=SELECT age, id, income, region, married, since FROM credit",
		"PostgreSQL": create + ";" + insert,
	}
}

// TestNewRowsInAnotherForm: a part of a model that was trained on a spreadsheet's text scores the same rows where they
// come from a program, as Parquet or from a database, and as a .tsv file.
func TestNewRowsInAnotherForm(t *testing.T) {
	type row struct {
		ID   string  `parquet:"id"`
		Rate float64 `parquet:"rate"`
	}
	dir := t.TempDir()
	of := func(name string) string { return filepath.Join(dir, name) }
	must(t, errors.Join(
		os.WriteFile(of("a.csv"), []byte("id;rate\na;1,5\nb;2,25\nc;4\n"), 0o600),
		os.WriteFile(of("a.tsv"), []byte("id\trate\na\t1,5\nb\t2,25\nc\t4\n"), 0o600),
		os.WriteFile(of("said.csv"), []byte("sep=,\nid,rate\na,\"1,5\"\nb,\"2,25\"\nc,4\n"), 0o600),
		parquet.WriteFile(of("a.parquet"), []row{{"a", 1.5}, {"b", 2.25}, {"c", 4}}),
	))
	o := dataset.Options{Delimiter: ";", Decimal: ","}
	table, err := dataset.Read(of("a.csv"), o)
	must(t, err)
	n, err := kernel.Fit(KernelColumns(table), nil, kernel.FitOptions{Numeric: kernel.MinMax})
	must(t, err)
	m := &joint.Model{Columns: table.Names(), Normaliser: n, Reading: ReadingOf(table, o)}
	for _, name := range []string{"a.csv", "a.parquet", "a.tsv", "said.csv"} {
		table, err := dataset.Read(of(name), ScoringOptions(dataset.Options{}, m))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := table.Columns[0].Values; !slices.Equal(got, []float64{1.5, 2.25, 4}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, err := dataset.Read(of("a.parquet"), o); err == nil { // what its owner says of it is wrong
		t.Error("a Parquet file has a delimiter")
	}
}

// TestEverySourceTheSame wants one digest, one table and one model, byte by byte, of the same data in every source.
func TestEverySourceTheSame(t *testing.T) {
	sources := writeCredit(t, 100)
	o := dataset.Options{Missing: "mean", Ignore: []string{"since"}, Label: "married"}
	model := func(location string) (*dataset.Table, []byte) {
		table, err := dataset.Read(location, o)
		must(t, err)
		p := fdskl.Params{Label: "married", Features: 32, Seed: "s"}.WithDefaults()
		pooled := pooledOf(p, []*dataset.Table{table}, []keys.ID{{1}})
		if _, err := pooled.Train(t.Context(), t.TempDir(), 2); err != nil {
			t.Fatal(err)
		}
		encoded, err := pooled.models[0].Encode()
		must(t, err)
		return table, encoded
	}
	want, wanted := model(sources["CSV"])
	for name, location := range sources {
		t.Run(name, func(t *testing.T) {
			if name == "PostgreSQL" {
				server := pgtest.Start(t)
				server.Run(t, location)
				location = server.Location("SELECT age, income, region, married, since, id FROM credit ORDER BY age")
			}
			got, encoded := model(location)
			if got.Sum != want.Sum {
				t.Error("another digest")
			}
			if !bytes.Equal(encoded, wanted) {
				t.Error("another model")
			}
			got.Path, got.Sum = want.Path, want.Sum
			if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b { // missing numbers are NaN
				t.Errorf("another table: %.2000s\nwant %.2000s", a, b)
			}
		})
	}
}
