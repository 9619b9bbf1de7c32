package online

import (
	"bufio"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// generate draws rows one after the other, as next returns them.
func generate(columns []string, label string, rows int, next func(row int) (x []float64, y float64)) *Stream {
	s := &Stream{Columns: columns, Label: label}
	for i := range rows {
		x, y := next(i)
		s.Inputs, s.Labels = append(s.Inputs, x), append(s.Labels, y)
	}
	return s
}

// generator draws what all made-up streams are made of.
type generator struct{ *rand.Rand }

// between draws a number from a range.
func (g generator) between(lo, hi float64) float64 { return lo + (hi-lo)*g.Float64() }

// lasting returns the next value of what lasts, weather for example: autoregressive of order 1, of variance 1.
func (g generator) lasting(v, memory float64) float64 {
	return memory*v + math.Sqrt(1-memory*memory)*g.NormFloat64()
}

// logistic maps a number to a share.
func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// clamp returns the number of a range that is nearest to v.
func clamp(v, lo, hi float64) float64 { return min(hi, max(lo, v)) }

// bump is 1 at an hour of every day and fades within some three hours around it.
func bump(hours float64) float64 {
	away := math.Remainder(hours, 24) / 3
	return math.Exp(-away * away)
}

// Stream is one client's rows, in the order of time.
type Stream struct {
	Columns []string    // of the inputs
	Label   string      // the label's column
	Inputs  [][]float64 // [row][column]
	Labels  []float64   // [row]
}

// Rows returns the stream from one row to before another, both from 0. They share the numbers.
func (s *Stream) Rows(from, to int) *Stream {
	return &Stream{Columns: s.Columns, Label: s.Label, Inputs: s.Inputs[from:to], Labels: s.Labels[from:to]}
}

// Write writes the stream as a CSV file from which the same numbers are read, to the last bit.
func (s *Stream) Write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	w.WriteString(strings.Join(append(s.Columns[:len(s.Columns):len(s.Columns)], s.Label), ",") + "\n")
	for i, x := range s.Inputs {
		var line []byte
		for _, v := range x {
			line = append(strconv.AppendFloat(line, v, 'g', -1, 64), ',')
		}
		w.Write(append(strconv.AppendFloat(line, s.Labels[i], 'g', -1, 64), '\n'))
	}
	return w.Flush() // tells of the first write that failed
}
