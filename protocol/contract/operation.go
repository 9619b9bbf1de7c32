package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/fault"
)

// The ways an operation's data travel.
const (
	CollectiveSum       = "sum"       // along a plan to the root, which learns the total
	CollectiveBroadcast = "broadcast" // from the root to all, along the reversed tree
	CollectiveExchange  = "exchange"  // from everybody to everybody
	CollectiveUpload    = "upload"    // from the clients of the root to it; with a tree or ring also to the client above
	CollectiveDownload  = "download"  // from the root to its clients
	CollectiveServers   = "servers"   // from every server to every other
	CollectiveDirect    = "direct"    // from the root to one other party
	CollectivePairs     = "pairs"     // from each party with data to every other with data, to each its own
)

// Anyone stands for the root of broadcasts that several parties do in turn.
const Anyone = "*"

// Operation is one kind of sum, broadcast, exchange or direct message of a contract, with its budget in one session.
// What each party sends to whom follows from it and the job's topology; see Contract.Egress.
type Operation struct {
	Kind       string `toml:"kind"`
	Stage      int64  `toml:"stage"`      // operations of a later stage come after all of an earlier one
	Collective string `toml:"collective"` // one of the Collective constants
	// of a sum or broadcast: a party; of broadcasts also Anyone; of uploads and downloads: the server; of direct messages:
	// the sender
	Root     string `toml:"root,omitempty"`
	To       string `toml:"to,omitempty"`       // of direct messages: the receiver, a party other than the root
	Tree     int64  `toml:"tree,omitzero"`      // 1 or 2: the trees of a published sum (FDSKL, Algorithm 3)
	Excluded string `toml:"excluded,omitempty"` // the party l' of a published sum
	// Among lists the servers between whom and the root uploads and downloads go; none: the root's clients. See Groups.
	Among    []string `toml:"among,omitempty"`
	Class    string   `toml:"class"`
	Encoding string   `toml:"encoding"`
	Shape    []int64  `toml:"shape,omitempty"` // what all the vectors make up together, such as rows and features
	Count    int64    `toml:"count"`           // how many there are, at most
	Bytes    int64    `toml:"bytes"`           // payload that one party sends to another in all of them, at most
	// of what is not in the job's own session: in how many shards' sessions, all of which Count and Bytes are of
	Shards int64 `toml:"shards,omitzero"`
}

// maxShape is the most numbers of a shape.
const maxShape = 4

// Confirms is the operation of so many exchanges in which the parties compare what was broadcast.
func Confirms(n int64) Operation {
	return Operation{
		Kind: KindShared, Collective: CollectiveExchange, Class: ClassControl.String(), Encoding: Bytes.String(),
		Count: n, Bytes: n * SharedSize,
	}
}

// ShardsCompared is the operation in which the parties compare what their shards' sessions were.
func ShardsCompared() Operation {
	return Operation{
		Kind: KindShards, Collective: CollectiveExchange, Class: ClassControl.String(), Encoding: Bytes.String(),
		Count: 1, Bytes: ShardsSize,
	}
}

// Rowset is the operation in which the parties with data compare their row ids, before anything of the data leaves.
func Rowset() Operation {
	return Operation{
		Kind: KindRowset, Collective: CollectivePairs, Class: ClassOpening.String(), Encoding: Bytes.String(),
		Count: 1, Bytes: sha256.Size,
	}
}

// SessionOperations adds the operations that every session has to a job's own, for so many parties: the exchange of
// session keys, of what transcripts hold of the sessions before, of the states of links and countersignatures, and of
// last words. Comparisons of what was broadcast, and requests for openings, come at any stage.
func SessionOperations(parties int, job []Operation) []Operation {
	last, operations, confirms, asks := int64(0), int64(2), int64(0), int64(0)
	said, past, states := int64(SharedSize), int64(PastSize(parties)), int64(StatesSize(parties))
	var own, anytime []Operation
	for _, o := range job {
		switch {
		case o.Kind == KindAsk: // one to each other party; it counts as no operation of the session
			anytime, asks = append(anytime, o), asks+o.Count
			continue
		case o.Kind == KindShared:
			confirms += o.Count
		case o.Kind == KindShards:
			anytime = append(anytime, o)
		default:
			own, last = append(own, o), max(last, o.Stage)
		}
		operations += o.Count
		if o.Collective == CollectiveUpload || o.Collective == CollectiveDownload || o.Collective == CollectiveServers {
			said, past, states = 0, PastLinkSize, 0 // over clients nothing is broadcast, and links are stated one by one
		}
	}
	control := func(kind string, stage, count, bytes int64) Operation {
		return Operation{
			Kind: kind, Stage: stage, Collective: CollectiveExchange, Class: ClassControl.String(), Encoding: Bytes.String(),
			Count: count, Bytes: count * bytes,
		}
	}
	all := []Operation{control(KindSessionKey, 0, 1, 96), control(KindPast, 0, 1, past)}
	all = append(all, own...)
	if confirms > 0 {
		anytime = append(anytime, Confirms(confirms))
	}
	rounds := operations/CountersignEvery + 2 // when the session begins and at its end too
	if states > 0 {
		anytime = append(anytime, control(KindStates, 0, rounds, states))
	}
	for i := range anytime {
		anytime[i].Stage = last + 2
	}
	return append(append(all, anytime...),
		control(KindDone, last+1, 1, said),
		control(KindCountersign, last+2, rounds+asks/max(1, int64(parties-1)), SignatureSize),
		control(KindAbort, last+2, 1, fault.MaxFault))
}

// check checks one operation.
func (o *Operation) check(job *Job) error {
	if err := CheckKind(o.Kind); err != nil {
		return err
	}
	if err := o.checkRoot(job); err != nil {
		return fmt.Errorf("%s: %w", o.Kind, err)
	}
	if err := o.checkClass(); err != nil {
		return fmt.Errorf("%s: %w", o.Kind, err)
	}
	if _, err := ParseEncoding(o.Encoding); err != nil {
		return fmt.Errorf("%s: %w", o.Kind, err)
	}
	if len(o.Shape) > maxShape {
		return fmt.Errorf("%s: shape has %d numbers, at most %d are allowed", o.Kind, len(o.Shape), maxShape)
	}
	for _, f := range append(o.shape(), count{"stage", o.Stage}, count{"count", o.Count}, count{"bytes", o.Bytes}) {
		if err := checkCount(f.field, f.n); err != nil {
			return fmt.Errorf("%s: %w", o.Kind, err)
		}
	}
	return nil
}

// count is a number of an operation, by its name.
type count struct {
	field string
	n     int64
}

// shape lists the numbers of the shape.
func (o *Operation) shape() []count {
	var list []count
	for _, n := range o.Shape {
		list = append(list, count{"shape", n})
	}
	return list
}

// checkRoot checks what goes with the way the data travel.
func (o *Operation) checkRoot(job *Job) error {
	if err := o.checkEnds(job); err != nil {
		return err
	}
	// Checks the members of a group of servers: in the order of the parties, each once, without the root.
	if len(o.Among) > 0 && o.Collective != CollectiveUpload && o.Collective != CollectiveDownload {
		return errors.New("only uploads and downloads are among servers")
	}
	last := -1
	for _, name := range o.Among {
		i := job.Index(name)
		if i <= last || !job.Serves(i) || name == o.Root {
			return fmt.Errorf("among names %q, want servers other than the root, in the order of the parties",
				wording.Clip(name))
		}
		last = i
	}
	switch {
	case o.Collective != CollectiveDirect && o.To != "":
		return errors.New("only direct messages have a receiver")
	case o.Collective != CollectiveSum && (o.Tree != 0 || o.Excluded != ""):
		return errors.New("only sums have a tree and an excluded party")
	case o.Tree < 0 || o.Tree > 2:
		return fmt.Errorf("tree is %d, want 0, 1 or 2", o.Tree)
	case o.Tree == 0 && o.Excluded != "" || o.Tree != 0 && (job.Index(o.Excluded) < 0 || o.Excluded == o.Root):
		return fmt.Errorf("excluded is %q, want a party other than the root with tree 1 or 2, else nothing",
			wording.Clip(o.Excluded))
	}
	return nil
}

// checkEnds checks from whom, or to whom, the data go.
func (o *Operation) checkEnds(job *Job) error {
	root := job.Index(o.Root)
	switch o.Collective {
	case CollectiveUpload, CollectiveDownload:
		if root < 0 || !job.Serves(root) {
			return fmt.Errorf("root is %q, want one of the job's servers", wording.Clip(o.Root))
		}
	case CollectiveServers:
		if o.Root != "" {
			return errors.New("what goes between servers has no root")
		}
	case CollectiveExchange:
		if o.Root != "" {
			return errors.New("an exchange has no root")
		}
	case CollectivePairs:
		if o.Root != "" || len(job.Servers) > 0 {
			return errors.New("what goes between pairs of parties has no root, and a job over clients has none of it")
		}
	case CollectiveDirect:
		switch {
		case len(job.Servers) > 0:
			return errors.New("a job over clients has no direct messages")
		case job.Index(o.Root) < 0:
			return fmt.Errorf("root is %q, want one of the job's parties", wording.Clip(o.Root))
		case job.Index(o.To) < 0 || o.To == o.Root:
			return fmt.Errorf("to is %q, want one of the job's parties other than the root", wording.Clip(o.To))
		}
		return nil
	case CollectiveBroadcast, CollectiveSum:
		if root < 0 && !(o.Root == Anyone && o.Collective == CollectiveBroadcast) {
			return fmt.Errorf("root is %q, want one of the job's parties", wording.Clip(o.Root))
		}
	default:
		return fmt.Errorf("collective is %q, want \"sum\", \"broadcast\", \"exchange\", \"direct\", \"pairs\", "+
			"\"upload\", \"download\" or \"servers\"", wording.Clip(o.Collective))
	}
	return nil
}

// Members lists the parties that upload to the root, or to whom it sends: its clients, or servers of its group,
// ascending.
func (o *Operation) Members(job *Job) []int {
	if len(o.Among) == 0 {
		return job.ClientsOf(job.Index(o.Root))
	}
	var members []int
	for _, name := range o.Among {
		members = append(members, job.Index(name))
	}
	return members
}

// checkClass checks how the data are protected. Nothing that goes to one party alone is a value of
// the published protocol or a ciphertext.
func (o *Operation) checkClass() error {
	class, err := ParseClass(o.Class)
	if err == nil && o.Collective == CollectiveDirect && (class == ClassPublished || class == ClassHE) {
		return fmt.Errorf("class is %q, want \"control\", \"masked\" or \"opening\" for a direct message", o.Class)
	}
	return err
}

// Plan returns the plan of a sum, or the reversed tree of a broadcast from the given root.
func (c *Contract) Plan(o *Operation, root int) (Plan, error) {
	if o.Collective != CollectiveSum {
		return PlanFor(Tree, len(c.Parties), root), nil
	}
	topology, err := ParseTopology(c.Job.Topology)
	if err != nil {
		return Plan{}, err
	}
	if o.Tree == 0 {
		return PlanFor(topology, len(c.Parties), root), nil
	}
	t1, t2, err := PublishedTrees(len(c.Parties), root, c.Job.Index(o.Excluded))
	if o.Tree == 2 {
		t1 = t2
	}
	return t1, err
}

// ClassOf returns the class of a kind of operation; what the contract does not list is control,
// and a budget refuses to send it.
func (c *Contract) ClassOf(kind string) Class {
	for i := range c.Operations {
		if o := &c.Operations[i]; o.Kind == kind {
			class, _ := ParseClass(o.Class) // checked with the contract
			return class
		}
	}
	return ClassControl
}
