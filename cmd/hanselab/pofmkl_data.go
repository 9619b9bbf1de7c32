package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/lab/sets"
)

// pofmklSet is a data set dealt to clients: inputs divided by the largest norm of a row of the whole set,
// targets scaled to 0 to 1 over the whole set.
type pofmklSet struct {
	name    string
	columns []string
	rows    [][][]float64 // [K][T][columns]
	labels  [][]float64   // [K][T]
}

// example is a row with its target.
type example struct {
	inputs []float64
	target float64
}

// readPOFMKLSet reads one of the paper's sets from the data folder.
func readPOFMKLSet(name, dir string) (*pofmklSet, error) {
	readers := map[string]func([]string) (*pofmklSet, error){"air": readAir, "naval": readNaval, "uji": readUJI,
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
func readNaval(files []string) (*pofmklSet, error) {
	const clients, inputs = 23, 15
	path := files[0]
	var all []example
	err := sets.Read(path, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() && len(all) < clients*pofmklRounds {
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
	if len(all) < clients*pofmklRounds {
		return nil, fmt.Errorf("%s has %d rows, want %d", path, len(all), clients*pofmklRounds)
	}
	s := &pofmklSet{name: "naval"}
	for i := range inputs {
		s.columns = append(s.columns, fmt.Sprintf("column %d", i+2))
	}
	scaleExamples(all)
	for k := range clients {
		s.deal(all[k*pofmklRounds : (k+1)*pofmklRounds])
	}
	return s, nil
}

// navalRow reads a row of the naval set.
func navalRow(fields []string, inputs int) (example, error) {
	if len(fields) <= inputs {
		return example{}, fmt.Errorf("it has %d columns, want more than %d", len(fields), inputs)
	}
	var e example
	for c, f := range fields[:inputs+1] {
		v, err := parseFinite(f)
		if err != nil {
			return example{}, fmt.Errorf("column %d: %w", c+1, err)
		}
		if c == 0 {
			e.target = v
		} else {
			e.inputs = append(e.inputs, v)
		}
	}
	return e, nil
}

// airInputs are the inputs of the air set; the wind's direction counts its values as they first appear.
func airInputs() []string {
	return []string{"month", "day", "hour", "PM2.5", "PM10", "SO2", "CO", "O3", "TEMP", "PRES", "DEWP", "RAIN", "wd", "WSPM"}
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
func readAir(files []string) (*pofmklSet, error) {
	var all [][]example
	for _, file := range files {
		rows, err := readSiteFile(file, airSiteClients*(siteOwn+3*siteOther))
		if err != nil {
			return nil, err
		}
		all = append(all, rows)
	}
	s := &pofmklSet{name: "air", columns: airInputs()}
	s.dealSites(all, airSiteClients)
	return s, nil
}

// readWEC reads the wec set: total power from 48 inputs, four sites.
func readWEC(files []string) (*pofmklSet, error) {
	s := &pofmklSet{name: "wec"}
	var all [][]example
	for _, file := range files {
		t, err := sets.WEC(file, wecSiteClients*(siteOwn+3*siteOther))
		if err != nil {
			return nil, err
		}
		s.columns, all = t.Columns, append(all, examples(t))
	}
	s.dealSites(all, wecSiteClients)
	return s, nil
}

// readUJI reads the uji set: the latitude from 520 access points, in file order, 500 consecutive rows to a client.
func readUJI(files []string) (*pofmklSet, error) {
	const clients = 42
	t, err := sets.UJI(files, clients*pofmklRounds)
	if err != nil {
		return nil, err
	}
	all := examples(t)
	scaleExamples(all)
	s := &pofmklSet{name: "uji", columns: t.Columns}
	for k := range clients {
		s.deal(all[k*pofmklRounds : (k+1)*pofmklRounds])
	}
	return s, nil
}

// examples turns a table's rows into examples.
func examples(t *sets.Table) []example {
	all := make([]example, len(t.Rows))
	for i, row := range t.Rows {
		all[i] = example{row, t.Target[i]}
	}
	return all
}

// dealSites scales the sites' rows and gives each site's clients the next 350 of its rows and the next 50 of each
// other site, shuffled.
func (s *pofmklSet) dealSites(sites [][]example, clients int) {
	scaleExamples(sites...)
	next := make([]int, len(sites))
	rng := rand.New(rand.NewPCG(siteSeed, 0))
	for k := range len(sites) * clients {
		var own []example
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

// readSiteFile reads the first rows of a site.
func readSiteFile(path string, count int) (rows []example, err error) {
	err = sets.Read(path, func(r io.Reader) (err error) {
		rows, err = readSite(r, count)
		return err
	})
	return rows, err
}

// readSite reads the first rows without missing values, which are in the order of time.
func readSite(r io.Reader, count int) ([]example, error) {
	lines := csv.NewReader(r)
	head, err := lines.Read()
	if err != nil {
		return nil, err
	}
	var places []int
	for _, name := range append(airInputs(), "NO2") {
		at := slices.Index(head, name)
		if at < 0 {
			return nil, fmt.Errorf("there is no column %q", name)
		}
		places = append(places, at)
	}
	var rows []example
	winds := make(map[string]int)
	for len(rows) < count {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%d rows have no missing values, want %d", len(rows), count)
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(line, "NA") {
			continue
		}
		e, err := airRow(line, places, winds)
		if err != nil {
			at, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		rows = append(rows, e)
	}
	return rows, nil
}

// airRow reads a row of a site; winds are the directions so far.
func airRow(line []string, places []int, winds map[string]int) (example, error) {
	var e example
	for i, at := range places {
		name := append(airInputs(), "NO2")[i]
		if name == "wd" {
			if _, ok := winds[line[at]]; !ok {
				winds[line[at]] = len(winds)
			}
			e.inputs = append(e.inputs, float64(winds[line[at]]))
			continue
		}
		v, err := parseFinite(line[at])
		if err != nil {
			return example{}, fmt.Errorf("column %q: %w", name, err)
		}
		if name == "NO2" {
			e.target = v
		} else {
			e.inputs = append(e.inputs, v)
		}
	}
	return e, nil
}

// parseFinite reads a number.
func parseFinite(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the value is %.40q, want a finite number", s)
	}
	return v, nil
}

// scaleExamples divides inputs by the largest norm of all groups and moves targets to 0 to 1.
func scaleExamples(groups ...[]example) {
	norm, low, high := extent(groups...)
	for _, group := range groups {
		for i := range group {
			for c := range group[i].inputs {
				group[i].inputs[c] /= norm
			}
			group[i].target = (group[i].target - low) / (high - low)
		}
	}
}

// extent returns the largest norm of the inputs and the range of the targets.
func extent(groups ...[]example) (norm, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, group := range groups {
		for _, e := range group {
			sum := 0.0
			for _, v := range e.inputs {
				sum += v * v
			}
			norm, low, high = max(norm, math.Sqrt(sum)), min(low, e.target), max(high, e.target)
		}
	}
	return norm, low, high
}

// deal gives rows to the next client.
func (s *pofmklSet) deal(rows []example) {
	var inputs [][]float64
	var labels []float64
	for _, e := range rows {
		inputs, labels = append(inputs, e.inputs), append(labels, e.target)
	}
	s.rows, s.labels = append(s.rows, inputs), append(s.labels, labels)
}
