package gfml

import (
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/gfml"
)

// The sizes of the paper's section IV, and of the test set, which it leaves open.
const (
	serverClients = 50 // of each server
	inputs        = 4
	clientTests   = 10 // test rows of each client
)

// world is the paper's synthetic data of one run: what each client's stream is like, where it
// stands, and the test rows.
type world struct {
	streams [][]*arStream // [server][client]
	tests   []testRows    // [server]
	z       [][][]float64 // [server][client]: features of the newest row
	y       [][]float64
	fresh   bool // rows do not follow on one another: each is the first of a stream
}

// testRows are the rows by which a server's model is judged.
type testRows struct {
	z []float64 // [row][feature]
	y []float64
}

// newWorld draws the streams and test rows of a run.
func newWorld(run uint64, clusters []int, features *gfml.Features, d int) (*world, error) {
	w := new(world)
	for s, cluster := range clusters {
		w.streams, w.y = append(w.streams, nil), append(w.y, make([]float64, serverClients))
		w.z, w.tests = append(w.z, nil), append(w.tests, testRows{})
		for k := range serverClients {
			stream := newARStream(rand.New(rand.NewPCG(run, uint64(s*serverClients+k))), cluster)
			if err := w.tests[s].add(stream, features, d); err != nil {
				return nil, err
			}
			w.streams[s], w.z[s] = append(w.streams[s], stream), append(w.z[s], make([]float64, d))
		}
	}
	return w, nil
}

// next gives every client its next row.
func (w *world) next(features *gfml.Features) error {
	for s := range w.streams {
		for k, stream := range w.streams[s] {
			if w.fresh {
				stream.start()
			}
			x, y := stream.next()
			if err := features.Map(w.z[s][k], x); err != nil {
				return err
			}
			w.y[s][k] = y
		}
	}
	return nil
}

// round is the iteration in which all clients have the rows that next made.
func (w *world) round() gfml.Round {
	return gfml.Round{Sample: func(s, k int) ([]float64, float64, bool) { return w.z[s][k], w.y[s][k], true }}
}

// add appends rows of a client that are not of its stream but of one like it.
func (t *testRows) add(like *arStream, features *gfml.Features, d int) error {
	for range clientTests {
		fresh := *like
		fresh.start()
		x, y := fresh.next()
		z := make([]float64, d)
		if err := features.Map(z, x); err != nil {
			return err
		}
		t.z, t.y = append(t.z, z...), append(t.y, y)
	}
	return nil
}

// arStream is one client's stream: an autoregressive input of order 1 and the cluster's function of
// its last four values (equation 20), with noise.
type arStream struct {
	draw         *rand.Rand
	theta        float64
	mean, spread float64 // of what drives the input
	noise        float64 // standard deviation
	gain1, gain2 float64 // gamma_1 and gamma_2 of the cluster
	gain3        float64
	x            [inputs]float64 // newest first
}

// newARStream draws a stream's parameters from the paper's ranges and starts it.
func newARStream(draw *rand.Rand, cluster int) *arStream {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*draw.Float64() }
	s := &arStream{draw: draw}
	s.theta, s.mean = between(0.2, 0.9), between(-0.2, 0.2)
	s.spread, s.noise = math.Sqrt(between(0.2, 1.2)), math.Sqrt(between(0.005, 0.03))
	s.gain1 = []float64{0.75, 0.8, 0.85}[cluster]
	s.gain2 = []float64{0.85, 0.8, 0.75}[cluster]
	s.gain3 = []float64{0.55, 0.5, 0.45}[cluster]
	s.start()
	return s
}

// start draws the values so far from the input's stationary law: its mean is that of the drive times
// sqrt(1-theta^2)/(1-theta), its spread that of the drive.
func (s *arStream) start() {
	level := s.mean * math.Sqrt(1-s.theta*s.theta) / (1 - s.theta)
	s.x[0] = level + s.spread*s.draw.NormFloat64()
	for range inputs - 1 {
		s.advance()
	}
}

// advance draws the next value.
func (s *arStream) advance() {
	next := s.theta*s.x[0] + math.Sqrt(1-s.theta*s.theta)*(s.mean+s.spread*s.draw.NormFloat64())
	copy(s.x[1:], s.x[:inputs-1])
	s.x[0] = next
}

// next returns the next row, which lasts until the one after, and its noisy target.
func (s *arStream) next() (x []float64, y float64) {
	s.advance()
	x1, x2, x3, x4 := s.x[0], s.x[1], s.x[2], s.x[3]
	sine := math.Sin(math.Pi * x4)
	y = math.Sqrt(x1*x1+s.gain1*sine*sine) + (s.gain2-s.gain3*math.Exp(-x2*x2))*x3
	return s.x[:], y + s.noise*s.draw.NormFloat64()
}
