package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/protocol"
)

// newLog writes one short line for each record.
func newLog(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log is %q, want debug, info or warn", level)
	}
	return slog.New(&lineHandler{w: w, level: l, mu: new(sync.Mutex)}), nil
}

// lineHandler is a slog.Handler for people: time, message, values.
type lineHandler struct {
	w     io.Writer
	level slog.Level
	mu    *sync.Mutex
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly))
	if r.Level >= slog.LevelWarn {
		b.WriteString(" " + strings.ToLower(r.Level.String()))
	}
	b.WriteString(" " + printable(r.Message))
	add := func(a slog.Attr) bool {
		if v := printable(a.Value.String()); v != "" {
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

// maxLogText is the longest text of a log line's message or value, in bytes.
const maxLogText = 4000

// printable makes one line that prints of a text in which words of other members may be. Blanks at its beginning stay:
// lines of a summary are indented.
func printable(text string) string {
	rest := strings.TrimLeft(text, " ")
	return text[:min(len(text)-len(rest), 40)] + protocol.Plain(rest, maxLogText)
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; groups are not shown.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
