package pofmkl

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// maxLoss is the largest loss that is learned from: weights and regrets stay finite for ever.
const maxLoss = 1e100

// Client is one client's own state: its weights, its source of bins, and what it has not yet
// uploaded. It is for one goroutine and allocates nothing from round to round.
type Client struct {
	dictionary *Dictionary
	name       string // for what it has of its own among the parameters
	weightStep float64
	explore    float64
	features   *Features
	weights    *weights
	source     *rand.ChaCha8
	regret     *Regret
	rounds     int // learned so far

	theta      []float64 // of the prediction that awaits its label, else nil
	scores     []float64 // [N], of that prediction
	penalties  []float64 // [N], lambda |theta_i|^2
	losses     []float64 // [N], of the newest label
	prediction float64   // the newest, as a number from 0 to 1

	update  []float64 // [N][2D], since the last upload
	touched []bool    // [N], kernels with something in update
	waiting int       // rounds since the last upload
	upload  int       // that they are for, from 0, where there is a common bin; -1: none was begun
	moved   []int     // kernels of that upload
}

// NewClient starts a client with equal weights. Its name is that of Params.WeightSteps and Explores. The
// seed makes its draws of bins; it is secret, fresh for each client and job.
func NewClient(d *Dictionary, name string, seed [32]byte) *Client {
	return newClient(d, name, seed, d.NewFeatures(), make([]float64, d.params.Words()))
}

// newClient is NewClient with room that clients may share when each finishes its round, upload
// included, before the next begins.
func newClient(d *Dictionary, name string, seed [32]byte, f *Features, update []float64) *Client {
	n := d.params.Kernels()
	c := &Client{
		dictionary: d, name: name, weightStep: d.params.WeightStepOf(name), explore: d.params.ExploreOf(name),
		features: f, weights: newWeights(n), source: rand.NewChaCha8(seed), regret: NewRegret(n),
		scores: make([]float64, n), penalties: make([]float64, n), losses: make([]float64, n),
		update: update, touched: make([]bool, n), upload: -1,
	}
	if !d.params.CommonBin {
		c.moved = d.params.Moved(0)
	}
	return c
}

// Begin says which upload, from 0, the next rows are for: it chooses the common bin, where a job has one. It
// must come before the first row of each upload, and all clients of an upload must be told the same.
func (c *Client) Begin(upload int) error {
	if !c.dictionary.params.CommonBin || upload == c.upload {
		return nil
	}
	if c.waiting > 0 {
		return fmt.Errorf("upload %d begins, but the update of %d rounds awaits upload %d",
			upload+1, c.waiting, c.upload+1)
	}
	c.upload, c.moved = upload, c.dictionary.params.Moved(upload)
	return nil
}

// Predict returns the prediction for x, [columns] in its own units, in the label's units, with the
// server's theta, [2ND], equation 6. It may be called again before Learn, for the same row. theta is
// kept, and must not change, until Learn returns.
func (c *Client) Predict(theta, x []float64) (float64, error) {
	p := &c.dictionary.params
	c.theta = nil
	if len(theta) != p.Words() {
		return 0, fmt.Errorf("row %d: theta has %d words, want %d", c.rounds+1, len(theta), p.Words())
	}
	if err := c.features.Set(c.rounds+1, x); err != nil {
		return 0, err
	}
	c.features.Scores(c.scores, theta)
	c.prediction = blend(c.weights.share, c.scores)
	if !parameters.IsFinite(c.prediction) {
		return 0, fmt.Errorf("row %d: the prediction is %v: theta has diverged, want a smaller step", c.rounds+1,
			c.prediction)
	}
	c.theta = theta
	return p.unscale(c.prediction), nil
}

// Learn takes the label of the row that was predicted last, in its own units: it updates the weights
// and adds the row's update of one drawn bin, or of the upload's common one, to the next upload. After
// an error nothing is learned, and another label may be given.
func (c *Client) Learn(y float64) error {
	p := &c.dictionary.params
	if c.theta == nil {
		return fmt.Errorf("row %d: a label came before its prediction", c.rounds+1)
	}
	if c.waiting == p.RoundsPerUpload {
		return fmt.Errorf("row %d: the update of %d rounds awaits its upload", c.rounds+1, c.waiting)
	}
	if p.CommonBin && c.upload < 0 {
		return fmt.Errorf("row %d: no upload was begun for it", c.rounds+1)
	}
	label, err := p.ScaleLabel(c.rounds+1, y)
	if err != nil {
		return err
	}
	if err := c.lose(label); err != nil {
		return err
	}
	c.weights.learn(c.losses, c.weightStep)
	bin, probability := c.moved, 1/float64(p.Bins())
	if !p.CommonBin {
		bin, probability = c.weights.draw(float64(rand.Source(c.source).Uint64()>>11)*0x1p-53, p.Chosen, c.explore)
	}
	for _, i := range bin {
		c.descend(i, 2*(c.scores[i]-label), probability)
	}
	c.theta = nil
	c.rounds++
	c.waiting++
	return nil
}

// lose computes every kernel's loss and counts the regret.
func (c *Client) lose(label float64) error {
	p := &c.dictionary.params
	for i, s := range c.scores {
		c.losses[i] = (s-label)*(s-label) + c.penalise(i)
		if !(c.losses[i] <= maxLoss) { // also refuses NaN
			return fmt.Errorf("row %d: the loss of kernel %d is %v: theta has diverged, want a smaller step", c.rounds+1, i+1,
				c.losses[i])
		}
	}
	loss := (c.prediction - label) * (c.prediction - label)
	if p.Lambda > 0 {
		loss += blend(c.weights.share, c.penalties)
	}
	c.regret.Add(loss, c.losses)
	return nil
}

// penalise returns lambda |theta_i|^2, and keeps it for the loss of the blend.
func (c *Client) penalise(i int) float64 {
	lambda := c.dictionary.params.Lambda
	if lambda == 0 {
		return 0
	}
	theta := part(c.theta, i, c.dictionary.params.Features)
	c.penalties[i] = lambda * squaredNorm(theta)
	return c.penalties[i]
}

// part returns kernel i's part of a vector of all kernels, [2D].
func part(v []float64, i, features int) []float64 {
	return v[2*features*i : 2*features*(i+1)]
}

// Losses returns the losses of all kernels for the newest label, [N]; valid until the next Learn.
func (c *Client) Losses() []float64 { return c.losses }

// Shares returns the client's weights, normalised, [N]; valid until the next Learn. They are the
// client's own and not for others.
func (c *Client) Shares() []float64 { return c.weights.share }

// Regret returns the client's regret so far, equation 11.
func (c *Client) Regret() float64 { return c.regret.Value() }

// Rounds returns how many labels the client has learned.
func (c *Client) Rounds() int { return c.rounds }

// Round is Predict and Learn of one row whose label is there already; it returns the prediction that
// was made without it.
func (c *Client) Round(theta, x []float64, y float64) (float64, error) {
	prediction, err := c.Predict(theta, x)
	if err != nil {
		return 0, err
	}
	return prediction, c.Learn(y)
}
