package online

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/gfml"
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
	draw         generator
	theta        float64
	mean, spread float64 // of what drives the input
	noise        float64 // standard deviation
	gain         [3]float64
	x            [4]float64 // newest first
}

// newSensor draws a sensor of a cluster from the paper's ranges. Its input starts at 0.
func newSensor(draw generator, cluster int) *sensor {
	return &sensor{
		draw: draw, theta: draw.between(0.2, 0.9), mean: draw.between(-0.2, 0.2), spread: math.Sqrt(draw.between(0.2, 1.2)),
		noise: math.Sqrt(draw.between(0.005, 0.03)),
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

// Sizes of a job over sensors that says nothing else.
const (
	sensorRounds       = 300
	sensorFeatures     = 200
	sensorParticipants = 4
)

// Sensors is a trial of O-GFML.
type Sensors struct {
	*Federation
	plan *gfml.Plan
}

// NewSensors makes a trial whose servers stand on a ring, neighbours two by two in a cluster.
func NewSensors(o Options) (*Sensors, error) {
	if o.Rounds == 0 {
		o.Rounds = sensorRounds
	}
	if o.Features == 0 {
		o.Features = sensorFeatures
	}
	t := new(Sensors)
	t.Federation = newSensorStreams(o)
	p := gfml.DefaultParams()
	p.Columns, p.Label, p.Seed = sensorColumns(), sensorLabel, fmt.Sprint(o.Seed)
	p.Features, p.Iterations, p.Participants = o.Features, o.Rounds, min(sensorParticipants, o.Clients)
	p.Entries, p.Diffusion = o.Entries, o.Diffusion
	p.Servers, p.Edges, p.Clusters = t.Servers, ring(t.Servers), pairs(t.Servers)
	p.Clients = make(map[string][]string)
	for s, name := range t.Servers {
		p.Clients[name] = t.Clients[s]
	}
	var err error
	t.plan, err = gfml.NewPlan(p, t.Parties())
	return t, err
}

// ring joins each server with the next, and the last with the first.
func ring(servers []string) [][]string {
	edges := [][]string{}
	for i := 1; i < len(servers); i++ {
		edges = append(edges, []string{servers[i-1], servers[i]})
	}
	if len(servers) > 2 {
		edges = append(edges, []string{servers[len(servers)-1], servers[0]})
	}
	return edges
}

// pairs makes clusters of two.
func pairs(servers []string) [][]string {
	var clusters [][]string
	for i := 0; i < len(servers); i += 2 {
		clusters = append(clusters, servers[i:min(i+2, len(servers))])
	}
	return clusters
}

// Rounds returns how many iterations the job has.
func (t *Sensors) Rounds() int { return t.plan.Params().Iterations }

// Parameters returns what the job says to the algorithm beside who takes part.
func (t *Sensors) Parameters() map[string]any {
	p := t.plan.Params()
	all := map[string]any{
		"columns": p.Columns, "label": p.Label, "seed": p.Seed, "features": p.Features, "iterations": p.Iterations,
		"participants": p.Participants, "entries": p.Entries, "edges": p.Edges, "clusters": p.Clusters,
	}
	if p.Diffusion != "" {
		all["diffusion"] = p.Diffusion
	}
	return all
}

// PaperBytes returns what the paper counts for a client and an iteration, in bytes, on average: the
// entries that go down and up, of those who are chosen.
func (t *Sensors) PaperBytes() (down, up float64) {
	var all gfml.Traffic
	for n := range t.Rounds() {
		for s := range t.Servers {
			all.Add(t.plan.Traffic(s, n))
		}
	}
	times := float64(t.Rounds() * len(t.AllClients()))
	return float64(all.PaperDown) / times, float64(all.PaperUp) / times
}

// PaperBetween returns the bytes of models that a server sends its neighbours in an iteration, as the paper has it, on
// average.
func (t *Sensors) PaperBetween() float64 {
	var all gfml.Traffic
	for s := range t.Servers {
		all.Add(t.plan.Traffic(s, 0))
	}
	return float64(all.Between) / float64(len(t.Servers))
}

// Together runs the job in one process, in the open. A job over the same streams comes to the same
// numbers, but for the rounding of its sums to fixed point.
func (t *Sensors) Together() (*Outcome, error) {
	f, err := gfml.NewFederation(t.plan, t.plan.NewServer)
	if err != nil {
		return nil, err
	}
	o, features := newOutcome(), t.plan.Features()
	z := make([]float64, t.plan.Params().Features)
	for n := range t.Rounds() {
		var failed error
		sample := func(s, k int) ([]float64, float64, bool) {
			stream := t.Streams[t.Clients[s][k]]
			if err := features.Map(z, stream.Inputs[n]); err != nil {
				failed = err
				return nil, 0, false
			}
			prediction, err := f.Clients[s][k].Predict(z)
			if err != nil {
				failed = err
			}
			o.add(t.Clients[s][k], prediction)
			return z, stream.Labels[n], true
		}
		if err := f.Step(n, gfml.Round{Sample: sample}); err != nil || failed != nil {
			return nil, fmt.Errorf("iteration %d in one process: %w", n+1, firstOf(failed, err))
		}
	}
	return o, nil
}

// firstOf returns the first error there is.
func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Alone runs every client by itself: the same steps, and never anything from a server.
func (t *Sensors) Alone() (*Outcome, error) {
	o, features := newOutcome(), t.plan.Features()
	z := make([]float64, t.plan.Params().Features)
	for s := range t.Servers {
		for k, name := range t.Clients[s] {
			c, err := t.plan.NewClient(s, k)
			if err != nil {
				return nil, err
			}
			for n, x := range t.Streams[name].Inputs {
				if err := features.Map(z, x); err != nil {
					return nil, err
				}
				prediction, err := c.Learn(n, z, t.Streams[name].Labels[n])
				if err != nil {
					return nil, err
				}
				o.add(name, prediction)
			}
		}
	}
	return o, nil
}
