package pofmkl

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// serverSlot is where a server keeps its state in its vault.
const serverSlot = "server"

// defaultCheckpointEvery is how many uploads a server that is killed may lose.
const defaultCheckpointEvery = 10

// ServerPart is a server's part of a job.
type ServerPart struct {
	Dictionary *Dictionary
	Network    federated.Server
	Vault      federated.Vault
	// CheckpointEvery is after how many uploads the state is saved; 0: 10.
	CheckpointEvery int
	// Report is called after every upload; it may be nil.
	Report func(federated.Progress)
}

// serverRun is a server's part under way.
type serverRun struct {
	*ServerPart
	server *Server
	round  int // uploads so far, those that did not open included
}

// Serve runs a server's part to the last upload, from the newest checkpoint in the vault on. In every
// round it tells the clients that are there theta, and applies the sum of what they learned with it. A sum
// that did not open leaves theta as it was, and counts as a round.
//
// A server that was killed goes back to its checkpoint: rounds since then are held again, with the
// clients' next rows and an older theta. After the last upload the model is kept.
func Serve(ctx context.Context, p *ServerPart) error {
	s, err := p.resume()
	if err != nil {
		return fmt.Errorf("server %q: %w", p.Dictionary.params.Server, err)
	}
	for s.round < p.Dictionary.params.Uploads() {
		round := s.round + 1
		if err := s.runRound(ctx); err != nil {
			return fmt.Errorf("server %q, round %d: %w", p.Dictionary.params.Server, round, err)
		}
	}
	if err := s.keepModel(); err != nil {
		return fmt.Errorf("server %q: keep the model: %w", p.Dictionary.params.Server, err)
	}
	return nil
}

// resume starts the part, or takes it up where the vault has it.
func (p *ServerPart) resume() (*serverRun, error) {
	s := &serverRun{ServerPart: p, server: NewServer(p.Dictionary)}
	data, err := p.Vault.Load(serverSlot)
	if err != nil || data == nil {
		return s, err
	}
	s.round, s.server, err = readServing(p.Dictionary, data)
	return s, err
}

// runRound holds one round.
func (s *serverRun) runRound(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	present := s.Network.Present()
	for _, k := range present {
		if err := s.Network.SendValues(ctx, k, KindModel, s.round, s.server.Theta()); err != nil {
			return fmt.Errorf("tell client %d the model: %w", k+1, err)
		}
	}
	total, err := s.Network.Sum(ctx, updateSum(s.Dictionary.params, s.round, s.Network.Clients()), present)
	if err != nil {
		return fmt.Errorf("sum of updates: %w", err)
	}
	clients := 0
	if total != nil {
		clients = len(total.Clients)
		if err := s.server.Apply(s.round, total.Values, s.Network.Clients()); err != nil {
			return fmt.Errorf("sum of updates: %w", err)
		}
	}
	s.round++
	if err := s.checkpoint(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if s.Report != nil {
		s.Report(federated.Progress{
			Round: s.round, Rounds: s.Dictionary.params.Uploads(),
			Loss: math.NaN(), Regret: math.NaN(), Clients: clients,
		})
	}
	return nil
}

// checkpoint saves the state when its turn has come, and after the last round.
func (s *serverRun) checkpoint() error {
	every := s.CheckpointEvery
	if every == 0 {
		every = defaultCheckpointEvery
	}
	if s.round%every != 0 && s.round < s.Dictionary.params.Uploads() {
		return nil
	}
	data, err := sealServing(s.round, s.server)
	if err != nil {
		return err
	}
	return s.Vault.Save(serverSlot, data)
}
