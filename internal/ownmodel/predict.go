package ownmodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/wording"

	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/terminal"
)

// Report is what predicting with a client's own model came to, as JSON.
type Report struct {
	Job       string    `json:"job"`
	Contract  string    `json:"contract"`
	Party     string    `json:"party"`
	Algorithm string    `json:"algorithm"`
	Round     int       `json:"round"` // that the model has seen
	Rounds    int       `json:"rounds"`
	Networks  []Network `json:"networks,omitempty"` // that it predicts with
	Held      *float64  `json:"held,omitempty"`     // of the client's trust in all networks, what these have
	Rows      int       `json:"rows"`
	Labelled  int       `json:"labelled"` // rows that had a label
	MSE       *float64  `json:"mse,omitempty"`
	Accuracy  *float64  `json:"accuracy,omitempty"`
}

// Network is one network that predicts.
type Network struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// Predict predicts the rows of a file, which are called by the column id or, where it is empty, by their number. The
// predictions are CSV.
func Predict(ctx context.Context, m *clients.Model, path, id string) (_ []byte, _ *Report, err error) {
	p := m.Portable()
	r := &Report{
		Job: p.Job, Contract: p.Contract, Party: p.Party, Algorithm: p.Algorithm, Round: p.Round, Rounds: p.Rounds,
	}
	if p.Networks != nil {
		r.Held = new(float64)
		for _, n := range p.Networks {
			if n.Weight != nil {
				r.Networks = append(r.Networks, Network{n.Name, *n.Weight})
				*r.Held += *n.Share
			}
		}
		slices.SortStableFunc(r.Networks, func(a, b Network) int { return cmp.Compare(b.Weight, a.Weight) })
	}
	classes := p.Label.Classes > 0
	rows, err := stream.OpenBare(path, stream.Bare{Label: p.Label.Column, Columns: m.Columns(), ID: id})
	if err != nil {
		return nil, nil, fmt.Errorf("%w; %s's model of %s reads the columns %s", err, m.Party, m.Contract.Job.Name,
			strings.Join(m.Columns(), ", "))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	head := []string{cmp.Or(id, "row"), "prediction"}
	if classes {
		head = []string{head[0], "class", "probability"}
	}
	w.Write(head) // into memory: never fails
	wrong := 0.0  // summed, squared or counted
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		p, err := m.Predict(row.Number, row.Inputs)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		cells := []string{strconv.Itoa(row.Number), number(p.Value)}
		if id != "" {
			cells[0] = row.ID
		}
		if classes {
			cells = append(cells, number(p.Probability))
		}
		w.Write(cells)
		r.Rows++
		if math.IsNaN(row.Label) {
			continue
		}
		r.Labelled++
		switch {
		case !classes:
			wrong += (p.Value - row.Label) * (p.Value - row.Label)
		case p.Value != row.Label:
			wrong++
		}
	}
	w.Flush()
	mean := wrong / float64(r.Labelled)
	switch {
	case r.Labelled == 0:
	case classes:
		mean = 1 - mean
		r.Accuracy = &mean
	default:
		r.MSE = &mean
	}
	return out.Bytes(), r, nil
}

// number writes a number so that it is read back as it was.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Print says for people what was done.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%d rows predicted with %s's own model of %s; nothing left this machine\n", r.Rows, r.Party, r.Job)
	if r.Round < r.Rounds {
		fmt.Fprintf(w, "it has seen %d of the job's %d rounds: %s had no part in the others\n", r.Round, r.Rounds, r.Party)
	}
	if len(r.Networks) > 0 {
		var names []string
		for _, n := range r.Networks {
			names = append(names, fmt.Sprintf("%s (%s)", terminal.Printable(n.Name), terminal.Percent(n.Weight)))
		}
		fmt.Fprint(w, wording.Wrap(80, "", fmt.Sprintf("it is the mean of the networks held at the end: %s; they have %s "+
			"of its trust in all", strings.Join(names, ", "), terminal.Percent(*r.Held))))
	}
	switch {
	case r.MSE != nil:
		fmt.Fprintf(w, "mean squared error %.6g over %d labels\n", *r.MSE, r.Labelled)
	case r.Accuracy != nil:
		fmt.Fprintf(w, "accuracy %s over %d labels\n", terminal.Percent(*r.Accuracy), r.Labelled)
	}
}
