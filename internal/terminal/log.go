package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/systemd"
	"github.com/hanse-project/hanse/internal/usage"
)

// NewLog writes one line for each record: as "text" for people, with date and time, or as "json" for programs.
func NewLog(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage.Errorf("--log is %q, want debug, info or warn", level)
	}
	switch format {
	case "text":
		return slog.New(&lineHandler{w: w, level: l, mu: new(sync.Mutex), journal: systemd.IsJournal(w)}), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: cleaned})), nil
	}
	return nil, usage.Errorf("--log-format is %q, want text or json", format)
}

// cleaned makes an attribute fit for a log that others' words get into: printable, of one line, bounded. Errors become
// their texts.
func cleaned(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		a.Value = slog.StringValue(Printable(v.String()))
		if level, ok := v.Any().(slog.Level); ok {
			a.Value = slog.StringValue(strings.ToLower(level.String()))
		}
	}
	return a
}

// lineHandler is a slog.Handler for people: time, message, values.
type lineHandler struct {
	w     io.Writer
	level slog.Level
	// journal says that lines go to systemd's journal, which wants their priority in front and knows the time.
	journal bool
	mu      *sync.Mutex
	attrs   []slog.Attr
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if h.journal {
		b.WriteString(systemd.Priority(r.Level))
	} else {
		b.WriteString(r.Time.Format(time.RFC3339) + " ")
	}
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + " ")
	}
	b.WriteString(Printable(r.Message))
	add := func(a slog.Attr) bool {
		if v := Printable(a.Value.String()); v != "" {
			fmt.Fprintf(&b, "  %s=%s", a.Key, v)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String()+"\n")
	return err
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; groups are not shown.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
