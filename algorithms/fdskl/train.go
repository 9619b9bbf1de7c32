package fdskl

import (
	"context"
	"fmt"
	"math"
)

// Train runs one party's part of a training and returns its part of the model. All parties call
// it at the same time, each with its own Party. After an interruption it is called again with the
// same inputs and Vault and ends in the same model, bit for bit.
func Train(ctx context.Context, p *Party) (*Model, error) {
	t, err := newTrainer(p)
	if err != nil {
		return nil, err
	}
	if err := t.width(ctx); err != nil {
		return nil, err
	}
	if p.Params.Schedule == DoublyStochastic {
		return t.doublyStochastic(ctx)
	}
	return t.fixed(ctx)
}

// agreeOnStart tells the others how far this party's saved work reaches and returns the smallest
// such number among the active parties. Each must be at most limit.
func (t *trainer) agreeOnStart(ctx context.Context, have, limit int) (int, error) {
	return t.smallest(ctx, t.actives, have, limit)
}

// agreeAmongAll is agreeOnStart over all parties.
func (t *trainer) agreeAmongAll(ctx context.Context, have, limit int) (int, error) {
	all := make([]int, len(t.Names))
	for i := range all {
		all[i] = i
	}
	return t.smallest(ctx, all, have, limit)
}

// smallest returns the smallest number that the given parties tell.
func (t *trainer) smallest(ctx context.Context, parties []int, have, limit int) (int, error) {
	from := limit
	for _, i := range parties {
		v := []float64{float64(have)}
		if err := broadcastReals(ctx, t.Network, "resume-point", i, v); err != nil {
			return 0, err
		}
		if !(v[0] >= 0 && v[0] <= float64(limit)) || v[0] != math.Trunc(v[0]) {
			return 0, fmt.Errorf("%s says its saved work reaches %v of %d", t.Names[i], v[0], limit)
		}
		from = min(from, int(v[0]))
	}
	return from, nil
}
