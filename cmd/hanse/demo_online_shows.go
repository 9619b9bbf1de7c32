package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/trial/online"
)

// The algorithms that the demo shows.
const (
	algorithmFDSKL  = "fdskl"
	algorithmPOFMKL = online.AlgorithmPOFMKL
	algorithmGFML   = online.AlgorithmGFML
	algorithmOFMSFT = online.AlgorithmOFMSFT
)

// show is how the demo shows an algorithm over clients' streams.
type show struct {
	servers, clients int    // when the flags do not say; clients of each server
	rival            string // what regret is counted against
	exact            bool   // the job comes to the same numbers as one process: clients draw nothing in secret
	make             func(d *onlineDemo, o online.Options) error
}

// shows lists them by algorithm.
func shows() map[string]show {
	return map[string]show{
		algorithmPOFMKL: {servers: 1, clients: 12, rival: "kernel", make: (*onlineDemo).makeParks},
		algorithmGFML:   {servers: 4, clients: 5, exact: true, make: (*onlineDemo).makeSensors},
		algorithmOFMSFT: {servers: 1, clients: 12, rival: "network as it was at first", make: (*onlineDemo).makeSelection},
	}
}

// options returns the size of the trial that the flags ask for.
func (s show) options(c *cli.Context) (online.Options, error) {
	o := online.Options{
		Servers: c.Int("servers"), Clients: c.Int("clients"), Rounds: c.Int("iterations"), Features: c.Int("features"),
		Entries: c.Int("entries"), Common: c.Bool("common-bin"),
		Budget: c.Float64("budget"), Seed: c.Uint64("seed"), Diffusion: c.String("diffusion"),
	}
	if o.Servers == 0 {
		o.Servers = s.servers
	}
	if o.Clients == 0 {
		o.Clients = s.clients
	}
	var err error
	o.Tuning, err = tuningOf(c)
	return o, err
}

// makeParks draws the streams of POF-MKL's trial.
func (d *onlineDemo) makeParks(o online.Options) error {
	t, err := online.NewParks(o)
	if err != nil {
		return err
	}
	d.show.exact = o.Common
	d.learning, d.federation = t, t.Federation
	return nil
}

// makeSensors draws the streams of O-GFML's trial.
func (d *onlineDemo) makeSensors(o online.Options) error {
	t, err := online.NewSensors(o)
	if err != nil {
		return err
	}
	d.learning, d.federation = t, t.Federation
	return nil
}

// makeSelection draws the streams of OFMS-FT's trial and trains the networks, or reads both from own files.
func (d *onlineDemo) makeSelection(o online.Options) error {
	t, err := d.readSelection(o)
	if err != nil {
		return err
	}
	d.learning, d.federation, d.selection = t, t.Federation, t
	return nil
}
