// Package mean has an algorithm over clients' streams that the program does not know: the mean of all clients' labels.
// Tests add it to the list of a federation's nodes, and to the list of the program. Who adds an algorithm over clients
// finds here all that one needs.
package mean

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The kinds of what a server and its clients send each other.
const (
	kindMean   = "mean"   // of all labels so far, to the clients
	kindLabels = "labels" // the sum of one label of each client
)

// Algorithm is the mean, as nodes and auditors know it.
func Algorithm() *federated.Algorithm {
	return &federated.Algorithm{
		Name: "mean", Private: "the mean is",
		Read: func(j *contract.Job, _ int) (federated.Job, error) {
			label, _ := j.Parameters["label"].(string)
			rounds, _ := j.Parameters["rounds"].(int64)
			if len(j.Servers) != 1 || label == "" || rounds < 1 {
				return nil, fmt.Errorf("servers is %v, label %q, rounds %d, want one server, a name and a number from 1 on",
					j.Servers, label, rounds)
			}
			return &job{j, label, int(rounds)}, nil
		},
		Lens: func(c *contract.Contract, _ int) (federated.Lens, error) {
			return &lens{&job{of: c.Job}, make(map[int]int)}, nil
		},
		Summed: func(j *contract.Job, server string) (clients float64, beside string) {
			return float64(len(j.ClientsOf(j.Index(server)))), ""
		},
	}
}

// job implements federated.Job.
type job struct {
	of     *contract.Job
	label  string
	rounds int
}

func (j *job) Stream() (label string, inputs []string)          { return j.label, nil }
func (j *job) Brings(federated.Folder) (columns int, err error) { return 0, nil }
func (j *job) sum() federated.Sum {
	return federated.Finest(kindLabels, 1, 1, len(j.of.Parties))
}

func (j *job) Serve(ctx context.Context, s *federated.Session) error {
	p := &server{job: j, network: s.Server}
	p.service = federated.Service{Name: j.of.Servers[0], Vault: s.Vault, Rounds: j.rounds, Report: s.Report}
	return federated.Serve(ctx, &p.service, p)
}

func (j *job) RunClient(ctx context.Context, s *federated.Session) error {
	rows, err := s.Rows(j.Stream())
	if err != nil {
		return err
	}
	p := &client{job: j, network: s.Client, rows: rows}
	p.attendance = federated.Attendance{Name: j.of.Parties[s.Self], Awaited: "the mean", Network: s.Client, Vault: s.Vault,
		Report: s.Report}
	return federated.RunClient(ctx, &p.attendance, p)
}

// Disclose has the server hold one round for all.
func (j *job) Disclose(all []contract.Facts) (d federated.Disclosure, err error) {
	t := federated.Trace{Published: j.of.Privacy == federated.Published, Names: j.of.Servers}
	n := t.Server(len(all) - 1)
	if err := n.Hold(context.Background(), j.rounds, &server{job: j, network: n}); err != nil {
		return d, err
	}
	d = t.Disclosure()
	for _, f := range all {
		o := contract.Opening{To: f.Name, Kind: kindMean, Count: n.Of(kindMean).Times, Meaning: "the mean of all labels"}
		if f.Name == j.of.Servers[0] {
			o.Kind, o.Count, o.Meaning = kindLabels, n.Of(kindLabels).Opens, "the sum of one label of each client, once a round"
		}
		d.Openings = append(d.Openings, o)
	}
	return d, nil
}

func (j *job) Model(_ *contract.Contract, _ int, data []byte) (federated.Model, error) {
	m := new(model)
	return m, json.Unmarshal(data, m)
}

// model is what a party has learned, and its state.
type model struct {
	Sum    float64 // of labels, at the server
	Labels int     // in it
	Mean   float64 // 0 before the first label
	Rounds int     // that the party has seen
	Row    int     // of a client, the last one learned
	Inputs []string
}

func (m *model) Round() int                { return m.Rounds }
func (m *model) Columns() []string         { return m.Inputs }
func (m *model) Portable() *portable.Model { return &portable.Model{Rounds: m.Rounds} }
func (m *model) Predict(int, []float64) (federated.Prediction, error) {
	return federated.Number(m.Mean), nil
}

// read takes up what State has written.
func (m *model) read(state []byte) error {
	if state == nil {
		return nil
	}
	return json.Unmarshal(state, m)
}

// server is the server's part.
type server struct {
	*job
	network federated.Server
	service federated.Service
	state   model
}

func (s *server) Resume(_ context.Context, state []byte) error {
	err := s.state.read(state)
	s.service.Held = s.state.Rounds
	return err
}
func (s *server) State() ([]byte, error) {
	s.state.Rounds = s.service.Held
	return json.Marshal(s.state)
}
func (s *server) Model() ([]byte, error) { return s.State() }

func (s *server) Round(ctx context.Context) (clients int, err error) {
	present := s.network.Present()
	for _, k := range present {
		if err := s.network.SendValues(ctx, k, kindMean, s.service.Held, []float64{s.state.Mean}); err != nil {
			return 0, err
		}
	}
	total, err := s.network.Sum(ctx, s.sum(), present)
	if err != nil || total == nil {
		return 0, err
	}
	m := &s.state
	m.Sum, m.Labels = m.Sum+total.Values[0], m.Labels+len(total.Clients)
	m.Mean = m.Sum / float64(m.Labels)
	return len(total.Clients), nil
}

// client is a client's part.
type client struct {
	*job
	network    federated.Client
	rows       federated.Stream
	attendance federated.Attendance
	state      model
}

func (c *client) Resume(_ context.Context, state []byte) error {
	err := c.state.read(state)
	c.attendance.Row, c.state.Inputs = c.state.Row, c.rows.Columns()
	return err
}
func (c *client) State() ([]byte, error) {
	c.state.Row = c.attendance.Row
	return json.Marshal(c.state)
}
func (c *client) Model() ([]byte, error) { return c.State() }

func (c *client) Receive(ctx context.Context) (m federated.Message, err error) {
	m.Round, m.Values, err = c.network.ReceiveValues(ctx, kindMean, 1)
	return m, err
}

func (c *client) Take(ctx context.Context, m federated.Message) (federated.Step, error) {
	s := federated.Step{Where: fmt.Sprintf("%s, round %d", c.attendance.Name, m.Round+1), Save: true, Of: "labels",
		Vector: []float64{0}, Sum: c.sum()}
	if m.Round < c.state.Rounds || m.Round >= c.job.rounds || len(m.Values) != 1 {
		return s, fmt.Errorf("%d numbers out of turn", len(m.Values))
	}
	c.state.Rounds, c.state.Mean = m.Round+1, m.Values[0]
	s.Progress = federated.Progress{Round: m.Round + 1, Rounds: c.job.rounds, Regret: math.NaN()}
	return s, c.attendance.LearnRows(ctx, c.rows, 1, federated.Learner{
		Predict: func([]float64) (float64, error) { return c.state.Mean, nil },
		Learn:   func(_ int, _, y float64) error { s.Vector[0] = y; return nil },
	})
}

// lens is what an auditor knows of a client's vector: it is the label of its newest row.
type lens struct {
	*job
	rows map[int]int // by client: learned
}

func (l *lens) Heard(m *federated.LensMessage) error    { l.rows[m.Client]++; return nil } // a round's mean
func (l *lens) Form() federated.LensForm                { return federated.LensForm{Sum: l.sum(), Factor: 1} }
func (l *lens) Learned(client int) (from, to int)       { return l.rows[client] - 1, l.rows[client] }
func (l *lens) Update(_ []float64, y float64) []float64 { return []float64{y} }
func (l *lens) Rebuild(_ context.Context, v *federated.LensVector) ([]federated.LensRow, error) {
	return []federated.LensRow{{Y: v.Values[0] / float64(len(v.Clients))}}, nil
}
