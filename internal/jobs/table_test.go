package jobs

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestDatabasesAreAskedAnew wants a database's table as it is at each use, and its reading kept while that is the same.
func TestDatabasesAreAskedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bank.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE t (id, x)")
	run("INSERT INTO t VALUES ('a', 1), ('b', 2)")
	tables := NewTables(map[string]TableSpec{"train": {Path: "sqlite:" + path + "?query=SELECT * FROM t"}})
	agreed, name, err := tables.Now("train")
	if err != nil || name != "sqlite:"+path {
		t.Fatalf("%q, %v", name, err)
	}
	run("DELETE FROM t")
	run("INSERT INTO t VALUES ('b', 2.0), ('a', 1)")
	table, err := tables.Load("train", "", nil)
	if err != nil || table.Sum != agreed || tables.Readings != 1 {
		t.Errorf("the same rows in another order: sum %v, want %v; %d readings; %v", table.Sum, agreed, tables.Readings, err)
	}
	run("UPDATE t SET x = 3 WHERE id = 'a'")
	if table, err = tables.Load("train", "", nil); err != nil || table.Sum == agreed || table.Columns[0].Values[0] != 3 {
		t.Errorf("a row changed: %+v, %v", table, err)
	}
	if sum, _, err := tables.Now("train"); err != nil || sum == agreed || sum != table.Sum {
		t.Errorf("a row changed: %v, %v", sum, err)
	}
	run("DROP TABLE t")
	_, err = tables.Load("train", "", nil)
	if code, final := faults.CodeOf(err); code != fault.CodeData || final {
		t.Errorf("a table that is gone: %s, %v, %v", code, final, err)
	}
}

// TestJobsNameTables plays a proposer who writes a command, a database or a file into a job as its table: a node has
// the tables of its own command line, and nothing runs or opens.
func TestJobsNameTables(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	tables := NewTables(map[string]TableSpec{"train": {Path: "exec:echo id"}})
	for _, name := range []string{
		"exec:touch " + made, "/etc/passwd", "postgres:///bank?query=SELECT 1", "sqlite:" + made + "?query=SELECT 1",
		"train?x",
	} {
		if _, err := tables.Load(name, "", nil); err == nil || !strings.Contains(err.Error(), "this node has no table") {
			t.Errorf("table %q: %v", name, err)
		}
		if tables.Has(name) {
			t.Errorf("the node has a table %q", name)
		}
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Error("the command ran")
	}
}

// TestNodesEndEndsCommands reads the table of a command that never ends, at a node that stops.
func TestNodesEndEndsCommands(t *testing.T) {
	tables := NewTables(map[string]TableSpec{"train": {Path: "exec:sleep 600"}})
	life, stop := context.WithCancel(t.Context())
	tables.Life = life
	go stop()
	if _, err := tables.Load("train", "", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStreamsAreFiles wants a database refused where rows are read one by one.
func TestStreamsAreFiles(t *testing.T) {
	tables := NewTables(map[string]TableSpec{"train": {Path: "sqlite:x.db?query=SELECT 1"}})
	if _, err := tables.OpenStream("train", "y", nil); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
}
