package ofmsft

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Step writes what this client tells the server of network k, one of those stored, after the rows of a
// communication round: theta_k - theta_ik = eta_f (alpha/q_k) grad, [Size], equations 9 and 10, where
// alpha is the number of the server's groups. The gradient is summed over the rows learned since the
// draw; for each it is the mean over the window that ends with it. 1/q_k is capped at
// max_importance, if there is one, and elements beyond Clip are cut to it; Step returns how many.
//
// Step changes nothing in the client: several networks may be done at the same time.
func (c *Client) Step(k int, model *Runner, alpha int, into []float64) (clipped int, err error) {
	at := c.position(k)

	// Refuses a step that the client has no part in.
	if !c.drawn || at < 0 {
		return 0, fmt.Errorf("round %d: model %d is not among those stored", c.rounds, k+1)
	}
	if c.seen == 0 {
		return 0, fmt.Errorf("round %d: a step was asked for before any row of this draw was learned", c.rounds)
	}
	if err := c.params.checkShape(k, model.network); err != nil {
		return 0, fmt.Errorf("round %d: %w", c.rounds, err)
	}
	if m := &c.params.Models[k]; len(into) != m.Size {
		return 0, fmt.Errorf("round %d: the step of model %q has room for %d numbers, want %d", c.rounds, m.Name, len(into),
			m.Size)
	}
	if alpha < 1 || alpha > maxClients {
		return 0, fmt.Errorf("round %d: the server has %d groups, want 1 to %d", c.rounds, alpha, maxClients)
	}
	importance := c.selection.Importance[at]
	if c.params.MaxImportance > 0 {
		importance = min(importance, c.params.MaxImportance)
	}
	weight := float64(alpha) * importance
	clear(into)
	for age := c.seen - 1; age >= 0; age-- {
		x, y := c.window.Before(age, c.params.Window)
		a := c.params.Step * weight
		v := model.Gradient(x, y)
		for i, g := range v {
			into[i] += a * float64(g)
		}
	}
	return c.clip(k, into)
}

// clip cuts the elements of a step and counts those it cut.
func (c *Client) clip(k int, step []float64) (clipped int, err error) {
	limit := c.params.Clip
	for i, v := range step {
		if v >= -limit && v <= limit {
			continue
		}
		if !parameters.IsFinite(v) {
			return 0, fmt.Errorf("round %d: element %d of the step of model %q is %v: it has diverged, want a smaller step",
				c.rounds, i+1, c.params.Models[k].Name, v)
		}
		step[i] = max(-limit, min(v, limit))
		clipped++
	}
	return clipped, nil
}
