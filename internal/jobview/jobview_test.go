package jobview

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node"
)

// escapes clear a terminal, rename its window, and forge a line.
const escapes = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// TestJobsOfAVandal: a reason that was on the disk before reasons were cleaned is cleaned for the terminal.
func TestJobsOfAVandal(t *testing.T) {
	var out bytes.Buffer
	j := node.JobInfo{Contract: strings.Repeat("ab", 32), Name: "credit", Reason: escapes, State: node.StateFailed}
	if err := List(&out, []node.JobInfo{j}, 0, time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\r\u202e") {
		t.Errorf("%q", out.String())
	}
}
