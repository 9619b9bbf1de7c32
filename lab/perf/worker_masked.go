package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// openMember reads a member's key file and charter from the network's folder. The parties are
// counted in the charter's order.
func openMember(dir, name string) (*member, error) {
	network := localnet.Federation{Dir: dir}
	file, err := keys.LoadKeyFile(network.Path(name, name+".key"), nil)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(network.CharterFile())
	if err != nil {
		return nil, err
	}
	m := &member{key: file.Key}
	if m.charter, err = keys.ParseCharter(text); err != nil {
		return nil, err
	}
	for _, card := range m.charter.Members {
		m.parties = append(m.parties, contract.Party{Name: card.Name, ID: card.ID})
	}
	if m.self = slices.IndexFunc(m.parties, func(p contract.Party) bool { return p.Name == name }); m.self < 0 {
		return nil, fmt.Errorf("the charter has no member %q", name)
	}
	return m, nil
}

// OpenTime is how long a worker waits for the others before it gives up and the measurement fails.
const OpenTime = 30 * time.Second

// maskedEnd is a party's end of a masked session over a host of its own.
type maskedEnd struct {
	host    *peer.Host
	mesh    protocol.Mesh
	stopped chan error
	sums    *secagg.Masked
}

// openMasked starts a host and opens a session with all members.
func openMasked(ctx context.Context, m *member, t contract.Topology) (_ *maskedEnd, err error) {
	host, err := peer.New(peer.Config{Key: m.key, Charter: m.charter})
	if err != nil {
		return nil, err
	}
	e := &maskedEnd{host: host, stopped: make(chan error, 1)}
	go func() { e.stopped <- host.Run(ctx) }()
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	contract := keys.HashOf("hanselab link", m.charter.Text())
	var ids, others []keys.ID
	for i, p := range m.parties {
		ids = append(ids, p.ID)
		if i != m.self {
			others = append(others, p.ID)
		}
	}
	opening, cancel := context.WithTimeout(ctx, OpenTime)
	defer cancel()
	if e.mesh, err = host.Open(opening, protocol.SessionID(contract), others); err != nil {
		return nil, err
	}
	session, err := protocol.NewSession(opening, e.mesh, protocol.SessionConfig{Contract: contract, Number: 1,
		Parties: m.parties, Key: m.key, Unbounded: true, Unrecorded: true})
	if err != nil {
		return nil, err
	}
	e.sums, err = secagg.NewMasked(session, ids, t)
	return e, err
}

// close ends session and host.
func (e *maskedEnd) close() error {
	var err error
	if e.mesh != nil {
		err = e.mesh.Close()
	}
	return errors.Join(err, e.host.Close(), <-e.stopped)
}
