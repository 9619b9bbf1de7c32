package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The jobs that trials disturb.
const (
	sceneSealed    = fdskl.Sealed
	sceneMasked    = fdskl.Masked
	scenePublished = fdskl.Published
	scenePOFMKL    = contract.POFMKL
	sceneGFML      = contract.GFML
)

// scene is a job with its parties and data. The data is the same in every trial.
type scene struct {
	name      string
	job       contract.Job
	tolerance float64 // of scores, as a share of their root mean square; of errors of clients, as a share of the error

	data   *trial.Data        // of a job over columns
	online *online.Federation // of a job over clients' streams
}

// result is what a job came to.
type result struct {
	scores map[string][]float64 // by party or table; predictions in the order of rows
	errors map[string]float64   // by party or table
}

// newScene makes a scene by its name.
func newScene(name string) (*scene, error) {
	switch name {
	case sceneSealed:
		return columnScene(name, 2000, fdskl.Params{Loss: "square", Features: 384, Lambda: 1e-2, Iterations: 800}, 0.15)
	case sceneMasked:
		return columnScene(name, 2400, fdskl.Params{Loss: "square", Features: 2048, Lambda: 1e-2}, 0.08)
	case scenePublished:
		return columnScene(name, 1500, fdskl.Params{Loss: "square", Features: 1024, Lambda: 1e-2}, 0.1)
	case scenePOFMKL:
		parks, err := online.NewParks(online.Options{Servers: 1, Clients: 4, Rounds: 300, Seed: 1})
		if err != nil {
			return nil, err
		}
		return clientScene(name, parks.Federation, parks.Parameters(), 0.4), nil
	case sceneGFML:
		sensors, err := online.NewSensors(online.Options{Servers: 2, Clients: 3, Rounds: 200, Seed: 1})
		if err != nil {
			return nil, err
		}
		return clientScene(name, sensors.Federation, sensors.Parameters(), 0.25), nil
	}
	return nil, fmt.Errorf("there is no job %q to disturb", name)
}

// columnScene is a training over the columns of four parties.
func columnScene(privacy string, people int, p fdskl.Params, tolerance float64) (*scene, error) {
	s := &scene{name: privacy, tolerance: tolerance, data: trial.Credit(people, 1)}
	p.Active, p.Label, p.Seed = s.data.Names[:1], s.data.Label, "1"
	s.job = contract.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: contract.FDSKL, Task: contract.TaskTrain, Parties: s.data.Names,
		Privacy: privacy, Table: "train", Record: contract.RecordFull,
	}
	return s, s.job.SetParameters(p.WithDefaults())
}

// clientScene is a learning from clients' streams.
func clientScene(algorithm string, f *online.Federation, parameters map[string]any, tolerance float64) *scene {
	return &scene{name: algorithm, tolerance: tolerance, online: f, job: contract.Job{
		Format: "hanse-job-v1", Name: "trial", Algorithm: algorithm, Task: contract.TaskTrain, Parties: f.Parties(),
		Servers: f.Servers, Privacy: fdskl.Masked, Topology: contract.Star.String(), Table: "train",
		Record: contract.RecordDigests, Parameters: parameters,
	}}
}

// proposer is who proposes the job.
func (s *scene) proposer() string { return s.job.Parties[0] }

// jobFile is the job's file in a federation's folder.
const jobFile = "job.toml"

// found writes data, key files, a charter and the job's file into a folder.
func (s *scene) found(dir, program string) (*federation, error) {
	least := fdskl.Masked
	if s.job.Privacy == fdskl.Published {
		least = fdskl.Published
	}
	l, err := localnet.Found(dir, s.job.Parties, least)
	if err != nil {
		return nil, err
	}
	if s.data != nil {
		err = s.data.Write(dir)
	}
	if s.online != nil {
		for name, stream := range s.online.Streams {
			err = errors.Join(err, stream.Write(l.Path(name, "train.csv")), l.Offer(name, "train", stream.Label))
		}
	}
	text, failed := s.job.Text()
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	l.Program = program
	f := &federation{
		Federation: l, scene: s, listen: make(map[string]string), special: make(map[string]localnet.Node),
	}
	return f, os.WriteFile(filepath.Join(dir, jobFile), text, 0o600)
}

// node is how a member's node is started.
func (s *scene) node(f *federation, name string) localnet.Node {
	n := f.special[name]
	n.Workers, n.ByHand, n.Listen = 1, f.byHand, f.listen[name]
	switch {
	case s.online == nil:
		n.Tables = []string{"train=train.csv", "test=test.csv"}
	case s.job.Serves(s.job.Index(name)):
		n.Neighbours = s.linksOf(name)
	default:
		n.Tables, n.Neighbours = []string{"train=train.csv"}, s.linksOf(name)
	}
	return n
}

// linksOf lists the members that a node keeps links with: all, or in a job over clients a client its server, and a
// server its clients and the other servers.
func (s *scene) linksOf(name string) (others []string) {
	self := s.job.Index(name)
	for i, other := range s.job.Parties {
		related := s.job.ServerOf(self) == i || s.job.ServerOf(i) == self || s.job.Serves(self) && s.job.Serves(i)
		if i != self && (related || s.online == nil) {
			others = append(others, other)
		}
	}
	return others
}

// propose runs the command that proposes the job.
func (f *federation) propose(name string) (*localnet.Process, error) {
	return f.run(name, "train", "--yes", "--json", "--dir", f.NodeDir(f.scene.proposer()), filepath.Join(f.Dir, jobFile))
}

// predict runs the command that scores a table for the proposer with a trained model.
func (f *federation) predict(name, contract, table string, more ...string) (*localnet.Process, error) {
	return f.run(name, append([]string{"predict", "--yes", "--dir", f.NodeDir(f.scene.proposer()), "--model", contract,
		"--table", table, "--out", f.scoresFile(name)}, more...)...)
}

// scoresFile is where a prediction's scores go.
func (f *federation) scoresFile(name string) string { return filepath.Join(f.Dir, name+".csv") }

// refusedError is what a command of the program said when it ended badly.
type refusedError struct{ said string }

func (e *refusedError) Error() string { return e.said }

// resultOf returns what a done job came to. A *refusedError is the program's own.
func (f *federation) resultOf(ctx context.Context, contract string) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, resultPatience)
	defer cancel()
	if f.scene.online != nil {
		return f.predictions(contract)
	}
	report, err := f.report(ctx, f.scene.proposer(), contract)
	if err != nil {
		return nil, err
	}
	r := &result{scores: make(map[string][]float64), errors: make(map[string]float64)}
	for _, table := range []string{"test", "train"} {
		c, err := f.predict("scores-"+table, contract, table)
		if err != nil {
			return nil, err
		}
		if err := c.Wait(ctx); err != nil {
			said := fmt.Sprintf("predict did not end within %s; it said: %s", resultPatience, lastWords(c))
			return nil, &refusedError{said}
		}
		if c.Code() != 0 {
			return nil, &refusedError{"predict: " + lastWords(c)}
		}
		if err := f.readScores(f.scoresFile("scores-"+table), table, r); err != nil {
			return nil, err
		}
	}
	if t := report.Trained; t != nil && t.TrainError != nil {
		r.errors["reported"] = *t.TrainError
	}
	return r, nil
}

// resultPatience bounds the wait for the result of a job that is done.
const resultPatience = 40 * time.Second

// readScores reads a scores file and compares it with the labels.
func (f *federation) readScores(path, table string, r *result) error {
	t, err := dataset.Read(path, dataset.Options{ID: "id"})
	if err != nil {
		return &refusedError{err.Error()}
	}
	column, err := t.Column("score")
	if err != nil {
		return &refusedError{err.Error()}
	}
	r.scores[table] = column.Values
	d := *f.scene.data
	if table == "train" {
		d.Test = d.Train
	}
	if r.errors[table], err = d.ScoresError(path, ""); err != nil {
		return &refusedError{err.Error()}
	}
	return nil
}

// report returns a member's report of a done job.
func (f *federation) report(ctx context.Context, name, contract string) (*jobs.Report, error) {
	client, err := f.Client(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*askPatience)
	defer cancel()
	r, err := client.Report(ctx, contract)
	if err != nil {
		return nil, &refusedError{fmt.Sprintf("report of %s: %v", name, err)}
	}
	if r.Contract != contract {
		return nil, &refusedError{fmt.Sprintf("the report of %s is of another job", name)}
	}
	return r, nil
}

// predictions reads the clients' predictions and compares them with their streams.
func (f *federation) predictions(contract string) (*result, error) {
	r := &result{scores: make(map[string][]float64), errors: make(map[string]float64)}
	for _, name := range f.scene.online.AllClients() {
		path := f.JobFile(name, contract, "predictions.csv")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, &refusedError{err.Error()}
		}
		labels := f.scene.online.Streams[name].Labels
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			row, value, _ := strings.Cut(line, ",")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || row != strconv.Itoa(i+1) || i >= len(labels) {
				return nil, &brokenError{fmt.Sprintf("predictions of %s: line %d is %q, want row %d", name, i+2, line, i+1)}
			}
			r.scores[name] = append(r.scores[name], v)
			e := f.scene.online.ErrorOf(v, labels[i])
			r.errors[name] += (e - r.errors[name]) / float64(i+1)
		}
	}
	return r, nil
}

// brokenError says that a result is wrong by its form.
type brokenError struct{ what string }

func (e *brokenError) Error() string { return e.what }

// errorTolerance is how far a training error may be from what the model's own predictions give.
const errorTolerance = 0.004

// serverLoses is how many iterations a killed server of gfml loses at most, and with it its clients as many rows: the
// documents say so, and the clients' logs say which.
const serverLoses = 10

// differs says how a result differs from the right one, "" when it does not, and how far at most. victim is who was
// away for a while.
func (s *scene) differs(got, want *result, victim string) (what string, off float64) {
	for name, right := range want.scores {
		scores := got.scores[name]
		if s.online != nil {
			lost := len(right) - len(scores)
			if strings.HasPrefix(victim, "server") && 0 < lost && lost < serverLoses {
				lost = 0
			}
			if lost != 0 && name != victim || len(scores) == 0 {
				return fmt.Sprintf("%s predicted %d rows of %d", name, len(scores), len(right)), off
			}
			if name == victim {
				continue
			}
			e, r := got.errors[name], want.errors[name]
			if off = max(off, math.Abs(e-r)/r); !(off <= s.tolerance) {
				return fmt.Sprintf("%s: mean squared error %.4g, %.4g without a fault", name, e, r), off
			}
			continue
		}
		if off = max(off, distance(scores, right)); !(off <= s.tolerance) {
			return fmt.Sprintf("scores of table %s are %.2f of their size away from those without a fault", name, off), off
		}
	}
	if reported, ok := got.errors["reported"]; ok && math.Abs(reported-got.errors["train"]) > errorTolerance {
		return fmt.Sprintf("the training says its error is %.4f, the model's predictions of its rows have %.4f",
			reported, got.errors["train"]), off
	}
	return "", off
}

// distance is how far scores are from the right ones, as a share of their root mean square.
func distance(scores, right []float64) float64 {
	if len(scores) != len(right) {
		return math.Inf(1)
	}
	var off, size float64
	for i, r := range right {
		off += (scores[i] - r) * (scores[i] - r)
		size += r * r
	}
	return math.Sqrt(off / size)
}

// contractOf reads the contract from what a command printed as JSON, "" when it printed none.
func contractOf(c *localnet.Process) string {
	var r jobs.Report
	text, _ := os.ReadFile(c.Out)
	if json.Unmarshal(text, &r) != nil {
		return ""
	}
	return r.Contract
}
