package online

import (
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
	draw := rand.New(rand.NewPCG(seed, 1<<32+uint64(town))) // numbers below are the clients'
	n, err := freshNetwork(draw, town)
	if err != nil {
		return nil, err
	}
	x, y := townHistory(draw, town)
	newSchool(n).train(x, y, draw)
	return n, nil
}

// townHistory returns rows of a town, [townRows][columns], and their labels, of hours of all the year. From one town
// to the next the buildings are better insulated.
func townHistory(draw *rand.Rand, town int) (x []float32, y []float64) {
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
