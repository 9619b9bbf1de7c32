package jobs

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestDatabasesAreAskedWhereSomebodySaysSo wants a database's table as it was read last, whoever uses it, and read anew
// by Refresh alone. Its reading is kept while the rows are the same, and where the database is away.
func TestDatabasesAreAskedWhereSomebodySaysSo(t *testing.T) {
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
	if _, _, err = tables.Now("train"); !faults.WithCode(fault.CodeBusy)(err) {
		t.Errorf("before it was read: %v", err)
	}
	refresh := func() (sum keys.Hash, err error) {
		sum, name, err := tables.Refresh(t.Context(), "train", "the test")
		if err == nil && name != "sqlite:"+path {
			t.Errorf("it is called %q", name)
		}
		return sum, err
	}
	agreed, err := refresh()
	if err != nil {
		t.Fatal(err)
	}
	run("DELETE FROM t")
	run("INSERT INTO t VALUES ('b', 2.0), ('a', 1)")
	if sum, err := refresh(); err != nil || sum != agreed || tables.Readings != 1 || tables.Times("train") != 2 {
		t.Errorf("the same rows in another order: sum %v, want %v; %d readings; %v", sum, agreed, tables.Readings, err)
	}
	run("UPDATE t SET x = 3 WHERE id = 'a'")
	table, err := tables.Load("train", "", nil)
	if err != nil || table.Sum != agreed || table.Columns[0].Values[0] != 1 {
		t.Errorf("a row changed, and nobody says that it is to be read anew: %+v, %v", table, err)
	}
	sum, err := refresh()
	if err != nil || sum == agreed {
		t.Errorf("a row changed: %v, %v", sum, err)
	}
	if table, err = tables.Load("train", "", nil); err != nil || table.Sum != sum || table.Columns[0].Values[0] != 3 {
		t.Errorf("a row changed: %+v, %v", table, err)
	}
	run("DROP TABLE t")
	_, err = refresh()
	if code, final := faults.CodeOf(err); code != fault.CodeData || final {
		t.Errorf("a table that is gone: %s, %v, %v", code, final, err)
	}
	if table, err = tables.Load("train", "", nil); err != nil || table.Sum != sum {
		t.Errorf("what is kept of a table that is gone: %+v, %v", table, err)
	}
}

// TestSourcesAreRunByTheClock: when the node starts, as often as the owner says, and after failures at longer and
// longer times; never a source that its owner runs by hand.
func TestSourcesAreRunByTheClock(t *testing.T) {
	dir := t.TempDir()
	noted, file := filepath.Join(dir, "runs"), filepath.Join(dir, "t.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := "exec:sh -c 'echo $1 >> " + noted + "; cat " + file + "' sh "
	tables := NewTables(map[string]TableSpec{
		"once": {Path: command + "once"}, "daily": {Path: command + "daily", Options: dataset.Options{Refresh: "24h"}},
		"manual": {Path: command + "manual", Options: dataset.Options{Refresh: dataset.Manual}}, "file": {Path: file},
	})
	now := time.Now()
	tables.Clock = func() time.Time { return now }
	after := func(d time.Duration, want string) {
		t.Helper()
		now = now.Add(d)
		tables.Tend(t.Context(), func(run func()) { run() })
		text, err := os.ReadFile(noted)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(string(text)), " "); got != want {
			t.Errorf("after %v: %q ran, want %q", d, got, want)
		}
		os.Remove(noted)
	}
	write("no table")
	after(0, "daily once")
	after(59*time.Second, "")
	after(time.Second, "daily once")
	after(time.Minute, "")
	write("id,x\na,1\n")
	after(time.Minute, "daily once")
	after(23*time.Hour, "")
	after(time.Hour, "daily")
	_, err := tables.Load("manual", "", nil)
	if err == nil || !strings.Contains(err.Error(), "run hanse table refresh manual") {
		t.Errorf("a table that its owner has yet to have read: %v", err)
	}
	if _, _, err := tables.Refresh(t.Context(), "manual", "the test"); err != nil {
		t.Error(err)
	}
	after(1000*time.Hour, "manual daily")
	tables.Identify = func() []string { return []string{"phone"} }
	after(time.Second, "daily once")
	after(time.Second, "")
}

// TestATrainingsMissingWords wants a table that is kept refused, with what to do, where a model's training took other
// words for a missing cell: nothing is run to read it as that model has it.
func TestATrainingsMissingWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("id,x\na,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tables := NewTables(map[string]TableSpec{"train": {Path: "exec:cat " + path}})
	if _, _, err := tables.Refresh(t.Context(), "train", "the test"); err != nil {
		t.Fatal(err)
	}
	m := &joint.Model{Reading: &joint.Reading{NA: []string{"-"}, NAChosen: true}}
	_, err := tables.LoadFor("train", m, nil)
	if err == nil || !strings.Contains(err.Error(), "other words for a missing cell") || tables.Times("train") != 1 {
		t.Errorf("%v; it was read %d times", err, tables.Times("train"))
	}
}

// TestACommandReadsAtUse wants a source read where a command of its owner's uses it, once while it is used in one way.
func TestACommandReadsAtUse(t *testing.T) {
	dir := t.TempDir()
	noted := filepath.Join(dir, "runs")
	path := filepath.Join(dir, "t.csv")
	if err := os.WriteFile(path, []byte("id,x\na,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tables := NewTables(map[string]TableSpec{"train": {Path: "exec:sh -c 'echo >> " + noted + "; cat " + path + "'"}})
	tables.AtUse = true
	for range 2 {
		if s, err := tables.Source("train"); err != nil || len(s.RowIDs()) != 1 {
			t.Errorf("%v, %v", s, err)
		}
	}
	if text, err := os.ReadFile(noted); err != nil || string(text) != "\n" {
		t.Errorf("it ran %d times, %v", len(text), err)
	}
	m := &joint.Model{Reading: &joint.Reading{NA: []string{"-"}, NAChosen: true}}
	if table, err := tables.LoadFor("train", m, nil); err != nil || table.Rows() != 1 {
		t.Errorf("for a model that took other words for a missing cell: %v, %v", table, err)
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
	if _, _, err := tables.Refresh(t.Context(), "train", "the test"); !errors.Is(err, context.Canceled) {
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

// TestLabelsBesideATableAreReadAsTables: a file of labels is written as its options say, in the location or beside it.
func TestLabelsBesideATableAreReadAsTables(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "labels.csv")
	if err := os.WriteFile(path, []byte("id;price\na;1.250,5\nb;2.000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tables := NewTables(map[string]TableSpec{"test": {Path: filepath.Join(dir, "test.csv")}})
	want := []float64{1250.5, 2000}
	labels, err := tables.LabelsIn(path+"?delimiter=;&decimal=%2C&thousands=.", "test", "price")
	if err != nil || !slices.Equal(labels.Columns[0].Values, want) {
		t.Errorf("options in the location: %+v, %v", labels, err)
	}
	options := "delimiter = \";\"\ndecimal = \",\"\nthousands = \".\"\n"
	if err := os.WriteFile(path+".toml", []byte(options), 0o600); err != nil {
		t.Fatal(err)
	}
	labels, err = tables.LabelsIn(path, "test", "price")
	if err != nil || !slices.Equal(labels.Columns[0].Values, want) {
		t.Errorf("options beside it: %+v, %v", labels, err)
	}
}
