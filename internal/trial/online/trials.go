package online

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"
)

// Learning is a trial of an algorithm over clients' streams.
type Learning interface {
	Members() *Federation
	Rounds() int
	Parameters() map[string]any
	PaperBytes() (down, up float64)
	Together() (*Outcome, error)
	Alone() (*Outcome, error)
}

// Trial is how an algorithm is tried and shown.
type Trial struct {
	Algorithm        string
	Servers, Clients int    // when nobody says; clients of each server. Where Servers is 1 there may be no more
	Rival            string // what regret is counted against
	Exact            bool   // the job comes to the same numbers as one process: clients draw nothing in secret
	New              func(Options) (Learning, error)
	Streams          func(Options) *Federation // Options.Rounds rows for each client, and no more of the trial than these
}

// Trials lists the algorithms' trials.
func Trials() []Trial {
	return []Trial{
		{Algorithm: contract.POFMKL, Servers: 1, Clients: 12, Rival: "kernel", Streams: newParkStreams,
			New: func(o Options) (Learning, error) { return NewParks(o) }},
		{Algorithm: contract.GFML, Servers: 4, Clients: 5, Exact: true, Streams: newSensorStreams,
			New: func(o Options) (Learning, error) { return NewSensors(o) }},
		{Algorithm: contract.OFMSFT, Servers: 1, Clients: 12, Rival: "network as it was at first", Streams: newHouseStreams,
			New: func(o Options) (Learning, error) { return NewHouses(o) }},
	}
}

// TrialOf returns the trial of an algorithm.
func TrialOf(algorithm string) (Trial, error) {
	all := Trials()
	for _, t := range all {
		if t.Algorithm == algorithm {
			return t, nil
		}
	}
	return Trial{}, fmt.Errorf("algorithm is %q, want %q, %q or %q", algorithm, all[0].Algorithm, all[1].Algorithm,
		all[2].Algorithm)
}
