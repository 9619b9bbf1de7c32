package glm

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// CardRow is a bin of a scorecard as one party knows it.
type CardRow struct {
	Party  string `json:"party"`
	Column string `json:"column,omitempty"` // empty of another party's, which alone knows them
	Number int    `json:"number"`           // of the bin among all of its party, from 1 on
	Bin    string `json:"bin,omitempty"`    // what is in it; empty of another party's
	Points *int64 `json:"points,omitempty"` // what it adds; nil where they did not open to this party

	// Z is its z-score: by how many standard errors its coefficient is above that of the mean bin of its column; nil where
	// it did not open to this party.
	Z *float64 `json:"z,omitempty"`
}

// unsure is the z-score below which a bin's points may be chance.
const unsure = 2

// Unsure counts the bins whose z-score is between -2 and 2: one in twenty of bins that say nothing is beyond that.
func (c *Card) Unsure() (of, unsureBins int) {
	for _, r := range c.Rows {
		if r.Z != nil {
			of++
			if math.Abs(*r.Z) < unsure {
				unsureBins++
			}
		}
	}
	return of, unsureBins
}

// Card is a scorecard as one party knows it: 20 points double the odds of the class that the party takes for the event.
type Card struct {
	Label string    `json:"label"`
	Class string    `json:"class"`          // whose odds they are
	Base  *int64    `json:"base,omitempty"` // of a row that is in no bin; nil where it did not open to this party
	Rows  []CardRow `json:"bins"`

	NotConverged string `json:"not_converged,omitempty"` // why points did not open, where the training says so
	Opened       bool   `json:"-"`                       // that points opened to this party
}

// CardOf reads a scorecard from a party's part of the model.
func CardOf(part joint.Part, self string) (*Card, error) {
	m := fdskl.Of(part)
	if m == nil || !m.Params.Binned() {
		return nil, fmt.Errorf("the model is one of a kernel and has no bins: scorecards are of jobs with algorithm \"glm\"")
	}
	c := &Card{Opened: m.Points != nil, Label: m.Params.Label, Class: part.Model().Event(), NotConverged: m.NotConverged()}
	if m.Points != nil {
		c.Base = turned(m, m.Points.Base)
	}
	for i, name := range m.Names {
		var points, z []int64
		if m.Points != nil {
			if at := slices.Index(m.Points.Owners, name); at >= 0 {
				points = m.Points.Bins[at]
			}
		}
		if m.ZScores != nil {
			if at := slices.Index(m.ZScores.Owners, name); at >= 0 {
				z = m.ZScores.Bins[at]
			}
		}
		if name != self && points == nil && z == nil {
			continue
		}
		rows := make([]CardRow, m.Params.PartyBins[i])
		for k := range rows {
			rows[k] = CardRow{Party: name, Number: k + 1}
			if points != nil {
				rows[k].Points = turned(m, &points[k])
			}
			if z != nil {
				score := fdskl.ZScore(*turned(m, &z[k]))
				rows[k].Z = &score
			}
		}
		if name == self && m.Normaliser != nil {
			nameBins(rows, m.Normaliser)
		}
		c.Rows = append(c.Rows, rows...)
	}
	return c, nil
}

// turned returns a number of a scorecard as one of the event.
func turned(m *fdskl.Model, number *int64) *int64 {
	if number == nil || !m.Turned {
		return number
	}
	of := -*number
	return &of
}

// nameBins says of a party's own bins what they are.
func nameBins(rows []CardRow, n *kernel.Normaliser) {
	at := 0
	for i := range n.Columns {
		s := &n.Columns[i]
		if s.Scaling != kernel.Binned {
			continue
		}
		for _, label := range s.Bins.Labels() {
			if at < len(rows) {
				rows[at].Column, rows[at].Bin = s.Column, label
				at++
			}
		}
	}
}

// CSV renders a scorecard as a table: one line for each bin, and one of party "" for the base.
func (c *Card) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"party", "column", "number", "bin", "points", "z"})
	text := func(points *int64) string {
		if points == nil {
			return ""
		}
		return strconv.FormatInt(*points, 10)
	}
	if c.Base != nil {
		w.Write([]string{"", "", "0", "base", text(c.Base), ""})
	}
	for _, r := range c.Rows {
		z := ""
		if r.Z != nil {
			z = strconv.FormatFloat(*r.Z, 'f', 2, 64)
		}
		w.Write([]string{r.Party, r.Column, strconv.Itoa(r.Number), r.Bin, text(r.Points), z})
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
