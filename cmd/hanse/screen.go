package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/hanse-project/hanse/internal/node"
)

// barWidth is how many cells a progress bar has.
const barWidth = 30

// screen shows a job's events: on a terminal one line that is written over, elsewhere a line for
// each change of state.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	dirty    bool      // an unfinished line is on the terminal
	measure  string    // what the metric is
	curve    []float64 // the metric, as it came
}

// newScreen starts showing events on w.
func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	return &screen{w: w, measure: "loss", terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// show shows one event.
func (s *screen) show(e node.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case node.EventProgress:
		s.progress(e)
	case node.EventSummary, node.EventDone:
	default:
		s.line("    " + e.Text)
	}
}

// progress redraws the bar.
func (s *screen) progress(e node.Event) {
	metric := ""
	if e.Metric != nil {
		s.curve = append(s.curve, *e.Metric)
		metric = fmt.Sprintf("  %s %.5f", s.measure, *e.Metric)
	}
	if !s.terminal || e.Total == 0 {
		return
	}
	full := int(int64(barWidth) * e.Done / e.Total)
	fmt.Fprintf(s.w, "\r\033[K    %-16s %s%s %3d%%%s", e.Step, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), 100*e.Done/e.Total, metric)
	s.dirty = true
}

// line writes a whole line, below the bar if there is one.
func (s *screen) line(text string) {
	if s.dirty {
		fmt.Fprint(s.w, "\r\033[K")
		s.dirty = false
	}
	fmt.Fprintln(s.w, text)
}

// end clears what is unfinished.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirty {
		fmt.Fprint(s.w, "\r\033[K")
		s.dirty = false
	}
}

// sparkline draws values as a row of at most width block characters, the lowest as the smallest.
func sparkline(values []float64, width int) string {
	if len(values) == 0 {
		return ""
	}
	width = min(width, len(values))
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for i := range width {
		v := values[i*(len(values)-1)/max(width-1, 1)]
		level := 0
		if high > low {
			level = int((v - low) / (high - low) * float64(len(blocks)-1))
		}
		b.WriteRune(blocks[level])
	}
	return b.String()
}
