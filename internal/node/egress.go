package node

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/rss"
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
	Bytes     int64   `json:"bytes"`            // payload
	Padded    bool    `json:"padded,omitempty"` // of a sealed job, under one-time pads: a sum of these is noise to its root, too
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
			list = append(list, Egress{Kind: e.Kind, Class: e.Class.String(), Encoding: e.Encoding.String(), Shape: e.Shape, Padded: padded(c, e.Kind)})
		}
		l := &list[at]
		l.MaxFrames, l.MaxBytes = l.MaxFrames+e.MaxFrames, l.MaxBytes+e.MaxBytes
		l.Frames, l.Bytes = l.Frames+e.Frames, l.Bytes+e.Bytes
		to[g] = append(to[g], c.Parties[e.To].Name)
		l.To = recipients(to[g], len(c.Parties)-1)
	}
	return list
}

// padded reports whether a kind of messages of a job is under one-time pads.
func padded(c *protocol.Contract, kind string) bool {
	if c.Job.Privacy != fdskl.Sealed {
		return false
	}
	for i := range c.Operations {
		if o := &c.Operations[i]; o.Kind == kind {
			return o.Collective == protocol.CollectiveDirect || kind == sealed.Angles
		}
	}
	return false
}

// toAll stands for all receivers.
const toAll = "each other party"

// recipients names who gets a message.
func recipients(names []string, others int) string {
	if len(names) == others && others > 1 {
		return toAll
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
	for _, e := range folded(lines) {
		if e.Class == protocol.ClassControl.String() && !e.encrypted() {
			control.MaxBytes, control.Bytes = control.MaxBytes+e.MaxBytes, control.Bytes+e.Bytes
			if !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
			continue
		}
		row(e.Kind, e.To, e.content(), Size(e.MaxBytes), Size(e.Bytes), e.protection())
	}
	row("control", "all", "-", Size(control.MaxBytes), Size(control.Bytes), (&Egress{Class: protocol.ClassControl.String()}).protection())
	w.Flush()
	fmt.Fprintf(out, "  control is %s\n", list(kinds))
}

// folded puts the three messages of every truncation of shares in one line, where the first of them stands.
func folded(lines []Egress) []Egress {
	var list []Egress
	place := make(map[string]int)
	for _, e := range lines {
		name, ok := truncated(e.Kind)
		if !ok {
			list = append(list, e)
			continue
		}
		at, ok := place[name]
		if !ok {
			place[name] = len(list)
			e.Kind, e.Encoding = name, asWords
			list = append(list, e)
			continue
		}
		list[at].add(&e)
	}
	return list
}

// asWords is the encoding of a line that has several.
const asWords = "words"

// truncated returns how a table calls the truncation that a kind of message belongs to.
func truncated(kind string) (name string, ok bool) {
	for _, suffix := range []string{rss.SuffixIn, rss.SuffixCarry, rss.SuffixOut} {
		if name, ok = strings.CutSuffix(kind, suffix); ok {
			return name + " (truncation)", true
		}
	}
	return "", false
}

// add adds another line of the same meaning.
func (e *Egress) add(o *Egress) {
	e.MaxFrames, e.MaxBytes = e.MaxFrames+o.MaxFrames, e.MaxBytes+o.MaxBytes
	e.Frames, e.Bytes = e.Frames+o.Frames, e.Bytes+o.Bytes
	e.Shape = []int64{words(e.Shape) + words(o.Shape)}
	if o.To == toAll || e.To == toAll {
		e.To = toAll
		return
	}
	to := strings.Split(e.To, ", ")
	for _, name := range strings.Split(o.To, ", ") {
		if !slices.Contains(to, name) {
			to = append(to, name)
		}
	}
	slices.Sort(to)
	e.To = list(to)
}

// words counts the numbers of a shape.
func words(shape []int64) int64 {
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	return n
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
	if encoding, err := protocol.ParseEncoding(e.Encoding); err == nil && encoding.IsPacked() {
		return fmt.Sprintf("%s of %d bits", strings.Join(sizes, " x "), encoding.Bits())
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
	if e.Kind == protocol.KindRowset {
		return "a key of the two: says whether ids are the same"
	}
	if e.Padded && e.Class == protocol.ClassMasked.String() {
		return "one-time pads: noise to whoever receives it"
	}
	switch e.Class {
	case protocol.ClassMasked.String():
		return "one-time masks: noise to whoever receives it"
	case protocol.ClassPublished.String():
		return "NOT protected from the receiving party"
	case protocol.ClassOpening.String():
		if e.Padded { // between two
			return "meant for its receiver: told by design"
		}
		return "meant for all: told by design"
	case protocol.ClassHE.String():
		return "homomorphic encryption: noise without every share of the key"
	}
	return "keys, signatures, counters: nothing of the data"
}

// rows returns the rows of a contract.
func rows(c *protocol.Contract) int { return rowsOf(c.Parties) }

// rowsOf returns the rows that parties have, those of them who have any.
func rowsOf(all []protocol.Facts) int {
	n := 0
	for _, f := range all {
		n = max(n, f.Rows)
	}
	return n
}
