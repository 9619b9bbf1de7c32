package node

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// member is who this member is: its key, and the charter that is in force.
type member struct {
	config *Config

	mu       sync.Mutex
	charter  *keys.SignedCharter
	lastName string // of this member in a charter
}

// outside is the fault of a contract that does not stand under the charter in force. It names the party for whose sake,
// unless party is empty.
func (n *member) outside(party, format string, args ...any) error {
	f := &faults.Error{Code: fault.CodeCharter, Err: fmt.Errorf(format, args...),
		Numbers: []int64{int64(n.currentCharter().Version)}}
	if party != "" {
		f.Names = []string{party}
	}
	return f
}

// SetCharter takes a new version of the charter into use. Contracts that do not stand under it go no further.
func (n *member) SetCharter(f keys.InForce) {
	c := f.Charter()
	n.mu.Lock()
	n.charter = c
	n.mu.Unlock()
	if err := keepCharter(n.config.Dir, c); err != nil {
		n.config.Log.Warn("the charter is not kept for audits: give it to hanse audit with --charter", "error", err)
	}
	for _, err := range n.config.Policy.Mistakes(&c.Charter) {
		n.config.Log.Warn("the policy does not fit the new charter: rules that accept do nothing while they name who "+
			"is no member", "error", err)
	}
}

// currentCharter returns the charter in force.
func (n *member) currentCharter() *keys.SignedCharter {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.charter
}

// Charter returns the charter that is in force here.
func (n *member) Charter() *keys.SignedCharter { return n.currentCharter() }

// name returns this member's name in the charter, or, once its key has left it, the last that it had.
func (n *member) name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m, ok := n.charter.Member(n.config.Key.ID()); ok {
		n.lastName = m.Name
	}
	return n.lastName
}

// nameIn returns this member's name in a contract, whatever a later charter calls it.
func (n *member) nameIn(c *contract.Contract) string {
	i := partyWith(c, n.config.Key.ID())
	if i < 0 {
		i = max(0, c.Job.Index(n.name())) // of an earlier key of this member: to be shown, and for nothing else
	}
	return c.Parties[i].Name
}

// isOurs reports whether a contract names this node's key. A folder may hold jobs of an earlier key.
func (n *member) isOurs(c *contract.Contract) bool { return partyWith(c, n.config.Key.ID()) >= 0 }

// partyWith finds a key among a contract's parties, -1 when it is none's.
func partyWith(c *contract.Contract, id keys.ID) int {
	return slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.ID == id })
}

// memberName names a member for messages.
func (n *member) memberName(id keys.ID) string {
	if m, ok := n.currentCharter().Member(id); ok {
		return m.Name
	}
	return id.Short()
}

// countsFor is whom a call counts for: a member, or everybody who is none.
func (n *member) countsFor(from keys.ID) keys.ID {
	if _, ok := n.currentCharter().Member(from); ok {
		return from
	}
	return keys.ID{}
}
