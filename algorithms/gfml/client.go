package gfml

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Client is one client's model and its part of the algorithm.
type Client struct {
	plan   *Plan
	server int
	client int
	w      []float64
	watch  watch
}

// NewClient returns a client of a server; its model starts at 0.
func (p *Plan) NewClient(server, client int) (*Client, error) {
	if err := p.checkPlace(server, client); err != nil {
		return nil, err
	}
	return &Client{plan: p, server: server, client: client, w: make([]float64, p.params.Features)}, nil
}

// Model returns a copy of the client's weights, of D numbers.
func (c *Client) Model() []float64 { return slices.Clone(c.w) }

// Predict returns w^T z for the features z of a row.
func (c *Client) Predict(z []float64) (float64, error) {
	if err := c.checkLength("the row's features", len(z), len(c.w)); err != nil {
		return 0, err
	}
	return floats.Dot(c.w, z), nil
}

// Learn takes one step on a row with features z and target y, in iteration n, and returns what the
// model said before: w <- w + mu z (y - w^T z). A chosen client calls it after Receive; a client
// without a new row does not call it. A *DivergenceError ends the training.
func (c *Client) Learn(n int, z []float64, y float64) (predicted float64, err error) {
	if !parameters.IsFinite(y) {
		return 0, fmt.Errorf("%s, iteration %d: the target is %v, want a finite number", c.name(), n, y)
	}
	if predicted, err = c.Predict(z); err != nil {
		return 0, err
	}
	residual := y - predicted
	if why := c.watch.observe(residual*residual, y*y); why != "" {
		return 0, &DivergenceError{Who: c.name(), Iteration: n, What: why, Step: c.plan.params.Step}
	}
	floats.AddScaled(c.w, c.plan.params.Step*residual, z)
	return predicted, nil
}

// Receive takes what the server sent in iteration n, the entries S_{p,k,n} w_p in ascending order:
// w <- S w_p + (I - S) w.
func (c *Client) Receive(n int, entries []float64) error {
	if err := c.checkChosen(n); err != nil {
		return err
	}
	if err := c.checkLength("what the server sent", len(entries), c.plan.params.Entries); err != nil {
		return err
	}
	for i, v := range entries {
		if !c.plan.within(v, 1) {
			return fmt.Errorf("%s, iteration %d: entry %d of what the server sent is %v, want a magnitude of at most %v",
				c.name(), n, i, v, c.plan.params.Bound)
		}
	}
	c.plan.eachRun(c.server, c.client, n, func(lo, hi int) {
		copy(c.w[lo:hi], entries)
		entries = entries[hi-lo:]
	})
	return nil
}

// Upload returns the client's addend of the sum of iteration n: S_{p,k,n+1} w at the places of
// Plan.Layout, and 0 at those that only others select. A weight beyond the bound is not clipped,
// which would change the algorithm in silence: it is a *DivergenceError.
func (c *Client) Upload(n int) ([]float64, error) {
	if err := c.checkChosen(n); err != nil {
		return nil, err
	}
	shared := make([]float64, len(c.w))
	c.plan.eachRun(c.server, c.client, n+1, func(lo, hi int) { copy(shared[lo:hi], c.w[lo:hi]) })
	for i, v := range shared {
		if !(math.Abs(v) <= c.plan.params.Bound) {
			what := fmt.Sprintf("weight %d is %v, beyond the bound %v", i, v, c.plan.params.Bound)
			return nil, &DivergenceError{Who: c.name(), Iteration: n, What: what, Step: c.plan.params.Step}
		}
	}
	return gather(shared, c.plan.Layout(c.server, n)), nil
}

// checkChosen refuses an iteration in which the server has not chosen this client.
func (c *Client) checkChosen(n int) error {
	if n < 0 || n >= c.plan.params.Iterations {
		return fmt.Errorf("%s: iteration %d is out of range, want 0 to %d", c.name(), n, c.plan.params.Iterations-1)
	}
	if !slices.Contains(c.plan.Chosen(c.server, n), c.client) {
		return fmt.Errorf("%s is not chosen in iteration %d", c.name(), n)
	}
	return nil
}

// checkLength refuses a vector of the wrong length.
func (c *Client) checkLength(what string, length, want int) error {
	if length != want {
		return fmt.Errorf("%s: %s is a vector of %d numbers, want %d", c.name(), what, length, want)
	}
	return nil
}

// name says who this is.
func (c *Client) name() string { return c.plan.clientName(c.server, c.client) }

// clientName says who a client is.
func (p *Plan) clientName(server, client int) string {
	return fmt.Sprintf("client %q of server %q", p.clients[server][client], p.graph.names[server])
}

// gather returns some entries of a vector.
func gather(v []float64, entries []int) []float64 {
	out := make([]float64, len(entries))
	for i, e := range entries {
		out[i] = v[e]
	}
	return out
}
