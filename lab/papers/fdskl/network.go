package fdskl

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// network is parties in this process with sessions of the program between them, one for each topology and chunk.
type network struct {
	private []*keys.PrivateKey
	parties []contract.Party
	open    func(ctx context.Context, session protocol.SessionID, party int, others []keys.ID) (protocol.Mesh, error)
	close   func() error

	sums []*secagg.Masked // along trees, once used
}

// ids lists the parties' ids.
func (n *network) ids() []keys.ID {
	var ids []keys.ID
	for _, p := range n.parties {
		ids = append(ids, p.ID)
	}
	return ids
}

// openMemory makes parties with links in memory, whose lines have the speed and delay given.
func openMemory(q int, wire Wire) (*network, error) {
	n := &network{}
	for i := range q {
		k, err := keys.GenerateKey()
		if err != nil {
			return nil, err
		}
		n.private = append(n.private, k)
		n.parties = append(n.parties, contract.Party{Name: fmt.Sprintf("p%d", i), ID: k.ID()})
	}
	memory := testnet.New(n.ids())
	lines := newLines(wire, n.ids())
	n.open = func(ctx context.Context, session protocol.SessionID, party int, others []keys.ID) (protocol.Mesh, error) {
		mesh, err := memory.Transport(n.parties[party].ID).Open(ctx, session, others)
		if err != nil || wire == (Wire{}) {
			return mesh, err
		}
		return lines.mesh(n.parties[party].ID, mesh), nil
	}
	n.close = func() error { memory.Close(); return nil }
	return n, nil
}

// Hosts that share a machine with other programs may not get a turn for seconds: these are patient.
const (
	heartbeat = 10 * time.Second
	silence   = time.Minute
)

// openTLS makes parties with the program's own links: TLS 1.3 over TCP, on this machine.
func openTLS(ctx context.Context, q int, dir string) (_ *network, err error) {
	if dir, err = os.MkdirTemp(dir, "tls-"); err != nil {
		return nil, err
	}
	founded, err := localnet.Found(dir, trial.PartyNames(q), "masked")
	if err != nil {
		return nil, err
	}
	n := &network{private: founded.Keys}
	running, cancel := context.WithCancel(ctx)
	var hosts []*peer.Host
	var group sync.WaitGroup
	n.close = func() error {
		var err error
		for _, h := range hosts {
			err = errors.Join(err, h.Close())
		}
		cancel()
		group.Wait()
		return errors.Join(err, os.RemoveAll(dir))
	}
	for i, k := range founded.Keys {
		host, err := peer.New(peer.Config{Key: k, Charter: founded.Charter, Heartbeat: heartbeat, Silence: silence})
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		hosts = append(hosts, host)
		group.Go(func() { _ = host.Run(running) }) // it ends with its host
		n.parties = append(n.parties, contract.Party{Name: founded.Names[i], ID: k.ID()})
	}
	n.open = func(ctx context.Context, session protocol.SessionID, party int, others []keys.ID) (protocol.Mesh, error) {
		return hosts[party].Open(ctx, session, others)
	}
	return n, nil
}

// sessions opens a session of all parties with frames of so many bytes, 0 for the program's own.
func (n *network) sessions(ctx context.Context, chunk int) ([]*protocol.Session, func() error, error) {
	var session protocol.SessionID
	rand.Read(session[:]) // never fails
	sessions, meshes := make([]*protocol.Session, len(n.parties)), make([]protocol.Mesh, len(n.parties))
	end := func() error {
		var err error
		for _, m := range meshes {
			if m != nil {
				err = errors.Join(err, m.Close())
			}
		}
		return err
	}
	err := n.each(func(i int) error {
		others := slices.Delete(n.ids(), i, i+1)
		var err error
		if meshes[i], err = n.open(ctx, session, i, others); err != nil {
			return err
		}
		sessions[i], err = protocol.NewSession(ctx, meshes[i], protocol.SessionConfig{
			Contract: keys.HashOf("hanselab fdskl-paper", session[:]), Number: 1, Parties: n.parties,
			Key: n.private[i], Chunk: chunk, Unbounded: true, Unrecorded: true,
		})
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return sessions, end, nil
}

// each runs part at every party at once.
func (n *network) each(part func(i int) error) error {
	errs := make([]error, len(n.parties))
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = part(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// productKind is the kind of messages with inner products.
const productKind = "products"

// products is how inner products are encoded: exact to 2^-41.
var products = secagg.Fixed{Bits: 40, Bound: 1 << 16}

// masked adds the parties' vectors under masks, along a tree, and returns what the first party learns.
func (n *network) masked(ctx context.Context, addends [][]float64) ([]float64, error) {
	if n.sums == nil {
		sessions, _, err := n.sessions(ctx, 0) // they end with the network
		if err != nil {
			return nil, err
		}
		for _, s := range sessions {
			m, err := secagg.NewMasked(s, n.ids(), contract.Tree)
			if err != nil {
				return nil, err
			}
			n.sums = append(n.sums, m)
		}
	}
	err := n.each(func(i int) error { return n.sums[i].SumFixed(ctx, productKind, 0, products, addends[i]) })
	return addends[0], err
}
