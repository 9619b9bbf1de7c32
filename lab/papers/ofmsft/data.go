package ofmsft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/lab/sets"
)

// The sets of the OFMS-FT paper. The networks of the first two are published.
const (
	setAir   = "air"
	setMNIST = "mnist"
	setCIFAR = "cifar10"
	setWEC   = "wec"
)

// Rounds is T of the paper: every client has so many rows.
const Rounds = 200

// Set is a data set dealt to clients, with the networks that the server holds.
type Set struct {
	name      string
	classes   int         // 0: the label is a number
	Low, High float64     // of the label, if it is a number
	bandwidth float64     // E over all budgets together
	window    int         // newest rows of a step
	Labels    [][]float64 // [N][T]
	Names     []string    // [K]
	Live      world
}

// world is what the clients of a set see and the networks compute with.
type world struct {
	Rows     [][][]float64 // [N][T][inputs]
	Networks []*nn.Network // [K]
	Norm     float64       // that inputs are divided by
}

// ReadSet reads one of the paper's sets from the data folder, dealt to all clients, with the networks in
// models; "" stands for the set's folder below ofmsft-models.
func ReadSet(name, dir, models string) (*Set, error) {
	readers := map[string]func([]string) (*Set, error){
		setAir: readAirStream, setWEC: readWECStream, setMNIST: readMNISTStream, setCIFAR: readCIFARStream,
	}
	if readers[name] == nil {
		return nil, fmt.Errorf("there is no set %q; there are air, wec, mnist, cifar10", name)
	}
	known, err := sets.Named(name)
	if err != nil {
		return nil, err
	}
	known.Files = known.Files[:min(2, len(known.Files))] // two of four sites
	files, err := known.Find(dir)
	if err != nil {
		return nil, err
	}
	s, err := readers[name](files)
	if err != nil {
		return nil, err
	}
	if models != "" {
		return s, s.readNetworks(models)
	}
	return s, s.readNetworks(filepath.Join(dir, "ofmsft-models", name))
}

// siteClients is how many clients each of two sites has.
const siteClients = 50

// readAirStream reads the air set: NO2 from 14 inputs, 200 consecutive rows of one of two sites to each client.
func readAirStream(files []string) (*Set, error) {
	s := &Set{name: setAir, bandwidth: 0.5, window: 51}
	var all []sets.Example
	for _, file := range files { // Aotizhongxin, Changping
		rows, err := sets.Air(file, siteClients*Rounds)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	s.dealRows(all)
	for site := 1; site <= 2; site++ {
		for _, number := range []int{11, 12, 13, 14, 15, 21, 22, 23, 24, 25} {
			s.Names = append(s.Names, fmt.Sprintf("ff_air_%d_d%d", number, site))
		}
	}
	return s, nil
}

// readWECStream reads the wec set: total power from 48 inputs, 200 consecutive rows of Adelaide or Perth to each
// client. The networks are not published, see readNetworks.
func readWECStream(files []string) (*Set, error) {
	s := &Set{name: setWEC, bandwidth: 0.5, window: 51}
	var all []sets.Example
	for _, file := range files {
		t, err := sets.WEC(file, siteClients*Rounds)
		if err != nil {
			return nil, err
		}
		all = append(all, sets.Examples(t)...)
	}
	s.dealRows(all)
	return s, nil
}

// dealRows gives consecutive rows to each client, and finds the scales of inputs and labels.
func (s *Set) dealRows(all []sets.Example) {
	s.Live.Norm, s.Low, s.High = sets.Extent(all)
	for first := 0; first < len(all); first += Rounds {
		var rows [][]float64
		var labels []float64
		for _, e := range all[first : first+Rounds] {
			rows, labels = append(rows, e.Inputs), append(labels, e.Target)
		}
		s.Live.Rows, s.Labels = append(s.Live.Rows, rows), append(s.Labels, labels)
	}
}

// Limits of a folder of networks.
const (
	leastNetworks = 2
	mostNetworks  = 100
)

// readNetworks reads the networks that the set names, or, where it names none, all that a folder holds, in the
// order of their names.
func (s *Set) readNetworks(folder string) error {
	if len(s.Names) == 0 || s.named(folder) == 0 {
		// Names the networks that a folder holds.
		paths, err := filepath.Glob(filepath.Join(folder, "*"+nn.FileSuffix))
		if err != nil {
			return err
		}
		if len(paths) < leastNetworks || len(paths) > mostNetworks {
			return fmt.Errorf("%s has %d networks, want %d to %d pre-trained ones of the set %q as *%s, or --models "+
				"with their folder: "+
				"those of air and mnist are published, those of cifar10 and wec are "+
				"not", folder, len(paths), leastNetworks, mostNetworks, s.name, nn.FileSuffix)
		}
		s.Names = nil
		for _, path := range paths {
			s.Names = append(s.Names, strings.TrimSuffix(filepath.Base(path), nn.FileSuffix))
		}
	}
	for _, name := range s.Names {
		path := filepath.Join(folder, name+nn.FileSuffix)
		n, err := nn.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing, want the paper's networks: %w", path, err)
		}
		if err != nil {
			return err
		}
		if want := len(s.Live.Rows[0][0]); n.Inputs() != want {
			return fmt.Errorf("%s: the network has %d inputs, want %d", path, n.Inputs(), want)
		}
		if want := max(s.classes, 1); n.Outputs() != want {
			return fmt.Errorf("%s: the network has %d outputs, want %d", path, n.Outputs(), want)
		}
		s.Live.Networks = append(s.Live.Networks, n)
	}
	return nil
}

// named counts the files of the networks that the set names.
func (s *Set) named(folder string) (count int) {
	for _, name := range s.Names {
		if _, err := os.Stat(filepath.Join(folder, name+nn.FileSuffix)); err == nil {
			count++
		}
	}
	return count
}

// keep leaves so many clients, taken evenly from all.
func (s *Set) keep(clients int) error {
	all := len(s.Labels)
	if clients < 1 || clients > all {
		return fmt.Errorf("--clients is %d, want 1 to %d for %s", clients, all, s.name)
	}
	rows, labels := s.Live.Rows, s.Labels
	s.Live.Rows, s.Labels = nil, nil
	for i := range clients {
		s.Live.Rows, s.Labels = append(s.Live.Rows, rows[i*all/clients]), append(s.Labels, labels[i*all/clients])
	}
	return nil
}

// score returns how good or bad a prediction is: 100 for the right class and 0 for a wrong one, or the squared error
// x 1e3 of a number scaled to 0 to 1.
func (s *Set) score(prediction, label float64) float64 {
	if s.classes == 0 {
		d := (prediction - label) / (s.High - s.Low)
		return 1e3 * d * d
	}
	if prediction == label {
		return 100
	}
	return 0
}

// largest returns the parameters of the largest network, whose cost is 1.
func (s *Set) largest() int {
	largest := 0
	for _, n := range s.Live.Networks {
		largest = max(largest, n.Size())
	}
	return largest
}

// unit says what scores are.
func (s *Set) unit() string {
	if s.classes == 0 {
		return "mean squared error x 1e3"
	}
	return "accuracy in %"
}
