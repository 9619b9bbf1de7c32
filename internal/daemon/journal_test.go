package daemon

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/terminal"
)

// TestJournalOfAYear: of a job that waits for a day, breaks again and again, and has many steps, the log has a line for
// each thing, not for each word, and what was agreed once.
func TestJournalOfAYear(t *testing.T) {
	var out bytes.Buffer
	log, err := terminal.NewLog(&out, "info", "text")
	must(t, err)
	j := newJournal(log)
	now := time.Unix(1790000000, 0)
	j.now = func() time.Time { return now }
	job := strings.Repeat("ab", 32)
	lines := func(happens func()) (n int) {
		out.Reset()
		happens()
		return strings.Count(out.String(), "\n")
	}

	since := now
	if n := lines(func() {
		for range 24 * 60 * 30 { // a day, told every two seconds
			now = now.Add(2 * time.Second)
			j.note(jobs.Event{Job: job, Kind: jobs.EventWaiting, Since: since, Who: []string{"telco"},
				Text: fmt.Sprintf("waiting for telco (sum) for %v", now.Sub(since))})
		}
	}); n < 24*59 || n > 24*60+1 {
		t.Errorf("a day's wait makes %d lines", n)
	}
	if n := lines(func() {
		j.note(jobs.Event{Job: job, Kind: jobs.EventWaiting, Since: now, Text: "waiting for insurer"})
	}); n != 1 {
		t.Errorf("another wait makes %d lines", n)
	}
	if n := lines(func() {
		for i := range 60 {
			now = now.Add(time.Second)
			j.note(jobs.Event{Job: job, Kind: jobs.EventState, Text: fmt.Sprintf("session %d starts", i)})
			j.note(jobs.Event{Job: job, Kind: jobs.EventState, Text: "paused: telco is gone"})
		}
	}); n != 2*burst {
		t.Errorf("a minute of sessions that break makes %d lines", n)
	}
	now = now.Add(time.Hour)
	if n := lines(func() {
		for _, step := range []string{"angles", "solve"} {
			for done := range int64(1000) {
				j.note(jobs.Event{Job: job, Kind: jobs.EventProgress, Step: step, Done: done + 1, Total: 1000})
			}
		}
		j.note(jobs.Event{Job: job, Kind: jobs.EventProgress, Step: "scores", Done: 1, Total: 3})
		j.note(jobs.Event{Job: job, Kind: jobs.EventProgress, Step: "figures", Done: 1, Total: 1})
	}); n != 4 || !strings.Contains(out.String(), "step ended  job=abababab  step=solve  seconds=0\n") {
		t.Errorf("four steps make %d lines:\n%s", n, out.String())
	}
	if n := lines(func() {
		j.note(jobs.Event{Job: job, Kind: jobs.EventSummary, Text: strings.Repeat("an opening\n", 60)})
	}); n != 1 || !strings.Contains(out.String(), "contract="+job) {
		t.Errorf("a contract makes %d lines:\n%s", n, out.String())
	}
	if lines(func() { j.note(jobs.Event{Job: job, Kind: jobs.EventDone, Text: "done in 3.0 s"}) }); len(j.jobs) != 0 {
		t.Error("a job that has ended is remembered")
	}
	if !regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`).MatchString(out.String()) {
		t.Errorf("no date: %s", out.String())
	}
}
