package cohort

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/graph"
)

// Backend says what protects the vectors on their way.
type Backend string

// The backends.
const (
	Plain  Backend = "plain"  // nothing but TLS: the server sees every vector
	Masked Backend = "masked" // one-time masks, recovered from shares when clients drop out
	HE     Backend = "he"     // homomorphic encryption under a key that some of the clients hold together
)

// Defaults of a Spec.
const (
	DefaultComplete        = 32
	DefaultMinContributors = 3
	DefaultPatience        = 20 * time.Second
	DefaultKeyHolders      = 8
)

// Spec is what a server and its clients agree on before the first sum.
type Spec struct {
	Server int // the server's index among the parties
	// the indices of those who may be in its sums, of whom a part may be corrupt; nil: all other parties
	Clients []int
	Backend Backend
	// along which vectors travel to the server; with a tree or ring clients add for others
	Topology   contract.Topology
	Tolerance  graph.Tolerance // what the masks withstand; zero: DefaultTolerance
	Complete   int             // up to how many clients each is masked against all; 0: DefaultComplete
	KeyHolders int             // he: how many clients hold the key together, at most; 0: DefaultKeyHolders
	// what part of a secret's holders must answer, at least LeastThreshold; 0: chosen with the graph
	Threshold float64
	// the fewest vectors in a total that opens; 0: DefaultMinContributors; raised to graph.Floor where vectors are hidden
	MinContributors int
	// sums are among clients whom the algorithm or they themselves pick: their number may fall by more than half
	Picks    bool
	Patience time.Duration // how long the server waits in each round; 0: DefaultPatience
}

// DefaultTolerance is what sums withstand when a Spec does not say: a tenth of the clients corrupt
// and together with a server that lies, and a tenth dropping out.
func DefaultTolerance() graph.Tolerance { return graph.Tolerance{Corrupt: 0.1, Dropout: 0.1} }

// complete checks the spec and fills in what was left out.
func (s Spec) complete(parties int) (Spec, error) {
	if s.Tolerance == (graph.Tolerance{}) {
		s.Tolerance = DefaultTolerance()
	}
	if s.Complete == 0 {
		s.Complete = DefaultComplete
	}
	if s.MinContributors == 0 {
		s.MinContributors = DefaultMinContributors
	}
	if s.Patience == 0 {
		s.Patience = DefaultPatience
	}
	if s.KeyHolders == 0 {
		s.KeyHolders = DefaultKeyHolders
	}
	if s.Clients == nil {
		for i := range parties {
			if i != s.Server {
				s.Clients = append(s.Clients, i)
			}
		}
	}
	switch {
	case s.Server < 0 || s.Server >= parties:
		return s, fmt.Errorf("server is party %d, want 0 to %d", s.Server, parties-1)
	case s.Backend != Plain && s.Backend != Masked && s.Backend != HE:
		return s, fmt.Errorf("backend is %q, want %q, %q or %q", s.Backend, Plain, Masked, HE)
	case s.Threshold != 0 && !(0.5 < s.Threshold && s.Threshold <= 1):
		return s, fmt.Errorf("threshold is %v, want more than 0.5 and at most 1", s.Threshold)
	case s.MinContributors < 2:
		return s, fmt.Errorf("min_contributors is %d, want at least 2: a sum of one is that client's own vector",
			s.MinContributors)
	case s.KeyHolders < 2 || s.KeyHolders > maxKeyHolders:
		return s, fmt.Errorf("%d holders of the key, want 2 to %d", s.KeyHolders, maxKeyHolders)
	case s.Patience < 0 || s.Patience > math.MaxUint32*time.Millisecond:
		return s, fmt.Errorf("patience is %v, want 0 to %v", s.Patience, math.MaxUint32*time.Millisecond)
	case slices.Contains(s.Clients, s.Server) || slices.ContainsFunc(s.Clients,
		func(i int) bool { return i < 0 || i >= parties }):
		return s, fmt.Errorf("clients are %v, want indices below %d without the server's", s.Clients, parties)
	}
	if s.Backend == Plain {
		return s, nil
	}
	if s.MinContributors < graph.Floor(len(s.Clients), s.Tolerance) {
		s.MinContributors = graph.Floor(len(s.Clients), s.Tolerance)
	}
	// With too low a threshold a lying server and the corrupt clients open one client's vector: the server gets
	// two different sets of holders to open both of a client's secrets, or two totals of one sum under a
	// collective key. See graph.Choice.Least, which this holds for all clients at once; a sum among fewer never
	// takes less than its own.
	if s.Threshold == 0 {
		return s, nil
	}
	n, complete := len(s.Clients), s.Complete
	if s.Backend == HE { // all holders of a key have shares of it, as all neighbours have of a secret
		n = min(n, s.KeyHolders) + 1
		complete = n
	}
	c, err := graph.Pick(n, complete, s.Tolerance)
	if err != nil {
		return s, err
	}
	if least := c.Least(); holdersOf(s.Threshold, c.Degree) < least {
		enough := math.Floor(1e4*float64(least)/float64(c.Degree)) / 1e4 // with at most four decimals
		return s, fmt.Errorf("threshold is %v, want at least %v: fewer than %d of %d holders of a client's "+
			"secret, %d of them corrupt, "+
			"would let the server open that client's vector", s.Threshold, enough, least, c.Degree, c.Corrupt)
	}
	return s, nil
}

// holdersOf returns how many of k holders a threshold stands for.
func holdersOf(threshold float64, k int) int { return int(math.Ceil(threshold * float64(k))) }

// pick chooses neighbours and threshold for a sum of n of the clients. Who may be corrupt is a part of all
// clients, whichever n the server picks.
func (s Spec) pick(n int) (graph.Choice, error) {
	c, err := graph.PickAmong(n, len(s.Clients), s.Complete, s.Tolerance)
	if err != nil {
		return c, err
	}
	if s.Threshold > 0 {
		c.Threshold = max(holdersOf(s.Threshold, c.Degree), c.Least())
	}
	return c, nil
}

// MaxWords is the longest vector, in words.
const MaxWords = 1 << 28

// Vector says what is summed.
type Vector struct {
	Kind  string // as a message kind: a-z, 0-9, "-", at most protocol.MaxKind bytes
	Words int    // 1 to MaxWords
	Bits  int    // words are in Z_{2^Bits}, 1 to 64; so many bits of each travel
}

// check refuses what cannot be summed.
func (v Vector) check() error {
	if v.Words < 1 || v.Words > MaxWords || v.Bits < 1 || v.Bits > 64 || len(v.Kind) < 1 ||
		len(v.Kind) > contract.MaxKind {
		return fmt.Errorf("vector %.24q of %d words of %d bits: want a kind of 1 to %d bytes, 1 to %d words of 1 to 64 bits",
			v.Kind, v.Words, v.Bits, contract.MaxKind, MaxWords)
	}
	return nil
}

// class returns how vectors on the wire are protected.
func (b Backend) class() contract.Class {
	switch b {
	case Masked:
		return contract.ClassMasked
	case HE:
		return contract.ClassHE
	}
	return contract.ClassPublished
}
