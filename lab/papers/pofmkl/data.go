package pofmkl

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/hanse-project/hanse/lab/sets"
)

// Set is a data set dealt to clients: inputs divided by the largest norm of a row of the whole set,
// targets scaled to 0 to 1 over the whole set.
type Set struct {
	name    string
	columns []string
	Rows    [][][]float64 // [K][T][columns]
	Labels  [][]float64   // [K][T]
}

// ReadSet reads one of the paper's sets from the data folder.
func ReadSet(name, dir string) (*Set, error) {
	readers := map[string]func([]string) (*Set, error){"air": readAir, "naval": readNaval, "uji": readUJI,
		"wec": readWEC}
	if readers[name] == nil {
		return nil, fmt.Errorf("there is no set %q; there are air, naval, uji, wec", name)
	}
	known, err := sets.Named(name)
	if err != nil {
		return nil, err
	}
	files, err := known.Find(dir)
	if err != nil {
		return nil, err
	}
	return readers[name](files)
}

// readNaval reads the naval propulsion set: the lever position from the fifteen columns after it, in
// file order, 500 consecutive rows to a client.
func readNaval(files []string) (*Set, error) {
	const clients, inputs = 23, 15
	path := files[0]
	var all []sets.Example
	err := sets.Read(path, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() && len(all) < clients*Rounds {
			e, err := navalRow(strings.Fields(lines.Text()), inputs)
			if err != nil {
				return fmt.Errorf("row %d: %w", len(all)+1, err)
			}
			all = append(all, e)
		}
		return lines.Err()
	})
	if err != nil {
		return nil, err
	}
	if len(all) < clients*Rounds {
		return nil, fmt.Errorf("%s has %d rows, want %d", path, len(all), clients*Rounds)
	}
	s := &Set{name: "naval"}
	for i := range inputs {
		s.columns = append(s.columns, fmt.Sprintf("column %d", i+2))
	}
	scaleExamples(all)
	for k := range clients {
		s.deal(all[k*Rounds : (k+1)*Rounds])
	}
	return s, nil
}

// navalRow reads a row of the naval set.
func navalRow(fields []string, inputs int) (sets.Example, error) {
	if len(fields) <= inputs {
		return sets.Example{}, fmt.Errorf("it has %d columns, want more than %d", len(fields), inputs)
	}
	var e sets.Example
	for c, f := range fields[:inputs+1] {
		v, err := sets.Number(f)
		if err != nil {
			return sets.Example{}, fmt.Errorf("column %d: %w", c+1, err)
		}
		if c == 0 {
			e.Target = v
		} else {
			e.Inputs = append(e.Inputs, v)
		}
	}
	return e, nil
}

// Sizes of the sets of sites: the clients of each site, and the rows they have of it and of each other site.
const (
	airSiteClients = 60
	wecSiteClients = 140
	siteOwn        = 350
	siteOther      = 50
)

// siteSeed seeds the order of rows within each client.
const siteSeed = 2022

// readAir reads the air set: NO2 from 14 inputs, four sites.
func readAir(files []string) (*Set, error) {
	var all [][]sets.Example
	for _, file := range files {
		rows, err := sets.Air(file, airSiteClients*(siteOwn+3*siteOther))
		if err != nil {
			return nil, err
		}
		all = append(all, rows)
	}
	s := &Set{name: "air", columns: sets.AirInputs()}
	s.dealSites(all, airSiteClients)
	return s, nil
}

// readWEC reads the wec set: total power from 48 inputs, four sites.
func readWEC(files []string) (*Set, error) {
	s := &Set{name: "wec"}
	var all [][]sets.Example
	for _, file := range files {
		t, err := sets.WEC(file, wecSiteClients*(siteOwn+3*siteOther))
		if err != nil {
			return nil, err
		}
		s.columns, all = t.Columns, append(all, sets.Examples(t))
	}
	s.dealSites(all, wecSiteClients)
	return s, nil
}

// readUJI reads the uji set: the latitude from 520 access points, in file order, 500 consecutive rows to a client.
func readUJI(files []string) (*Set, error) {
	const clients = 42
	t, err := sets.UJI(files, clients*Rounds)
	if err != nil {
		return nil, err
	}
	all := sets.Examples(t)
	scaleExamples(all)
	s := &Set{name: "uji", columns: t.Columns}
	for k := range clients {
		s.deal(all[k*Rounds : (k+1)*Rounds])
	}
	return s, nil
}

// dealSites scales the sites' rows and gives each site's clients the next 350 of its rows and the next 50 of each
// other site, shuffled.
func (s *Set) dealSites(sites [][]sets.Example, clients int) {
	scaleExamples(sites...)
	next := make([]int, len(sites))
	rng := rand.New(rand.NewPCG(siteSeed, 0))
	for k := range len(sites) * clients {
		var own []sets.Example
		for site, rows := range sites {
			n := siteOther
			if site == k/clients {
				n = siteOwn
			}
			own = append(own, rows[next[site]:next[site]+n]...)
			next[site] += n
		}
		rng.Shuffle(len(own), func(a, b int) { own[a], own[b] = own[b], own[a] })
		s.deal(own)
	}
}

// scaleExamples divides inputs by the largest norm of all groups and moves targets to 0 to 1.
func scaleExamples(groups ...[]sets.Example) {
	norm, low, high := sets.Extent(groups...)
	for _, group := range groups {
		for i := range group {
			for c := range group[i].Inputs {
				group[i].Inputs[c] /= norm
			}
			group[i].Target = (group[i].Target - low) / (high - low)
		}
	}
}

// deal gives rows to the next client.
func (s *Set) deal(rows []sets.Example) {
	var inputs [][]float64
	var labels []float64
	for _, e := range rows {
		inputs, labels = append(inputs, e.Inputs), append(labels, e.Target)
	}
	s.Rows, s.Labels = append(s.Rows, inputs), append(s.Labels, labels)
}
