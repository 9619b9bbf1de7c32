package sum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
	"github.com/hanse-project/hanse/secagg/graph"
)

// Times of hosts that share a few cores with hundreds of others: a host that must wait for a core
// is not gone.
const (
	sumOpenTime  = 3 * time.Minute
	sumHeartbeat = 10 * time.Second
	sumSilence   = time.Minute
)

// sumEnd is one party: its host, and its end of the session at hand.
type sumEnd struct {
	*sumNetwork
	self    int
	key     *keys.PrivateKey
	host    *peer.Host // nil before the first session and after the party has dropped out
	stopped chan error
	mesh    *watchedMesh
	links   *protocol.Links
	sent    map[keys.ID][]int // sizes of the frames of the latest sum, in their order, by receiver
}

// newSumEnd reads a party's key.
func newSumEnd(l *sumNetwork, self int) (*sumEnd, error) {
	file, err := keys.LoadKeyFile(sumKeyFile(l.dir, self), nil)
	if err != nil {
		return nil, err
	}
	return &sumEnd{sumNetwork: l, self: self, key: file.Key}, nil
}

// open leaves the session before and enters the one with this number, on a new host where the party has
// none.
func (e *sumEnd) open(ctx context.Context, number uint32) error {
	err := e.leave()
	if err == nil && e.host == nil {
		err = e.start(ctx)
	}
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, sumOpenTime)
	defer cancel()
	mesh, err := e.host.Open(opening, e.sessionID(number), e.peers(e.self))
	if err != nil {
		return err
	}
	e.mesh = &watchedMesh{Mesh: mesh, leave: e.drop}
	config := protocol.SessionConfig{Contract: e.contract, Number: number, Parties: e.parties, Key: e.key,
		Unbounded: true, Unrecorded: true}
	e.links, err = protocol.NewLinks(e.mesh, config, nil)
	return err
}

// leave ends the session, if there is one.
func (e *sumEnd) leave() error {
	if e.mesh == nil {
		return nil
	}
	err := e.mesh.Close()
	e.mesh, e.links = nil, nil
	return err
}

// start runs a host. The server does not dial: all come to it.
func (e *sumEnd) start(ctx context.Context) error {
	near := []keys.ID{}
	if e.self != sumServerIndex {
		near = e.peers(e.self)
	}
	host, err := peer.New(peer.Config{
		Key: e.key, Charter: e.charter, Discovery: []string{peer.DiscoverAddresses}, Neighbours: near,
		Heartbeat: sumHeartbeat, Silence: sumSilence,
	})
	if err != nil {
		return err
	}
	e.host, e.stopped = host, make(chan error, 1)
	go func() { e.stopped <- host.Run(ctx) }()
	return nil
}

// drop closes the host with all that is open.
func (e *sumEnd) drop() error {
	host := e.host
	if host == nil {
		return nil
	}
	e.host = nil
	return errors.Join(host.Close(), <-e.stopped)
}

// close ends the session and the host.
func (e *sumEnd) close() error { return errors.Join(e.leave(), e.drop()) }

// spec is what all parties agree on. The masks withstand the losses of the measurement.
func (l *sumNetwork) spec() (cohort.Spec, error) {
	t, err := contract.ParseTopology(l.Topology)
	return cohort.Spec{
		Server: sumServerIndex, Backend: l.Backend, Topology: t, Patience: l.Patience,
		Tolerance: graph.Tolerance{Corrupt: l.Corrupt, Dropout: max(l.Dropout, cohort.DefaultTolerance().Dropout)},
	}, err
}

// traffic returns the bytes of all frames that this party has sent and received in the session.
func (e *sumEnd) traffic() (sent, received int64) {
	for _, id := range e.peers(e.self) {
		out, in := e.mesh.Traffic(id)
		sent, received = sent+out, received+in
	}
	return sent, received
}

// prepare starts to watch what is sent in the next sum, which the party leaves at a step, or stays in.
func (e *sumEnd) prepare(step string) {
	e.sent = make(map[keys.ID][]int)
	e.mesh.sent, e.mesh.leaveAt = e.sent, step
}

// called names the party in an error.
func (e *sumEnd) called(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", sumName(e.self), err)
}
