package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
)

// escapes clear a terminal, rename its window, and forge a line.
const escapes = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// TestLogOfAVandal: what other members send reaches the log as printable text of one line, and not without bound.
func TestLogOfAVandal(t *testing.T) {
	var out bytes.Buffer
	log, err := newLog(&out, "info")
	if err != nil {
		t.Fatal(err)
	}
	long := errors.New(escapes + strings.Repeat("x", 1<<20))
	log.With("member", escapes).Warn("it says "+escapes, "error", long, "why", escapes)
	log.Info("  an indented line")
	text := out.String()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") || strings.Count(text, "\n") != 2 || len(text) > 4*maxLogText {
		t.Errorf("%d bytes in %d lines: %.200q", len(text), strings.Count(text, "\n"), text)
	}
	if !strings.HasSuffix(text, "   an indented line\n") {
		t.Errorf("the indentation is gone: %q", text[len(text)-40:])
	}
}

// TestJobsOfAVandal: a reason that was on the disk before reasons were cleaned is cleaned for the terminal.
func TestJobsOfAVandal(t *testing.T) {
	var out bytes.Buffer
	app := cli.NewApp()
	app.Writer = &out
	j := node.JobInfo{Contract: strings.Repeat("ab", 32), Name: "credit", Reason: escapes, State: node.StateFailed}
	flags := flag.NewFlagSet("jobs", flag.ContinueOnError)
	if err := listJobs(cli.NewContext(app, flags, nil), []node.JobInfo{j}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\r\u202e") {
		t.Errorf("%q", out.String())
	}
}
