package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// escapes clear a terminal, rename its window, and forge a line.
const escapes = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// TestLogOfAVandal: what other members send reaches the log as printable text of one line, and not without bound.
func TestLogOfAVandal(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog(&out, "info", "text")
	if err != nil {
		t.Fatal(err)
	}
	long := errors.New(escapes + strings.Repeat("x", 1<<20))
	log.With("member", escapes).Warn("it says "+escapes, "error", long, "why", escapes)
	log.Info("  an indented line")
	text := out.String()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Count(text, "\n") != 2 || len(text) > 4*maxText {
		t.Errorf("%d bytes in %d lines: %.200q", len(text), strings.Count(text, "\n"), text)
	}
	if !strings.HasSuffix(text, "   an indented line\n") {
		t.Errorf("the indentation is gone: %q", text[len(text)-40:])
	}
}

// TestJSONLog: each record is one JSON object with its time, and what others send is cleaned and bounded as in text.
func TestJSONLog(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Warn("it says "+escapes, "error", errors.New(escapes+strings.Repeat("x", 1<<20)), "why", escapes, "rows", 3)
	log.Debug("not at this level")
	var record struct {
		Time              time.Time
		Level, Msg, Error string
		Why               string
		Rows              int
	}
	if err := json.Unmarshal(out.Bytes(), &record); err != nil {
		t.Fatal(err)
	}
	if record.Level != "warn" || time.Since(record.Time) > time.Hour || record.Rows != 3 ||
		len(record.Error) > 2*maxText || !strings.HasPrefix(record.Msg, "it says ") {
		t.Errorf("%+.300v", record)
	}
	for _, text := range []string{record.Msg, record.Error, record.Why} {
		if strings.ContainsAny(text, "\x1b\x07\r\n\u202e") {
			t.Errorf("%.80q", text)
		}
	}
	if _, err := NewLog(&out, "info", "xml"); err == nil {
		t.Error("a log of format xml")
	}
}
