package online

import "math/rand/v2"

// houseLabel is what a house foretells: its demand for heat as a share of what its connection can give,
// from 0 to 1.
const houseLabel = "heat"

// houseColumns are the inputs of a house's row. Season and hour are points on a circle, the others shares of
// their usual range.
func houseColumns() []string {
	return []string{"season_sin", "season_cos", "hour_sin", "hour_cos", "outdoor", "wind", "sun", "home", "price", "insulation"}
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
func newHouse(draw *rand.Rand) *house {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*draw.Float64() }
	h := &house{built: anyBuilding(draw), drifts: draw.IntN(2) == 1, noise: between(0.02, 0.05)}
	h.built.evening = between(0.25, 0.35)
	h.rebuilt = h.built
	if draw.IntN(2) == 1 { // refurbished
		h.rebuilt.insulation = min(1, h.built.insulation+between(0.7, 1.2))
		h.rebuilt.leak *= 0.5
	} else { // extended, and badly
		h.rebuilt.insulation = max(-1, h.built.insulation-between(0.5, 0.9))
		h.rebuilt.glass *= 1.2
	}
	h.retariffed = h.rebuilt
	h.retariffed.response = between(0.5, 0.7)
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
func houseStream(draw *rand.Rand, rows int) *Stream {
	h, w, s := newHouse(draw), newWeather(draw, heatingBegins), &Stream{Columns: houseColumns(), Label: houseLabel}
	for i := range rows {
		share, chill := float64(i)/float64(rows), 0.0
		if share >= 1.0/3 && share < 2.0/3 {
			chill = coldSpell
		}
		w.next(chill)
		x, y := h.at(share).row(w, h.noise)
		s.Inputs, s.Labels = append(s.Inputs, x), append(s.Labels, y)
	}
	return s
}
