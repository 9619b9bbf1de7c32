package jobview

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// escapes clear a terminal, rename its window, and forge a line.
const escapes = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// TestJobsOfAVandal: a reason that was on the disk before reasons were cleaned is cleaned for the terminal.
func TestJobsOfAVandal(t *testing.T) {
	var out bytes.Buffer
	j := node.JobInfo{Contract: strings.Repeat("ab", 32), Name: "credit", Reason: escapes, State: job.Failed}
	if err := List(&out, []node.JobInfo{j}, 0, time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\r\u202e") {
		t.Errorf("%q", out.String())
	}
}

// TestCardsSayNoParametersOfOtherAlgorithms: an algorithm that the program does not know may have no lambda.
func TestCardsSayNoParametersOfOtherAlgorithms(t *testing.T) {
	for loss, want := range map[string]int{"": 0, "square": 1} {
		n := 0
		for _, fact := range CardFacts(&node.Card{Algorithm: "line", Loss: loss}) {
			if fact[0] == "parameters" {
				n++
			}
		}
		if n != want {
			t.Errorf("loss %q: %d lines of parameters, want %d", loss, n, want)
		}
	}
}

// TestAProposalThatHasYetToCome: whoever types the name of a job before it is proposed hears how the newest of that
// name has ended, and what is awaited.
func TestAProposalThatHasYetToCome(t *testing.T) {
	at := time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)
	all := []node.JobInfo{
		{Contract: strings.Repeat("4e9a1c2d", 8), Name: "credit", State: job.Failed, Made: at,
			Ended: at.Add(time.Minute)},
		{Contract: strings.Repeat("3f9a1c2d", 8), Name: "credit", State: job.Done, Made: at.Add(-time.Hour)},
		{Contract: strings.Repeat("5f9a1c2d", 8), Name: "loans", State: job.Running, Made: at},
	}
	for which, want := range map[string]string{
		"credit": `job "credit", contract 4e9a1c2d, has ended (failed, 2026-11-28 15:01 UTC), and no newer proposal of that ` +
			`name has come yet: wait until hanse jobs lists one as proposed`,
		"loans": `job "loans", contract 5f9a1c2d, is running, not waiting for consent: hanse status loans says how it stands`,
	} {
		if _, err := Proposed(all, which, ""); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
