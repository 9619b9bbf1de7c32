package node

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol"
)

// Progress is how far a running job has come in its step.
type Progress struct {
	Step    string `json:"step"`
	Done    int64  `json:"done"`
	Total   int64  `json:"total"` // 0: nobody knows
	Percent int    `json:"percent"`
}

// String says it in a few words.
func (p *Progress) String() string {
	if p.Total == 0 {
		return fmt.Sprintf("%s %d", p.Step, p.Done)
	}
	return fmt.Sprintf("%s %d of %d, %d %%", p.Step, p.Done, p.Total, p.Percent)
}

// curvePoints is how many points of a curve are kept. When it is full every other one goes.
const curvePoints = 256

// waitingLasts is how long somebody counts as awaited after it was told: who goes on waiting tells it sooner.
const waitingLasts = 8 * jobs.WaitReport

// watched is what passes in a job while the node runs. It is in memory alone: a node that starts has heard nothing.
type watched struct {
	mu       sync.Mutex
	progress Progress  // the latest that was told
	over     bool      // the session that told it
	curve    []Point   // of that step
	every    int       // one of so many points is kept
	count    int       // points since the step began
	began    time.Time // of the session that is on; zero: none is
	sent     *sessionMeter
	waits    *protocol.Waits // of the session that is on
	unsigned []string        // who has yet to consent, at the proposer
	signed   []string        // the parties whose signatures came
	awaits   []string
	waiting  string
	at       time.Time // of the waiting
	absent   map[string]Absence
}

// keep takes from an event what it says of how the job stands.
func (w *watched) keep(e jobs.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case jobs.EventProgress:
		w.awaits, w.waiting = nil, ""
		if e.Step != w.progress.Step {
			w.curve, w.every, w.count = nil, 1, 0
		}
		w.progress, w.over = Progress{Step: e.Step, Done: e.Done, Total: e.Total}, false
		if e.Total > 0 {
			w.progress.Percent = int(100 * float64(e.Done) / float64(e.Total))
		}
		if e.Metric != nil {
			w.point(Point{e.Done, *e.Metric})
		}
	case jobs.EventWaiting:
		w.awaits, w.waiting, w.at = e.Who, e.Text, e.Time
	case jobs.EventState, jobs.EventDone, jobs.EventError:
		w.awaits, w.waiting, w.over = nil, "", true
	}
}

// point adds a point to the curve. The lock is held.
func (w *watched) point(p Point) {
	if w.count++; w.count%w.every != 0 {
		return
	}
	if w.curve = append(w.curve, p); len(w.curve) < curvePoints {
		return
	}
	half := w.curve[:0]
	for i := 1; i < len(w.curve); i += 2 {
		half = append(half, w.curve[i])
	}
	w.curve, w.every = half, 2*w.every
}

// lacks keeps who has yet to consent, at the proposer.
func (w *watched) lacks(who []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsigned = who
}

// sign keeps whose signatures came: one that was there stays.
func (w *watched) sign(parties []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range parties {
		if !slices.Contains(w.signed, p) {
			w.signed = append(w.signed, p)
		}
	}
}

// signers are the parties whose signatures came.
func (w *watched) signers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.signed)
}

// session notes that a session begins, what counts what it sends, and for whom it waits.
func (w *watched) session(sent *sessionMeter, waits *protocol.Waits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began, w.sent, w.waits = time.Now(), sent, waits
}

// meter is what counts what the latest session sends; nil before the first.
func (w *watched) meter() *sessionMeter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// heard says of a job how far it is and who is waited for, as far as that was told of late. unsigned are those whose
// consent its proposer lacks.
func (w *watched) heard(info *JobInfo) (unsigned []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.progress; info.State == job.Running && p.Step != "" && !w.over {
		info.Progress = &p
	}
	if w.waiting != "" && time.Since(w.at) < waitingLasts {
		info.Awaits, info.Waiting = w.awaits, w.waiting
	}
	info.Absent = w.missing(info.Parties)
	return w.unsigned
}

// ended notes that the session is over.
func (w *watched) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began, w.waits = time.Time{}, nil
}

// status says what passes in a job.
func (w *watched) status(j *JobStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j.Curve, j.Session = slices.Clone(w.curve), w.began
	if w.waits != nil {
		j.Waited = w.waits.Seconds()
	}
	if w.sent != nil {
		j.Sent = w.sent.status()
	}
}
