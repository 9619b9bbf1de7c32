package contract

import (
	"errors"
	"fmt"
	"slices"
)

// DefaultChunk is the payload of one frame of a sum, in bytes.
const DefaultChunk = 1 << 20

// Egress is what one party may send to another of one kind in one session, and what it sent.
type Egress struct {
	From, To  int // parties by index
	Kind      string
	Stage     int64
	Class     Class
	Encoding  Encoding
	Shape     []int64 // what all the vectors make up together
	MaxFrames int64
	MaxBytes  int64 // payload
	Frames    int64
	Bytes     int64 // payload
}

// Egress lists what a party may send in one session, in the order of the contract's operations.
func (c *Contract) Egress(from int) ([]Egress, error) { return c.egress(c.Operations, from) }

// ShardEgress lists what a party's workers may send in the sessions of all shards, each once.
func (c *Contract) ShardEgress(from int) ([]Egress, error) { return c.egress(c.Sharded, from) }

// Passing is how much a party may send and receive in a session: frames, and bytes of their payloads.
func (c *Contract) Passing(party int) (frames, bytes int64, err error) {
	return c.passing(c.Operations, party)
}

// ShardPassing is Passing of a party's workers in the sessions of all shards, each once.
func (c *Contract) ShardPassing(party int) (frames, bytes int64, err error) {
	return c.passing(c.Sharded, party)
}

// passing is how much a party may send and receive in some operations.
func (c *Contract) passing(operations []Operation, party int) (frames, bytes int64, err error) {
	for from := range c.Parties {
		list, err := c.egress(operations, from)
		if err != nil {
			return 0, 0, err
		}
		for _, e := range list {
			if from == party || e.To == party {
				frames, bytes = frames+e.MaxFrames, bytes+e.MaxBytes
			}
		}
	}
	return frames, bytes, nil
}

// egress lists what a party may send in some operations.
func (c *Contract) egress(operations []Operation, from int) ([]Egress, error) {
	var list []Egress
	place := make(map[spending]int)
	for i := range operations {
		o := &operations[i]
		recipients, err := c.recipients(o, from)
		if err != nil {
			return nil, err
		}
		for _, to := range recipients {
			at, ok := place[spending{o.Kind, to}]
			if !ok {
				at = len(list)
				place[spending{o.Kind, to}] = at
				list = append(list, o.egress(from, to))
			}
			e := &list[at]
			e.MaxBytes += o.Bytes
			e.MaxFrames += o.Count + o.Bytes/int64(e.Encoding.Chunk(DefaultChunk))
			if ok { // operations with several roots or trees over the same link
				e.Shape = addShapes(e.Shape, o.Shape)
			}
		}
	}
	return list, nil
}

// egress starts the line of an operation.
func (o *Operation) egress(from, to int) Egress {
	class, _ := ParseClass(o.Class)          // checked with the contract
	encoding, _ := ParseEncoding(o.Encoding) // checked with the contract
	return Egress{From: from, To: to, Kind: o.Kind, Stage: o.Stage, Class: class, Encoding: encoding, Shape: o.Shape}
}

// addShapes returns the shape of two vectors together: the same rows with the features of both, or else
// only their number.
func addShapes(a, b []int64) []int64 {
	switch {
	case len(a) == 0 && len(b) == 0:
		return nil
	case len(a) == 2 && len(b) == 2 && a[0] == b[0]:
		return []int64{a[0], a[1] + b[1]}
	}
	return []int64{numbers(a) + numbers(b)}
}

// numbers counts the numbers of a shape.
func numbers(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// recipients lists to whom a party sends in an operation.
func (c *Contract) recipients(o *Operation, from int) ([]int, error) {
	switch o.Collective {
	case CollectiveUpload, CollectiveDownload, CollectiveServers:
		return c.served(o, from)
	case CollectiveDirect:
		if from == c.Job.Index(o.Root) {
			return []int{c.Job.Index(o.To)}, nil
		}
		return nil, nil
	}
	if o.Collective == CollectivePairs {
		if holders := c.Holders(); slices.Contains(holders, from) {
			return slices.DeleteFunc(holders, func(i int) bool { return i == from }), nil
		}
		return nil, nil
	}
	if o.Collective == CollectiveExchange || o.Root == Anyone { // whoever the root is, anybody may be a child
		var others []int
		for i := range c.Parties {
			if i != from {
				others = append(others, i)
			}
		}
		return others, nil
	}
	plan, err := c.Plan(o, c.Job.Index(o.Root))
	if err != nil || !plan.Has(from) {
		return nil, err
	}
	if o.Collective == CollectiveBroadcast {
		return plan.Children[from], nil
	}
	if from == plan.Root {
		return nil, nil
	}
	return []int{plan.Parent[from]}, nil
}

// served lists to whom a party sends in an operation among servers and clients.
func (c *Contract) served(o *Operation, from int) ([]int, error) {
	root := c.Job.Index(o.Root)
	switch {
	case o.Collective == CollectiveServers:
		var others []int
		for i := range c.Parties {
			if i != from && c.Job.Serves(i) && c.Job.Serves(from) {
				others = append(others, i)
			}
		}
		return others, nil
	case o.Collective == CollectiveDownload && from == root:
		return o.Members(c.Job), nil
	case o.Collective == CollectiveDownload || from == root:
		return nil, nil
	case len(o.Among) == 0 && c.Job.ServerOf(from) != root:
		return nil, nil
	case len(o.Among) > 0 && !slices.Contains(o.Among, c.Job.Parties[from]):
		return nil, nil
	}
	topology, err := ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, err
	}
	if topology == Star {
		return []int{root}, nil
	}
	if above := PlanAmong(topology, len(c.Parties), root, o.Members(c.Job)).Parent[from]; above != root {
		return []int{root, above}, nil
	}
	return []int{root}, nil
}

// spending names one line of a budget.
type spending struct {
	kind string
	to   int
}

// Budget holds one session's sending against the contract: a frame that the contract does not list
// is not sent. It is not safe for concurrent use.
type Budget struct {
	contract *Contract
	lines    []Egress
	place    map[spending]int
	kinds    map[string]bool
	stage    int64
}

// NewBudget returns a party's budget for one session.
func NewBudget(c *Contract, self int) (*Budget, error) {
	lines, err := c.Egress(self)
	if err != nil {
		return nil, err
	}
	b := &Budget{contract: c, lines: lines, place: make(map[spending]int), kinds: make(map[string]bool)}
	for i, e := range lines {
		b.place[spending{e.Kind, e.To}] = i
		b.kinds[e.Kind] = true
	}
	return b, nil
}

// Lines returns the budget with what was sent so far.
func (b *Budget) Lines() []Egress { return append([]Egress(nil), b.lines...) }

// ErrDeviation is inside every error that says a peer did not follow the protocol.
// The job stops: retrying cannot help.
var ErrDeviation = errors.New("deviation from the protocol")

// BudgetError says that this party was about to send what the contract does not allow. Nothing of
// it was sent.
type BudgetError struct {
	Kind   string
	To     string
	Reason string
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s to %s not sent: %s", e.Kind, e.To, e.Reason)
}

// Unwrap says that it is this party that would have deviated.
func (e *BudgetError) Unwrap() error { return ErrDeviation }

// Spend books one frame with a payload of so many bytes, or says why it must not be sent.
func (b *Budget) Spend(kind string, class Class, encoding Encoding, to, bytes int) error {
	refuse := func(format string, args ...any) error {
		return &BudgetError{Kind: kind, To: b.contract.Parties[to].Name, Reason: fmt.Sprintf(format, args...)}
	}
	at, ok := b.place[spending{kind, to}]
	if !ok && b.kinds[kind] {
		return refuse("the contract has this party send %s to others, not there", kind)
	}
	if !ok {
		return refuse("the contract lists no such message of this party")
	}
	e := &b.lines[at]
	switch {
	case class != e.Class || encoding != e.Encoding:
		return refuse("it is %s %s, the contract says %s %s", class, encoding, e.Class, e.Encoding)
	case e.Stage < b.stage:
		return refuse("its stage of the job is over")
	case e.Frames+1 > e.MaxFrames:
		return refuse("it would be frame %d of %d agreed", e.Frames+1, e.MaxFrames)
	case e.Bytes+int64(bytes) > e.MaxBytes:
		return refuse("it would make %d bytes of %d agreed", e.Bytes+int64(bytes), e.MaxBytes)
	}
	if !AtAnyTime(kind) {
		b.stage = e.Stage
	}
	e.Frames++
	e.Bytes += int64(bytes)
	return nil
}

// AtAnyTime reports whether messages of a kind come between operations of any stage of a contract.
func AtAnyTime(kind string) bool {
	return slices.Contains([]string{KindStates, KindCountersign, KindAsk, KindAbort, KindShared, KindShards}, kind)
}
