package updates

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
)

// gfmlLens knows the uploads of GFML: what the server sent and one step mu eps z of one row, where z is cosines. An
// entry that the server has not just sent holds the steps of all rows since it last knew it.
type gfmlLens struct {
	plan     *gfml.Plan
	job      *contract.Job
	self     int // the server, among the job's parties
	server   int // its number
	features *gfml.Features
	design   *mat.Dense
	phase    []float64
	clients  map[int]*gfmlClient
	n        int       // the iteration
	model    []float64 // the server's, as far as it was told
	z        []float64
}

// gfmlClient is what the server knows of a client's weights.
type gfmlClient struct {
	known []float64
	rows  []int // by entry: learned since it was known
	taken int
}

// newGFMLLens prepares for a job's parameters.
func newGFMLLens(plan *gfml.Plan, job *contract.Job, server int) (lens, error) {
	features := plan.Params().Features
	l := &gfmlLens{
		plan: plan, job: job, self: server, server: slices.Index(job.Servers, job.Parties[server]), features: plan.Features(),
		clients: make(map[int]*gfmlClient), model: make([]float64, features), z: make([]float64, features),
	}
	if l.server < 0 {
		return nil, fmt.Errorf("%s is no server of the job", job.Parties[server])
	}
	frequencies, phase := l.features.Angles()
	l.design, l.phase = mat.NewDense(len(phase), len(frequencies[0]), nil), phase
	for i, f := range frequencies {
		l.design.SetRow(i, f)
	}
	for _, i := range job.ClientsOf(server) {
		l.clients[i] = &gfmlClient{known: make([]float64, features), rows: make([]int, features)}
	}
	return l, nil
}

// heard takes a step of the client: it takes one in every iteration, chosen or not.
func (l *gfmlLens) heard(m *message) error {
	c := l.clients[m.client]
	if c == nil || !m.down || m.kind != gfml.KindModel && m.kind != gfml.KindIteration {
		return nil
	}
	if m.round < 0 || m.round >= l.plan.Params().Iterations {
		return fmt.Errorf("iteration %d of %d", m.round+1, l.plan.Params().Iterations)
	}
	l.n = m.round
	if m.kind == gfml.KindModel {
		entries := l.plan.Selected(l.server, clientNumber(l.job, l.self, m.client), m.round)
		if len(m.body) != 8*len(entries) {
			return fmt.Errorf("a model of %d bytes in iteration %d, want %d", len(m.body), m.round+1, 8*len(entries))
		}
		for i, e := range entries {
			c.known[e] = math.Float64frombits(binary.LittleEndian.Uint64(m.body[8*i:]))
			c.rows[e], l.model[e] = 0, c.known[e]
		}
	}
	for e := range c.rows {
		c.rows[e]++
	}
	c.taken++
	return nil
}

func (l *gfmlLens) form() form {
	s := l.plan.UploadSum(l.server, l.n)
	return form{fixed: secagg.Fixed{Bits: s.Bits, Bound: s.Bound}, n: s.N, known: l.known}
}

// known returns what the server knows of a client's weights, on the entries of the iteration.
func (l *gfmlLens) known(client int) []float64 {
	var v []float64
	for _, e := range l.plan.Layout(l.server, l.n) {
		v = append(v, l.clients[client].known[e])
	}
	return v
}

func (l *gfmlLens) learned(client int) (from, to int) {
	c := l.clients[client]
	return c.taken - 1, c.taken
}

// rebuild works out the row of one step. What a client uploads is known from then on.
func (l *gfmlLens) rebuild(ctx context.Context, s *gathered, client int, v []float64) ([]rebuiltRow, error) {
	layout := l.plan.Layout(l.server, l.n)
	members := s.members
	if client >= 0 {
		members = []int{client}
	}
	own := make([]bool, len(l.model)) // entries that all of them share
	for e := range own {
		own[e] = true
	}
	for _, m := range members {
		selected := l.plan.Selected(l.server, clientNumber(l.job, l.self, m), l.n+1)
		for e := range own {
			own[e] = own[e] && slices.Contains(selected, e)
		}
	}
	bits, _ := l.plan.Encoding()
	w := attack.Waves{Noise: math.Ldexp(float64(len(members)), -bits), Spread: 1, Seed: uint64(l.n)}
	var entries []int
	for i, e := range layout {
		step, fresh := v[i], own[e]
		for _, m := range members {
			step -= l.clients[m].known[e]
			fresh = fresh && l.clients[m].rows[e] == 1
		}
		if fresh {
			entries, w.Phase, w.Value = append(entries, e), append(w.Phase, l.phase[e]), append(w.Value, step)
		}
	}
	label := l.knows(members)
	if client >= 0 && l.job.Privacy == keys.PrivacyPublished {
		c := l.clients[client]
		for i, e := range layout {
			if own[e] {
				c.known[e], c.rows[e] = v[i], 0
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
	p := l.plan.Params()
	row := rebuiltRow{r.Row, math.NaN(), r.Proved}
	if label != nil && l.features.Map(l.z, r.Row) == nil {
		row.y = floats.Dot(label, l.z) + r.Scales[0]/(p.Step*math.Sqrt(2/float64(p.Features)))
	}
	return []rebuiltRow{row}, nil
}

// knows returns all weights of a client as they were before its newest row; nil when the server does not know them.
func (l *gfmlLens) knows(members []int) []float64 {
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

// update returns the row's features on the entries of the iteration.
func (l *gfmlLens) update(x []float64, _ float64) []float64 {
	if l.features.Map(l.z, x) != nil {
		return nil
	}
	var v []float64
	for _, e := range l.plan.Layout(l.server, l.n) {
		v = append(v, l.z[e])
	}
	return v
}

// loss is the square of what the model misses. The model is zero at first.
func (l *gfmlLens) loss(last bool, x []float64, y float64) (float64, bool) {
	if l.features.Map(l.z, x) != nil {
		return 0, false
	}
	if last {
		y -= floats.Dot(l.model, l.z)
	}
	return y * y, true
}

func (l *gfmlLens) tangent(x []float64, y float64) ([]float64, float64) {
	if l.features.Map(l.z, x) != nil {
		return nil, 0
	}
	return slices.Clone(l.z), y - floats.Dot(l.model, l.z)
}
