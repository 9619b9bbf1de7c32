package gfml

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// serverSlot is where a server keeps its state in its vault.
const serverSlot = "server"

// defaultCheckpointEvery is how many iterations a server that is killed may lose.
const defaultCheckpointEvery = 10

// ServerPart is a server's part of a job.
type ServerPart struct {
	Plan       *Plan
	Server     int    // its number
	Privacy    string // as jobs name it
	Least      int    // the fewest clients in a total that opens
	Network    federated.Server
	Neighbours federated.Neighbourhood // where diffusion is plain
	Mixing     federated.Mixing        // where it is masked
	Vault      federated.Vault
	// CheckpointEvery is after how many iterations the state is saved; 0: 10.
	CheckpointEvery int
	// Report is called after every iteration, Warn with a sentence for people; both may be nil.
	Report func(federated.Progress)
	Warn   func(string)
}

// serverRun is a server's part under way.
type serverRun struct {
	*ServerPart
	server   *Server
	next     int // iteration
	reserved int // iterations before this one may be announced: the vault says to go on there
}

// Serve runs a server's part to the last iteration. In each it sends the clients that it chose and that are
// there their entries of its model, tells the others that the iteration is on, fills its model
// with what the sum of uploads brings, and combines it with its neighbours'. Without a total its model
// stays as it was before it is combined; a neighbour that is gone is done without.
//
// A state that is saved names an iteration that no client has heard of: a server that was killed goes
// on there with the model it had saved, and the iterations between are lost to it as if it had
// been gone. So no client uploads twice in one iteration. After the last one the model is kept.
func Serve(ctx context.Context, p *ServerPart) error {
	s, err := p.resume()
	if err != nil {
		return err // names the server
	}
	if p.Plan.Diffusion(p.Privacy) == DiffusionMasked {
		if err := p.Mixing.Begin(ctx, s.next); err != nil {
			return fmt.Errorf("server %q: %w", s.server.name(), err)
		}
	}
	for s.next < p.Plan.params.Iterations {
		if err := s.iterate(ctx); err != nil {
			err = fmt.Errorf("server %q, iteration %d: %w", s.server.name(), s.next, err)
			switch {
			case errors.Is(err, federated.ErrPaused): // before it was announced: no iteration is lost
				err = errors.Join(err, s.save(s.next))
			case errors.Is(err, federated.ErrScarce): // after: this one is
				err = errors.Join(err, s.save(s.next+1))
			}
			return err
		}
	}
	return errors.Join(s.save(s.next), s.keepModel())
}

// resume starts the part, or takes it up where the vault has it.
func (p *ServerPart) resume() (*serverRun, error) {
	server, err := p.Plan.NewServer(p.Server)
	if err != nil {
		return nil, err
	}
	if err := p.Plan.CheckPrivacy(p.Privacy, p.Least); err != nil {
		return nil, fmt.Errorf("server %q: %w", server.name(), err)
	}
	s := &serverRun{ServerPart: p, server: server}
	data, err := p.Vault.Load(serverSlot)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", server.name(), err)
	}
	if data != nil {
		s.next, err = server.Restore(data)
	}
	s.reserved = s.next
	return s, err
}

// iterate does one iteration.
func (s *serverRun) iterate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.checkpoint(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	chosen, err := s.sendChosen(ctx)
	if err != nil {
		return err
	}
	clients, psi, err := s.collect(ctx, chosen)
	if err != nil {
		return err
	}
	combine := s.combine
	if s.Plan.Diffusion(s.Privacy) == DiffusionMasked {
		combine = s.mix
	}
	if err := combine(ctx, psi); err != nil {
		return err
	}
	s.next++
	if s.Report != nil {
		s.Report(federated.Progress{
			Round: s.next, Rounds: s.Plan.params.Iterations,
			Loss: math.NaN(), Regret: math.NaN(), Clients: clients,
		})
	}
	return nil
}

// checkpoint saves the state when its turn has come, before the iteration is announced.
func (s *serverRun) checkpoint() error {
	if s.next < s.reserved {
		return nil
	}
	every := s.CheckpointEvery
	if every == 0 {
		every = defaultCheckpointEvery
	}
	s.reserved = min(s.next+every, s.Plan.params.Iterations)
	return s.save(s.reserved)
}

// save keeps the model in the vault, and the iteration to go on with.
func (s *serverRun) save(next int) error {
	data, err := s.server.Save(next)
	if err != nil {
		return err
	}
	return s.Vault.Save(serverSlot, data)
}

// sendChosen tells the clients that are there of the iteration, and returns those of them that are chosen.
func (s *serverRun) sendChosen(ctx context.Context) (chosen []int, err error) {
	all := s.Plan.Chosen(s.Server, s.next)
	for _, k := range s.Network.Present() {
		kind, entries := KindIteration, []float64(nil)
		if slices.Contains(all, k) {
			chosen, kind = append(chosen, k), KindModel
			if entries, err = s.server.Share(s.next, k); err != nil {
				return nil, err
			}
		}
		if err := s.Network.SendValues(ctx, k, kind, s.next, entries); err != nil {
			return nil, fmt.Errorf("tell %s: %w", s.Plan.clientName(s.Server, k), err)
		}
	}
	return chosen, nil
}

// collect adds the chosen clients' uploads and returns whose are in the total, and psi'.
func (s *serverRun) collect(ctx context.Context, chosen []int) (clients int, psi []float64, err error) {
	total, err := s.Network.Sum(ctx, s.Plan.UploadSum(s.Server, s.next), chosen)
	if err != nil {
		return 0, nil, fmt.Errorf("sum of uploads: %w", err)
	}
	if total == nil {
		total = new(federated.Total)
	}
	psi, err = s.server.Fill(s.next, total.Values, total.Clients)
	return len(total.Clients), psi, err
}

// combine makes the new model of this server's psi' and what its neighbours have.
func (s *serverRun) combine(ctx context.Context, psi []float64) error {
	others, err := s.exchange(ctx, KindPsiPrime, s.Plan.OtherNeighbours(s.Server), psi)
	if err != nil {
		return err
	}
	if psi, err = s.server.Cooperate(psi, others); err != nil {
		return err
	}
	own, err := s.exchange(ctx, KindPsi, s.Plan.OwnNeighbours(s.Server), psi)
	if err != nil {
		return err
	}
	return s.server.Combine(psi, own)
}

// mix makes the new model of this server's psi' and the sum of its neighbourhood's, and takes part in the sums of the
// neighbourhoods that it is in, in the order that all servers keep.
func (s *serverRun) mix(ctx context.Context, psi []float64) error {
	var own *federated.Mixture
	for _, at := range s.Plan.Turns() {
		neighbours, sum := s.Plan.Neighbourhood(at), s.Plan.MixSum(at)
		var err error
		switch {
		case at == s.Server:
			adders := func(there []int) []int { return s.Plan.Adders(at, there) }
			own, err = s.Mixing.Mix(ctx, sum, s.next, neighbours, adders)
		case slices.Contains(neighbours, s.Server):
			err = s.Mixing.Contribute(ctx, sum, s.next, at, func(there []int) ([]float64, error) {
				return s.server.Contribution(at, there, psi), nil
			})
		}
		if err != nil {
			return fmt.Errorf("sum of the models around %q: %w", s.Plan.graph.names[at], err)
		}
	}
	refused, err := s.server.Mix(psi, own)
	if refused != "" && s.Warn != nil {
		s.Warn(fmt.Sprintf("iteration %d: %s", s.next, refused))
	}
	return err
}

// exchange sends neighbours a vector and returns theirs.
func (s *serverRun) exchange(ctx context.Context, kind string, with []int, v []float64) (map[int][]float64, error) {
	if len(with) == 0 {
		return nil, nil
	}
	theirs, err := s.Neighbours.Exchange(ctx, kind, s.next, with, v)
	if err != nil {
		return nil, fmt.Errorf("exchange %s with neighbours: %w", kind, err)
	}
	return theirs, nil
}
