package online

import (
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// towns are where the server's networks come from, one each, in the order of the alphabet.
func towns() []string {
	return []string{"bergen", "bremen", "danzig", "luebeck", "novgorod", "reval", "riga", "stralsund", "visby", "wismar"}
}

// What a town's network learns from, and how large it is.
const (
	townRows   = 2000
	townSpread = 0.15 // how far its buildings are from the town's own, of the way to any other
	townNoise  = 0.03
	smallUnits = 20
	largeUnits = 32
)

// townLayers are the layers of a town's network: every second one is large.
func townLayers(town int) []nn.Layer {
	units := smallUnits
	if town%2 == 1 {
		units = largeUnits
	}
	hidden := nn.Layer{Kind: nn.Dense, Units: units, Activation: nn.ReLU}
	return []nn.Layer{hidden, hidden, {Kind: nn.Dense, Units: 1, Activation: nn.Linear}}
}

// freshNetwork returns a town's network before any training.
func freshNetwork(draw *rand.Rand, town int) (*nn.Network, error) {
	return nn.New([]int{len(houseColumns())}, townLayers(town), draw)
}

// townNetwork trains the network of a town on its buildings' past.
func townNetwork(seed uint64, town int) (*nn.Network, error) {
	draw := generator{rand.New(rand.NewPCG(seed, 1<<32+uint64(town)))} // numbers below are the clients'
	n, err := freshNetwork(draw.Rand, town)
	if err != nil {
		return nil, err
	}
	x, y := townHistory(draw, town)
	newAdam(n).train(x, y, draw)
	return n, nil
}

// townHistory returns rows of a town, [townRows][columns], and their labels, of hours of all the year. From one town
// to the next the buildings are better insulated.
func townHistory(draw generator, town int) (x []float32, y []float64) {
	own := anyBuilding(draw)
	own.insulation = 2*float64(town)/float64(len(towns())-1) - 1
	w := newWeather(draw, 0)
	for range townRows {
		w.hours = float64(24*draw.IntN(365) + hoursPerHeat*draw.IntN(24/hoursPerHeat))
		w.next(0)
		row, heat := own.towards(anyBuilding(draw), townSpread).row(w, townNoise)
		for _, v := range row {
			x = append(x, float32(v))
		}
		y = append(y, heat)
	}
	return x, y
}

// How a network is trained.
const (
	adamEpochs = 15
	adamBatch  = 30    // rows
	adamRate   = 0.003 // at first; it falls to 0
)

// adam trains a network by the method of that name (Kingma and Ba 2015).
type adam struct {
	network      *nn.Network
	workspace    *nn.Workspace
	gradient     []float32
	mean, square []float64 // of the gradients, fading
	steps        int
}

// newAdam starts training a network.
func newAdam(n *nn.Network) *adam {
	size := n.Size()
	return &adam{network: n, workspace: n.NewWorkspace(), gradient: make([]float32, size), mean: make([]float64, size),
		square: make([]float64, size)}
}

// train takes rows, x [rows][inputs] and y [rows], batch by batch, in another order each time; rows that fill no
// batch are left for the next time.
func (a *adam) train(x []float32, y []float64, draw generator) {
	inputs, batches := a.network.Inputs(), len(y)/adamBatch
	for range adamEpochs {
		order := draw.Perm(len(y))
		for b := range batches {
			var rows []float32
			var labels []float64
			for _, i := range order[b*adamBatch : (b+1)*adamBatch] {
				rows, labels = append(rows, x[i*inputs:(i+1)*inputs]...), append(labels, y[i])
			}
			a.step(rows, labels, adamRate*(1-float64(a.steps)/float64(adamEpochs*batches)))
		}
	}
}

// step takes one step at a rate.
func (a *adam) step(x []float32, y []float64, rate float64) {
	const keep, keepSquare, least = 0.9, 0.999, 1e-8
	a.workspace.Gradient(x, y, len(y), a.gradient)
	a.steps++
	fill, fillSquare := 1-math.Pow(keep, float64(a.steps)), 1-math.Pow(keepSquare, float64(a.steps))
	parameters := a.network.Parameters()
	for i, g := range a.gradient {
		v := float64(g)
		a.mean[i] += (1 - keep) * (v - a.mean[i])
		a.square[i] += (1 - keepSquare) * (v*v - a.square[i])
		parameters[i] -= float32(rate * (a.mean[i] / fill) / (math.Sqrt(a.square[i]/fillSquare) + least))
	}
}
