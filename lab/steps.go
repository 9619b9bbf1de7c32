package lab

import (
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
)

// Steps are when a party first and last told of its progress in a step of a job.
type Steps map[string]*[2]time.Time

// Receive takes an event of the job.
func (s Steps) Receive(e jobs.Event) {
	if e.Kind != jobs.EventProgress {
		return
	}
	if s[e.Step] == nil {
		s[e.Step] = &[2]time.Time{e.Time, e.Time}
	}
	s[e.Step][1] = e.Time
}

// Between returns the seconds from the beginning (0) or the end (1) of a step to that of the same or another, 0 when
// one of them was not.
func (s Steps) Between(from string, start int, to string, end int) float64 {
	if s[from] == nil || s[to] == nil {
		return 0
	}
	return s[to][end].Sub(s[from][start]).Seconds()
}
