package lockstep

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// operation is the one under way: which scripts of its kind fit all of its records so far.
type operation struct {
	rule   *rules.Rule
	number uint64
	record uint64 // its first
	size   uint64
	sum    keys.Hash // of what this party passes on in a broadcast, or sends in an exchange
	summed bool
	ended  bool
	late   bool // its turn was earlier
	off    bool // found wrong: the rest is left out
	leaked bool // follows the tree that it must not
	live   []progress
	spare  []progress
}

// begin starts an operation at its first record. In one that is late the party sends nothing.
func (o *operation) begin(r *transcript.Record, rule *rules.Rule, late bool) {
	live, spare := o.live[:0], o.spare[:0]
	for i := range rule.Scripts {
		if s := &rule.Scripts[i]; len(s.Steps) > 0 && (!late || receives(s)) {
			live = append(live, progress{Script: s})
		}
	}
	*o = operation{rule: rule, number: r.Operation, record: r.Number, size: r.Size, late: late, live: live, spare: spare}
}

// chunks returns how many chunks a vector has; one that is not cut has one.
func (o *operation) chunks() uint64 { return (max(o.size, 1)-1)/o.rule.Chunk() + 1 }

// keep advances the scripts that a record fits and drops the others. When it fits none nothing
// changes and the result is false.
func (o *operation) keep(r *transcript.Record, fits func(*progress) bool) bool {
	o.spare = o.spare[:0]
	for i := range o.live {
		if p := &o.live[i]; fits(p) {
			o.spare = append(o.spare, *p)
		}
	}
	if len(o.spare) == 0 {
		return false
	}
	chunks := o.chunks()
	for i := range o.spare {
		p := &o.spare[i]
		if r.Type == transcript.TypeOpened {
			p.at = len(p.Steps) - 1
		}
		p.advance(chunks)
	}
	o.live, o.spare = o.spare, o.live
	return true
}

// whole reports whether a script has come to its end.
func (o *operation) whole() bool {
	return slices.ContainsFunc(o.live, func(p progress) bool { return p.whole && (!p.Shadow || o.leaked) })
}

// step takes the next record of the operation under way.
func (c *Conformer) step(r *transcript.Record) {
	o := &c.current
	fault := o.misfit(r)
	if fault == "" && !c.advance(r) {
		fault = c.misplaced(r)
	}
	if fault == "" {
		c.opened(r)
		return
	}
	o.off = true
	c.found.Fail(finding.CheckOperations, "record %d: operation %d (%s): %s", r.Number, o.number, r.Kind, fault)
}

// misplaced says what a record is that no script has next.
func (c *Conformer) misplaced(r *transcript.Record) string {
	o := &c.current
	what := rules.Happened(r.Type, c.names[r.Peer])
	if o.rule.Chunked() {
		what = fmt.Sprintf("chunk %d %s", r.Chunk, what)
	}
	if len(o.live) == 0 {
		return what + ", but the contract has this party take no part"
	}
	return what + " where " + o.live[0].wanted(c.names) + " was next"
}

// advance takes a record into the scripts it fits. A total that opens before all vectors are in it is
// a finding of its own.
func (c *Conformer) advance(r *transcript.Record) bool {
	o := &c.current
	if o.keep(r, func(p *progress) bool { return p.fits(r) }) {
		c.alongSecond(r)
		return true
	}
	if o.rule.Class != contract.ClassMasked || r.Class != contract.ClassOpening {
		return false
	}
	heard := 0
	for i := range o.live {
		if p := &o.live[i]; p.opensEarly(r) {
			heard = max(heard, p.heard)
		}
	}
	if !o.keep(r, func(p *progress) bool { return p.opensEarly(r) }) {
		return false
	}
	c.contributors(r, o.rule, heard+1, true)
	return true
}

// opened counts whose addends are in a chunk of a total.
func (c *Conformer) opened(r *transcript.Record) {
	o := &c.current
	if r.Type != transcript.TypeOpened || r.Class != contract.ClassOpening || o.rule.Class != contract.ClassMasked ||
		r.Chunk > 0 || c.found.Has(finding.CheckContributors) {
		return
	}
	c.contributors(r, o.rule, o.live[0].Parties, false)
}

// contributors holds the number of parties in a protected total against the smallest allowed.
func (c *Conformer) contributors(r *transcript.Record, rule *rules.Rule, n int, missing bool) {
	l := &rule.Learnt
	if l.Contributors == 0 || n < l.Contributors {
		l.Contributors = n
	}
	if n >= c.least && !missing {
		return
	}
	detail := fmt.Sprintf("record %d: operation %d (%s) opened with the vectors of %d of %d parties "+
		"in it, at least %d are wanted",
		r.Number, r.Operation, r.Kind, n, len(c.names), c.least)
	if missing {
		detail += "; the frame of a party that should be in it is missing"
	}
	if n == 2 {
		detail += "; a group of one: " + c.names[c.self] + " subtracts its own and has a single party's vector in the clear"
	}
	c.found.Leak(finding.CheckContributors, "%s", detail)
}

// misfit says what of a record is not as its operation has it, whoever the peer is.
func (o *operation) misfit(r *transcript.Record) string {
	class := o.rule.Class
	padded := o.rule.MayPad && r.Class == contract.ClassMasked
	if r.Type == transcript.TypeOpened && !padded {
		class = contract.ClassOpening
	}
	switch {
	case r.Type == transcript.TypeOpened && o.rule.MustPad && !padded:
		return "it opened, and the contract lists no opening of it to this party"
	case r.Type == transcript.TypeOpened && o.late && !padded:
		return "it opened after a later operation, where only a total under a pad may come"
	case r.Class != class || r.Encoding != o.rule.Encoding:
		return fmt.Sprintf("it is %s %s, the contract says %s %s", r.Class, r.Encoding, class, o.rule.Encoding)
	case o.rule.Chunked():
		// Checks the size of a chunk of a sum or of a direct message.
		if r.Size != o.size {
			return fmt.Sprintf("a vector of %d bytes, it had %d before", r.Size, o.size)
		}
		if uint64(r.Chunk) >= o.chunks() {
			return fmt.Sprintf("chunk %d of a vector with %s", r.Chunk, wording.Count(o.chunks(), "chunk"))
		}
		want := min(o.rule.Chunk(), o.size-uint64(r.Chunk)*o.rule.Chunk())
		if r.Bytes != want || want%uint64(o.rule.Encoding.WordSize()) != 0 || want == 0 {
			return fmt.Sprintf("chunk %d has %d bytes, want %d in words of %d", r.Chunk, r.Bytes, want,
				o.rule.Encoding.WordSize())
		}
		return ""
	case r.Chunk != 0 || r.Bytes != r.Size:
		return fmt.Sprintf("chunk %d of %d bytes of a vector of %d, want it whole", r.Chunk, r.Bytes, r.Size)
	case o.rule.Exchanged() && r.Size > uint64(o.rule.Bytes):
		return fmt.Sprintf("it has %d bytes, %d are agreed", r.Size, o.rule.Bytes)
	case o.rule.Collective == contract.CollectivePairs:
		return "" // for each its own
	case o.rule.Compares() && r.Type == transcript.TypeReceived && o.summed && o.sum != r.Sum():
		return "it is another digest of what was broadcast than was sent, and the session goes on"
	case o.rule.Collective == contract.CollectiveExchange && r.Type == transcript.TypeReceived:
		return "" // every party has its own to say
	}
	if sum := r.Sum(); !o.summed {
		o.sum, o.summed = sum, true
	} else if o.sum != sum || o.size != r.Size {
		return "it is not the same for all parties"
	}
	return ""
}

// progress is how far an operation has followed a script.
type progress struct {
	*rules.Script
	at    int
	chunk uint32
	heard int // parties other than this one whose addends of the chunk have come
	whole bool
}

// fits reports whether a record is the script's next.
func (p *progress) fits(r *transcript.Record) bool {
	if p.whole || len(p.Steps) == 0 {
		return false
	}
	s := p.Steps[p.at]
	return r.Type == s.Event && r.Peer == s.Peer && r.Chunk == p.chunk && (s.Kind == "" || s.Kind == r.Kind)
}

// opensEarly reports whether a record opens the chunk before all children's frames have come.
func (p *progress) opensEarly(r *transcript.Record) bool {
	last := len(p.Steps) - 1
	return !p.whole && last >= 0 && p.Steps[last].Event == transcript.TypeOpened &&
		r.Type == transcript.TypeOpened && r.Chunk == p.chunk
}

// advance takes the next step of an operation whose vector has so many chunks.
func (p *progress) advance(chunks uint64) {
	p.heard += p.Steps[p.at].Adds
	if p.at++; p.at < len(p.Steps) {
		return
	}
	p.at, p.heard = 0, 0
	if p.Chunked && uint64(p.chunk)+1 < chunks {
		p.chunk++
		return
	}
	p.whole = true
}

// wanted says in words what the script has next.
func (p *progress) wanted(names []string) string {
	if p.whole {
		return "nothing more"
	}
	if len(p.Steps) == 0 {
		return "no part in it"
	}
	s := p.Steps[p.at]
	text := rules.Happened(s.Event, names[s.Peer])
	if s.Kind != "" {
		text = inRound(s.Kind, s.Event, names[s.Peer])
	}
	if p.Chunked {
		text = fmt.Sprintf("chunk %d %s", p.chunk, text)
	}
	return text
}
