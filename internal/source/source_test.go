package source

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hanse-project/hanse/internal/testnet/pgtest"
)

// read returns all of a table.
func read(location string, lim Limits) (names []string, rows [][]string, err error) {
	l, err := Parse(location)
	if err != nil {
		return nil, nil, err
	}
	s, err := Open(context.Background(), l, lim)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Text != nil {
		text, err := io.ReadAll(s.Text)
		for line := range strings.Lines(string(text)) {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), ","))
		}
		if len(rows) == 0 {
			return nil, nil, err
		}
		return rows[0], rows[1:], err
	}
	for {
		row, err := s.Next()
		if err == io.EOF {
			return s.Columns, rows, errors.Join(s.Faults...)
		}
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, slices.Clone(row))
	}
}

// person is a row of every type that has a form.
type person struct {
	ID      string     `parquet:"id"`
	Age     *int32     `parquet:"age,optional"`
	Balance int64      `parquet:"balance"`
	Rate    *float64   `parquet:"rate,optional"`
	Half    float32    `parquet:"half"`
	Paid    bool       `parquet:"paid"`
	Region  *string    `parquet:"region,optional"`
	Born    int32      `parquet:"born,date"`
	Seen    *time.Time `parquet:"seen,optional,timestamp(microsecond)"`
}

// columns and cells are what people come as.
var (
	columns = []string{"id", "age", "balance", "rate", "half", "paid", "region", "born", "seen"}
	cells   = [][]string{
		{"007", "34", "9007199254740993", "0.1", "0.1", "true", "nørd, øst", "1990-02-28", "2024-03-01T09:30:00.25Z"},
		{"8", "", "-5", "1e+21", "2", "false", "", "1969-12-31", ""},
		{"9", "0", "0", "", "-0.5", "true", "O'Brien", "2024-02-29", "1999-12-31T23:59:59Z"},
	}
)

// people returns the rows.
func people() []person {
	age, zero, rate, big := int32(34), int32(0), 0.1, 1e21
	north, brien := "nørd, øst", "O'Brien"
	first := time.Date(2024, 3, 1, 10, 30, 0, 250_000_000, time.FixedZone("", 3600))
	last := time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)
	return []person{
		{"007", &age, 9007199254740993, &rate, 0.1, true, &north, 7363, &first},
		{"8", nil, -5, &big, 2, false, nil, -1, nil},
		{"9", &zero, 0, nil, -0.5, true, &brien, 19782, &last},
	}
}

// writeParquet writes rows into a fresh file and returns its path.
func writeParquet[T any](t testing.TB, path string, rows []T) string {
	t.Helper()
	must(t, parquet.WriteFile(path, rows))
	return path
}

// database makes an SQLite database of statements.
func database(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a database.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestSameCells wants the same cells of the same data, wherever they lie.
func TestSameCells(t *testing.T) {
	dir := t.TempDir()
	single := writeParquet(t, filepath.Join(t.TempDir(), "people.parquet"), people())
	writeParquet(t, filepath.Join(dir, "part-0.parquet"), people()[:1])
	writeParquet(t, filepath.Join(dir, "part-1.parquet"), people()[1:])
	must(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600))
	lite := database(t, `CREATE TABLE people (id TEXT, age INTEGER, balance INTEGER, rate REAL, half REAL, paid BOOLEAN,
		region TEXT, born DATE, seen TIMESTAMP)`,
		`INSERT INTO people VALUES ('007', 34, 9007199254740993, 0.1, 0.1, 1, 'nørd, øst', '1990-02-28',
			'2024-03-01 09:30:00.25'), ('8', NULL, -5, 1e21, 2, 0, NULL, '1969-12-31', NULL),
			('9', 0, 0, NULL, -0.5, 1, 'O''Brien', '2024-02-29', '1999-12-31 23:59:59')`)
	quoted := "'" + single + "'"
	for _, location := range []string{
		single, dir, "exec:cat " + quoted, "sqlite:" + lite + "?query=SELECT * FROM people ORDER BY id",
	} {
		t.Run(location[:6], func(t *testing.T) { wantPeople(t, location) })
	}
}

// wantPeople reads a location of the people above.
func wantPeople(t *testing.T, location string) {
	t.Helper()
	names, rows, err := read(location, StandardLimits())
	must(t, err)
	if !slices.Equal(names, columns) || !reflect.DeepEqual(rows, cells) {
		t.Errorf("%q\n%q\nwant\n%q\n%q", names, rows, columns, cells)
	}
}

func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	server.Run(t, `CREATE TYPE mood AS ENUM ('glad'); CREATE TABLE people (id text, age int2, balance bigint,
		rate double precision, half real, paid boolean, region varchar(20), born date, seen timestamptz)`)
	server.Run(t, `INSERT INTO people VALUES ('007', 34, 9007199254740993, 0.1, 0.1, true, 'nørd, øst', '1990-02-28',
		'2024-03-01 10:30:00.25+01'), ('8', NULL, -5, 1e21, 2, false, NULL, '1969-12-31', NULL),
		('9', 0, 0, NULL, -0.5, true, 'O''Brien', '2024-02-29', '1999-12-31 23:59:59+00')`)
	t.Run("same cells", func(t *testing.T) {
		wantPeople(t, server.Location("SELECT * FROM people ORDER BY id;"))
	})
	t.Run("more rows than a fetch", func(t *testing.T) {
		_, rows, err := read(server.Location("SELECT n % 7 FROM generate_series(1, 2500) n"), StandardLimits())
		if err != nil || len(rows) != 2500 || rows[2499][0] != "1" {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
	t.Run("memory does not grow with the table", func(t *testing.T) {
		l, err := Parse(server.Location("SELECT repeat('x', 4000) FROM generate_series(1, 50000)"))
		must(t, err)
		s, err := Open(t.Context(), l, StandardLimits())
		must(t, err)
		defer s.Close()
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		rows, before := 0, heap()
		for ; ; rows++ {
			if _, err := s.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if rows%5000 == 0 {
				if more := heap() - before; more > 32<<20 {
					t.Fatalf("%d MiB more are in use after %d rows", more>>20, rows)
				}
			}
		}
		if rows != 50000 {
			t.Errorf("%d rows", rows)
		}
	})
	t.Run("types", func(t *testing.T) {
		_, rows, err := read(server.Location(`SELECT 1.50::numeric, -0.00::numeric, 12345678901234567890123::numeric,
			'a '::char(3), 'glad'::mood, '2024-03-01 09:30'::timestamp, 7::oid,
			'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid, 'x'::name`), StandardLimits())
		want := []string{"1.5", "0", "12345678901234567890123", "a  ", "glad", "2024-03-01T09:30:00Z", "7",
			"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x"}
		if err != nil || !slices.Equal(rows[0], want) {
			t.Errorf("%q, %v", rows, err)
		}
	})
	lim, short, small := StandardLimits(), StandardLimits(), StandardLimits()
	short.Time, small.Record = 300*time.Millisecond, 1<<10
	for _, c := range []struct {
		name, query, want string
		lim               Limits
	}{
		{"NaN", "SELECT '-Infinity'::float8 AS rate", `row 1, column "rate": -Inf is not a finite number; make it NULL if the ` +
			`value is missing`, lim},
		{"infinite decimal", "SELECT 'Infinity'::numeric AS rate", `row 1, column "rate": Infinity is not a finite number; ` +
			`make it NULL if the value is missing`, lim},
		{"a date without end", "SELECT 'infinity'::date AS born", `row 1, column "born": "infinity" is not a time of the ` +
			`years 1 to 9999`, lim},
		{"an array", "SELECT ARRAY[1] AS list", `column "list" is of type integer[], which is no number, text, truth value, ` +
			`date or timestamp; convert it in the query, or leave it out`, lim},
		{"bytes", "SELECT ''::bytea AS picture", `column "picture" is of type bytea, which is`, lim},
		{"a row", "SELECT people FROM people", `column "people" is of type people, which is`, lim},
		{"a deletion", "DELETE FROM people", `the query returns no rows; want one SELECT`, lim},
		{"a deletion that returns rows", "DELETE FROM people RETURNING id", `the server refuses the query: syntax error`,
			lim},
		{"two commands", "SELECT 1; DELETE FROM people", `cannot insert multiple commands into a prepared statement`, lim},
		{"an end of the transaction", "SELECT 1; COMMIT", `cannot insert multiple commands`, lim},
		{"a sequence", "SELECT setval('counter', 7)", `cannot execute setval() in a read-only transaction; a table is only read (25006)`, lim},
		{"writing again", "SELECT set_config('transaction_read_only', 'off', false)", `transaction read-write mode must be ` +
			`set before any query`, lim},
		{"a query without end", "SELECT pg_sleep(60)::text", `it took longer than 300ms, the limit`, short},
		{"a value without end", "SELECT repeat('x', 100000)", `the limit is 1024 bytes`, small},
		{"no query", "nothing", `the server refuses the query: syntax error`, lim},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "a sequence" {
				server.Run(t, "CREATE SEQUENCE counter")
			}
			_, _, err := read(server.Location(c.query), c.lim)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("nothing was written", func(t *testing.T) {
		wantPeople(t, server.Location("SELECT * FROM people ORDER BY id"))
		// Some versions make large objects in a transaction that only reads; it is never committed.
		if _, _, err := read(server.Location("SELECT lo_create(4711)"), StandardLimits()); err != nil {
			t.Log(err)
		}
		_, rows, err := read(server.Location("SELECT count(*) FROM pg_largeobject_metadata"), StandardLimits())
		if err != nil || rows[0][0] != "0" {
			t.Errorf("%q, %v", rows, err)
		}
	})
	t.Run("a password in the environment", func(t *testing.T) {
		location := "postgres://hanse@127.0.0.1:" + server.Port + "/postgres?sslmode=disable&query=SELECT 1"
		t.Setenv("PGPASSWORD", pgtest.Password)
		if _, _, err := read(location, StandardLimits()); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PGPASSWORD", "hunter2")
		_, _, err := read(location, StandardLimits())
		if err == nil || !strings.Contains(err.Error(), "password authentication failed") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
		t.Setenv("PGPASSWORD", "")
		file := filepath.Join(t.TempDir(), "pgpass")
		must(t, os.WriteFile(file, []byte("127.0.0.1:*:*:hanse:"+pgtest.Password+"\n"), 0o600))
		t.Setenv("PGPASSFILE", file)
		if _, _, err := read(location, StandardLimits()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBadSQLite(t *testing.T) {
	lite := database(t, "CREATE TABLE t (x, picture BLOB)", "INSERT INTO t VALUES (1, x'00'), (9e999, NULL)")
	other := filepath.Join(t.TempDir(), "other.db")
	lim := StandardLimits()
	lim.Record = 1 << 20
	before, err := os.ReadFile(lite)
	must(t, err)
	for _, c := range []struct{ name, query, want string }{
		{"a deletion", "DELETE FROM t", "the query is refused: authorization denied: not authorized (23); a table is only " +
			"read, by one SELECT"},
		{"a deletion after a query", "SELECT 1; DELETE FROM t", "authorization denied"},
		{"a new table", "CREATE TABLE u (x)", "authorization denied"},
		{"another file", "ATTACH '" + other + "' AS other", "authorization denied"},
		{"a copy", "VACUUM INTO '" + other + "'", "authorization denied"},
		{"a setting", "PRAGMA query_only = 0", "authorization denied"},
		{"code", "SELECT load_extension('x')", "not authorized to use function: load_extension"},
		{"bytes", "SELECT picture FROM t", `row 1, column "picture": it is bytes (BLOB)`},
		{"infinity", "SELECT x FROM t", `row 2, column "x": +Inf is not a finite number`},
		{"a huge value", "SELECT printf('%2525000000d', 1)", "too big"},
		{"rows without end", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c",
			"it took longer than 500ms, the limit"},
		{"a first step without end", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
			"it took longer than 500ms, the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lim := lim
			if strings.Contains(c.want, "longer") {
				lim.Time = 500 * time.Millisecond
			}
			_, _, err := read("sqlite:"+lite+"?query="+c.query, lim)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	if after, err := os.ReadFile(lite); err != nil || !slices.Equal(before, after) {
		t.Errorf("the database changed: %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another file was made: %v", err)
	}
}

func TestFormatDecimal(t *testing.T) {
	for _, c := range []struct {
		unscaled int64
		scale    int
		want     string
	}{
		{0, 0, "0"}, {0, 3, "0"}, {5, 0, "5"}, {-5, 1, "-0.5"}, {150, 2, "1.5"}, {12345, 2, "123.45"}, {1, 4, "0.0001"},
		{-100, 2, "-1"}, {1000, 0, "1000"},
	} {
		if got := formatDecimal(big.NewInt(c.unscaled), c.scale); got != c.want {
			t.Errorf("%d / 10^%d is %q, want %q", c.unscaled, c.scale, got, c.want)
		}
	}
}

// TestNoErrorNamesATableTwice: who reads a source puts its name before what is wrong with it, so that the error of a
// file has none; that of a folder names the part.
func TestNoErrorNamesATableTwice(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"p.csv", "p.parquet", filepath.Join("parts", "a.parquet"),
		filepath.Join("parts", "b.parquet")} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("PAR1xxxxPAR1"), 0o600))
	}
	for name, names := range map[string]string{"p.csv": "", "p.parquet": "", "parts": "a.parquet: ", "gone.csv": "",
		"gone.parquet": ""} {
		l, err := Parse(filepath.Join(dir, name))
		must(t, err)
		s, err := Open(t.Context(), l, StandardLimits())
		if err == nil {
			s.Close()
			t.Fatalf("%s is read", name)
		}
		if strings.Contains(err.Error(), dir) || names == "" && strings.Contains(err.Error(), name) ||
			!strings.HasPrefix(err.Error(), names) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
