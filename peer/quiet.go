package peer

import (
	"context"
	"log/slog"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
)

// quiet passes libp2p's own log lines on at debug level: what matters in them reaches the
// user as a sentence of ours.
type quiet struct {
	to slog.Handler
}

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.to.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.to.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.to.WithGroup(name)} }

// hush takes libp2p's log off standard error. libp2p has one log per process and each part of
// it keeps the handler it finds at its first line, so with several hosts in a process the lines
// go to the log of an early one; the DHT logs by another library and is cut to fatal errors.
func hush(log *slog.Logger) {
	gologshim.SetDefaultHandler(quiet{log.Handler()})
	golog.SetAllLoggers(golog.LevelFatal)
}
