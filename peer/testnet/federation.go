package testnet

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Federation is members in one process: each has a key, and they meet in sessions over a Network.
type Federation struct {
	*Network
	Names   []string
	Keys    []*keys.PrivateKey
	IDs     []keys.ID
	Parties []contract.Party // names and ids
}

// Found makes members with fresh keys. Their network ends with the test.
func Found(t testing.TB, names ...string) *Federation {
	t.Helper()
	var private []*keys.PrivateKey
	for range names {
		k, err := keys.GenerateKey()
		fatal(t, err)
		private = append(private, k)
	}
	return FoundWith(t, names, private)
}

// FoundWith is Found for members who have these keys.
func FoundWith(t testing.TB, names []string, private []*keys.PrivateKey) *Federation {
	f := &Federation{Names: names, Keys: private}
	for i, k := range private {
		f.IDs = append(f.IDs, k.ID())
		f.Parties = append(f.Parties, contract.Party{Name: names[i], ID: k.ID()})
	}
	f.Network = New(f.IDs)
	t.Cleanup(f.Close)
	return f
}

// Numbered names n parties p0, p1 and so on.
func Numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("p%d", i)
	}
	return names
}

// Charter makes a charter of all members that allows everything. Change, unless nil, says what differs. All have
// signed it.
func (f *Federation) Charter(t testing.TB, change func(*keys.Charter)) *keys.SignedCharter {
	t.Helper()
	c := keys.Charter{Name: "test", Version: 1, Created: time.Unix(1_700_000_000, 0).UTC(),
		Rules: keys.Rules{MinPrivacy: keys.PrivacyPublished, MinContributors: 2, Transports: []string{"tcp"},
			Discovery: []string{"addresses"}}}
	for _, p := range f.Parties {
		c.Members = append(c.Members, keys.Member{Name: p.Name, ID: p.ID})
	}
	if change != nil {
		change(&c)
	}
	signed, err := keys.NewCharter(c)
	fatal(t, err)
	for _, k := range f.Keys {
		fatal(t, signed.Sign(k))
	}
	return signed
}

// Agree makes a contract of all members, the first ones active, and adds to the operations those of every session. What
// the job leaves open is that of a masked training of columns along a tree. All have signed it.
func (f *Federation) Agree(
	t testing.TB, job contract.Job, active int, openings []contract.Opening, operations []contract.Operation,
) *contract.Contract {
	t.Helper()
	for field, usual := range map[*string]string{
		&job.Format: "hanse-job-v1", &job.Name: "test", &job.Algorithm: "fdskl", &job.Task: contract.TaskTrain,
		&job.Table: "train", &job.Privacy: keys.PrivacyMasked, &job.Topology: contract.Tree.String(),
	} {
		*field = cmp.Or(*field, usual)
	}
	job.Parties = f.Names
	var facts []contract.Facts
	for i, p := range f.Parties {
		role := "passive"
		if i < active {
			role = "active"
		}
		facts = append(facts, contract.Facts{Name: p.Name, ID: p.ID, Role: role, Rows: 40, Columns: 3})
	}
	c, err := contract.NewContract(&job, facts, openings, contract.SessionOperations(len(facts), operations))
	fatal(t, err)
	for _, k := range f.Keys {
		c.Sign(k)
	}
	return c
}

// Unwritten is the hash in the sessions of meetings that have no contract.
var Unwritten = keys.HashOf("test contract")

// Meeting says how parties meet in a session. The zero value is a first session in which everybody is linked with all
// others and may send anything.
type Meeting struct {
	Number   uint32                                      // of the session; 0: 1
	Contract *contract.Contract                          // holds each party to its budget; may be nil
	Chunk    int                                         // see SessionConfig
	Links    func(i int) []keys.ID                       // whom party i is linked with; nil: all others
	Mesh     func(i int, m protocol.Mesh) protocol.Mesh  // puts itself in place of a party's mesh; may be nil
	Config   func(i int, config *protocol.SessionConfig) // changes a party's configuration; may be nil
}

// Join links party i with its peers, which waits until they join too, and returns what it begins a session or links
// with.
func (f *Federation) Join(ctx context.Context, m Meeting, i int) (protocol.Mesh, protocol.SessionConfig, error) {
	config := protocol.SessionConfig{Contract: Unwritten, Number: max(m.Number, 1), Parties: f.Parties, Key: f.Keys[i],
		Chunk: m.Chunk}
	peers := slices.Delete(slices.Clone(f.IDs), i, i+1)
	if m.Links != nil {
		peers = m.Links(i)
	}
	var session protocol.SessionID
	binary.LittleEndian.PutUint32(session[:], config.Number)
	mesh, err := f.Transport(f.IDs[i]).Open(ctx, session, peers)
	if err != nil {
		return nil, config, err
	}
	if m.Contract != nil {
		config.Contract = m.Contract.Hash()
		if config.Budget, err = contract.NewBudget(m.Contract, i); err != nil {
			return nil, config, errors.Join(err, mesh.Close())
		}
	}
	if m.Config != nil {
		m.Config(i, &config)
	}
	config.Unbounded, config.Unrecorded = config.Budget == nil, config.Recorder == nil
	if m.Mesh != nil {
		mesh = m.Mesh(i, mesh)
	}
	return mesh, config, nil
}

// Meshes has all members join, none of which may fail, until the test ends.
func (f *Federation) Meshes(t testing.TB, m Meeting) []protocol.Mesh {
	t.Helper()
	meshes := make([]protocol.Mesh, len(f.Parties))
	f.Must(t, func(i int) (err error) {
		meshes[i], _, err = f.Join(t.Context(), m, i)
		return err
	})
	return meshes
}

// Part is what party i does in a session, its Finish included.
type Part func(ctx context.Context, i int, s *protocol.Session) error

// RunParty runs party i's part in a session. It leaves when its part ends, so that nobody waits for one that failed.
func (f *Federation) RunParty(ctx context.Context, m Meeting, i int, part Part) error {
	mesh, config, err := f.Join(ctx, m, i)
	if err != nil {
		return err
	}
	defer mesh.Close()
	s, err := protocol.NewSession(ctx, mesh, config)
	if err != nil {
		return err
	}
	return part(ctx, i, s)
}

// Run is RunParty at every party at once. It returns their errors.
func (f *Federation) Run(ctx context.Context, m Meeting, part Part) []error {
	return f.Each(func(i int) error { return f.RunParty(ctx, m, i, part) })
}

// Open opens a session that every party stays in, and returns their errors. Whoever fails leaves.
func (f *Federation) Open(ctx context.Context, m Meeting) ([]*protocol.Session, []error) {
	sessions := make([]*protocol.Session, len(f.Parties))
	errs := f.Each(func(i int) error {
		mesh, config, err := f.Join(ctx, m, i)
		if err != nil {
			return err
		}
		if sessions[i], err = protocol.NewSession(ctx, mesh, config); err != nil {
			mesh.Close()
		}
		return err
	})
	return sessions, errs
}

// Sessions is Open until the test ends, where nobody may fail.
func (f *Federation) Sessions(t testing.TB, m Meeting) []*protocol.Session {
	t.Helper()
	sessions, errs := f.Open(t.Context(), m)
	fatal(t, errors.Join(errs...))
	return sessions
}

// Each runs part at every party at once and returns their errors.
func (f *Federation) Each(part func(i int) error) []error {
	errs := make([]error, len(f.Parties))
	var parts sync.WaitGroup
	for i := range errs {
		parts.Go(func() { errs[i] = part(i) })
	}
	parts.Wait()
	return errs
}

// Must is Each where nobody may fail.
func (f *Federation) Must(t testing.TB, part func(i int) error) {
	t.Helper()
	fatal(t, errors.Join(f.Each(part)...))
}

// fatal ends the test on an error.
func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
