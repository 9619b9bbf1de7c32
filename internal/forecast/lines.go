package forecast

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/hanse-project/hanse/internal/durable"
)

// linesFile is where a node's folder keeps what the lines to other members carry.
const linesFile = "lines.json"

// Lines are what the lines to other members carried when they were measured last, in bytes a second, by the member's
// name. Its methods may be called at the same time.
type Lines struct {
	path string
	mu   sync.Mutex
	rate map[string]float64
}

// ReadLines returns what a folder keeps; a file that is not there or cannot be read is as if nothing had been measured.
func ReadLines(dir string) *Lines {
	l := &Lines{path: filepath.Join(dir, linesFile)}
	if text, err := os.ReadFile(l.path); err != nil || json.Unmarshal(text, &l.rate) != nil {
		l.rate = nil
	}
	return l
}

// Note keeps what was measured, bytes a second by the member's name.
func (l *Lines) Note(measured map[string]float64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate == nil {
		l.rate = make(map[string]float64)
	}
	maps.Copy(l.rate, measured)
	text, err := json.MarshalIndent(l.rate, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(l.path, append(text, '\n'))
}

// Slowest returns what the slowest of the lines to these members carries; 0 where one of them was never measured.
func (l *Lines) Slowest(members []string) (rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range members {
		r := l.rate[name]
		if !(r > 0) {
			return 0
		}
		if rate == 0 || r < rate {
			rate = r
		}
	}
	return rate
}
