package online

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
)

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
