package node

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/he"
)

// Egress is one kind of message that leaves this machine: what the contract allows in one session,
// and what a session sent.
type Egress struct {
	Kind      string  `json:"kind"`
	To        string  `json:"to"` // a party, several, or "each other party"
	Class     string  `json:"class"`
	Encoding  string  `json:"encoding"`
	Shape     []int64 `json:"shape,omitempty"`
	MaxFrames int64   `json:"max_frames"`
	MaxBytes  int64   `json:"max_bytes"` // payload
	Frames    int64   `json:"frames"`
	Bytes     int64   `json:"bytes"` // payload
}

// egressOf turns a budget into one line for each kind of message and group of parties that may get
// equally much.
func egressOf(c *protocol.Contract, lines []protocol.Egress) []Egress {
	type group struct {
		kind          string
		frames, bytes int64
	}
	var list []Egress
	place := make(map[group]int)
	to := make(map[group][]string)
	for _, e := range lines {
		g := group{e.Kind, e.MaxFrames, e.MaxBytes}
		at, ok := place[g]
		if !ok {
			at = len(list)
			place[g] = at
			list = append(list, Egress{Kind: e.Kind, Class: e.Class.String(), Encoding: e.Encoding.String(), Shape: e.Shape})
		}
		l := &list[at]
		l.MaxFrames, l.MaxBytes = l.MaxFrames+e.MaxFrames, l.MaxBytes+e.MaxBytes
		l.Frames, l.Bytes = l.Frames+e.Frames, l.Bytes+e.Bytes
		to[g] = append(to[g], c.Parties[e.To].Name)
		l.To = recipients(to[g], len(c.Parties)-1)
	}
	return list
}

// recipients names who gets a message.
func recipients(names []string, others int) string {
	if len(names) == others && others > 1 {
		return "each other party"
	}
	return list(names)
}

// writeEgress lists what leaves the party's machine.
func writeEgress(b *strings.Builder, c *protocol.Contract, party string) {
	fmt.Fprintf(b, "\nwhat leaves %s's machine in one session, at most\n", party)
	lines, err := c.Egress(c.Job.Index(party))
	if err != nil {
		fmt.Fprintf(b, "  unknown: %v\n", err)
		return
	}
	WriteEgress(b, egressOf(c, lines), false)
}

// WriteEgress prints a budget as a table: what, to whom, how much, protected how; and with spent
// beside it what was sent. Control messages are one line below it.
func WriteEgress(out io.Writer, lines []Egress, spent bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(message, to, content, most, sent, how string) {
		cells := []string{"  " + message, to, content, most, how}
		if spent {
			cells = []string{"  " + message, to, content, most, sent, how}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("message", "to", "content", "at most", "sent", "protected how")
	control := Egress{}
	var kinds []string
	for _, e := range lines {
		if e.Class == protocol.ClassControl.String() && !e.encrypted() {
			control.MaxBytes, control.Bytes = control.MaxBytes+e.MaxBytes, control.Bytes+e.Bytes
			kinds = append(kinds, e.Kind)
			continue
		}
		row(e.Kind, e.To, e.content(), Size(e.MaxBytes), Size(e.Bytes), e.protection())
	}
	row("control", "all", "-", Size(control.MaxBytes), Size(control.Bytes), (&Egress{Class: protocol.ClassControl.String()}).protection())
	w.Flush()
	fmt.Fprintf(out, "  control is %s\n", list(kinds))
}

// content says what a message is made of.
func (e *Egress) content() string {
	if len(e.Shape) == 0 || e.Encoding == protocol.Bytes.String() {
		return "-"
	}
	var sizes []string
	for _, n := range e.Shape {
		sizes = append(sizes, fmt.Sprint(n))
	}
	return strings.Join(sizes, " x ") + " " + e.Encoding
}

// encrypted reports whether a message is half of an encrypted total, which all need to decrypt it.
func (e *Egress) encrypted() bool { return strings.HasSuffix(e.Kind, he.SuffixC1) }

// protection says in words what a message's class means.
func (e *Egress) protection() string {
	if e.encrypted() {
		return "half of the encrypted total, for all to decrypt: noise"
	}
	switch e.Class {
	case protocol.ClassMasked.String():
		return "one-time masks: noise to whoever receives it"
	case protocol.ClassPublished.String():
		return "NOT protected from the receiving party"
	case protocol.ClassOpening.String():
		return "meant for all: told by design"
	case protocol.ClassHE.String():
		return "homomorphic encryption: noise without every share of the key"
	}
	return "keys, signatures, counters: nothing of the data"
}
