package ofmsft

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// lens knows the steps of OFMS-FT: eta_f alpha/q times the gradient of a network, over a client's newest rows. Of a
// dense first layer the ratio of the gradients of a unit's kernel and its bias is the row.
//
// The label follows from the gradient of the last layer: of classes, it alone is negative there. Of numbers it is the
// network's output less half the gradient over eta_f alpha/q, where q follows from the client's weights, which begin
// equal and go on by the losses at the rows that were rebuilt: as long as the server rebuilds every row it knows them
// too.
type lens struct {
	params   Params
	job      *contract.Job
	packings map[int]*Packings
	versions map[keys.Hash]*Runner // those of the round, and as they are at first
	first    []*Runner             // by network: as it is at first, nil when it never went over a link
	now      []*Runner
	hashes   []keys.Hash // of the round
	model    int         // whose steps are added
	clients  map[int]*lensClient
	x        []float32
}

// lensClient is what the server knows of a client.
type lensClient struct {
	weights *Weights
	stored  []int
	alpha   int
	taken   int
	round   int
	row     *federated.LensRow // of the round, rebuilt
	chosen  []int              // in the round, until it is counted
}

// newLens prepares for a job's parameters.
func newLens(c *contract.Contract, _ int) (federated.Lens, error) {
	j, err := newJob(c.Job)
	if err != nil {
		return nil, err
	}
	p, k := j.params, len(j.params.Models)
	return &lens{
		params: p, job: c.Job, packings: make(map[int]*Packings), versions: make(map[keys.Hash]*Runner),
		first: make([]*Runner, k), now: make([]*Runner, k), hashes: make([]keys.Hash, k),
		clients: make(map[int]*lensClient), x: make([]float32, p.Inputs),
	}, nil
}

// of returns what is known of a client.
func (l *lens) of(client int) *lensClient {
	c := l.clients[client]
	if c == nil {
		c = &lensClient{weights: NewWeights(len(l.params.Models))}
		l.clients[client] = c
	}
	return c
}

func (l *lens) Heard(m *federated.LensMessage) error {
	c, body := l.of(m.Client), m.Body
	if !m.Down {
		return l.chose(c, m)
	}
	switch m.Kind {
	case KindRound:
		if len(body) != len(l.hashes)*len(keys.Hash{}) {
			return fmt.Errorf("%d bytes of hashes for %d networks", len(body), len(l.hashes))
		}
		l.follow(m.Client, c)
		for k := range l.hashes {
			h := keys.Hash(body[k*len(keys.Hash{}):])
			if old := l.hashes[k]; old != h && old != l.params.Models[k].Hash {
				delete(l.versions, old)
			}
			l.hashes[k] = h
			l.know(k)
		}
		c.stored, c.alpha, c.row, c.round = nil, 0, nil, m.Round
	case KindModel:
		if len(body) < 2 || int(binary.BigEndian.Uint16(body)) >= len(l.hashes) {
			return fmt.Errorf("a network of %d bytes has no number", len(body))
		}
		k := int(binary.BigEndian.Uint16(body))
		if l.versions[l.hashes[k]] == nil {
			n, err := nn.Parse(body[2:])
			if err != nil {
				return fmt.Errorf("network %q: %w", l.params.Models[k].Name, err)
			}
			if n.Size() != l.params.Models[k].Size || n.Inputs() != l.params.Inputs {
				return fmt.Errorf("network %q has %d parameters and %d inputs, want %d and %d", l.params.Models[k].Name,
					n.Size(), n.Inputs(), l.params.Models[k].Size, l.params.Inputs)
			}
			if n.Hash() == l.hashes[k] {
				l.versions[n.Hash()] = NewRunner(n)
			}
		}
		l.know(k)
	case KindTurn:
		if len(body) == 4 {
			c.alpha = int(binary.BigEndian.Uint32(body))
		}
		c.taken += l.params.RoundsOf(min(max(m.Round, 0), l.params.Uploads()-1))
	case KindStep:
		if len(body) >= 2 {
			l.model = min(int(binary.BigEndian.Uint16(body)), len(l.hashes)-1)
		}
	}
	return nil
}

// know takes the version of a network that the round has, if it is known.
func (l *lens) know(k int) {
	n := l.versions[l.hashes[k]]
	if n == nil {
		return
	}
	l.now[k] = n
	if l.first[k] == nil && l.hashes[k] == l.params.Models[k].Hash {
		l.first[k] = n
	}
}

// chose takes a client's answer: a bit for each network that is stored, and one for each that is wanted.
func (l *lens) chose(c *lensClient, m *federated.LensMessage) error {
	if m.Kind != KindChoice {
		return nil
	}
	models := len(l.params.Models)
	if len(m.Body) != 2*((models+7)/8) {
		return fmt.Errorf("a choice of %d bytes among %d networks", len(m.Body), models)
	}
	c.stored = nil
	for k := range models {
		if m.Body[k/8]>>(k%8)&1 == 1 {
			c.stored = append(c.stored, k)
		}
	}
	c.chosen = slices.Clone(c.stored)
	return nil
}

// follow takes the losses at the row of the round before into what is known of a client's weights.
func (l *lens) follow(client int, c *lensClient) {
	if c.row == nil || l.params.ScaleRow(l.x, 1, c.row.X) != nil {
		return
	}
	y, err := l.params.ScaleLabel(1, min(max(c.row.Y, l.params.LabelLow), l.params.LabelHigh))
	if err != nil {
		return
	}
	by := make(map[int]float64)
	for _, k := range c.stored {
		if q := l.probability(client, k); l.now[k] != nil && q > 0 {
			by[k] = l.params.Rate * l.now[k].Loss(l.x, y) / q
		}
	}
	for k, b := range by {
		c.weights.Lower(k, b)
	}
	c.weights.Refresh()
}

// probability returns with which a client stores a network, as far as its weights are known; 0 when nothing is.
func (l *lens) probability(client, k int) float64 {
	p := l.packings[client]
	if p == nil {
		var err error
		if p, err = l.params.Packings(l.job.Parties[client]); err != nil {
			return 0
		}
		l.packings[client] = p
	}
	return p.Probability(k, l.of(client).weights.Shares())
}

func (l *lens) Form() federated.LensForm {
	return federated.LensForm{Sum: StepSum(l.params, l.model, len(l.job.Parties)-1), Model: l.model}
}

// Learned returns the rows of a window: a step is over the newest rows, as many as a window has.
func (l *lens) Learned(client int) (from, to int) {
	c := l.of(client)
	rows := l.params.Window + l.params.RoundsOf(min(max(c.round, 0), l.params.Uploads()-1)) - 1
	return max(0, c.taken-rows), c.taken
}

func (l *lens) Rebuild(_ context.Context, v *federated.LensVector) ([]federated.LensRow, error) {
	n := l.now[l.model]
	if n == nil {
		return nil, nil
	}
	layers := n.Network().Layers()
	if layers[0].Kind != nn.Dense {
		return nil, nil
	}
	units, kernel := layers[0].Units, layers[0].Units*l.params.Inputs
	found, err := attack.Dense(attack.DenseGradient{Kernel: v.Values[:kernel], Bias: v.Values[kernel : kernel+units]})
	if err != nil {
		return nil, err
	}
	var list []federated.LensRow
	single := l.params.Window+l.params.RoundsPerUpload == 2
	for i, f := range found {
		row := federated.LensRow{X: f.Row, Y: math.NaN(), Proved: f.Proved && !v.Total && single}
		for j := range row.X {
			row.X[j] *= l.params.InputNorm
		}
		if i == 0 && !v.Total && single {
			row.Y = l.label(v.Clients[0], n, row.X, v.Values)
			if c := l.of(v.Clients[0]); f.Proved && !math.IsNaN(row.Y) && !v.Made {
				c.row = &row
			}
		}
		list = append(list, row)
	}
	return list, nil
}

// label returns the label of a row that was rebuilt.
func (l *lens) label(client int, n *Runner, x, v []float64) float64 {
	if l.params.ScaleRow(l.x, 1, x) != nil {
		return math.NaN()
	}
	if classes := l.params.Classes; classes > 0 {
		last := v[len(v)-classes:]
		return float64(slices.Index(last, slices.Min(last)))
	}
	c := l.of(client)
	weight := 1 / l.probability(client, l.model)
	if l.params.MaxImportance > 0 {
		weight = min(weight, l.params.MaxImportance)
	}
	weight *= l.params.Step * float64(c.alpha)
	if !(weight > 0) || math.IsInf(weight, 0) {
		return math.NaN()
	}
	y := float64(n.Outputs(l.x)[0]) - v[len(v)-1]/weight/2
	return l.params.LabelLow + y*(l.params.LabelHigh-l.params.LabelLow)
}

// Update returns the gradient of the network whose steps are added.
func (l *lens) Update(x []float64, y float64) []float64 {
	n := l.now[l.model]
	label, err := l.params.ScaleLabel(1, y)
	if n == nil || err != nil || l.params.ScaleRow(l.x, 1, x) != nil {
		return nil
	}
	gradient := n.Gradient(l.x, []float64{label})
	v := make([]float64, len(gradient))
	for i, g := range gradient {
		v[i] = float64(g)
	}
	return v
}

func (l *lens) Models() int { return len(l.params.Models) }

// Seen returns what the client stores: a choice is said once a round, before any vector.
func (l *lens) Seen(client int, _ []float64) []int {
	c := l.of(client)
	list := c.chosen
	c.chosen = nil
	return list
}

func (l *lens) Suits(losses []float64, x []float64, y float64) bool {
	label, err := l.params.ScaleLabel(1, y)
	if err != nil || l.params.ScaleRow(l.x, 1, x) != nil {
		return false
	}
	for k, n := range l.now {
		if n == nil {
			return false
		}
		losses[k] += n.Loss(l.x, label)
	}
	return true
}

// Loss is the mean over the networks that went over a link.
func (l *lens) Loss(last bool, x []float64, y float64) (float64, bool) {
	label, err := l.params.ScaleLabel(1, y)
	if err != nil || l.params.ScaleRow(l.x, 1, x) != nil {
		return 0, false
	}
	sum, n := 0.0, 0
	for k, now := range l.now {
		if l.first[k] == nil || now == nil {
			continue
		}
		if !last {
			now = l.first[k]
		}
		sum, n = sum+now.Loss(l.x, label), n+1
	}
	return sum / float64(max(n, 1)), n > 0
}

// Tangent returns the derivatives of the smallest network's loss, by which one step of so much would lower
// it by one.
func (l *lens) Tangent(x []float64, y float64) ([]float64, float64) {
	smallest := -1
	for k, n := range l.now {
		if n != nil && (smallest < 0 || l.params.Models[k].Size < l.params.Models[smallest].Size) {
			smallest = k
		}
	}
	if smallest < 0 {
		return nil, 0
	}
	before := l.model
	l.model = smallest
	defer func() { l.model = before }()
	return l.Update(x, y), 1
}
