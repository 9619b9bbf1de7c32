package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPasswordsStayHidden holds every text that comes of a location against an attacker who reads logs, lists of
// processes and error messages: a password in an address is refused, and appears nowhere.
func TestPasswordsStayHidden(t *testing.T) {
	const secret = "hunter2"
	for _, s := range []string{
		"postgres://bank:hunter2@host/db?query=SELECT 1", "postgresql://bank:hunter2@host/db?query=SELECT 1",
		"postgres://bank:hun?hunter2@host/db?query=SELECT 1", "postgres://bank:a/hunter2@host/db?query=SELECT 1",
		"postgres://bank:hunter2#@host/db?query=SELECT 1", "postgres://:hunter2@host/db?query=SELECT 1",
		"postgres://host/db?password=hunter2&query=SELECT 1", "postgres://host/db?query=SELECT 1&password=hunter2",
		"postgres://host/db?PASSWORD=hunter2&query=SELECT 1", "postgres://host/db?sslpassword=hunter2&query=SELECT 1",
		"postgres://bank:query=hunter2@host/db?query=SELECT 1",
		"postgres://bank:%zzhunter2@host/db?query=SELECT 1", "postgres://bank:hunter2 @host/db?query=SELECT 1",
		"postgres://bank:hunter2@host/db", "postgres://host:hunter2/db?query=SELECT 1",
		"postgres://host/db?passwort=hunter2&query=SELECT 1", "mysql://bank:hunter2@host/db",
		"sqlite:x.db?query=SELECT 1&key=hunter2",
	} {
		l, err := Parse(s)
		if err == nil {
			t.Errorf("%s is accepted, as %s", s, l)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error tells the password: %v", s, err)
		}
	}
	for _, s := range []string{
		"postgres://host/db?query=SELECT 'hunter2'", "exec:duckdb --token hunter2 x",
		"sqlite:x.db?query=SELECT 'hunter2'",
	} {
		if l, err := Parse(s); err != nil || strings.Contains(l.String(), secret) {
			t.Errorf("%s is shown as %s, %v", s, l, err)
		}
	}
}

func TestParse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.sql")
	must(t, os.WriteFile(file, []byte("SELECT a & 1,\n b LIKE '50%'\nFROM t\n"), 0o600))
	for _, c := range []struct{ location, shown, server, query string }{
		{"bank.csv", "bank.csv", "", ""},
		{"a=b/bank.csv", "a=b/bank.csv", "", ""},
		{"postgres://me@host:5433/bank?query=SELECT a+1 FROM t", "postgres://host:5433/bank", "postgres://me@host:5433/bank",
			"SELECT a+1 FROM t"},
		{"postgres:///bank?host=/tmp/s&query=SELECT%201&sslmode=require", "postgres:///bank",
			"postgres:///bank?host=/tmp/s&sslmode=require", "SELECT 1"},
		{"postgres://host/bank?query=@" + file, "postgres://host/bank", "postgres://host/bank",
			"SELECT a & 1,\n b LIKE '50%'\nFROM t"},
		{"sqlite:bank.db?query=SELECT x FROM t WHERE y LIKE '5%25'", "sqlite:bank.db", "",
			"SELECT x FROM t WHERE y LIKE '5%'"},
		{"exec:duckdb -csv -c \"SELECT * FROM 't.json'\"", "exec:duckdb", "", ""},
	} {
		l, err := Parse(c.location)
		if err != nil || l.String() != c.shown || l.server != c.server || l.query != c.query {
			t.Errorf("%s: %q, %q, %q, %v", c.location, l, l.server, l.query, err)
		}
	}
	if words, err := splitWords(`duckdb  -c "SELECT 'a b'" '' x"y z"'w'`); err != nil ||
		!slices.Equal(words, []string{"duckdb", "-c", "SELECT 'a b'", "", "xy zw"}) {
		t.Errorf("%q, %v", words, err)
	}
	for location, want := range map[string]string{
		"":                                "the location is empty",
		"mysql://h/d":                     `there is no source of the kind "mysql"`,
		"postgres://h/d":                  "the location has no query",
		"postgres://h/d?query=":           "the location has no query",
		"postgres://h/d?query=a&query=b":  "the location has two queries",
		"postgres://h/d?query=a & b":      "write & inside a query as %26",
		"postgres://h/d?query=LIKE 'a%'":  "write it as %25",
		"postgres://h:x/d?query=SELECT 1": "the address does not read as postgres://",
		"sqlite:?query=SELECT 1":          "sqlite: names no file",
		"sqlite:x.db?query=a&b=c":         "sqlite: has another parameter than query",
		"exec:":                           "exec: names no command",
		"exec:x 'y":                       "exec: a quote lacks its partner",
	} {
		if _, err := Parse(location); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", location, err, want)
		}
	}
}

func TestAbsolute(t *testing.T) {
	here, err := os.Getwd()
	must(t, err)
	query := filepath.Join(t.TempDir(), "q.sql")
	must(t, os.WriteFile(query, []byte("SELECT 1"), 0o600))
	relative, err := filepath.Rel(here, query)
	must(t, err)
	for location, want := range map[string]string{
		"bank.csv":                             filepath.Join(here, "bank.csv"),
		"sqlite:bank.db?query=SELECT 1":        "sqlite:" + filepath.Join(here, "bank.db") + "?query=SELECT 1",
		"postgres://h/d?query=@" + relative:    "postgres://h/d?query=@" + query,
		"exec:cat bank.csv":                    "exec:cat bank.csv",
		"sqlite:bank.db?query=@" + relative:    "sqlite:" + filepath.Join(here, "bank.db") + "?query=@" + query,
		"postgres:///d?host=/x&query=SELECT 1": "postgres:///d?host=/x&query=SELECT 1",
	} {
		l, err := Parse(location)
		must(t, err)
		if got, err := l.Absolute(); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", location, got, err, want)
		}
	}
}
