package terminal

import (
	"context"
	"io"
	"os"
	"regexp"

	"golang.org/x/term"
)

// Coloured reports whether w is a terminal that shows colours, to somebody who wants any: see https://no-color.org.
func Coloured(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Words that stand for how something went, where they say it of a line: at its beginning, or as its last cell; and what
// a job tells others, wherever that is said.
var (
	good     = regexp.MustCompile(`(?m)^ *(?:CLEAN|PASSED):|  done$`)
	doubtful = regexp.MustCompile(`(?m)^ *(?:PARTIAL|DISCLOSED|SKIPPED):|` +
		`  (?:proposed|paused|cancelled|expired|refused)$|will learn [^.;]*`)
	bad = regexp.MustCompile(`(?m)^ *(?:LEAK|UNVERIFIABLE|FAILED):|  failed$|^hanse:|` +
		`will be able to [^.;]*|enough for all cells`)
)

// Painted returns a writer that colours verdicts and failures, in whole lines that are written to it, where w shows
// colours; elsewhere it returns w.
func Painted(w io.Writer) io.Writer {
	if !Coloured(w) {
		return w
	}
	return painter{w}
}

// painter is a Painted writer.
type painter struct{ w io.Writer }

// Write implements io.Writer.
func (p painter) Write(text []byte) (int, error) {
	painted := good.ReplaceAll(text, []byte("\033[32m$0\033[0m"))
	painted = doubtful.ReplaceAll(painted, []byte("\033[33m$0\033[0m"))
	painted = bad.ReplaceAll(painted, []byte("\033[31m$0\033[0m"))
	if _, err := p.w.Write(painted); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Watched returns a writer that calls gone with the first error of w, such as syscall.EPIPE where its reader has gone:
// who prints a little now and then need not look. A terminal is returned as it is.
func Watched(w io.Writer, gone context.CancelCauseFunc) io.Writer {
	if IsTerminal(w) {
		return w
	}
	return watched{w, gone}
}

// watched is a Watched writer.
type watched struct {
	w    io.Writer
	gone context.CancelCauseFunc
}

// Write implements io.Writer.
func (w watched) Write(text []byte) (int, error) {
	n, err := w.w.Write(text)
	if err != nil {
		w.gone(err)
	}
	return n, err
}
