package ofmsft

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
)

// maxLoss is the largest loss that is learned from: weights and regrets stay finite for ever.
const maxLoss = 1e100

// Selection is what a client has drawn for a communication round.
type Selection struct {
	Model      int       // I, the network that predicts, from 0
	Stored     []int     // S, the networks that are stored, I among them, ascending
	Importance []float64 // 1/q_k for each of Stored
	Need       float64   // e, the bandwidth of Stored; of all networks if they are broadcast
}

// Client is one client's own state: its weights, its source of draws, and its newest rows. It is for
// one goroutine, but for Step.
type Client struct {
	params   Params
	name     string
	rate     float64   // eta_i
	job      keys.Hash // of params, once asked for
	packings *Packings
	weights  *Weights
	source   *rand.ChaCha8
	window   *Window
	rounds   int     // learned so far
	loss     float64 // summed over them

	selection Selection
	drawn     bool
	seen      int       // rows learned since the draw
	models    []*Runner // of the prediction that awaits its label, else nil
	x         []float32 // of that prediction
	losses    []float64 // of Stored, for the newest label
}

// NewClient starts a client with equal weights. Its name is that of Params.Rates, and packings are those of its
// budget. The seed makes its draws; it is secret, fresh for each client and job.
func NewClient(p Params, name string, packings *Packings, seed [32]byte) *Client {
	k := len(p.Models)
	return &Client{
		params: p, name: name, rate: p.RateOf(name), packings: packings,
		weights: NewWeights(k), source: rand.NewChaCha8(seed),
		window: NewWindow(p.Inputs, p.windowRows()), x: make([]float32, p.Inputs), losses: make([]float64, 0, k),
	}
}

// Draw begins a communication round: it draws the network that predicts and the cluster that is stored with it.
// The selection is valid until the next Draw. The server that hands out the networks learns it, unless they
// all go to all clients; nobody else does.
func (c *Client) Draw() *Selection {
	s := &c.selection
	s.Model = c.weights.Draw(uniform(c.source))
	cluster := pick(uniform(c.source), c.packings.Clusters(s.Model))
	s.Stored = c.packings.Store(s.Stored[:0], s.Model, cluster)
	s.Importance = s.Importance[:0]
	for _, k := range s.Stored {
		s.Importance = append(s.Importance, 1/c.packings.Probability(k, c.weights.Shares()))
	}
	s.Need = c.params.need(c.packings, s.Stored)
	c.drawn, c.seen, c.models = true, 0, nil
	return s
}

// Predict returns the prediction of the drawn network for x, [Inputs] in its own units, in the label's
// units. models are the networks of Selection.Stored, in that order; they are kept, and must not
// change, until Learn returns. It may be called again before Learn, for the same row.
func (c *Client) Predict(models []*Runner, x []float64) (float64, error) {
	c.models = nil

	// Refuses a row that comes before the draw or after all rows of the communication round.
	if !c.drawn {
		return 0, fmt.Errorf("row %d: a row came before a draw", c.rounds+1)
	}
	if c.Due() {
		return 0, fmt.Errorf("row %d: the %d rows of this draw have been learned, want a new draw", c.rounds+1, c.seen)
	}

	// Refuses networks that are not those stored, as far as their shapes tell.
	if len(models) != len(c.selection.Stored) {
		return 0, fmt.Errorf("row %d: there are %d networks, want %d, those that are stored", c.rounds+1, len(models),
			len(c.selection.Stored))
	}
	for at, k := range c.selection.Stored {
		if err := c.params.checkShape(k, models[at].network); err != nil {
			return 0, fmt.Errorf("row %d: %w", c.rounds+1, err)
		}
	}
	if err := c.params.ScaleRow(c.x, c.rounds+1, x); err != nil {
		return 0, err
	}
	c.models = models
	outputs := c.models[c.position(c.selection.Model)].Outputs(c.x)
	return c.params.Prediction(outputs), nil
}

// position returns where a network is in Stored, or -1.
func (c *Client) position(k int) int {
	for at, stored := range c.selection.Stored {
		if stored == k {
			return at
		}
	}
	return -1
}

// Learn takes the label of the row that was predicted last, in its own units: it updates the weights
// of the stored networks and keeps the row for the step. After an error nothing is learned, and
// another label may be given.
func (c *Client) Learn(y float64) error {
	if c.models == nil {
		return fmt.Errorf("row %d: a label came before its prediction", c.rounds+1)
	}
	label, err := c.params.ScaleLabel(c.rounds+1, y)
	if err != nil {
		return err
	}
	c.losses = c.losses[:0]
	for at, m := range c.models {
		loss := m.Loss(c.x, label)
		if !(loss <= maxLoss) { // also refuses NaN
			return fmt.Errorf("row %d: the loss of model %q is %v: it has diverged, want a smaller step", c.rounds+1,
				c.params.Models[c.selection.Stored[at]].Name, loss)
		}
		c.losses = append(c.losses, loss)
	}

	// Updates the weights by the losses of the stored networks, equations 5 and 8.
	losses := c.losses
	for at, k := range c.selection.Stored {
		c.weights.Lower(k, c.rate*losses[at]*c.selection.Importance[at])
	}
	c.weights.Refresh()
	c.loss += losses[c.position(c.selection.Model)]
	c.window.Push(c.x, label)
	c.models = nil
	c.rounds++
	c.seen++
	return nil
}

// Due reports whether all rows of the communication round have been learned.
func (c *Client) Due() bool { return c.seen == c.params.RoundsPerUpload }

// Selection returns the newest draw; nil before the first.
func (c *Client) Selection() *Selection {
	if !c.drawn {
		return nil
	}
	return &c.selection
}

// Losses returns the losses of the stored networks for the newest label, in their order; valid until
// the next Learn.
func (c *Client) Losses() []float64 { return c.losses }

// Loss returns the sum of the losses of all predictions.
func (c *Client) Loss() float64 { return c.loss }

// Shares returns the client's weights, normalised, [K]; valid until the next Learn. They are the
// client's own and not for others.
func (c *Client) Shares() []float64 { return c.weights.Shares() }

// Rounds returns how many labels the client has learned.
func (c *Client) Rounds() int { return c.rounds }
