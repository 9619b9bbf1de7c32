package gfml

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

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

	service  federated.Service
	choose   func(server, n int) []int         // Plan.Chosen; a trace has its own
	uploads  func(server, n int) federated.Sum // Plan.UploadSum; a trace has its own
	server   *Server
	reserved int // iterations before this one may be announced: the vault says to go on there
}

// Serve runs a server's part to the last iteration: see federated.Serve. In each it sends the clients that it chose and
// that are there their entries of its model, tells the others that the iteration is on, fills its model
// with what the sum of uploads brings, and combines it with its neighbours'. Without a total its model
// stays as it was before it is combined; a neighbour that is gone is done without.
//
// A state that is saved names an iteration that no client has heard of: a server that was killed goes
// on there with the model it had saved, and the iterations between are lost to it as if it had
// been gone. So no client uploads twice in one iteration.
func Serve(ctx context.Context, p *ServerPart) error {
	server, err := p.Plan.NewServer(p.Server)
	if err != nil {
		return err
	}
	if err := p.Plan.CheckPrivacy(p.Privacy, p.Least); err != nil {
		return fmt.Errorf("server %q: %w", server.name(), err)
	}
	iterations := p.Plan.params.Iterations
	p.choose, p.uploads, p.server = p.Plan.Chosen, p.Plan.UploadSum, server
	p.service = federated.Service{
		Name: server.name(), Vault: p.Vault, Rounds: iterations, Report: p.Report,
		Every: iterations, // all but the last state are saved before an iteration
		Place: func(n int) string { return fmt.Sprintf("iteration %d", n) },
	}
	return federated.Serve(ctx, &p.service, p)
}

// Resume implements federated.ServerPart: where diffusion is masked, the other servers hear of it.
func (s *ServerPart) Resume(ctx context.Context, state []byte) error {
	if state != nil {
		st, err := s.Plan.decodeState(state, s.Server, serverItself)
		if err != nil {
			return fmt.Errorf("saved state: %w", err)
		}
		s.server.w, s.service.Held, s.reserved = st.Model, st.Iteration, st.Iteration
	}
	if s.Plan.Diffusion(s.Privacy) == DiffusionMasked {
		return s.Mixing.Begin(ctx, s.service.Held)
	}
	return nil
}

// Round implements federated.ServerPart: it does one iteration, and saves where to go on when it cannot.
func (s *ServerPart) Round(ctx context.Context) (clients int, err error) {
	n := s.service.Held
	if n >= s.reserved {
		if err := s.save(min(n+cmp.Or(s.CheckpointEvery, federated.DefaultEvery), s.service.Rounds)); err != nil {
			return 0, fmt.Errorf("checkpoint: %w", err)
		}
	}
	clients, err = s.iterate(ctx, n)
	switch {
	case errors.Is(err, federated.ErrPaused): // before it was announced: no iteration is lost
		err = errors.Join(err, s.save(n))
	case errors.Is(err, federated.ErrScarce): // after: this one is
		err = errors.Join(err, s.save(n+1))
	}
	return clients, err
}

// iterate does iteration n, which is announced from here on.
func (s *ServerPart) iterate(ctx context.Context, n int) (clients int, err error) {
	chosen, err := s.sendChosen(ctx, n)
	if err != nil {
		return 0, err
	}
	total, err := s.Network.Sum(ctx, s.uploads(s.Server, n), chosen)
	if err != nil {
		return 0, fmt.Errorf("sum of uploads: %w", err)
	}
	if total == nil {
		total = new(federated.Total)
	}
	psi, err := s.server.Fill(n, total.Values, total.Clients)
	if err != nil {
		return 0, err
	}
	combine := s.combine
	if s.Plan.Diffusion(s.Privacy) == DiffusionMasked {
		combine = s.mix
	}
	return len(total.Clients), combine(ctx, n, psi)
}

// save keeps the model in the vault, and the iteration to go on with.
func (s *ServerPart) save(next int) error {
	s.reserved = next
	return federated.Save(s.Vault, federated.ServerSlot, s)
}

// State implements federated.ServerPart: it goes on with the first iteration that nobody has heard of.
func (s *ServerPart) State() ([]byte, error) { return s.server.Save(s.reserved) }

// sendChosen tells the clients that are there of the iteration, and returns those of them that are chosen.
func (s *ServerPart) sendChosen(ctx context.Context, n int) (chosen []int, err error) {
	all := s.choose(s.Server, n)
	for _, k := range s.Network.Present() {
		kind, entries := KindIteration, []float64(nil)
		if slices.Contains(all, k) {
			chosen, kind = append(chosen, k), KindModel
			if entries, err = s.server.Share(n, k); err != nil {
				return nil, err
			}
		}
		if err := s.Network.SendValues(ctx, k, kind, n, entries); err != nil {
			return nil, fmt.Errorf("tell %s: %w", s.Plan.clientName(s.Server, k), err)
		}
	}
	return chosen, nil
}

// combine makes the new model of this server's psi' and what its neighbours have.
func (s *ServerPart) combine(ctx context.Context, n int, psi []float64) error {
	others, err := s.exchange(ctx, n, KindPsiPrime, s.Plan.OtherNeighbours(s.Server), psi)
	if err != nil {
		return err
	}
	if psi, err = s.server.Cooperate(psi, others); err != nil {
		return err
	}
	own, err := s.exchange(ctx, n, KindPsi, s.Plan.OwnNeighbours(s.Server), psi)
	if err != nil {
		return err
	}
	return s.server.Combine(psi, own)
}

// mix makes the new model of this server's psi' and the sum of its neighbourhood's, and takes part in the sums of the
// neighbourhoods that it is in, in the order that all servers keep.
func (s *ServerPart) mix(ctx context.Context, n int, psi []float64) error {
	var own *federated.Mixture
	for _, at := range s.Plan.Turns() {
		neighbours := s.Plan.Neighbourhood(at)
		var err error
		switch {
		case at == s.Server:
			adders := func(there []int) []int { return s.Plan.Adders(at, there) }
			own, err = s.Mixing.Mix(ctx, s.Plan.MixSum(at), n, neighbours, adders)
		case slices.Contains(neighbours, s.Server):
			err = s.Mixing.Contribute(ctx, s.Plan.MixSum(at), n, at, func(there []int) ([]float64, error) {
				return s.server.Contribution(at, there, psi), nil
			})
		}
		if err != nil {
			return fmt.Errorf("sum of the models around %q: %w", s.Plan.graph.names[at], err)
		}
	}
	refused, err := s.server.Mix(psi, own)
	if refused != "" && s.Warn != nil {
		s.Warn(fmt.Sprintf("iteration %d: %s", n, refused))
	}
	return err
}

// exchange sends neighbours a vector and returns theirs.
func (s *ServerPart) exchange(
	ctx context.Context, n int, kind string, with []int, v []float64,
) (map[int][]float64, error) {
	if len(with) == 0 {
		return nil, nil
	}
	theirs, err := s.Neighbours.Exchange(ctx, kind, n, with, v)
	if err != nil {
		return nil, fmt.Errorf("exchange %s with neighbours: %w", kind, err)
	}
	return theirs, nil
}
