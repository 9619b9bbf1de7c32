package node

import (
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
)

// TestADatabaseThatChangedAfterConsentPausesTheJob until the old rows are back. One party's table lies in SQLite: the
// others notice nothing, and consent to it is consent to the same digest as to the CSV file.
func TestADatabaseThatChangedAfterConsentPausesTheJob(t *testing.T) {
	t.Parallel() // it waits for the most part
	l := newTestNetwork(t, 4, 50)
	file, err := os.Open(l.tablePath(2, "train"))
	must(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	must(t, err)
	path := filepath.Join(t.TempDir(), "retailer.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	run := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE train (" + strings.Join(rows[0], ", ") + ")")
	for _, row := range rows[1:] {
		run("INSERT INTO train VALUES ('" + strings.Join(row, "', '") + "')")
	}
	table, err := dataset.Read(l.tablePath(2, "train"), dataset.Options{})
	must(t, err)
	consented := table.Sum
	l.sources = map[int]string{2: "sqlite:" + path + "?query=SELECT * FROM train"}
	l.startAll()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "", activeBank+"features = 32"), nil)
	must(t, err)
	changed, named, consents := false, false, 0
	l.watch(2, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "paused: sqlite:") && strings.Contains(e.Text, "retailer.db changed after consent: its "+
			"digest was "+consented.Short()) {
			named = true
			run("DELETE FROM train WHERE id = 'r99999'")
		}
	})
	_, err = l.nodes[0].Launch(ctx, c.Hash(), func(e jobs.Event) {
		if strings.HasSuffix(e.Text, " consents") {
			consents++
		}
		if consents == len(l.nodes)-1 && !changed {
			changed = true
			run(fmt.Sprintf("INSERT INTO train VALUES ('r99999'%s)", strings.Repeat(", 1", len(rows[0])-1)))
		}
	})
	if err != nil || !changed || !named {
		t.Errorf("error is %v, changed %v, named %v", err, changed, named)
	}
}
