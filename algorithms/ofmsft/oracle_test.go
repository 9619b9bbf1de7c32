package ofmsft

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// oracle is Algorithms 1 and 2 written down line by line, with plain weights. It shares nothing with
// the package but the networks' arithmetic.
type oracle struct {
	p        Params
	networks []*nn.Network
	theta    [][]float64 // [K][Size]
	z        [][]float64 // [N][K]
	draws    []*rand.ChaCha8
	groups   *rand.ChaCha8

	chosen []int   // I
	stored [][]int // S
	q      [][]float64
	alpha  int
	group  []int
	rows   [][][]float32 // [N], all of the past
	labels [][]float64
	round  int
}

// newOracle starts one with the draws of a federation.
func newOracle(p Params, networks []*nn.Network, clients int, seed [32]byte) *oracle {
	o := &oracle{p: p, groups: rand.NewChaCha8(derivedSeed(seed, 0)), rows: make([][][]float32, clients),
		labels: make([][]float64, clients)}
	for _, n := range networks {
		o.networks = append(o.networks, n.Clone())
		var theta []float64
		for _, v := range n.Parameters() {
			theta = append(theta, float64(v))
		}
		o.theta = append(o.theta, theta)
	}
	for i := range clients {
		o.z = append(o.z, slices.Repeat([]float64{1}, len(networks)))
		o.draws = append(o.draws, rand.NewChaCha8(derivedSeed(seed, i+1)))
	}
	return o
}

// uniform53 is a number in [0, 1).
func uniform53(source *rand.ChaCha8) float64 { return float64(source.Uint64()>>11) / (1 << 53) }

// pack is Algorithm 2.
func pack(sizes []float64, skip int, capacity float64) [][]int {
	var order []int
	for i := range sizes {
		if i != skip {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if sizes[a] > sizes[b] {
			return -1
		}
		if sizes[a] < sizes[b] {
			return 1
		}
		return a - b
	})
	var clusters [][]int
	var loads []float64
	for _, i := range order {
		placed := false
		for j := range clusters {
			if loads[j]+sizes[i] <= capacity {
				clusters[j], loads[j], placed = append(clusters[j], i), loads[j]+sizes[i], true
				break
			}
		}
		if !placed {
			clusters, loads = append(clusters, []int{i}), append(loads, sizes[i])
		}
	}
	return clusters
}

// begin is steps 5 to 14.
func (o *oracle) begin() {
	k := len(o.networks)
	var cost, needs []float64
	for _, m := range o.p.Models {
		cost = append(cost, m.Cost)
	}
	o.chosen, o.stored, o.q = nil, nil, nil
	for i, z := range o.z {
		total := 0.0
		for _, v := range z {
			total += v
		}
		u, sum, chosen := uniform53(o.draws[i]), 0.0, k-1
		for j := range k {
			if sum += z[j] / total; u < sum {
				chosen = j
				break
			}
		}
		budget := o.p.BudgetOf(strconv.Itoa(i+1)) * (1 + 1e-9)
		clusters := pack(cost, chosen, budget-cost[chosen])
		stored := append([]int{chosen}, clusters[int(uniform53(o.draws[i])*float64(len(clusters)))]...)
		slices.Sort(stored)
		q, need := make([]float64, k), 0.0
		for j := range k {
			q[j] = z[j] / total
			for l := range k {
				if l != j {
					q[j] += z[l] / total / float64(len(pack(cost, l, budget-cost[l])))
				}
			}
			if slices.Contains(stored, j) || o.p.Broadcast {
				need += o.p.Models[j].Bandwidth
			}
		}
		o.chosen, o.stored, o.q, needs = append(o.chosen, chosen), append(o.stored, stored), append(o.q, q), append(needs,
			need)
	}
	o.alpha, o.group = 0, nil
	if o.p.Update != UpdateNone && o.round >= o.p.WarmUp {
		groups := pack(needs, -1, o.p.Bandwidth*(1+1e-9))
		o.alpha, o.group = len(groups), groups[int(uniform53(o.groups)*float64(len(groups)))]
		slices.Sort(o.group)
	}
}

// learn is steps 16 and 17 of one row of all clients; it returns the predictions.
func (o *oracle) learn(rows [][]float64, labels []float64) []float64 {
	var predictions []float64
	for i := range rows {
		var x []float32
		for _, v := range rows[i] {
			x = append(x, float32(v/o.p.InputNorm))
		}
		y := labels[i]
		if o.p.Classes == 0 {
			y = (labels[i] - o.p.LabelLow) / (o.p.LabelHigh - o.p.LabelLow)
		}
		out := o.networks[o.chosen[i]].NewWorkspace().Predict(x, 1)
		prediction := o.p.LabelLow + float64(out[0])*(o.p.LabelHigh-o.p.LabelLow)
		if o.p.Classes > 0 {
			prediction = float64(slices.Index(out, slices.Max(out)))
		}
		predictions = append(predictions, prediction)
		for _, k := range o.stored[i] {
			loss := make([]float64, 1)
			o.networks[k].NewWorkspace().Losses(x, []float64{y}, 1, loss)
			rate := o.p.Rate
			if own, ok := o.p.Rates[strconv.Itoa(i+1)]; ok {
				rate = own
			}
			o.z[i][k] *= math.Exp(-rate * loss[0] / o.q[i][k])
		}
		o.rows[i], o.labels[i] = append(o.rows[i], x), append(o.labels[i], y)
	}
	o.round++
	return predictions
}

// step is equations 9, 10 and 45 for client i and network k, after n rows of this draw.
func (o *oracle) step(i, k, n int) []float64 {
	step := make([]float64, len(o.theta[k]))
	for t := len(o.rows[i]) - n; t < len(o.rows[i]); t++ {
		var x []float32
		var y []float64
		for s := max(0, t-o.p.Window+1); s <= t; s++ {
			x, y = append(x, o.rows[i][s]...), append(y, o.labels[i][s])
		}
		gradient := make([]float32, len(step))
		o.networks[k].NewWorkspace().Gradient(x, y, len(y), gradient)
		importance := 1 / o.q[i][k]
		if o.p.MaxImportance > 0 && importance > o.p.MaxImportance {
			importance = o.p.MaxImportance
		}
		weight := float64(o.alpha) * importance
		for j, g := range gradient {
			step[j] += o.p.Step * weight * float64(g)
		}
	}
	for j := range step {
		step[j] = math.Max(-o.p.Clip, math.Min(o.p.Clip, step[j]))
	}
	return step
}

// finish is steps 19 and 22, or the authors' way.
func (o *oracle) finish(n int) {
	for k := range o.networks {
		sum := make([]float64, len(o.theta[k]))
		for _, i := range o.group {
			if !slices.Contains(o.stored[i], k) {
				continue
			}
			for j, v := range o.step(i, k, n) {
				sum[j] += v
			}
			if o.p.Update == UpdateInPlace {
				o.move(k, sum, 1)
				clear(sum)
			}
		}
		o.move(k, sum, float64(len(o.z)))
	}
}

// move subtracts a sum over n.
func (o *oracle) move(k int, sum []float64, n float64) {
	for j, v := range sum {
		o.theta[k][j] -= v / n
		o.networks[k].Parameters()[j] = float32(o.theta[k][j])
	}
}
