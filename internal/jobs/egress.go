package jobs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/he"
	"github.com/hanse-project/hanse/secagg/psi"
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
	Bytes     int64   `json:"bytes"` // payload
	// of a sealed job, under one-time pads: a sum of these is noise to its root, too
	Padded bool `json:"padded,omitempty"`
	// of an alignment: what protects it from whoever receives it
	How string `json:"how,omitempty"`
}

// EgressOf turns a budget into one line for each kind of message and group of parties that may get
// equally much.
func EgressOf(c *contract.Contract, lines []contract.Egress) []Egress {
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
			list = append(list, Egress{Kind: e.Kind, Class: e.Class.String(), Encoding: e.Encoding.String(), Shape: e.Shape,
				Padded: padded(c, e.Kind)})
			if c.Job.Task == contract.TaskAlign {
				list[at].How = psi.Protection(e.Kind)
			}
		}
		l := &list[at]
		l.MaxFrames, l.MaxBytes = l.MaxFrames+e.MaxFrames, l.MaxBytes+e.MaxBytes
		l.Frames, l.Bytes = l.Frames+e.Frames, l.Bytes+e.Bytes
		to[g] = append(to[g], c.Parties[e.To].Name)
		if l.To = strings.Join(to[g], ", "); len(to[g]) == len(c.Parties)-1 && len(to[g]) > 1 {
			l.To = ToAll
		}
	}
	return list
}

// padded reports whether a kind of messages of a job is under one-time pads.
func padded(c *contract.Contract, kind string) bool {
	if c.Job.Privacy != keys.PrivacySealed || c.Job.Task == contract.TaskAlign {
		return false
	}
	for _, operations := range [][]contract.Operation{c.Operations, c.Sharded} {
		for i := range operations {
			if o := &operations[i]; o.Kind == kind {
				return o.Collective == contract.CollectiveDirect || kind == sealed.Angles
			}
		}
	}
	return false
}

// ToAll stands for all receivers.
const ToAll = "each other party"

// WriteEgress prints a budget as a table: what, to whom, how much, protected how; and with spent
// beside it what was sent. Control messages are one line below it.
func WriteEgress(out io.Writer, lines []Egress, spent bool) {
	w := wording.NewTable(out, "  ")
	row := func(message, to, content, most, sent, how string) {
		if spent {
			w.Row(message, to, content, most, sent, how)
			return
		}
		w.Row(message, to, content, most, how)
	}
	row("message", "to", "content", "at most", "sent", "protected how")
	control := Egress{}
	var kinds []string
	for _, e := range Folded(lines) {
		if e.Class == contract.ClassControl.String() && !e.encrypted() && e.How == "" {
			control.MaxBytes, control.Bytes = control.MaxBytes+e.MaxBytes, control.Bytes+e.Bytes
			if !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
			continue
		}
		row(e.Kind, e.To, e.Content(), wording.Size(e.MaxBytes), wording.Size(e.Bytes), e.Protection())
	}
	row("control", "all", "-", wording.Size(control.MaxBytes), wording.Size(control.Bytes),
		(&Egress{Class: contract.ClassControl.String()}).Protection())
	w.Flush()
	fmt.Fprint(out, wording.Hang("  ", "control is "+strings.Join(kinds, ", ")))
}

// Folded puts the three messages of every truncation of shares in one line, where the first of them stands.
func Folded(lines []Egress) []Egress {
	var list []Egress
	place := make(map[string]int)
	for _, e := range lines {
		name, ok := rss.TruncationName(e.Kind)
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

// add adds another line of the same meaning.
func (e *Egress) add(o *Egress) {
	e.MaxFrames, e.MaxBytes = e.MaxFrames+o.MaxFrames, e.MaxBytes+o.MaxBytes
	e.Frames, e.Bytes = e.Frames+o.Frames, e.Bytes+o.Bytes
	e.Shape = []int64{words(e.Shape) + words(o.Shape)}
	if o.To == ToAll || e.To == ToAll {
		e.To = ToAll
		return
	}
	to := strings.Split(e.To, ", ")
	for _, name := range strings.Split(o.To, ", ") {
		if !slices.Contains(to, name) {
			to = append(to, name)
		}
	}
	slices.Sort(to)
	e.To = strings.Join(to, ", ")
}

// Protected is how many bytes may leave under one protection in a session, and how many a session sent.
type Protected struct {
	Protection      string
	MaxBytes, Bytes int64
}

// WriteProtected prints a budget added up by protection; with spent, what was sent beside it.
func WriteProtected(out io.Writer, lines []Egress, spent bool) {
	w := wording.NewTable(out, "  ")
	if spent {
		w.Row("at most", "sent", "protected how")
	}
	for _, p := range ByProtection(lines) {
		if most := wording.Size(p.MaxBytes); spent {
			w.Row(most, wording.Size(p.Bytes), p.Protection)
		} else {
			w.Row(most, p.Protection)
		}
	}
	w.Flush()
}

// ByProtection adds up a budget by how its messages are protected, in the order in which these come; what tells nothing
// of the data is last.
func ByProtection(lines []Egress) []Protected {
	var list []Protected
	control := (&Egress{Class: contract.ClassControl.String()}).Protection()
	for i := range lines {
		how := lines[i].Protection()
		at := slices.IndexFunc(list, func(p Protected) bool { return p.Protection == how })
		if at < 0 {
			at = len(list)
			list = append(list, Protected{Protection: how})
		}
		list[at].MaxBytes, list[at].Bytes = list[at].MaxBytes+lines[i].MaxBytes, list[at].Bytes+lines[i].Bytes
	}
	slices.SortStableFunc(list, func(a, b Protected) int {
		switch {
		case a.Protection == control && b.Protection != control:
			return 1
		case b.Protection == control && a.Protection != control:
			return -1
		}
		return 0
	})
	return list
}

// words counts the numbers of a shape.
func words(shape []int64) int64 {
	n := int64(1)
	for _, size := range shape {
		n *= size
	}
	return n
}

// Content says what a message is made of.
func (e *Egress) Content() string {
	if len(e.Shape) == 0 || e.Encoding == contract.Bytes.String() {
		return "-"
	}
	var sizes []string
	for _, n := range e.Shape {
		sizes = append(sizes, fmt.Sprint(n))
	}
	if encoding, err := contract.ParseEncoding(e.Encoding); err == nil && encoding.IsPacked() {
		return fmt.Sprintf("%s of %d bits", strings.Join(sizes, " x "), encoding.Bits())
	}
	return strings.Join(sizes, " x ") + " " + e.Encoding
}

// encrypted reports whether a message is half of an encrypted total, which all need to decrypt it.
func (e *Egress) encrypted() bool { return strings.HasSuffix(e.Kind, he.SuffixC1) }

// Protection says in words what a message's class means.
func (e *Egress) Protection() string {
	if e.How != "" {
		return e.How
	}
	if e.encrypted() {
		return "half of the encrypted total, for all to decrypt: noise"
	}
	if e.Kind == contract.KindRowset {
		return "a key of the two: says whether ids are the same"
	}
	if e.Padded && e.Class == contract.ClassMasked.String() {
		return "one-time pads: noise to whoever receives it"
	}
	switch e.Class {
	case contract.ClassMasked.String():
		return "one-time masks: noise to whoever receives it"
	case contract.ClassPublished.String():
		return "NOT protected from the receiving party"
	case contract.ClassOpening.String():
		if e.Padded { // between two
			return "meant for its receiver: told by design"
		}
		return "meant for all: told by design"
	case contract.ClassHE.String():
		return "homomorphic encryption: noise without every share of the key"
	}
	return "keys, signatures, counters: nothing of the data"
}
