package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/stream"
)

// ownReport is what predicting with a client's own model came to, as --json prints it.
type ownReport struct {
	Job       string       `json:"job"`
	Contract  string       `json:"contract"`
	Party     string       `json:"party"`
	Algorithm string       `json:"algorithm"`
	Round     int          `json:"round"` // that the model has seen
	Rounds    int          `json:"rounds"`
	Networks  []ownNetwork `json:"networks,omitempty"` // that it predicts with
	Held      *float64     `json:"held,omitempty"`     // of the client's trust in all networks, what these have
	Rows      int          `json:"rows"`
	Labelled  int          `json:"labelled"` // rows that had a label
	MSE       *float64     `json:"mse,omitempty"`
	Accuracy  *float64     `json:"accuracy,omitempty"`

	errors float64 // summed, squared or counted
}

// ownNetwork is one network that predicts.
type ownNetwork struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// predictOwn predicts rows with what a job over clients left at this client. Nobody else takes part.
func predictOwn(c *cli.Context, client *node.Client, job *node.JobInfo) error {
	for _, name := range []string{"serve", "requests", "scores-per-row", "open-to"} {
		if c.IsSet(name) {
			return usagef("--%s is for models in parts, which parties use together; %s of %s is %s's own, and nothing "+
				"of it leaves this machine", name, job.Name, job.Algorithm, job.Self)
		}
	}
	if slices.Contains(job.Servers, job.Self) {
		return fmt.Errorf("%s is a server of job %q: rows and labels are its clients', and they predict; hanse model "+
			"export --job %s --out FOLDER --dir %s writes what the server has", job.Self, job.Name, job.Name, c.String("dir"))
	}
	m, err := node.ReadOwnModel(c.String("dir"), job)
	if err != nil {
		return err
	}
	path, err := ownRows(c, client)
	if err != nil {
		return err
	}
	if rows, err := os.Stat(path); err == nil && c.IsSet("out") {
		if out, err := os.Stat(c.String("out")); err == nil && os.SameFile(rows, out) {
			return usagef("--out is %s, the file with the rows: predictions would take their place; name another", c.String("out"))
		}
	}
	p := m.Portable()
	report := newOwnReport(p)
	data, err := report.predict(c, m, p.Label, path)
	if err != nil {
		return err
	}
	if c.String("out") != "" || !c.Bool("json") {
		if err := writeOut(c, data); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c, report)
	}
	report.print(c.App.ErrWriter)
	return nil
}

// ownRows returns the file with the rows to predict.
func ownRows(c *cli.Context, client *node.Client) (string, error) {
	if path := c.String("data"); path != "" {
		if c.IsSet("table") {
			return "", usagef("--data names a file and --table one of the node's tables: give one of them")
		}
		return path, nil
	}
	path, err := client.TablePath(c.Context, c.String("table"))
	if node.NoNode(err) {
		return "", fmt.Errorf("no node runs in %s, and only a node knows its tables: name a file with --data FILE",
			c.String("dir"))
	}
	return path, err
}

// newOwnReport begins a report.
func newOwnReport(p *portable.Model) *ownReport {
	r := &ownReport{
		Job: p.Job, Contract: p.Contract, Party: p.Party, Algorithm: p.Algorithm, Round: p.Round, Rounds: p.Rounds,
	}
	if p.Networks == nil {
		return r
	}
	r.Held = new(float64)
	for _, n := range p.Networks {
		if n.Weight != nil {
			r.Networks = append(r.Networks, ownNetwork{n.Name, *n.Weight})
			*r.Held += *n.Share
		}
	}
	slices.SortStableFunc(r.Networks, func(a, b ownNetwork) int { return cmp.Compare(b.Weight, a.Weight) })
	return r
}

// predict returns the predictions of a file's rows as CSV.
func (r *ownReport) predict(c *cli.Context, m *node.OwnModel, label portable.Label, path string) (_ []byte, err error) {
	rows, err := stream.OpenBare(path, stream.Bare{Label: label.Column, Columns: m.Columns(), ID: c.String("id")})
	if err != nil {
		return nil, fmt.Errorf("%w; %s's model of %s reads the columns %s", err, m.Party, m.Contract.Job.Name,
			strings.Join(m.Columns(), ", "))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	head := []string{cmp.Or(c.String("id"), "row"), "prediction"}
	if label.Classes > 0 {
		head = []string{head[0], "class", "probability"}
	}
	w.Write(head) // into memory: never fails
	for {
		row, err := rows.Next(c.Context)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		p, err := m.Predict(row.Number, row.Inputs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		cells := []string{strconv.Itoa(row.Number), number(p.Value)}
		if c.String("id") != "" {
			cells[0] = row.ID
		}
		if label.Classes > 0 {
			cells = append(cells, number(p.Probability))
		}
		w.Write(cells)
		r.count(p.Value, row.Label, label.Classes > 0)
	}
	w.Flush()
	r.conclude(label.Classes > 0)
	return out.Bytes(), nil
}

// number writes a number so that it is read back as it was.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// count counts a row, and its error where it has a label.
func (r *ownReport) count(prediction, label float64, classes bool) {
	r.Rows++
	switch {
	case math.IsNaN(label):
		return
	case !classes:
		r.errors += (prediction - label) * (prediction - label)
	case prediction != label:
		r.errors++
	}
	r.Labelled++
}

// conclude makes the errors a mean.
func (r *ownReport) conclude(classes bool) {
	if r.Labelled == 0 {
		return
	}
	mean := r.errors / float64(r.Labelled)
	if classes {
		mean = 1 - mean
		r.Accuracy = &mean
		return
	}
	r.MSE = &mean
}

// print says for people what was done.
func (r *ownReport) print(w io.Writer) {
	fmt.Fprintf(w, "%d rows predicted with %s's own model of %s; nothing left this machine\n", r.Rows, r.Party, r.Job)
	if r.Round < r.Rounds {
		fmt.Fprintf(w, "it has seen %d of the job's %d rounds: %s had no part in the others\n", r.Round, r.Rounds, r.Party)
	}
	if len(r.Networks) > 0 {
		var names []string
		for _, n := range r.Networks {
			names = append(names, fmt.Sprintf("%s (%s)", printable(n.Name), percent(n.Weight)))
		}
		fmt.Fprint(w, node.Wrapped(80, "", fmt.Sprintf("it is the mean of the networks held at the end: %s; they have %s "+
			"of its trust in all", strings.Join(names, ", "), percent(*r.Held))))
	}
	switch {
	case r.MSE != nil:
		fmt.Fprintf(w, "mean squared error %.6g over %d labels\n", *r.MSE, r.Labelled)
	case r.Accuracy != nil:
		fmt.Fprintf(w, "accuracy %s over %d labels\n", percent(*r.Accuracy), r.Labelled)
	}
}

// percent writes a part of 1.
func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
