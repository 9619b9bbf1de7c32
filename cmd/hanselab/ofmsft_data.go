package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// The sets of the OFMS-FT paper whose networks are published and whose data are free.
const (
	setAir   = "air"
	setMNIST = "mnist"
)

// ofmsftRounds is T of the paper: every client has so many rows.
const ofmsftRounds = 200

// ofmsftSet is a data set dealt to clients, with the networks that the server holds.
type ofmsftSet struct {
	name      string
	classes   int         // 0: the label is a number
	low, high float64     // of the label, if it is a number
	bandwidth float64     // E over all budgets together
	window    int         // newest rows of a step
	labels    [][]float64 // [N][T]
	names     []string    // [K]
	live      ofmsftWorld
}

// ofmsftWorld is what the clients of a set see and the networks compute with.
type ofmsftWorld struct {
	rows     [][][]float64 // [N][T][inputs]
	networks []*nn.Network // [K]
	norm     float64       // that inputs are divided by
}

// readOFMSFTSet reads one of the paper's sets from the data folder, dealt to all clients.
func readOFMSFTSet(name, dir string) (*ofmsftSet, error) {
	switch name {
	case setAir:
		return readAirStream(dir)
	case setMNIST:
		return readMNISTStream(dir)
	case "cifar-10", "wec":
		return nil, fmt.Errorf("the set %q of the paper is not in the data folder; there are air, mnist", name)
	}
	return nil, fmt.Errorf("there is no set %q; there are air, mnist", name)
}

// readAirStream reads the air set: NO2 from 14 inputs, 200 consecutive rows of one of two sites to each client.
func readAirStream(dir string) (*ofmsftSet, error) {
	const siteClients = 50
	s := &ofmsftSet{name: setAir, bandwidth: 0.5, window: 51}
	var all []example
	for _, site := range []string{"Aotizhongxin", "Changping"} {
		rows, err := readSiteFile(dir, site, siteClients*ofmsftRounds)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	s.live.norm, s.low, s.high = extent(all)
	for first := 0; first < len(all); first += ofmsftRounds {
		var rows [][]float64
		var labels []float64
		for _, e := range all[first : first+ofmsftRounds] {
			rows, labels = append(rows, e.inputs), append(labels, e.target)
		}
		s.live.rows, s.labels = append(s.live.rows, rows), append(s.labels, labels)
	}
	for site := 1; site <= 2; site++ {
		for _, number := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
			s.names = append(s.names, fmt.Sprintf("ff_air_%d_d%d", number, site))
		}
	}
	return s, s.readNetworks(dir)
}

// readNetworks reads the networks that the set names.
func (s *ofmsftSet) readNetworks(dir string) error {
	for _, name := range s.names {
		path := filepath.Join(dir, "ofmsft-models", s.name, name+nn.FileSuffix)
		n, err := nn.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing, want the paper's networks: %w", path, err)
		}
		if err != nil {
			return err
		}
		if want := len(s.live.rows[0][0]); n.Inputs() != want {
			return fmt.Errorf("%s: the network has %d inputs, want %d", path, n.Inputs(), want)
		}
		s.live.networks = append(s.live.networks, n)
	}
	return nil
}

// keep leaves so many clients, taken evenly from all.
func (s *ofmsftSet) keep(clients int) error {
	all := len(s.labels)
	if clients < 1 || clients > all {
		return fmt.Errorf("--clients is %d, want 1 to %d for %s", clients, all, s.name)
	}
	rows, labels := s.live.rows, s.labels
	s.live.rows, s.labels = nil, nil
	for i := range clients {
		s.live.rows, s.labels = append(s.live.rows, rows[i*all/clients]), append(s.labels, labels[i*all/clients])
	}
	return nil
}

// score returns how good or bad a prediction is: 100 for the right class and 0 for a wrong one, or the squared error
// x 1e3 of a number scaled to 0 to 1.
func (s *ofmsftSet) score(prediction, label float64) float64 {
	if s.classes == 0 {
		d := (prediction - label) / (s.high - s.low)
		return 1e3 * d * d
	}
	if prediction == label {
		return 100
	}
	return 0
}

// largest returns the parameters of the largest network, whose cost is 1.
func (s *ofmsftSet) largest() int {
	largest := 0
	for _, n := range s.live.networks {
		largest = max(largest, n.Size())
	}
	return largest
}

// unit says what scores are.
func (s *ofmsftSet) unit() string {
	if s.classes == 0 {
		return "mean squared error x 1e3"
	}
	return "accuracy in %"
}
