package online

import (
	"math"
	"math/rand/v2"
)

// parkLabel is what a park foretells: its output as a share of what it can give, from 0 to 1.
const parkLabel = "output"

// parkColumns are the inputs of a park's row. Season and hour are points on a circle, the others shares of
// their usual range, so that none outweighs the rest.
func parkColumns() []string {
	return []string{"season_sin", "season_cos", "hour_sin", "hour_cos", "temperature", "humidity", "pressure", "wind", "gust", "cloud", "rain"}
}

// Time at all parks, in hours.
const (
	hoursPerRow = 3
	firstHour   = 60 * 24 // early in March, when the year begins for the streams
)

// park is a site with its climate and its weather of the moment.
type park struct {
	draw   *rand.Rand
	sun    float64 // the part of sun in what the park can give; the rest is wind
	windy  float64 // how much wind there is on average
	cloudy float64 // the same of clouds
	warm   float64 // mean temperature, as a share of its range
	swing  float64 // how far temperature follows season and hour
	noise  float64 // standard deviation of the measured output
	hours  float64 // since the start of the year

	front, breeze, heat float64 // weather that lasts: pressure and clouds, wind, temperature
}

// newPark draws a site.
func newPark(draw *rand.Rand) *park {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*draw.Float64() }
	return &park{
		draw: draw, sun: between(0.45, 0.55), windy: between(-0.4, 0.4), cloudy: between(-0.6, 0.6), warm: between(-0.2, 0.2),
		swing: between(0.2, 0.45), noise: between(0.08, 0.16), hours: firstHour,
		front: draw.NormFloat64(), breeze: draw.NormFloat64(), heat: draw.NormFloat64(),
	}
}

// last returns the next value of weather that lasts: autoregressive of order 1, of variance 1.
func (p *park) last(v, memory float64) float64 {
	return memory*v + math.Sqrt(1-memory*memory)*p.draw.NormFloat64()
}

// next returns the next row.
func (p *park) next() (x []float64, output float64) {
	p.hours += hoursPerRow
	p.front, p.breeze, p.heat = p.last(p.front, 0.94), p.last(p.breeze, 0.85), p.last(p.heat, 0.9)
	seasonSin, seasonCos := math.Sincos(2 * math.Pi * p.hours / (365 * 24))
	hourSin, hourCos := math.Sincos(2 * math.Pi * p.hours / 24)
	cloud := logistic(p.cloudy + 1.4*p.front + 0.3*p.draw.NormFloat64())
	wind := logistic(p.windy - 0.6 + 0.9*p.breeze + 0.5*p.front)
	gust := min(1, wind*(1.15+0.2*p.draw.Float64()))
	rain := max(0, cloud-0.7) * 2 * p.draw.Float64()
	temperature := clamp(p.warm-p.swing*seasonCos-0.4*p.swing*hourCos+0.15*p.heat-0.1*cloud, -1, 1)
	humidity := clamp(0.5+0.3*cloud-0.3*temperature+0.05*p.draw.NormFloat64(), 0, 1)
	pressure := clamp(-0.35*p.front+0.05*p.draw.NormFloat64(), -1, 1)

	light := max(0, -hourCos*(0.75-0.25*seasonCos)-0.2*seasonCos) * (1 - 0.75*cloud*cloud) * (1 - 0.2*temperature)
	turning := wind * wind * wind / (wind*wind*wind + 0.08)
	output = clamp(p.sun*light+(1-p.sun)*turning+p.noise*p.draw.NormFloat64(), 0, 1)
	return []float64{seasonSin, seasonCos, hourSin, hourCos, temperature, humidity, pressure, wind, gust, cloud, rain}, output
}

// parkStream returns the first rows of a site.
func parkStream(draw *rand.Rand, rows int) *Stream {
	p, s := newPark(draw), &Stream{Columns: parkColumns(), Label: parkLabel}
	for range rows {
		x, y := p.next()
		s.Inputs, s.Labels = append(s.Inputs, x), append(s.Labels, y)
	}
	return s
}

// logistic maps a number to a share.
func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// clamp returns the number of a range that is nearest to v.
func clamp(v, lo, hi float64) float64 { return min(hi, max(lo, v)) }
