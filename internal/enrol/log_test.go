package enrol

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// logBook is a slog.Handler that keeps the messages.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

// Enabled implements slog.Handler.
func (b *logBook) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (b *logBook) Handle(_ context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (b *logBook) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements slog.Handler.
func (b *logBook) WithGroup(string) slog.Handler { return b }

// String returns the messages, a line each.
func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// wantLine looks for a message in the log.
func (l *league) wantLine(name, want string) {
	l.t.Helper()
	if log := l.nodes[name].log; !slices.Contains(strings.Split(log.String(), "\n"), want) {
		l.t.Errorf("the log of %s has no line\n%s\nit has\n%s", name, want, log)
	}
}
