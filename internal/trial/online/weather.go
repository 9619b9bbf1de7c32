package online

import (
	"math"
	"math/rand/v2"
)

// hoursPerHeat is the time from one row of a house to the next, in hours.
const hoursPerHeat = 4

// weather is what a row of a house has beside its insulation, and what that grows from.
type weather struct {
	draw             *rand.Rand
	hours            float64 // since the start of the year
	air, breeze, sky float64 // what lasts: temperature, wind, clouds

	outdoor, wind, sun float64
	home               float64 // the share of those who live here that are at home
	price              float64 // of heat, dear in the morning and in the evening
}

// newWeather starts at a time of the year, in hours.
func newWeather(draw *rand.Rand, hours float64) *weather {
	return &weather{draw: draw, hours: hours, air: draw.NormFloat64(), breeze: draw.NormFloat64(), sky: draw.NormFloat64()}
}

// next draws the weather of the next hours; chill, as a share of its range, lowers the temperature.
func (w *weather) next(chill float64) {
	w.hours += hoursPerHeat
	w.air, w.breeze, w.sky = w.last(w.air, 0.95), w.last(w.breeze, 0.85), w.last(w.sky, 0.9)
	season, day := math.Cos(2*math.Pi*w.hours/(365*24)), math.Cos(2*math.Pi*w.hours/24)
	cloud := logistic(1.4 * w.sky)
	w.outdoor = clamp(0.1-0.35*season-0.15*day+0.25*w.air-chill, -1, 1)
	w.wind = logistic(-0.6 + 0.9*w.breeze + 0.4*w.sky)
	w.sun = max(0, -day*(0.75-0.25*season)-0.2*season) * (1 - 0.7*cloud)
	w.home = clamp(0.55+0.4*math.Cos(2*math.Pi*(w.hours+1)/24)+0.15*w.draw.NormFloat64(), 0, 1)
	w.price = clamp(0.15+0.8*max(bump(w.hours-8), bump(w.hours-18))+0.05*w.draw.NormFloat64(), 0, 1)
}

// last returns the next value of weather that lasts: autoregressive of order 1, of variance 1.
func (w *weather) last(v, memory float64) float64 {
	return memory*v + math.Sqrt(1-memory*memory)*w.draw.NormFloat64()
}

// bump is 1 at an hour of every day and fades within some three hours around it.
func bump(hours float64) float64 {
	away := math.Remainder(hours, 24) / 3
	return math.Exp(-away * away)
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
func anyBuilding(draw *rand.Rand) building {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*draw.Float64() }
	return building{
		insulation: between(-1, 1), leak: between(0.2, 0.5), glass: between(0.1, 0.3), setback: between(0.1, 0.4),
		water: between(0.1, 0.25), response: between(0, 0.15),
	}
}

// towards returns the building that is a share of the way from b to another.
func (b building) towards(to building, share float64) building {
	at := func(x, y float64) float64 { return x + share*(y-x) }
	return building{
		insulation: at(b.insulation, to.insulation), leak: at(b.leak, to.leak), glass: at(b.glass, to.glass), setback: at(b.setback, to.setback),
		water: at(b.water, to.water), evening: at(b.evening, to.evening), response: at(b.response, to.response),
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
