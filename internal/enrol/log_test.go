package enrol

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// logBuffer is a slog.Handler that keeps the messages.
type logBuffer struct {
	mu    sync.Mutex
	lines []string
}

// Enabled implements slog.Handler.
func (b *logBuffer) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (b *logBuffer) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (b *logBuffer) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements slog.Handler.
func (b *logBuffer) WithGroup(string) slog.Handler { return b }

// String returns the messages, a line each.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// wantLine looks for a message in the log.
func (l *testNetwork) wantLine(name, want string) {
	l.t.Helper()
	if log := l.nodes[name].log; !slices.Contains(strings.Split(log.String(), "\n"), want) {
		l.t.Errorf("the log of %s has no line\n%s\nit has\n%s", name, want, log)
	}
}
