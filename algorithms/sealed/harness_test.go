package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/rss"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// federation is parties in one process that meet in real sessions over a network in memory. Everything
// that they send is held to a contract.
type federation struct {
	*testnet.Federation
	session  uint32
	contract *contract.Contract
	budgets  []*contract.Budget // of the last session
	wrap     func(i int, n *sessionNetwork) joint.SealedNetwork
	mesh     func(i int, m protocol.Mesh) protocol.Mesh
}

// newFederation makes keys and links for the named parties.
func newFederation(t testing.TB, names []string) *federation {
	t.Helper()
	return &federation{Federation: testnet.Found(t, names...)}
}

// declare holds the sessions from now on to a disclosure: a party that would send more fails.
func (f *federation) declare(t testing.TB, d joint.Disclosure) {
	t.Helper()
	f.contract = f.Agree(t, contract.Job{Privacy: fdskl.Sealed}, 0, nil, d.Operations)
}

// run opens a session at every party, runs part in it, and returns each party's error.
func (f *federation) run(part func(ctx context.Context, i int, n joint.SealedNetwork) error) []error {
	f.session++
	f.budgets = make([]*contract.Budget, len(f.Names))
	meeting := testnet.Meeting{Number: f.session, Contract: f.contract, Mesh: f.mesh,
		Config: func(i int, c *protocol.SessionConfig) { f.budgets[i] = c.Budget }}
	return f.Run(context.Background(), meeting, func(ctx context.Context, i int, s *protocol.Session) error {
		n := &sessionNetwork{Session: s, contract: f.contract}
		var err error
		if n.masked, err = secagg.NewMasked(s, f.IDs, contract.Tree); err != nil {
			return err
		}
		var seen joint.SealedNetwork = n
		if f.wrap != nil {
			seen = f.wrap(i, n)
		}
		if err := part(ctx, i, seen); err != nil {
			return err
		}
		return s.Finish(ctx)
	})
}

// sessionNetwork is a joint.SealedNetwork over a session.
type sessionNetwork struct {
	*protocol.Session
	contract *contract.Contract
	masked   *secagg.Masked
}

// BeginPadded implements joint.SealedNetwork.
func (n *sessionNetwork) BeginPadded(
	ctx context.Context, kind string, root int, v []uint16,
) (end func(context.Context) error, err error) {
	return n.masked.BeginPadded(ctx, kind, root, v)
}

// SumPacked implements joint.SealedNetwork.
func (n *sessionNetwork) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	return n.masked.SumPacked(ctx, kind, root, bits, v)
}

// Broadcast implements joint.SealedNetwork.
func (n *sessionNetwork) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	return n.Session.Broadcast(ctx, kind, n.contract.ClassOf(kind), root, data, limit)
}

// Three implements joint.SealedNetwork.
func (n *sessionNetwork) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.Join(n.Session, parties, 2)
}

// vaultInMemory is a joint.Vault in memory.
type vaultInMemory struct {
	mu     sync.Mutex
	files  map[string][]byte
	writes int  // calls of Save
	dieAt  int  // the one at which the party is killed; 0: none
	stored bool // what that one was to write is there all the same

	scratches  int   // that are open
	asked      int64 // how many bytes the last one was to have
	appended   int64 // bytes, in all
	limit      int64 // the most that fit; 0: all
	reads      int   // of blocks
	unreadable int   // the read that fails; 0: none
}

// newVault returns an empty one.
func newVault() *vaultInMemory { return &vaultInMemory{files: make(map[string][]byte)} }

// Load implements joint.Vault.
func (m *vaultInMemory) Load(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]byte(nil), m.files[name]...), nil
}

// Save implements joint.Vault.
func (m *vaultInMemory) Save(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.writes != m.dieAt || m.stored {
		m.files[name] = append([]byte(nil), data...)
	}
	if m.writes == m.dieAt {
		return errKilled
	}
	return nil
}

// Append implements joint.Vault: sealed parties keep no logs.
func (m *vaultInMemory) Append(string, []byte) error {
	return errors.New("a sealed party appends nothing")
}

// Records implements joint.Vault.
func (m *vaultInMemory) Records(string, int, func([]byte) error) (int, error) {
	return 0, errors.New("a sealed party keeps no records")
}

// Remove implements joint.Vault.
func (m *vaultInMemory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

// scratch is a joint.Scratch in memory, of one party.
type scratch struct {
	vault  *vaultInMemory
	blocks [][]byte
	last   []byte // what was read last: nobody may look at it any more
}

// errScratch is what scratches fail with.
var errScratch = errors.New("scratch: no space left")

// newScratch makes the party's one.
func (m *vaultInMemory) newScratch(bytes int64) (joint.Scratch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scratches, m.asked = m.scratches+1, bytes
	return &scratch{vault: m}, nil
}

// Append implements joint.Scratch.
func (s *scratch) Append(block []byte) error {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	s.vault.appended += int64(len(block))
	if s.vault.limit > 0 && s.vault.appended > s.vault.limit {
		return errScratch
	}
	s.blocks = append(s.blocks, slices.Clone(block))
	return nil
}

// Read implements joint.Scratch.
func (s *scratch) Read(i int) ([]byte, error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if s.vault.reads++; s.vault.reads == s.vault.unreadable {
		return nil, errScratch
	}
	clear(s.last)
	s.last = slices.Clone(s.blocks[i])
	return s.last, nil
}

// Close implements joint.Scratch.
func (s *scratch) Close() error {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	s.vault.scratches--
	return nil
}

// forget removes the files whose names begin with one of the prefixes.
func (m *vaultInMemory) forget(prefixes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.files {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			delete(m.files, name)
		}
	}
}

// first returns the first error.
func first(errs []error) error {
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("party %d: %w", i, err)
		}
	}
	return nil
}
