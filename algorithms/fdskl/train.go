package fdskl

import "context"

// Train runs one party's part of a training and returns its part of the model. All parties call
// it at the same time, each with its own Party. After an interruption it is called again with the
// same inputs and Vault and ends in the same model, bit for bit.
func Train(ctx context.Context, p *Party) (*Model, error) {
	if p.Sums != nil {
		if err := CheckSharded(p.Params, p.Privacy, false); err != nil {
			return nil, err
		}
	}
	t, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Params.Schedule == DoublyStochastic {
		return t.doublyStochastic(ctx)
	}
	return t.fixed(ctx)
}
