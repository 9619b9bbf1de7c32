package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/wording"
)

// barWidth is how many cells a progress bar has.
const barWidth = 30

// Screen shows a job's events: on a terminal one line that is written over, elsewhere a line for
// each change of state.
type Screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	dirty    bool      // an unfinished line is on the terminal
	Measure  string    // what the metric is
	Curve    []float64 // the metric, as it came
	steps    []string  // of work that was shown
}

// NewScreen starts showing events on w.
func NewScreen(w io.Writer) *Screen {
	return &Screen{w: w, Measure: "loss", terminal: IsTerminal(w)}
}

// Show shows one event.
func (s *Screen) Show(e jobs.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case jobs.EventProgress:
		s.progress(e)
	case jobs.EventSummary, jobs.EventDone:
	default:
		for text := range strings.Lines(e.Text) {
			if text = strings.TrimSuffix(text, "\n"); s.terminal || e.Kind == jobs.EventWarning {
				text = strings.TrimSuffix(wording.Hang("    ", text), "\n")
			} else {
				text = "    " + text
			}
			s.line(text)
		}
	}
}

// progress redraws the bar.
func (s *Screen) progress(e jobs.Event) {
	metric := ""
	if e.Metric != nil {
		s.Curve = append(s.Curve, *e.Metric)
		metric = fmt.Sprintf("  %s %.5f", s.Measure, *e.Metric)
	}
	if !s.terminal || e.Total == 0 {
		return
	}
	full := int(int64(barWidth) * e.Done / e.Total)
	fmt.Fprintf(s.w, "\r\033[K    %-16s %s%s %3d%%%s", e.Step, strings.Repeat("█", full),
		strings.Repeat("░", barWidth-full), 100*e.Done/e.Total, metric)
	s.dirty = true
}

// Work shows what a long piece of work is at: a step of it and, on a terminal, what of the step. Several steps may be
// under way at once.
func (s *Screen) Work(step, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		text := []rune("    " + Printable(strings.TrimSuffix(step+": "+detail, ": ")))
		fmt.Fprintf(s.w, "\r\033[K%s", string(text[:min(len(text), wording.Columns-1)]))
		s.dirty = true
		return
	}
	if !slices.Contains(s.steps, step) {
		s.steps = append(s.steps, step)
		s.line("    " + Printable(step))
	}
}

// line writes a whole line, below the bar if there is one.
func (s *Screen) line(text string) {
	if s.dirty {
		fmt.Fprint(s.w, "\r\033[K")
		s.dirty = false
	}
	fmt.Fprintln(s.w, text)
}

// End clears what is unfinished.
func (s *Screen) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirty {
		fmt.Fprint(s.w, "\r\033[K")
		s.dirty = false
	}
}
