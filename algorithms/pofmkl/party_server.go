package pofmkl

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// ServerPart is a server's part of a job.
type ServerPart struct {
	Dictionary *Dictionary
	Network    federated.Server
	Vault      federated.Vault
	// CheckpointEvery is after how many uploads the state is saved; 0: 10.
	CheckpointEvery int
	// Report is called after every upload; it may be nil.
	Report func(federated.Progress)

	service federated.Service
	server  *Server
}

// Serve runs a server's part to the last upload: see federated.Serve. In every round it tells the clients that are
// there theta, and applies the sum of what they learned with it. A sum that did not open leaves theta as it was, and
// counts as a round.
//
// A server that was killed goes back to its checkpoint: rounds since then are held again, with the
// clients' next rows and an older theta.
func Serve(ctx context.Context, p *ServerPart) error {
	p.service = federated.Service{
		Name: p.Dictionary.params.Server, Vault: p.Vault, Rounds: p.Dictionary.params.Uploads(),
		Every: p.CheckpointEvery, Report: p.Report,
	}
	return federated.Serve(ctx, &p.service, p)
}

// Resume implements federated.ServerPart: a new server has a theta of zeros.
func (s *ServerPart) Resume(_ context.Context, state []byte) (err error) {
	if state == nil {
		s.server = NewServer(s.Dictionary)
		return nil
	}
	s.service.Held, s.server, err = readServing(s.Dictionary, state)
	return err
}

// Round implements federated.ServerPart: it tells theta, and moves it by the sum.
func (s *ServerPart) Round(ctx context.Context) (clients int, err error) {
	round, present := s.service.Held, s.Network.Present()
	for _, k := range present {
		if err := s.Network.SendValues(ctx, k, KindModel, round, s.server.Theta()); err != nil {
			return 0, fmt.Errorf("tell client %d the model: %w", k+1, err)
		}
	}
	total, err := s.Network.Sum(ctx, updateSum(s.Dictionary.params, round, s.Network.Clients()), present)
	if err == nil && total != nil {
		clients, err = len(total.Clients), s.server.Apply(round, total.Values, s.Network.Clients())
	}
	if err != nil {
		return 0, fmt.Errorf("sum of updates: %w", err)
	}
	return clients, nil
}

// State implements federated.ServerPart: theta, and how many rounds were held.
func (s *ServerPart) State() ([]byte, error) { return sealServing(s.service.Held, s.server) }
