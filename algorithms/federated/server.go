package federated

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// ServerPart is what one algorithm does at a server; Serve does the rest.
type ServerPart interface {
	Part
	// Round holds the next round and returns how many clients are in its total.
	Round(ctx context.Context) (clients int, err error)
}

// Service is what every server's part has, whatever its algorithm.
type Service struct {
	Name   string // the party
	Vault  Vault
	Rounds int                    // of the job
	Every  int                    // rounds after which the state is saved, 0: DefaultEvery; it is after the last one, too
	Place  func(round int) string // what errors call a round, from 0; nil: round 1 and so on
	Report func(Progress)         // hears of every round; may be nil

	Held int // rounds so far, those that opened nothing included
}

// DefaultEvery is how many rounds a server that is killed may lose, where nothing else is said.
const DefaultEvery = 10

// Serve runs a server's part from the newest state in the vault to the last round, and keeps the model then. A server
// that was killed goes back to that state: rounds since then are held again.
func Serve(ctx context.Context, s *Service, p ServerPart) error {
	if err := Resume(ctx, s.Vault, ServerSlot, p); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	for s.Held < s.Rounds {
		round := fmt.Sprintf("round %d", s.Held+1)
		if s.Place != nil {
			round = s.Place(s.Held)
		}
		if err := s.hold(ctx, p); err != nil {
			return fmt.Errorf("server %q, %s: %w", s.Name, round, err)
		}
	}
	if err := keep(s.Vault, p, ""); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	return nil
}

// hold holds the next round.
func (s *Service) hold(ctx context.Context, p ServerPart) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	clients, err := p.Round(ctx)
	if err != nil {
		return err
	}
	s.Held++
	if s.Held%cmp.Or(s.Every, DefaultEvery) == 0 || s.Held == s.Rounds {
		if err := Save(s.Vault, ServerSlot, p); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	if s.Report != nil {
		s.Report(Progress{
			Round: s.Held, Rounds: s.Rounds, Loss: math.NaN(), Accuracy: math.NaN(), Regret: math.NaN(), Clients: clients,
		})
	}
	return nil
}
