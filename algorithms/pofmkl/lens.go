package pofmkl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol/contract"
)

// mostWords is how long a vector may be for the attacks on jobs over clients.
const mostWords = 1 << 20

// lens knows the updates of POF-MKL: eta/p (2 (theta^T z - y) z + 2 lambda theta) on the kernels of a bin, where z is
// the sines and cosines of one row.
type lens struct {
	params   Params
	features *Features
	design   []*mat.Dense // by kernel, in turns a unit of an input in its own units
	clients  int
	round    int
	inVector []int // the kernels that the vectors of the round may move, ascending
	theta    []float64
	rows     map[int]int
	latest   map[int]int // the round that a client was told of last
	scores   []float64
}

// newLens prepares for a job's parameters.
func newLens(c *contract.Contract, server int) (federated.Lens, error) {
	j, err := newJob(c.Job)
	if err != nil {
		return nil, err
	}
	p := j.params
	if p.Words() > mostWords {
		return nil, fmt.Errorf("attacks work on vectors of at most %d numbers, the job's have %d", mostWords, p.Words())
	}
	d, err := j.dictionary(c)
	if err != nil {
		return nil, err
	}
	l := &lens{
		params: p, features: d.NewFeatures(), clients: len(c.Job.ClientsOf(server)), theta: make([]float64, p.Words()),
		rows: make(map[int]int), latest: make(map[int]int), scores: make([]float64, p.Kernels()), inVector: p.Moved(0),
	}
	for k := range p.Kernels() {
		frequencies := d.Frequencies(k)
		m := mat.NewDense(p.Features, len(frequencies[0]), nil)
		for i, f := range frequencies {
			floats.Scale(1/p.InputNorm, f)
			m.SetRow(i, f)
		}
		l.design = append(l.design, m)
	}
	return l, nil
}

func (l *lens) Heard(m *federated.LensMessage) error {
	if !m.Down || m.Kind != KindModel {
		return nil
	}
	if len(m.Body) != 8*len(l.theta) || m.Round < 0 || m.Round >= l.params.Uploads() {
		return fmt.Errorf("a theta of %d bytes in round %d, want %d in one of %d", len(m.Body), m.Round+1, 8*len(l.theta),
			l.params.Uploads())
	}
	if m.Round != l.round {
		l.round, l.inVector = m.Round, l.params.Moved(m.Round)
	}
	for i := range l.theta {
		l.theta[i] = math.Float64frombits(binary.LittleEndian.Uint64(m.Body[8*i:]))
	}
	l.rows[m.Client] += federated.RoundsOf(m.Round, l.params.Rounds, l.params.RoundsPerUpload)
	l.latest[m.Client] = m.Round
	return nil
}

func (l *lens) Form() federated.LensForm {
	s, block := UpdateSum(l.params, l.clients), 2*l.params.Features
	s.N = block * len(l.inVector)
	return federated.LensForm{Sum: s, Block: block, Moves: l.params.Chosen, Whole: l.whole}
}

// whole puts a vector's kernels into their places among all, where it has those of a common bin alone.
func (l *lens) whole(v []float64) []float64 {
	block := 2 * l.params.Features
	if len(v) == l.params.Words() {
		return v
	}
	all := make([]float64, l.params.Words())
	for i, k := range l.inVector {
		copy(all[block*k:block*(k+1)], v[block*i:])
	}
	return all
}

// alike reports whether all clients draw all bins with one probability, which all then know.
func (l *lens) alike() bool { return l.params.Explore == 1 && len(l.params.Explores) == 0 }

func (l *lens) Learned(client int) (from, to int) {
	to = l.rows[client]
	return to - federated.RoundsOf(l.latest[client], l.params.Rounds, l.params.RoundsPerUpload), to
}

// block returns the sines and cosines of a kernel in a vector, and whether there is anything.
func (l *lens) block(v []float64, k int) (attack.Pairs, bool) {
	d := l.params.Features
	b := v[2*d*k : 2*d*(k+1)]
	p := attack.Pairs{Design: l.design[k], Sine: b[:d], Cosine: b[d:], Noise: math.Ldexp(1, -UpdateSum(l.params,
		l.clients).Bits)}
	if l.params.Lambda > 0 && l.alike() {
		own := make([]float64, 2*d)
		copy(own, b)
		floats.AddScaled(own, -2*l.params.Lambda*l.params.Step*float64(l.params.Bins()), l.theta[2*d*k:2*d*(k+1)])
		p.Sine, p.Cosine = own[:d], own[d:]
	}
	for _, s := range b {
		if math.Abs(s) > p.Noise {
			return p, true
		}
	}
	return p, false
}

// Rebuild takes a client's kernels to be of one row, unless it uploads several, and a total's each by themselves.
func (l *lens) Rebuild(ctx context.Context, v *federated.LensVector) ([]federated.LensRow, error) {
	var all []attack.Pairs
	var kernels []int
	for k := range l.design {
		if p, ok := l.block(v.Values, k); ok {
			all, kernels = append(all, p), append(kernels, k)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if !v.Total {
		r, err := attack.Rotations(ctx, all)
		if err != nil || r == nil {
			return nil, err
		}
		if r.Proved || len(all) == l.params.Kernels() {
			return []federated.LensRow{{X: r.Row, Y: l.label(r, kernels), Proved: r.Proved}}, nil
		}
	}
	var list []federated.LensRow
	var ones []attack.Pairs // that are of one row each; of one and the same where a total is one client's
	var of []int
	for i, p := range all {
		if p.One() {
			ones, of = append(ones, p), append(of, kernels[i])
		}
	}
	if enough := l.design[0].RawMatrix().Cols; v.Total && len(ones) > 0 && l.params.Features < 2*enough {
		r, err := attack.Rotations(ctx, ones)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Proved {
			return []federated.LensRow{{X: r.Row, Y: l.label(r, of), Proved: true}}, nil
		}
	}
	for i, p := range ones {
		r, err := attack.Rotations(ctx, []attack.Pairs{p})
		if err != nil {
			return nil, err
		}
		if r != nil && r.Proved {
			list = append(list, federated.LensRow{X: r.Row, Y: l.label(r, of[i:i+1]), Proved: true})
		}
	}
	return list, nil
}

// label returns the label of a row that was rebuilt: a kernel's part is 2 (theta^T z - y) eta/p. Where all bins are
// drawn alike p is known; else two kernels of one bin tell both.
func (l *lens) label(r *attack.Rebuilt, kernels []int) float64 {
	if l.features.Set(1, r.Row) != nil {
		return math.NaN()
	}
	l.features.Scores(l.scores, l.theta)
	p := &l.params
	unit := math.Sqrt(float64(p.Features)) / (2 * p.Step)
	y := math.NaN()
	switch {
	case l.alike():
		y = 0
		for i, k := range kernels {
			y += (l.scores[k] - r.Scales[i]*unit/float64(p.Bins())) / float64(len(kernels))
		}
	case len(kernels) > 1: // score = y + p c unit, by least squares
		var c, s float64
		for i, k := range kernels {
			c, s = c+r.Scales[i]/float64(len(kernels)), s+l.scores[k]/float64(len(kernels))
		}
		both, own := 0.0, 0.0
		for i, k := range kernels {
			both += (r.Scales[i] - c) * (l.scores[k] - s)
			own += (r.Scales[i] - c) * (r.Scales[i] - c)
		}
		if own > 0 {
			y = s - both/own*c
		}
	}
	return p.LabelLow + y*(p.LabelHigh-p.LabelLow)
}

// Update returns the row's features, kernel by kernel.
func (l *lens) Update(x []float64, _ float64) []float64 {
	if l.features.Set(1, x) != nil {
		return nil
	}
	var v []float64
	for k := range l.design {
		v = append(v, l.features.Kernel(k)...)
	}
	return v
}

func (l *lens) Models() int { return l.params.Kernels() }

// Seen returns the kernels that a vector moves. Those of a common bin are no choice of the client.
func (l *lens) Seen(_ int, v []float64) []int {
	if l.params.CommonBin {
		return nil
	}
	list := []int{}
	for k := range l.design {
		if _, ok := l.block(v, k); ok {
			list = append(list, k)
		}
	}
	return list
}

func (l *lens) Suits(losses []float64, x []float64, y float64) bool {
	label, err := l.params.ScaleLabel(1, y)
	if err != nil || l.features.Set(1, x) != nil {
		return false
	}
	l.features.Scores(l.scores, l.theta)
	for k, s := range l.scores {
		losses[k] += (s - label) * (s - label)
	}
	return true
}

// Loss is of the mean of all kernels. Theta is zero at first.
func (l *lens) Loss(last bool, x []float64, y float64) (float64, bool) {
	label, err := l.params.ScaleLabel(1, y)
	if err != nil || l.features.Set(1, x) != nil {
		return 0, false
	}
	prediction := 0.0
	if last {
		l.features.Scores(l.scores, l.theta)
		prediction = floats.Sum(l.scores) / float64(len(l.scores))
	}
	return (prediction - label) * (prediction - label), true
}

func (l *lens) Tangent(x []float64, y float64) ([]float64, float64) {
	z := l.Update(x, y)
	label, err := l.params.ScaleLabel(1, y)
	if z == nil || err != nil {
		return nil, 0
	}
	l.features.Scores(l.scores, l.theta)
	floats.Scale(1/float64(l.params.Kernels()), z)
	return z, label - floats.Sum(l.scores)/float64(len(l.scores))
}
