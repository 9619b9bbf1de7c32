package daemon

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hanse-project/hanse/internal/jobs"
)

// What is said again is said less often. A job that waits for a member may do so for days.
const (
	quietFor = time.Minute // after a line, before its like is written again
	burst    = 3           // of lines that differ in numbers alone, within that time
	maxLikes = 64          // kinds of lines that are remembered of a job
)

// journal writes what happens to jobs into the node's log, so that a year of it can be read: one line a step when it
// ends, of a wait one at its beginning and one a minute, and what repeats itself a few times a minute at most. What is
// left out is written at the level debug.
type journal struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	jobs map[string]*jobJournal
}

// jobJournal is what was written of one job.
type jobJournal struct {
	step  string    // that is under way, empty between two
	began time.Time // of the step
	said  map[string]said
}

// said is how often a line, or its like, was written of late.
type said struct {
	first time.Time
	times int
}

func newJournal(log *slog.Logger) *journal {
	return &journal{log: log, now: time.Now, jobs: make(map[string]*jobJournal)}
}

// note writes an event.
func (j *journal) note(e jobs.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.jobs[e.Job]
	if b == nil {
		b = &jobJournal{said: make(map[string]said)}
		j.jobs[e.Job] = b
	}
	job := e.Job[:min(len(e.Job), 8)]
	switch e.Kind {
	case jobs.EventProgress:
		j.progress(b, job, e)
	case jobs.EventSummary:
		// The contract is in the job's folder as a whole; a log that goes elsewhere needs its hash alone.
		j.log.Info("a job is proposed: hanse jobs --show shows it, hanse approve consents", "job", job,
			"contract", e.Job)
		for line := range strings.Lines(e.Text) {
			j.log.Debug(strings.TrimRight(line, "\n"), "job", job)
		}
	case jobs.EventWaiting:
		key, most := "waiting "+e.Since.String(), 1
		if e.Since.IsZero() { // no wait: what a job goes on without
			key, most = withoutNumbers(e.Text), burst
		}
		j.log.Log(context.Background(), j.level(b, key, most), e.Text, "job", job)
	case jobs.EventDone, jobs.EventError:
		delete(j.jobs, e.Job)
		j.log.Info(e.Text, "job", job)
	case jobs.EventWarning:
		j.log.Warn(e.Text, "job", job)
	default:
		j.log.Log(context.Background(), j.level(b, withoutNumbers(e.Text), burst), e.Text, "job", job)
	}
}

// progress writes a line when a step has ended, by its last word or by the first of another step.
func (j *journal) progress(b *jobJournal, job string, e jobs.Event) {
	ended := func() {
		j.log.Log(context.Background(), j.level(b, "step "+b.step, burst), "step ended", "job", job, "step", b.step,
			"seconds", j.now().Sub(b.began).Round(time.Millisecond).Seconds())
		b.step = ""
	}
	if b.step != "" && b.step != e.Step {
		ended()
	}
	if b.step == "" {
		b.step, b.began = e.Step, j.now()
	}
	if e.Done >= e.Total {
		ended()
	}
	j.log.Debug("progress", "job", job, "step", e.Step, "done", e.Done, "total", e.Total)
}

// level is info for a line whose like was written less than most times within quietFor, and debug else.
func (j *journal) level(b *jobJournal, key string, most int) slog.Level {
	now := j.now()
	s, ok := b.said[key]
	if !ok || now.Sub(s.first) >= quietFor {
		s = said{first: now}
	}
	s.times++
	if len(b.said) >= maxLikes && !ok {
		clear(b.said)
	}
	b.said[key] = s
	if s.times > most {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// withoutNumbers makes lines that differ in numbers alone the same.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}
