package forecast

import (
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Bytes is how much passes in one session that nothing disturbs: frames with their headers and lengths, as a session
// counts them. What TLS adds is in OnLine alone.
type Bytes struct {
	Fixed int64 `json:"fixed"` // whatever the data are
	// of an alignment: so much more for each row that all parties have
	PerRow int64 `json:"per_common_row,omitempty"`
	Most   int64 `json:"most"` // all that the contract allows: Fixed, unless something depends on the data
}

// add adds to all three.
func (b *Bytes) add(o Bytes) {
	b.Fixed, b.PerRow, b.Most = b.Fixed+o.Fixed, b.PerRow+o.PerRow, b.Most+o.Most
}

// At is what passes where so many rows are common to all; of jobs that find none the number does not count.
func (b Bytes) At(common int) int64 { return min(b.Fixed+b.PerRow*int64(common), b.Most) }

// Exact reports whether nothing worth mentioning depends on the data: less than a hundredth.
func (b Bytes) Exact() bool { return 100*(b.Most-b.Fixed) <= b.Most }

// lengthSize is what stands before each frame on its stream.
const lengthSize = 4

// usualTarget is about what names of classes, or a mean and a deviation, take.
const usualTarget = 32

// What TLS 1.3 and the streams in it add to a frame: a record of TLS, of at most 16 KiB, has 22 bytes of its own, and
// a piece of a stream, of at most 64 KiB, has 12.
const (
	recordSize, recordExtra = 16 << 10, 22
	pieceSize, pieceExtra   = 64 << 10, 12
)

// onLine is about what so many frames with so many bytes are on the line, under TCP.
func onLine(frames, bytes int64) int64 {
	return bytes + (bytes/recordSize+frames)*recordExtra + (bytes/pieceSize+frames)*pieceExtra
}

// traffic is what passes in a session.
type traffic struct {
	sent, received []Bytes // by party
	frames         []int64 // by party: sent and received, at most
	rounds         int64   // operations, one after the other
	masked         []int64 // by party: bytes of sums that it masks or unmasks, at most
}

// trafficOf reads what some operations of a contract let its parties send, but for what only a disturbed session sends.
func trafficOf(c *contract.Contract, operations []contract.Operation, notes trace.Notes) (*traffic, error) {
	n := len(c.Parties)
	t := &traffic{sent: make([]Bytes, n), received: make([]Bytes, n), frames: make([]int64, n), masked: make([]int64, n)}
	depends := dependsOn(c, notes.AtMost)
	asks, all := make(map[[2]int]int64), int64(0) // requests for openings, which bring about a signature each
	for i := range operations {
		if o := &operations[i]; o.Kind == contract.KindAsk {
			asks[[2]int{c.Job.Index(o.Root), c.Job.Index(o.To)}] += o.Count
			all += o.Count
		}
	}
	rooted := *c
	rooted.Operations = withRoots(c, operations, notes.Roots)
	for from := range c.Parties {
		lines, err := rooted.Egress(from)
		if err != nil {
			return nil, err
		}
		for _, e := range lines {
			switch {
			case e.Kind == contract.KindAbort:
				continue
			case e.Kind == contract.KindCountersign && all > 0: // contracts allow each party as many as all have asked for
				spare := all/int64(n-1) - asks[[2]int{e.From, e.To}]
				e.MaxFrames, e.MaxBytes = e.MaxFrames-spare, e.MaxBytes-spare*contract.SignatureSize
			case e.Kind == fdskl.KindTarget: // contracts have room for long names of classes
				e.MaxBytes = min(e.MaxBytes, usualTarget)
			case slices.Contains(notes.Silent, e.Kind):
				e.MaxBytes = 0
			}
			b := depends(e)
			b.Most = e.MaxBytes + e.MaxFrames*int64(lengthSize+protocol.HeaderSize(e.Kind))
			if b.Fixed == e.MaxBytes || b.PerRow > 0 {
				b.Fixed += b.Most - e.MaxBytes
			}
			t.sent[from].add(b)
			t.received[e.To].add(b)
			t.frames[from] += e.MaxFrames
			t.frames[e.To] += e.MaxFrames
		}
	}
	for i := range operations {
		o := &operations[i]
		if contract.AtAnyTime(o.Kind) {
			continue
		}
		t.rounds += o.Count / max(o.Shards, 1) // shards go on at the same time
		if o.Collective != contract.CollectiveSum || o.Class != contract.ClassMasked.String() {
			continue
		}
		for p := range t.masked {
			t.masked[p] += o.Bytes
		}
	}
	return t, nil
}

// withRoots returns operations of a contract with broadcasts that several parties do in turn dealt out to these:
// contracts let each party pass on all of them.
func withRoots(c *contract.Contract, operations []contract.Operation, of map[string][]string) (
	all []contract.Operation,
) {
	for _, o := range operations {
		roots := of[o.Kind]
		if len(roots) == 0 {
			roots = c.Job.Parties
		}
		if o.Root != contract.Anyone {
			all = append(all, o)
			continue
		}
		n := int64(len(roots))
		for i, root := range roots {
			turn := o
			turn.Root, turn.Shape = root, nil
			turn.Count = (o.Count - int64(i) + n - 1) / n
			turn.Bytes = o.Bytes / max(o.Count, 1) * turn.Count
			all = append(all, turn)
		}
	}
	return all
}

// notes are what the code of a job over columns says of the kinds of its messages; nothing of a prediction whose model
// is not known.
func (k Known) notes(c *contract.Contract) trace.Notes {
	if c.Job.OverClients() || c.Job.Task == contract.TaskAlign {
		return trace.Notes{}
	}
	o, err := k.outline(c)
	if err != nil {
		return trace.Notes{}
	}
	d, err := o.Disclose()
	if err != nil {
		return trace.Notes{}
	}
	return d.Notes
}

// dependsOn returns what tells of a line of a contract how many of its payload bytes follow from public numbers alone.
// atMost are the kinds of an algorithm of which that are none.
func dependsOn(c *contract.Contract, atMost []string) func(contract.Egress) Bytes {
	exact := func(e contract.Egress) Bytes { return Bytes{Fixed: e.MaxBytes} }
	none := func(contract.Egress) Bytes { return Bytes{} }
	if c.Job.Requests > 0 { // rows come when somebody asks for them
		return none
	}
	if c.Job.OverClients() { // clients come and go
		return none
	}
	if c.Job.Task == contract.TaskAlign {
		spec, err := psi.SpecOf(c.Job, c.Parties)
		if err != nil { // no such job has become a contract
			return none
		}
		return func(e contract.Egress) Bytes {
			var b Bytes
			found := false
			for pass := range spec.Passes() {
				for _, m := range spec.Messages(pass) { // a list may come in pieces
					if m.Kind == e.Kind && (m.From == psi.All || m.From == e.From && m.To == e.To) {
						none := int64(spec.SizeOf(m, 0))
						found, b.Fixed, b.PerRow = true, b.Fixed+none, b.PerRow+int64(spec.SizeOf(m, 1))-none
					}
				}
			}
			if !found {
				return exact(e)
			}
			return b
		}
	}
	return func(e contract.Egress) Bytes {
		if slices.ContainsFunc(atMost, func(kind string) bool { return strings.HasPrefix(e.Kind, kind) }) {
			return Bytes{}
		}
		return exact(e)
	}
}
