package gfml

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/lab"
)

const (
	Iterations   = 3000 // iterations of the full simulation
	tailLength   = 200  // the last iterations, which are averaged
	tolerance    = 0.3  // dB
	leastSharers = 3    // clients that should stand behind an entry of a total
)

// moment is where curves are read: one iteration, or the mean over the last ones.
type moment struct {
	name  string
	at    int       // 0: the last tailLength
	table []float64 // what is expected there, dB, in the order of the cases; nil: nothing
}

// momentsOf lists the moments that a simulation of so many iterations reaches.
func momentsOf(iterations int) []moment {
	all := []moment{
		{"n = 200", 200, []float64{-9.22, -7.44, -6.62, -5.23, -7.27, -6.12, -3.24}},
		{"n = 500", 500, []float64{-10.64, -9.72, -8.79, -8.19, -9.59, -8.52, -6.98}},
	}
	var list []moment
	for _, m := range all {
		if m.at <= iterations {
			list = append(list, m)
		}
	}
	end := moment{name: "end"}
	if iterations == Iterations {
		end.table = []float64{-11.83, -11.70, -11.43, -10.98, -11.67, -11.37, -10.86}
	}
	return append(list, end)
}

// read returns the value of a curve in dB.
func (m moment) read(curve []float64) float64 {
	if m.at > 0 {
		return decibels(curve[m.at/every-1])
	}
	tail := curve[max(0, len(curve)-tailLength/every):]
	sum := 0.0
	for _, v := range tail {
		sum += v / float64(len(tail))
	}
	return decibels(sum)
}

// decibels returns a power in dB.
func decibels(v float64) float64 { return 10 * math.Log10(v) }

// Curve is what the command reports of one case.
type Curve struct {
	Name         string    `json:"name"`
	Readings     []Reading `json:"readings"`
	PaperBytes   float64   `json:"paper_bytes"` // clients and servers, both ways, an iteration, as the paper counts
	SentBytes    float64   `json:"sent_bytes"`  // as sent
	ServerBytes  float64   `json:"server_bytes"`
	ExposedShare float64   `json:"exposed_share"` // of the entries of totals, those of fewer than three clients
	Points       []Point   `json:"points"`
}

// Reading is a curve at one moment.
type Reading struct {
	Moment     string   `json:"moment"`
	DB         float64  `json:"db"`
	Deviation  float64  `json:"deviation_db"` // between runs
	Table      *float64 `json:"table_db,omitempty"`
	Difference *float64 `json:"difference_db,omitempty"`
	Within     *bool    `json:"within,omitempty"` // tolerance
}

// Point is the mean over runs after an iteration, and one deviation between runs either way, in dB.
type Point struct {
	N    int     `json:"n"`
	DB   float64 `json:"db"`
	Low  float64 `json:"low_db"`
	High float64 `json:"high_db"`
}

// curvesOf sums the runs up.
func curvesOf(results [][][]float64, iterations int) ([]Curve, error) {
	var list []Curve
	for i, c := range settings() {
		curve := Curve{Name: c.name}
		// Counts an iteration's bytes and the entries that too few clients share, over the first iterations of the
		// first run.
		params, parties, _ := sectionIV(c, 1, iterations)
		plan, err := gfml.NewPlan(params, parties)
		if err != nil {
			return nil, err
		}
		rounds, sum, exposed, entries := min(iterations, 100), gfml.Traffic{}, 0, 0
		for n := range rounds {
			for s := range plan.Servers() {
				sum.Add(plan.Traffic(s, n))
				exposed += len(plan.Exposed(s, n, plan.Chosen(s, n), leastSharers))
				entries += len(plan.Layout(s, n))
			}
		}
		curve.PaperBytes = float64(sum.PaperDown+sum.PaperUp) / float64(rounds)
		curve.SentBytes = float64(sum.Down+sum.Up) / float64(rounds)
		curve.ServerBytes = float64(sum.Between) / float64(rounds)
		curve.ExposedShare = float64(exposed) / float64(entries)
		var mean []float64
		for p := range results[0][i] {
			at := lab.Spread(lab.Each(results, func(r [][]float64) float64 { return r[i][p] }))
			mean = append(mean, at.Mean)
			curve.Points = append(curve.Points, Point{
				N: (p + 1) * every, DB: decibels(at.Mean),
				Low: decibels(max(at.Mean-at.Deviation, at.Mean/1000)), High: decibels(at.Mean + at.Deviation),
			})
		}
		for _, m := range momentsOf(iterations) {
			curve.Readings = append(curve.Readings, m.reading(mean, results, i))
		}
		list = append(list, curve)
	}
	return list, nil
}

// reading compares the mean curve of case i at a moment with the table.
func (m moment) reading(mean []float64, results [][][]float64, i int) Reading {
	between := lab.Spread(lab.Each(results, func(run [][]float64) float64 { return m.read(run[i]) }))
	r := Reading{Moment: m.name, DB: m.read(mean), Deviation: between.Deviation}
	if m.table != nil {
		difference := r.DB - m.table[i]
		within := math.Abs(difference) <= tolerance
		r.Table, r.Difference, r.Within = &m.table[i], &difference, &within
	}
	return r
}
