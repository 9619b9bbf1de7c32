// Package statusview is what people see of a node at one moment: hanse status.
package statusview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/jobview"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// The exit codes of hanse status and hanse doctor, for monitoring. 1 says that the command could not tell, and 2 that
// its command line is wrong, as those of all commands do.
const (
	ExitFine     = 0
	ExitCritical = 3 // jobs stand still until somebody acts
	ExitWarning  = 4 // somebody should look
)

// Exit judges a node by its worst alert.
func Exit(s *node.Status) int {
	code := ExitFine
	for _, a := range s.Alerts {
		switch {
		case a.Level == node.AlertCritical:
			return ExitCritical
		default:
			code = ExitWarning
		}
	}
	return code
}

// ProblemError says that a node was looked at and is not well. What is wrong has been printed.
type ProblemError struct {
	Code int // ExitCritical or ExitWarning
	Text string
}

// Error implements error.
func (e *ProblemError) Error() string { return e.Text }

// Problem is the error for a status that is not fine, nil for one that is.
func Problem(s *node.Status) error {
	code := Exit(s)
	if code == ExitFine {
		return nil
	}
	return &ProblemError{code, fmt.Sprintf("%s here, the worst: %s", wording.Count(len(s.Alerts), "alert"),
		wording.Line(s.Alerts[0].Text, 200))}
}

// Text prints a status in at most 80 columns. Jobs that have ended are counted, not listed. dir is the node's folder,
// as it was typed, empty for the default one.
func Text(w io.Writer, s *node.Status, dir string) error {
	terminal.Sentence(w, "", fmt.Sprintf("%s of charter %s, version %d (%.8s)", s.Member, s.Charter.Name,
		s.Charter.Version, s.Charter.Digest))
	terminal.Sentence(w, "", fmt.Sprintf("up %s, since %s; hanse %s", wording.Age(s.Time.Sub(s.Started)),
		wording.Time(s.Started), s.Version))
	if len(s.Listening) == 0 {
		terminal.Sentence(w, "", "listening nowhere: it dials, and nobody can dial it")
	}
	for _, a := range s.Listening {
		terminal.Sentence(w, "", "listening at "+Address(a))
	}
	if s.Disk.Total > 0 {
		terminal.Sentence(w, "", fmt.Sprintf("%s of %s free in %s", wording.Size(s.Disk.Free), wording.Size(s.Disk.Total),
			s.Dir))
	}
	if s.Folder.Quota > 0 {
		terminal.Sentence(w, "", s.Folder.String())
	}
	fmt.Fprintln(w)
	if err := members(w, s); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := jobs(w, s, dir); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if len(s.Alerts) == 0 {
		fmt.Fprintln(w, "no alerts")
	}
	for _, a := range s.Alerts {
		text := a.Level + ": " + a.Text
		if a.Mend != "" {
			text += ": " + a.Mend
		}
		terminal.Sentence(w, "", jobview.Typed(text, dir))
	}
	return nil
}

// members prints a line for each member and below it what is wrong with its link.
func members(w io.Writer, s *node.Status) error {
	if len(s.Members) == 0 {
		fmt.Fprintln(w, "no other member is known here")
		return nil
	}
	t := wording.NewTable(w, "")
	t.Row("member", "link", "round trip", "version", "address")
	for _, m := range s.Members {
		link := "up " + wording.Age(s.Time.Sub(m.Since))
		switch {
		case !m.Connected && m.Since.IsZero():
			link = "none yet"
		case !m.Connected:
			link = "away " + wording.Age(s.Time.Sub(m.Since))
		}
		t.Row(terminal.Printable(m.Name), link, milliseconds(m.RTT), terminal.Printable(m.Version),
			terminal.Printable(Address(m.Address)))
		t.Note(terminal.Printable(m.Trouble))
		t.Note(terminal.Printable(m.Clock))
	}
	return t.Flush()
}

// ofJobs are the codes of alerts about one job.
var ofJobs = []string{node.CodePaused, node.CodeProposal, node.CodeUnbegun}

// Job prints what is known of the jobs of a name, or whose contract's hash begins so, and keeps their alerts alone in
// s; dir is the node's folder, as it was typed, empty for the default one.
func Job(w io.Writer, s *node.Status, which, dir string) error {
	t := wording.NewTable(w, "")
	jobview.Heads(t)
	var names []string
	var alerts []node.Alert
	for _, j := range s.Jobs {
		names = append(names, j.Name)
		if !node.Means(which, j.Name, j.Contract) {
			continue
		}
		jobview.Row(t, &j.JobInfo, s.Time)
		if len(j.Sent) > 0 {
			t.Note(sent(j.Sent))
		}
		jobview.Below(t, &j.JobInfo, dir)
		for _, a := range s.Alerts {
			if a.About == j.Name && slices.Contains(ofJobs, a.Code) && !slices.Contains(alerts, a) {
				alerts = append(alerts, a)
			}
		}
	}
	if t.Rows() == 1 {
		return fmt.Errorf("this node has no job %q; hanse jobs lists them%s", which, wording.DidYouMean(which, names))
	}
	s.Alerts = alerts
	return t.Flush()
}

// jobs prints a line for each job that has not ended, as hanse jobs does, and below it why it stands still, or what has
// left in its session.
func jobs(w io.Writer, s *node.Status, dir string) error {
	t := wording.NewTable(w, "")
	jobview.Heads(t)
	ended := make(map[job.State]int)
	for _, j := range s.Jobs {
		if j.State.Final() {
			ended[j.State]++
			continue
		}
		jobview.Row(t, &j.JobInfo, s.Time)
		t.Note(terminal.Printable(jobview.Typed(j.Reason, dir)))
		if j.State == job.Running { // else its reason says so
			t.Note(terminal.Printable(node.Absences(j.Absent)))
		}
		if j.Shards != nil {
			t.Note(j.Shards.String())
			t.Note(terminal.Printable(jobview.Typed(j.Waiting, dir)))
		}
		if len(j.Sent) > 0 && j.State == job.Running {
			t.Note(sent(j.Sent))
		}
	}
	open := t.Rows() - 1
	if open > 0 {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	var words []string
	for _, state := range job.States() {
		if n := ended[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	switch {
	case len(words) > 0 && open > 0:
		fmt.Fprintf(w, "and %s\n", strings.Join(words, ", "))
	case len(words) > 0:
		fmt.Fprintf(w, "no job is under way; %s\n", strings.Join(words, ", "))
	case open == 0:
		fmt.Fprintln(w, "no jobs")
	}
	return nil
}

// sent says how much of what may leave in a session has left.
func sent(lines []node.EgressStatus) string {
	var bytes, agreed int64
	for _, l := range lines {
		bytes, agreed = bytes+l.Bytes, agreed+l.Agreed
	}
	return fmt.Sprintf("sent %s of the %s that its contract allows in a session", wording.Size(bytes),
		wording.Size(agreed))
}

// milliseconds writes a round trip; nothing where there was none.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return ""
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// Address writes a multiaddr as people know addresses, 10.0.0.4:4001, where it is of that kind; of QUIC and of a way
// through a relay it says so.
func Address(multiaddr string) string {
	parts := strings.Split(strings.TrimPrefix(multiaddr, "/"), "/")
	if len(parts) < 4 {
		return multiaddr
	}
	host := parts[1]
	if parts[0] == "ip6" {
		host = "[" + host + "]"
	}
	text := host + ":" + parts[3]
	switch {
	case strings.Contains(multiaddr, "/p2p-circuit"):
		return text + " (relay)"
	case parts[2] == "udp":
		return text + " (QUIC)"
	}
	return text
}
