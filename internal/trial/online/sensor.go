package online

import (
	"math"
	"math/rand/v2"
)

// sensorLabel is what a sensor foretells.
const sensorLabel = "y"

// sensorColumns are the inputs of a sensor's row: its newest value and the three before it.
func sensorColumns() []string { return []string{"x1", "x2", "x3", "x4"} }

// sensorKinds is how many functions there are, one for each cluster in turn.
const sensorKinds = 3

// sensor is a client of the paper's section IV: an autoregressive input of order 1 and the cluster's
// function of its last four values (equation 20), with noise.
type sensor struct {
	draw         *rand.Rand
	theta        float64
	mean, spread float64 // of what drives the input
	noise        float64 // standard deviation
	gain         [3]float64
	x            [4]float64 // newest first
}

// newSensor draws a sensor of a cluster from the paper's ranges. Its input starts at 0.
func newSensor(draw *rand.Rand, cluster int) *sensor {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*draw.Float64() }
	return &sensor{
		draw: draw, theta: between(0.2, 0.9), mean: between(-0.2, 0.2), spread: math.Sqrt(between(0.2, 1.2)),
		noise: math.Sqrt(between(0.005, 0.03)),
		gain:  [sensorKinds][3]float64{{0.75, 0.85, 0.55}, {0.8, 0.8, 0.5}, {0.85, 0.75, 0.45}}[cluster%sensorKinds],
	}
}

// next returns the next row.
func (s *sensor) next() (x []float64, y float64) {
	newest := s.theta*s.x[0] + math.Sqrt(1-s.theta*s.theta)*(s.mean+s.spread*s.draw.NormFloat64())
	copy(s.x[1:], s.x[:3])
	s.x[0] = newest
	sine := math.Sin(math.Pi * s.x[3])
	y = math.Sqrt(s.x[0]*s.x[0]+s.gain[0]*sine*sine) + (s.gain[1]-s.gain[2]*math.Exp(-s.x[1]*s.x[1]))*s.x[2]
	return []float64{s.x[0], s.x[1], s.x[2], s.x[3]}, y + s.noise*s.draw.NormFloat64()
}

// sensorStream returns the first rows of a sensor of a cluster.
func sensorStream(draw *rand.Rand, cluster, rows int) *Stream {
	p, s := newSensor(draw, cluster), &Stream{Columns: sensorColumns(), Label: sensorLabel}
	for range rows {
		x, y := p.next()
		s.Inputs, s.Labels = append(s.Inputs, x), append(s.Labels, y)
	}
	return s
}
