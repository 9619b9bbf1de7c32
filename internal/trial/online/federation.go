package online

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// Options is the size of a trial. Zero features, rounds and budget ask for the trial's own.
type Options struct {
	Servers  int
	Clients  int // of each server
	Rounds   int
	Features int
	Entries  int     // of the models, that a client of GFML shares; 0: all
	Common   bool    // POF-MKL: one bin of kernels for all clients of a round
	Budget   float64 // of a client, for networks
	Seed     uint64

	Diffusion string // of O-GFML, as its jobs name it; empty: its default

	Tuning ofmsft.Params // of OFMS-FT: those of its numbers that are not 0 take the place of the trial's own
}

// Federation is who takes part in a trial, and the clients' streams.
type Federation struct {
	Servers []string
	Clients [][]string         // of each server
	Streams map[string]*Stream // of the clients
	Table   string             // the servers' table, in the folder of each; empty where they have none
	Classes int                // that labels are of; 0: labels are numbers
	Span    float64            // of labels that are numbers: what their errors are counted in; 0: 1, their own units
}

// Outcome is what the clients of one way of learning made of their streams.
type Outcome struct {
	Predictions map[string][]float64 // of the clients' rows, each made before its label
	Regret      map[string]float64   // of the clients, where the algorithm has one
	RegretCurve []float64            // by row, mean over clients, where it is known
}

// newOutcome makes room for one.
func newOutcome() *Outcome {
	return &Outcome{Predictions: make(map[string][]float64), Regret: make(map[string]float64)}
}

// add keeps a client's next prediction.
func (o *Outcome) add(name string, prediction float64) {
	o.Predictions[name] = append(o.Predictions[name], prediction)
}

// runRounds takes the named clients through their streams, a row of each to a round. round writes their
// predictions.
func runRounds(f *Federation, rounds int, names []string,
	round func(rows [][]float64, labels, predictions []float64) error) (*Outcome, error) {
	o, rows, labels, predictions := newOutcome(), make([][]float64, len(names)), make([]float64, len(names)),
		make([]float64, len(names))
	for n := range rounds {
		for k, name := range names {
			rows[k], labels[k] = f.Streams[name].Inputs[n], f.Streams[name].Labels[n]
		}
		if err := round(rows, labels, predictions); err != nil {
			return nil, fmt.Errorf("round %d in one process: %w", n+1, err)
		}
		for k, name := range names {
			o.add(name, predictions[k])
		}
	}
	return o, nil
}

// newParkStreams are those of POF-MKL's trial.
func newParkStreams(o Options) *Federation {
	return newFederation(o, "park", func(draw generator, _ int) *Stream {
		p := newPark(draw)
		return generate(parkColumns(), parkLabel, o.Rounds, func(int) ([]float64, float64) { return p.next() })
	})
}

// newSensorStreams are those of O-GFML's. Servers two by two have one function.
func newSensorStreams(o Options) *Federation {
	return newFederation(o, "sensor", func(draw generator, server int) *Stream {
		s := newSensor(draw, server/2)
		return generate(sensorColumns(), sensorLabel, o.Rounds, func(int) ([]float64, float64) { return s.next() })
	})
}

// newHouseStreams are those of OFMS-FT's.
func newHouseStreams(o Options) *Federation {
	return newFederation(o, "house", func(draw generator, _ int) *Stream { return houseStream(draw, o.Rounds) })
}

// newFederation names servers and clients and draws the clients' streams.
func newFederation(o Options, client string, stream func(draw generator, server int) *Stream) *Federation {
	f := &Federation{Streams: make(map[string]*Stream)}
	for s := range o.Servers {
		name := "server"
		if o.Servers > 1 {
			name = fmt.Sprintf("server-%d", s+1)
		}
		f.Servers, f.Clients = append(f.Servers, name), append(f.Clients, nil)
		for k := range o.Clients {
			number := s*o.Clients + k
			name := fmt.Sprintf("%s-%02d", client, number+1)
			f.Clients[s] = append(f.Clients[s], name)
			f.Streams[name] = stream(generator{rand.New(rand.NewPCG(o.Seed, uint64(number)))}, s)
		}
	}
	return f
}

// Members is the federation itself, as a Learning has it.
func (f *Federation) Members() *Federation { return f }

// AllClients lists the clients of all servers, in the servers' order.
func (f *Federation) AllClients() []string {
	var all []string
	for _, names := range f.Clients {
		all = append(all, names...)
	}
	return all
}

// Parties lists the servers and then the clients, as a job deals clients out to servers.
func (f *Federation) Parties() []string {
	return append(append([]string(nil), f.Servers...), f.AllClients()...)
}
