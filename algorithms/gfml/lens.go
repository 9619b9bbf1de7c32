package gfml

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// lens knows the uploads of GFML: what the server sent and one step mu eps z of one row, where z is cosines. An entry
// that the server has not just sent holds the steps of all rows since it last knew it.
type lens struct {
	plan     *Plan
	job      *contract.Job
	server   int   // its number
	members  []int // its clients, in the order of their numbers
	features *Features
	design   *mat.Dense
	phase    []float64
	clients  map[int]*lensClient
	n        int       // the iteration
	model    []float64 // the server's, as far as it was told
	z        []float64
}

// lensClient is what the server knows of a client's weights.
type lensClient struct {
	known []float64
	rows  []int // by entry: learned since it was known
	taken int
}

// newLens prepares for a job's parameters.
func newLens(c *contract.Contract, server int) (federated.Lens, error) {
	job := c.Job
	plan, err := planOf(job)
	if err != nil {
		return nil, err
	}
	features := plan.params.Features
	l := &lens{
		plan: plan, job: job, server: slices.Index(job.Servers, job.Parties[server]), members: job.ClientsOf(server),
		features: plan.Features(), clients: make(map[int]*lensClient), model: make([]float64, features),
		z: make([]float64, features),
	}
	if l.server < 0 {
		return nil, fmt.Errorf("%s is no server of the job", job.Parties[server])
	}
	frequencies, phase := l.features.Angles()
	l.design, l.phase = mat.NewDense(len(phase), len(frequencies[0]), nil), phase
	for i, f := range frequencies {
		l.design.SetRow(i, f)
	}
	for _, i := range l.members {
		l.clients[i] = &lensClient{known: make([]float64, features), rows: make([]int, features)}
	}
	return l, nil
}

// Heard takes a step of the client: it takes one in every iteration, chosen or not.
func (l *lens) Heard(m *federated.LensMessage) error {
	c := l.clients[m.Client]
	if c == nil || !m.Down || m.Kind != KindModel && m.Kind != KindIteration {
		return nil
	}
	if m.Round < 0 || m.Round >= l.plan.params.Iterations {
		return fmt.Errorf("iteration %d of %d", m.Round+1, l.plan.params.Iterations)
	}
	l.n = m.Round
	if m.Kind == KindModel {
		entries := l.plan.Selected(l.server, slices.Index(l.members, m.Client), m.Round)
		if len(m.Body) != 8*len(entries) {
			return fmt.Errorf("a model of %d bytes in iteration %d, want %d", len(m.Body), m.Round+1, 8*len(entries))
		}
		for i, e := range entries {
			c.known[e] = math.Float64frombits(binary.LittleEndian.Uint64(m.Body[8*i:]))
			c.rows[e], l.model[e] = 0, c.known[e]
		}
	}
	for e := range c.rows {
		c.rows[e]++
	}
	c.taken++
	return nil
}

func (l *lens) Form() federated.LensForm {
	return federated.LensForm{Sum: l.plan.UploadSum(l.server, l.n), Known: l.known}
}

// known returns what the server knows of a client's weights, on the entries of the iteration.
func (l *lens) known(client int) []float64 {
	var v []float64
	for _, e := range l.plan.Layout(l.server, l.n) {
		v = append(v, l.clients[client].known[e])
	}
	return v
}

func (l *lens) Learned(client int) (from, to int) {
	c := l.clients[client]
	return c.taken - 1, c.taken
}

// Rebuild works out the row of one step. What a client uploads is known from then on.
func (l *lens) Rebuild(ctx context.Context, v *federated.LensVector) ([]federated.LensRow, error) {
	layout := l.plan.Layout(l.server, l.n)
	own := make([]bool, len(l.model)) // entries that all of them share
	for e := range own {
		own[e] = true
	}
	for _, m := range v.Clients {
		selected := l.plan.Selected(l.server, slices.Index(l.members, m), l.n+1)
		for e := range own {
			own[e] = own[e] && slices.Contains(selected, e)
		}
	}
	bits, _ := l.plan.Encoding()
	w := attack.Waves{Noise: math.Ldexp(float64(len(v.Clients)), -bits), Spread: 1, Seed: uint64(l.n)}
	var entries []int
	for i, e := range layout {
		step, fresh := v.Values[i], own[e]
		for _, m := range v.Clients {
			step -= l.clients[m].known[e]
			fresh = fresh && l.clients[m].rows[e] == 1
		}
		if fresh {
			entries, w.Phase, w.Value = append(entries, e), append(w.Phase, l.phase[e]), append(w.Value, step)
		}
	}
	label := l.knows(v.Clients)
	if !v.Total && l.job.Privacy == keys.PrivacyPublished {
		c := l.clients[v.Clients[0]]
		for i, e := range layout {
			if own[e] {
				c.known[e], c.rows[e] = v.Values[i], 0
			}
		}
	}
	_, columns := l.design.Dims()
	if len(entries) < 2*(columns+1) {
		return nil, nil
	}
	w.Design = mat.NewDense(len(entries), columns, nil)
	for i, e := range entries {
		w.Design.SetRow(i, mat.Row(nil, e, l.design))
	}
	r, err := attack.Cosines(ctx, w)
	if err != nil || r == nil {
		return nil, err
	}
	p := l.plan.params
	row := federated.LensRow{X: r.Row, Y: math.NaN(), Proved: r.Proved}
	if label != nil && l.features.Map(l.z, r.Row) == nil {
		row.Y = floats.Dot(label, l.z) + r.Scales[0]/(p.Step*math.Sqrt(2/float64(p.Features)))
	}
	return []federated.LensRow{row}, nil
}

// knows returns all weights of a client as they were before its newest row; nil when the server does not know them.
func (l *lens) knows(members []int) []float64 {
	if len(members) != 1 {
		return nil
	}
	c := l.clients[members[0]]
	for _, n := range c.rows {
		if n != 1 {
			return nil
		}
	}
	return slices.Clone(c.known)
}

// Update returns the row's features on the entries of the iteration.
func (l *lens) Update(x []float64, _ float64) []float64 {
	if l.features.Map(l.z, x) != nil {
		return nil
	}
	var v []float64
	for _, e := range l.plan.Layout(l.server, l.n) {
		v = append(v, l.z[e])
	}
	return v
}

// Loss is the square of what the model misses. The model is zero at first.
func (l *lens) Loss(last bool, x []float64, y float64) (float64, bool) {
	if l.features.Map(l.z, x) != nil {
		return 0, false
	}
	if last {
		y -= floats.Dot(l.model, l.z)
	}
	return y * y, true
}

func (l *lens) Tangent(x []float64, y float64) ([]float64, float64) {
	if l.features.Map(l.z, x) != nil {
		return nil, 0
	}
	return slices.Clone(l.z), y - floats.Dot(l.model, l.z)
}
