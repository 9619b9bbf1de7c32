package forecasts

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
)

// forecastLab runs jobs and notes their forecasts.
type forecastLab struct {
	program string
	dir     string
	repeat  int
	log     io.Writer
	report  *Report
}

// federation calls do with a federation of processes for members, whose tables write puts into folders below dir.
func (l *forecastLab) federation(ctx context.Context, names []string, write func(dir string) error,
	do func(*processes) error) (err error) {
	dir, err := os.MkdirTemp(l.dir, "federation-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := write(dir); err != nil {
		return err
	}
	network, err := localnet.Found(dir, names, fdskl.Published)
	if err != nil {
		return err
	}
	network.Program = l.program
	defer func() { err = errors.Join(err, network.Stop()) }()
	if err := network.Start(ctx, func(string) localnet.Node {
		n := localnet.Columns(0)
		n.Silence = time.Minute // heartbeats wait for a busy machine
		return n
	}); err != nil {
		return err
	}
	return do(&processes{network, l})
}

// processes are a federation's.
type processes struct {
	*localnet.Federation
	lab *forecastLab
}

// run runs a job that the first party proposes, notes how it went, and returns its contract.
func (p *processes) run(ctx context.Context, name, what string, job *contract.Job) (string, error) {
	job.Format, job.Parties = "hanse-job-v1", p.Names
	h, _, err := p.Propose(ctx, job, nil)
	if err != nil {
		return "", err
	}
	load, before := lab.Load(), p.CPU()
	begin := func(e jobs.Event) { // consent has its own costs
		if e.Kind == jobs.EventState {
			before = p.CPU()
		}
	}
	if _, err := p.Run(ctx, h, begin); err != nil {
		return "", err
	}
	cpu := (p.CPU() - before) / float64(runtime.NumCPU())
	all, err := p.Reports(ctx, h)
	if err != nil {
		return "", err
	}
	var reports []*jobs.Report
	for _, party := range p.Names {
		reports = append(reports, all[party])
	}
	return h, p.lab.note(name, what, load, cpu, reports)
}

// training is a job that trains, with these parameters.
func training(privacy string, params fdskl.Params) (*contract.Job, error) {
	job := &contract.Job{Name: "lab", Algorithm: contract.FDSKL, Task: contract.TaskTrain, Privacy: privacy,
		Topology: contract.Tree.String(), Table: "train", Record: contract.RecordDigests}
	return job, job.SetParameters(params)
}

// prediction is a job that scores for the first party.
func prediction(privacy, model, to string) *contract.Job {
	return &contract.Job{Name: "lab", Algorithm: contract.FDSKL, Task: contract.TaskPredict, Privacy: privacy,
		Topology: contract.Tree.String(), Table: "test", Record: contract.RecordDigests, Model: model, OpenTo: to}
}

// alignment is a job that finds the common rows of a table.
func alignment(name, table string) *contract.Job {
	return &contract.Job{Name: name, Algorithm: contract.PSI, Task: contract.TaskAlign, Privacy: keys.PrivacySealed,
		Table: table, Record: contract.RecordDigests}
}

// demo is what hanse demo does unless it is told otherwise.
func (l *forecastLab) demo(ctx context.Context, people int) error {
	const overlap, seed, name = 0.6, 1, "demo"
	held, _ := trial.Credit(people, seed).Apart(overlap, seed)
	return l.federation(ctx, held.Names, held.Write, func(p *processes) error {
		for range l.repeat {
			for _, table := range []string{"train", "test"} {
				if _, err := p.run(ctx, name, "align "+table, alignment(table+"-rows", table)); err != nil {
					return err
				}
			}
			params := fdskl.Params{Active: held.Names[:1], Label: held.Label, Target: joint.Classification,
				Loss: kernel.Square.String(), Seed: strconv.Itoa(seed), Keeper: held.Names[1], Helper: held.Names[2]}
			job, err := training(fdskl.Sealed, params.WithDefaults())
			if err != nil {
				return err
			}
			job.Rows, job.Record = "train-rows", contract.RecordFull
			model, err := p.run(ctx, name, "train", job)
			if err != nil {
				return err
			}
			job = prediction(fdskl.Sealed, model, p.Names[0])
			job.Rows, job.Record = "test-rows", contract.RecordFull
			if _, err := p.run(ctx, name, "predict", job); err != nil {
				return err
			}
		}
		return nil
	})
}

// benchmark trains on a set, and scores its test rows.
func (l *forecastLab) benchmark(ctx context.Context, set *sets.Benchmark, data *trial.Data, privacy string,
	features int) error {
	params := fdskl.Params{Active: data.Names[:1], Label: data.Label, Loss: kernel.Square.String(), Sigma: set.Sigma,
		Features: features, Lambda: fdskl.Lambda(set.Lambda), Seed: "1", Scale: set.Scale}
	if privacy == fdskl.Sealed {
		params.Keeper, params.Helper, params.Iterations = data.Names[1], data.Names[2], 100
	}
	name := set.Name + " " + privacy
	return l.federation(ctx, data.Names, data.Write, func(p *processes) error {
		for range l.repeat {
			job, err := training(privacy, params.WithDefaults())
			if err != nil {
				return err
			}
			model, err := p.run(ctx, name, "train", job)
			if err != nil {
				return err
			}
			if _, err := p.run(ctx, name, "predict", prediction(privacy, model, p.Names[0])); err != nil {
				return err
			}
		}
		return nil
	})
}

// align finds the common rows of tables of so many rows, of which half are common, in each mode.
func (l *forecastLab) align(ctx context.Context, rows int) error {
	for _, parties := range []int{2, 4} {
		names := trial.PartyNames(parties)
		write := func(dir string) error {
			for i, name := range names {
				if err := writeIDs(filepath.Join(dir, name), i, rows); err != nil {
					return err
				}
			}
			return nil
		}
		name := fmt.Sprintf("%d x %d ids", parties, rows)
		if err := l.federation(ctx, names, write, func(p *processes) error {
			for range l.repeat {
				if _, err := p.run(ctx, name, "align", alignment("lab", "train")); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// writeIDs writes a party's tables: half of the ids are of all parties, half its own.
func writeIDs(dir string, party, rows int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, table := range []string{"train.csv", "test.csv"} {
		err := lab.WriteFile(filepath.Join(dir, table), func(w io.Writer) error {
			out := csv.NewWriter(w)
			err := out.Write([]string{"id", "x"})
			for i := range rows {
				id := i
				if i >= rows/2 {
					id += party * rows
				}
				err = errors.Join(err, out.Write([]string{strconv.Itoa(id), strconv.Itoa(i % 7)}))
			}
			out.Flush()
			return errors.Join(err, out.Error())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
