package sets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// Example is a row with its target.
type Example struct {
	Inputs []float64
	Target float64
}

// AirInputs are the inputs of the air set; the wind's direction counts its values as they first appear.
func AirInputs() []string {
	return []string{"month", "day", "hour", "PM2.5", "PM10", "SO2", "CO", "O3", "TEMP", "PRES", "DEWP", "RAIN",
		"wd", "WSPM"}
}

// Examples turns a table's rows into examples.
func Examples(t *Table) []Example {
	all := make([]Example, len(t.Rows))
	for i, row := range t.Rows {
		all[i] = Example{row, t.Target[i]}
	}
	return all
}

// Air reads the first rows of a site.
func Air(path string, count int) (rows []Example, err error) {
	err = Read(path, func(r io.Reader) (err error) {
		rows, err = ReadSite(r, count)
		return err
	})
	return rows, err
}

// ReadSite reads the first rows without missing values, which are in the order of time.
func ReadSite(r io.Reader, count int) ([]Example, error) {
	lines := csv.NewReader(r)
	head, err := lines.Read()
	if err != nil {
		return nil, err
	}
	var places []int
	for _, name := range append(AirInputs(), "NO2") {
		at := slices.Index(head, name)
		if at < 0 {
			return nil, fmt.Errorf("there is no column %q", name)
		}
		places = append(places, at)
	}
	var rows []Example
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
func airRow(line []string, places []int, winds map[string]int) (Example, error) {
	var e Example
	for i, at := range places {
		name := append(AirInputs(), "NO2")[i]
		if name == "wd" {
			if _, ok := winds[line[at]]; !ok {
				winds[line[at]] = len(winds)
			}
			e.Inputs = append(e.Inputs, float64(winds[line[at]]))
			continue
		}
		v, err := Number(line[at])
		if err != nil {
			return Example{}, fmt.Errorf("column %q: %w", name, err)
		}
		if name == "NO2" {
			e.Target = v
		} else {
			e.Inputs = append(e.Inputs, v)
		}
	}
	return e, nil
}

// Number reads a number.
func Number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the value is %.40q, want a finite number", s)
	}
	return v, nil
}

// Extent returns the largest norm of the inputs and the range of the targets.
func Extent(groups ...[]Example) (norm, low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, group := range groups {
		for _, e := range group {
			sum := 0.0
			for _, v := range e.Inputs {
				sum += v * v
			}
			norm, low, high = max(norm, math.Sqrt(sum)), min(low, e.Target), max(high, e.Target)
		}
	}
	return norm, low, high
}

// AirLabel is the column that the air set's clients foretell.
const AirLabel = "NO2"
