package pofmkl

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// oracle is Algorithms 1 and 2 written down line by line, with plain weights and the library's sine
// and cosine. It shares nothing with the package but the frequencies' public draw.
type oracle struct {
	p     Params
	rho   [][][]float64 // [N][D][columns]
	theta [][]float64   // [N][2D]
	w     [][]float64   // [K][N]

	lossOf  []float64   // [K], cumulated
	lossesI [][]float64 // [K][N], cumulated
}

// newOracle draws the frequencies, in radians.
func newOracle(p Params, columns, clients int) *oracle {
	o := &oracle{p: p, lossOf: make([]float64, clients)}
	owner := keys.ID(keys.HashOf("hanse pofmkl features v1"))
	for i, b := range p.Bandwidths {
		rho := make([][]float64, p.Features)
		for j := range rho {
			for c := range columns {
				one := make([]float64, 1)
				kernel.Kernel{Kind: kernel.Gaussian, Sigma: math.Sqrt(b)}.Draw(p.PublicSeed(), owner, fmt.Sprintf("x%d", c+1),
					i*p.Features+j, 1, one)
				rho[j] = append(rho[j], 2*math.Pi*one[0])
			}
		}
		o.rho = append(o.rho, rho)
		o.theta = append(o.theta, make([]float64, 2*p.Features))
	}
	for range clients {
		w := make([]float64, len(p.Bandwidths))
		for i := range w {
			w[i] = 1
		}
		o.w = append(o.w, w)
		o.lossesI = append(o.lossesI, make([]float64, len(w)))
	}
	return o
}

// z is equation 4.
func (o *oracle) z(i int, x []float64) []float64 {
	d := o.p.Features
	z := make([]float64, 2*d)
	for j := range d {
		a := 0.0
		for c := range x {
			a += o.rho[i][j][c] * x[c]
		}
		z[j] = math.Sin(a) / math.Sqrt(float64(d))
		z[d+j] = math.Cos(a) / math.Sqrt(float64(d))
	}
	return z
}

// binOf is the common bin of an upload: kernels in the order of their words, and the word after these says which
// of the bins.
func (o *oracle) binOf(upload int) []int {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(upload))
	seed := o.p.PublicSeed()
	words := rand.NewChaCha8(keys.HashOf("hanse pofmkl common bin v1", seed[:], number[:]))
	place := map[int]uint64{}
	var order []int
	for i := range o.p.Bandwidths {
		place[i] = words.Uint64()
		order = append(order, i)
	}
	sort.Slice(order, func(a, b int) bool { return place[order[a]] < place[order[b]] })
	var bins [][]int
	for len(order) > o.p.Chosen {
		bins, order = append(bins, order[:o.p.Chosen]), order[o.p.Chosen:]
	}
	bins = append(bins, order)
	at := new(big.Int).SetUint64(words.Uint64()) // the word as a part of 1, times the number of bins
	at.Mul(at, big.NewInt(int64(len(bins)))).Rsh(at, 64)
	return bins[at.Int64()]
}

// client is what client k does with one row; u is its draw, and common the upload's bin, nil when it draws its
// own. It returns the prediction and theta_i - theta_ik for every kernel.
func (o *oracle) client(k int, theta [][]float64, x []float64, y, u float64, common []int) (float64, [][]float64) {
	step, explore := o.p.WeightStep, o.p.Explore
	if own, ok := o.p.WeightSteps[fmt.Sprint(k+1)]; ok {
		step = own
	}
	if own, ok := o.p.Explores[fmt.Sprint(k+1)]; ok {
		explore = own
	}
	n := len(o.p.Bandwidths)
	var total, prediction, blended float64
	f, norm2, loss := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		for j, v := range o.z(i, x) {
			f[i] += theta[i][j] * v
			norm2[i] += theta[i][j] * theta[i][j]
		}
		total += o.w[k][i]
	}
	for i := range n {
		prediction += o.w[k][i] / total * f[i]
		blended += o.w[k][i] / total * norm2[i]
	}
	for i := range n {
		loss[i] = (f[i]-y)*(f[i]-y) + o.p.Lambda*norm2[i]
		o.w[k][i] *= math.Exp(-step * loss[i])
		o.lossesI[k][i] += loss[i]
	}
	o.lossOf[k] += (prediction-y)*(prediction-y) + o.p.Lambda*blended
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	sort.SliceStable(s, func(a, b int) bool { return o.w[k][s[a]] > o.w[k][s[b]] })
	var bins [][]int
	for _, i := range s {
		if len(bins) == 0 || len(bins[len(bins)-1]) == o.p.Chosen {
			bins = append(bins, nil)
		}
		bins[len(bins)-1] = append(bins[len(bins)-1], i)
	}
	var all float64
	for i := range n {
		all += o.w[k][i]
	}
	difference := make([][]float64, n)
	for i := range difference {
		difference[i] = make([]float64, 2*o.p.Features)
	}
	reached := 0.0
	for j, bin := range bins {
		mass := 0.0
		for _, i := range bin {
			mass += o.w[k][i]
		}
		q := (1-explore)*mass/all + explore/float64(len(bins))
		if common != nil {
			j, bin, q = len(bins)-1, common, 1/float64(len(bins))
		}
		reached += q
		if u >= reached && j < len(bins)-1 {
			continue
		}
		for _, i := range bin {
			gradient := make([]float64, 2*o.p.Features)
			length := 0.0
			for j, v := range o.z(i, x) {
				gradient[j] = 2*(f[i]-y)*v + 2*o.p.Lambda*theta[i][j]
				length += gradient[j] * gradient[j]
			}
			shrink := math.Min(1, o.p.Clip/math.Sqrt(length))
			for j := range gradient {
				local := theta[i][j] - o.p.Step*gradient[j]*shrink/q
				difference[i][j] = theta[i][j] - local
			}
		}
		break
	}
	return prediction, difference
}

// TestRoundsEqualTheOracle runs federations beside the oracle with the same draws.
func TestRoundsEqualTheOracle(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Params)
	}{
		{"one kernel a bin", func(p *Params) { p.Chosen = 1 }},
		{"uneven bins", func(p *Params) {}},
		{"all kernels in one bin", func(p *Params) { p.Chosen = 5 }},
		{"uniform bins", func(p *Params) { p.Explore = 1 }},
		{"regularised", func(p *Params) { p.Lambda = 0.3 }},
		{"clipped", func(p *Params) { p.Clip = 0.2 }},
		{"clipped and regularised", func(p *Params) { p.Clip, p.Lambda = 0.2, 0.3 }},
		{"steep weights", func(p *Params) { p.WeightStep = 3 }},
		{"two rounds an upload", func(p *Params) { p.RoundsPerUpload = 2 }},
		{"weights' steps of some clients", func(p *Params) { p.WeightSteps = map[string]float64{"1": 2, "4": 0.01} }},
		{"exploration of some clients", func(p *Params) { p.Explores = map[string]float64{"2": 1, "3": 0.1} }},
		{"a common bin", func(p *Params) { p.CommonBin, p.Explore = true, 1 }},
		{"a common bin of one kernel", func(p *Params) { p.CommonBin, p.Explore, p.Chosen = true, 1, 1 }},
		{"a common bin of all kernels", func(p *Params) { p.CommonBin, p.Explore, p.Chosen = true, 1, 5 }},
		{"a common bin for three rounds", func(p *Params) { p.CommonBin, p.Explore, p.RoundsPerUpload = true, 1, 3 }},
		{"a common bin, regularised and clipped", func(p *Params) {
			p.CommonBin, p.Explore, p.Lambda, p.Clip = true, 1, 0.3,
				0.2
		}},
		{"a common bin and weights' steps", func(p *Params) {
			p.CommonBin, p.Explore, p.WeightSteps = true, 1, map[string]float64{"1": 2, "4": 0.01}
		}},
		{"the paper's dictionary", func(p *Params) { p.Bandwidths, p.Features, p.Chosen = Dictionary51(), 10, 25 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := small()
			c.edit(&p)
			p = p.WithDefaults()
			compareWithOracle(t, p)
		})
	}
}

// compareWithOracle runs 60 rounds of four clients.
func compareWithOracle(t *testing.T, p Params) {
	const clients, rounds, columns, tolerance = 4, 60, 6, 1e-12
	rng := rand.New(rand.NewPCG(1, 2))
	f, err := NewFederation(newDictionary(t, p, columns), clients, [32]byte{7})
	mustDo(t, err)
	o := newOracle(p, columns, clients)
	var streams []stream
	var draws []*rand.ChaCha8
	for k := range clients {
		streams = append(streams, newStream(rng, rounds, columns))
		draws = append(draws, rand.NewChaCha8(clientSeed([32]byte{7}, k)))
	}
	pending := make([][]float64, len(o.theta))
	for i := range pending {
		pending[i] = make([]float64, 2*p.Features)
	}
	for r := range rounds {
		rows, labels, got := make([][]float64, clients), make([]float64, clients), make([]float64, clients)
		for k := range clients {
			rows[k], labels[k] = streams[k].rows[r], streams[k].labels[r]
		}
		mustDo(t, f.Round(rows, labels, got))
		for k := range clients {
			u := float64(draws[k].Uint64()>>11) / (1 << 53)
			var common []int
			if p.CommonBin {
				common = o.binOf(r / p.RoundsPerUpload)
			}
			want, difference := o.client(k, o.theta, rows[k], labels[k], u, common)
			near(t, fmt.Sprintf("round %d, client %d: prediction", r+1, k+1), got[k], want, tolerance)
			for i := range difference {
				for j, v := range difference[i] {
					pending[i][j] += v
				}
			}
		}
		if (r+1)%p.RoundsPerUpload != 0 {
			continue
		}
		for i := range o.theta {
			for j := range o.theta[i] {
				o.theta[i][j] -= pending[i][j] / clients
				pending[i][j] = 0
				near(t, fmt.Sprintf("round %d: theta of kernel %d", r+1, i+1), f.Server.Theta()[i*2*p.Features+j], o.theta[i][j],
					tolerance)
			}
		}
		if t.Failed() {
			return
		}
	}
	for k, c := range f.Clients {
		best := math.Inf(1)
		for i, l := range o.lossesI[k] {
			best = min(best, l)
			total := 0.0
			for _, w := range o.w[k] {
				total += w
			}
			near(t, "share", c.Shares()[i], o.w[k][i]/total, tolerance)
		}
		near(t, fmt.Sprintf("client %d: regret by equation 11", k+1), c.Regret(), o.lossOf[k]-best, 1e-11)
	}
}

// near compares two numbers, by the larger of 1 and their size.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
