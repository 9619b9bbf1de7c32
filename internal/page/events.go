package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/node"
)

// How often an open page hears news.
const (
	leastPause  = 250 * time.Millisecond // between two looks at the node, however much happens
	longestWait = 2 * time.Second        // until the next look where nothing was told: links and clocks change silently
	stillHere   = 15 * time.Second       // until a word that the stream is alive
	writeTime   = 10 * time.Second       // for a browser to take what it is sent
	maxStreams  = 32                     // open pages at a time
)

// watchers hears what happens at the node, and looks at it for all open pages.
type watchers struct {
	config Config

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each event
	streams int

	looking sync.Mutex // held by who looks, so that all share one look
	latest  *node.Status
	at      time.Time
}

// newWatchers returns one that has heard nothing.
func newWatchers(c Config) *watchers {
	return &watchers{config: c, changed: make(chan struct{})}
}

// Told hears that something has happened at the node.
func (p *Page) Told() {
	w := p.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// watch returns a channel that is closed at the next event.
func (w *watchers) watch() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// enter counts an open stream, unless there are too many.
func (w *watchers) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams >= maxStreams {
		return false
	}
	w.streams++
	return true
}

// leave ends what enter began.
func (w *watchers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams--
}

// look returns the node's state, at most leastPause old.
func (w *watchers) look() *node.Status {
	w.looking.Lock()
	defer w.looking.Unlock()
	if now := time.Now(); w.latest == nil || now.Sub(w.at) >= leastPause {
		status := w.config.Status()
		w.latest, w.at = &status, now
	}
	return w.latest
}

// forget makes the next look a new one: something was decided.
func (w *watchers) forget() {
	w.looking.Lock()
	defer w.looking.Unlock()
	w.latest = nil
}

// Parts of pages that change by themselves: elements' ids, and names of templates.
var (
	overviewParts = []string{"title", "tiles", "alerts", "waiting", "running", "members", "sent", "told", "past"}
	jobParts      = []string{"title", "state", "lead", "parties", "decision", "progress", "outflow", "outcome"}
)

// events streams the parts of a page that differ from what was sent before, each as the HTML inside its element.
func (p *Page) events(w http.ResponseWriter, r *http.Request, s *session) {
	if !p.watchers.enter() {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer p.watchers.leave()
	var contract *string
	parts := overviewParts
	if c := r.PathValue("contract"); c != "" {
		contract, parts = &c, jobParts
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		out.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	sent := make(map[string][]byte)
	spoke := time.Now()
	for {
		change := p.watchers.watch()
		f := p.frame(s, contract)
		if contract != nil && f.Job == nil { // forgotten: the page says what it said last
			return
		}
		for _, part := range parts {
			text, err := p.render(part, f)
			if err != nil {
				return
			}
			if before, ok := sent[part]; ok && bytes.Equal(before, text) {
				continue
			}
			sent[part] = text
			data, err := json.Marshal(map[string]string{"id": part, "html": string(text)})
			if err != nil || !send(fmt.Sprintf("event: part\ndata: %s\n\n", data)) {
				return
			}
			spoke = time.Now()
		}
		if time.Since(spoke) >= stillHere {
			if !send(": still here\n\n") {
				return
			}
			spoke = time.Now()
		}
		if !p.rest(r, s, change) {
			return
		}
	}
}

// rest waits for news, and a little longer where they come fast. It returns false when the page is closed, or its
// session is over.
func (p *Page) rest(r *http.Request, s *session, change <-chan struct{}) bool {
	breath, patience := time.NewTimer(leastPause), time.NewTimer(longestWait)
	defer breath.Stop()
	defer patience.Stop()
	select {
	case <-breath.C:
	case <-r.Context().Done():
		return false
	case <-s.ended:
		return false
	}
	select {
	case <-change:
	case <-patience.C:
	case <-r.Context().Done():
		return false
	case <-s.ended:
		return false
	}
	return p.config.Now().Before(s.ends)
}
