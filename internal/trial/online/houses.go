package online

import (
	"fmt"
	"math"

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

// houseLabel is what a house foretells: its demand for heat as a share of what its connection can give,
// from 0 to 1.
const houseLabel = "heat"

// houseColumns are the inputs of a house's row. Season and hour are points on a circle, the others shares of
// their usual range.
func houseColumns() []string {
	return []string{"season_sin", "season_cos", "hour_sin", "hour_cos", "outdoor", "wind", "sun", "home", "price",
		"insulation"}
}

// heatingBegins is when the streams begin, in hours since the start of the year: in October.
const heatingBegins = 290 * 24

// coldSpell is how much colder than usual the middle third of all rows is, as a share of the range.
const coldSpell = 0.35

// house is a client: what its building is at first, after works, and under the new tariff.
type house struct {
	built, rebuilt, retariffed building
	drifts                     bool    // a change takes a third of all rows, not a day
	noise                      float64 // standard deviation of what the meter shows
}

// newHouse draws a house. Its hot water in the evening and its answer to the new tariff are of no town that
// the networks come from.
func newHouse(draw generator) *house {
	h := &house{built: anyBuilding(draw), drifts: draw.IntN(2) == 1, noise: draw.between(0.02, 0.05)}
	h.built.evening = draw.between(0.25, 0.35)
	h.rebuilt = h.built
	if draw.IntN(2) == 1 { // refurbished
		h.rebuilt.insulation = min(1, h.built.insulation+draw.between(0.7, 1.2))
		h.rebuilt.leak *= 0.5
	} else { // extended, and badly
		h.rebuilt.insulation = max(-1, h.built.insulation-draw.between(0.5, 0.9))
		h.rebuilt.glass *= 1.2
	}
	h.retariffed = h.rebuilt
	h.retariffed.response = draw.between(0.5, 0.7)
	return h
}

// at returns the building when a share of all rows is over: works come after a third, the tariff after two.
func (h *house) at(share float64) building {
	if share < 2.0/3 {
		return h.built.towards(h.rebuilt, h.changed(share-1.0/3))
	}
	return h.rebuilt.towards(h.retariffed, h.changed(share-2.0/3))
}

// changed returns how much of a change has happened that began some share of all rows ago.
func (h *house) changed(since float64) float64 {
	if !h.drifts && since >= 0 {
		return 1
	}
	return clamp(3*since, 0, 1)
}

// houseStream returns the rows of a house.
func houseStream(draw generator, rows int) *Stream {
	h, w := newHouse(draw), newWeather(draw, heatingBegins)
	return generate(houseColumns(), houseLabel, rows, func(i int) ([]float64, float64) {
		share, chill := float64(i)/float64(rows), 0.0
		if share >= 1.0/3 && share < 2.0/3 {
			chill = coldSpell
		}
		w.next(chill)
		return h.at(share).row(w, h.noise)
	})
}

// hoursPerHeat is the time from one row of a house to the next, in hours.
const hoursPerHeat = 4

// weather is what a row of a house has beside its insulation, and what that grows from.
type weather struct {
	draw             generator
	hours            float64 // since the start of the year
	air, breeze, sky float64 // what lasts: temperature, wind, clouds

	outdoor, wind, sun float64
	home               float64 // the share of those who live here that are at home
	price              float64 // of heat, dear in the morning and in the evening
}

// newWeather starts at a time of the year, in hours.
func newWeather(draw generator, hours float64) *weather {
	return &weather{draw: draw, hours: hours, air: draw.NormFloat64(), breeze: draw.NormFloat64(), sky: draw.NormFloat64()}
}

// next draws the weather of the next hours; chill, as a share of its range, lowers the temperature.
func (w *weather) next(chill float64) {
	w.hours += hoursPerHeat
	w.air, w.breeze, w.sky = w.draw.lasting(w.air, 0.95), w.draw.lasting(w.breeze, 0.85), w.draw.lasting(w.sky, 0.9)
	season, day := math.Cos(2*math.Pi*w.hours/(365*24)), math.Cos(2*math.Pi*w.hours/24)
	cloud := logistic(1.4 * w.sky)
	w.outdoor = clamp(0.1-0.35*season-0.15*day+0.25*w.air-chill, -1, 1)
	w.wind = logistic(-0.6 + 0.9*w.breeze + 0.4*w.sky)
	w.sun = max(0, -day*(0.75-0.25*season)-0.2*season) * (1 - 0.7*cloud)
	w.home = clamp(0.55+0.4*math.Cos(2*math.Pi*(w.hours+1)/24)+0.15*w.draw.NormFloat64(), 0, 1)
	w.price = clamp(0.15+0.8*max(bump(w.hours-8), bump(w.hours-18))+0.05*w.draw.NormFloat64(), 0, 1)
}

// building is what a house's demand depends on besides the weather. Only the insulation is an input.
type building struct {
	insulation float64 // from -1 to 1, as its certificate says
	leak       float64 // how far wind adds to the loss of warmth
	glass      float64 // what the sun saves
	setback    float64 // how much less is heated while nobody is at home
	water      float64 // hot water in the morning
	evening    float64 // and in the evening
	response   float64 // how much less is taken while heat is dear
}

// anyBuilding draws a building as there are in all towns.
func anyBuilding(draw generator) building {
	return building{
		insulation: draw.between(-1, 1), leak: draw.between(0.2, 0.5), glass: draw.between(0.1, 0.3),
		setback: draw.between(0.1, 0.4),
		water:   draw.between(0.1, 0.25), response: draw.between(0, 0.15),
	}
}

// towards returns the building that is a share of the way from b to another.
func (b building) towards(to building, share float64) building {
	at := func(x, y float64) float64 { return x + share*(y-x) }
	return building{
		insulation: at(b.insulation, to.insulation), leak: at(b.leak, to.leak), glass: at(b.glass, to.glass),
		setback: at(b.setback, to.setback),
		water:   at(b.water, to.water), evening: at(b.evening, to.evening), response: at(b.response, to.response),
	}
}

// demand returns the demand for heat in given weather.
func (b building) demand(w *weather) float64 {
	loss := 0.6 * math.Exp(-0.8*b.insulation) // of warmth on the coldest day
	warmth := loss*(0.5-0.5*w.outdoor)*(1+b.leak*w.wind) - b.glass*w.sun
	warmth = max(0, warmth) * (1 - b.setback*(1-w.home))
	water := w.home * (b.water*bump(w.hours-7) + b.evening*bump(w.hours-19))
	return (warmth + water) * (1 - b.response*w.price)
}

// row returns a building's inputs and its demand as the meter shows it.
func (b building) row(w *weather, noise float64) (x []float64, heat float64) {
	seasonSin, seasonCos := math.Sincos(2 * math.Pi * w.hours / (365 * 24))
	hourSin, hourCos := math.Sincos(2 * math.Pi * w.hours / 24)
	heat = clamp(b.demand(w)+noise*w.draw.NormFloat64(), 0, 1)
	return []float64{seasonSin, seasonCos, hourSin, hourCos, w.outdoor, w.wind, w.sun, w.home, w.price, b.insulation}, heat
}
