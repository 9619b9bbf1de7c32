package statusview

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// escapes clear a terminal, rename its window, and forge a line.
const escapes = "\x1b[2J\x1b]0;owned\x07\r\n12:00:00 all is well \u202e"

// example is a node with everything that can be said of one.
func example() *node.Status {
	now := time.Date(2026, 11, 23, 16, 40, 0, 0, time.UTC)
	return &node.Status{
		Time: now, Started: now.Add(-26 * time.Hour), Member: "bank", Version: "v1.2.3", Dir: "/srv/hanse/bank-node",
		Charter:   node.CharterStatus{Name: "credit", Version: 2, Digest: strings.Repeat("ab", 32)},
		Listening: []string{"/ip6/2001:db8:85a3:8d3:1319:8a2e:370:7348/udp/4001/quic-v1/p2p/12D3KooWD7"},
		Disk:      disk.Space{Total: 250e9, Free: 12e6},
		Members: []node.MemberStatus{
			{Name: "insurer", Kept: true, Connected: true, Since: now.Add(-time.Hour), RTT: 21 * time.Millisecond,
				Version: "v1.2.3", Address: "/dns4/a-rather-long-name-of-a-machine.insurer.example/tcp/4001",
				Clock: "its clock is 5m0s ahead"},
			{Name: strings.Repeat("n", 32), Kept: true, Trouble: "cannot reach it: " + escapes + strings.Repeat("why ", 50),
				Since: now.Add(-2 * time.Minute), Version: "devel-01a41a0+"},
		},
		Jobs: []node.JobStatus{
			{JobInfo: node.JobInfo{Name: "credit", Contract: strings.Repeat("cd", 32), Task: "train", Proposer: "bank",
				State: job.Running, Standing: "running 37 %", Made: now.Add(-12 * time.Minute)},
				Sent: []node.EgressStatus{{Peer: "insurer", Class: "masked", Bytes: 10, Agreed: 30_000}}},
			{JobInfo: node.JobInfo{Name: strings.Repeat("j", 40), Contract: strings.Repeat("ef", 32), Task: "predict",
				Proposer: strings.Repeat("p", 32), State: job.Paused, Standing: "paused", Reason: escapes}},
			{JobInfo: node.JobInfo{Name: "old", Contract: strings.Repeat("12", 32), State: job.Done}},
		},
		Alerts: []node.Alert{{Code: node.CodeDisk, Level: node.AlertCritical, Text: "12 MB are free", Mend: "make room"},
			{Code: node.CodePaused, Level: node.AlertWarning, Text: escapes}},
	}
}

// TestStatusOfAVandal: what other members say reaches the screen as printable text in 80 columns, and all is said.
func TestStatusOfAVandal(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, example(), ""); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.ContainsAny(text, "\x1b\x07\r\u202e") {
		t.Errorf("escapes reach the screen: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len([]rune(line)) > 80 || strings.TrimRight(line, " ") != line {
			t.Errorf("%d columns: %q", len([]rune(line)), line)
		}
	}
	for _, want := range []string{
		"bank of charter credit, version 2 (abababab)\n",
		"up 26 h, since 2026-11-22 ", "; hanse v1.2.3\n",
		"listening at [2001:db8:85a3:8d3:1319:8a2e:370:7348]:4001 (QUIC)\n",
		"12.0 MB of 250.0 GB free in /srv/hanse/bank-node\n",
		"\ninsurer ", "up 1 h ", " 21 ms", "\n    a-rather-long-name-of-a-machine.insurer.example:4001\n",
		"\n    its clock is 5m0s ahead\n", "\n" + strings.Repeat("n", 32) + "  ", "away 2 min",
		"\ncontract  age ", "\ncdcdcdcd  12 min  credit ", "  running 37 %\n", "\n    sent 10 B of the 30.0 kB that its contract allows in a session\n",
		"\nand 1 done\n", "\ncritical: 12 MB are free: make room\n", "\nwarning: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestExits: the worst alert decides.
func TestExits(t *testing.T) {
	s := example()
	if code := Exit(s); code != ExitCritical {
		t.Errorf("a critical alert exits with %d", code)
	}
	s.Alerts = s.Alerts[1:]
	if code := Exit(s); code != ExitWarning || Problem(s) == nil {
		t.Errorf("a warning exits with %d, %v", code, Problem(s))
	}
	s.Alerts = nil
	if code := Exit(s); code != ExitFine || Problem(s) != nil {
		t.Errorf("no alert exits with %d, %v", code, Problem(s))
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"/ip4/10.0.0.4/tcp/4001/p2p/12D3KooW":                             "10.0.0.4:4001",
		"/ip6/::1/tcp/4001":                                               "[::1]:4001",
		"/dns4/bank.example/udp/4001/quic-v1":                             "bank.example:4001 (QUIC)",
		"/ip4/1.2.3.4/tcp/4001/p2p/12D3KooW/p2p-circuit/p2p/12D3KooWElse": "1.2.3.4:4001 (relay)",
		"nonsense": "nonsense",
		"":         "",
	} {
		if got := Address(text); got != want {
			t.Errorf("%s is shown as %q, want %q", text, got, want)
		}
	}
}
