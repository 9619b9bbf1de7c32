package online

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// A job over houses that says nothing else. The paper's steps, 0.001/sqrt(T), move nothing visible once they are
// divided by the number of clients.
const (
	houseRounds = 300
	houseBudget = 4
	houseRate   = 8
	houseStep   = 0.05
	houseWindow = 12 // two days
	houseCap    = 3  // of what a step counts for a network that is seldom stored
)

// NewHouses makes a trial of OFMS-FT over houses with one server, and trains its networks, one for each town.
// Options.Features means nothing to it.
func NewHouses(o Options) (*Selection, error) {
	var networks []*nn.Network
	for k, name := range towns() {
		n, err := townNetwork(o.Seed, k)
		if err != nil {
			return nil, fmt.Errorf("network of %s: %w", name, err)
		}
		networks = append(networks, n)
	}
	return newHouses(o, networks)
}

// newHouses makes a trial over houses with given networks.
func newHouses(o Options, networks []*nn.Network) (*Selection, error) {
	if o.Rounds == 0 {
		o.Rounds = houseRounds
	}
	if o.Budget == 0 {
		o.Budget = houseBudget
	}
	f := newHouseStreams(o)
	p := ofmsft.Params{Label: houseLabel, Rate: houseRate, Step: houseStep, Window: houseWindow, MaxImportance: houseCap}
	return newSelection(o, f, p, towns(), networks)
}
