package sharding

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// The tasks that are measured.
const (
	trains   = "train"
	predicts = "predict"
)

// federation has a node process for each of four parties, and workers for a time.
type federation struct {
	*localnet.Federation
	options Options
	data    *trial.Data

	first  string            // the contract of the first training
	model  *fdskl.Model      // what the label holder has of it
	scores map[string]scored // of the first prediction
}

// scored is a row of a scores file.
type scored struct {
	text, class string
}

// found founds a federation over tables that are below dir.
func found(dir, program string, data *trial.Data, o Options) (*federation, error) {
	l, err := localnet.Found(dir, data.Names, fdskl.Masked)
	if err != nil {
		return nil, err
	}
	l.Program = program
	return &federation{Federation: l, options: o, data: data}, nil
}

// restart ends all nodes that run and starts them.
func (f *federation) restart(ctx context.Context) error {
	if err := f.Stop(); err != nil {
		return err
	}
	return f.Start(ctx, func(string) localnet.Node {
		n := localnet.Columns(0)
		n.Silence = time.Minute // heartbeats wait for a busy machine
		return n
	})
}

// job starts the text of a job.
func (f *federation) job(task, rows string, count int) *contract.Job {
	return &contract.Job{Format: "hanse-job-v1", Name: "lab", Algorithm: contract.FDSKL, Task: task, Parties: f.Names,
		Privacy: f.options.Privacy, Topology: contract.Tree.String(), Table: rows, Record: contract.RecordDigests,
		Shards: count}
}

// measure trains in so many shards and, where it is asked for, scores the test rows in as many.
func (f *federation) measure(ctx context.Context, count int) ([]Result, error) {
	job := f.job(contract.TaskTrain, "train", count)
	if err := job.SetParameters(f.options.params(f.data)); err != nil {
		return nil, err
	}
	training, r, _, err := f.run(ctx, job)
	if err != nil {
		return nil, err
	}
	r.Task = trains
	part, err := node.ReadModel(registry.Program(), f.JobFolder(f.Names[0], training))
	if err != nil {
		return nil, err
	}
	m := fdskl.Of(part)
	if f.first == "" {
		f.first, f.model = training, m
	}
	r.Same = m.Intercept == f.model.Intercept && m.Sigma == f.model.Sigma && slices.Equal(m.Alpha, f.model.Alpha)
	if f.options.Privacy == fdskl.Masked && !r.Same {
		return nil, errors.New("the coefficients are not those of the first training")
	}
	if !f.options.Predict {
		return []Result{*r}, nil
	}
	most := f.data.Test[0].Rows() / joint.ScoreRows // a shard has a block at the least
	job = f.job(contract.TaskPredict, "test", min(count, max(1, most)))
	job.Model, job.OpenTo = training, f.Names[0]
	_, p, report, err := f.run(ctx, job)
	if err != nil {
		return nil, err
	}
	p.Task = predicts
	return []Result{*r, *p}, f.compare(p, report.Scores)
}

// compare holds scores against those of the run without shards.
func (f *federation) compare(r *Result, path string) (err error) {
	if r.Error, err = f.data.ScoresError(path, joint.Classification); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	all := make(map[string]scored, len(lines))
	for _, line := range lines[1:] {
		all[line[0]] = scored{line[1], line[2]}
	}
	if f.scores == nil {
		f.scores = all
	}
	r.Same = len(all) == len(f.scores)
	var sum float64
	for id, s := range all {
		want := f.scores[id]
		if s.class != want.class {
			r.Flips++
		}
		if s == want {
			continue
		}
		r.Same = false
		var x [2]float64
		for i, text := range []string{s.text, want.text} {
			if x[i], err = strconv.ParseFloat(text, 64); err != nil {
				return err
			}
		}
		sum += (x[0] - x[1]) * (x[0] - x[1])
	}
	r.RMS = math.Sqrt(sum / float64(max(1, len(all))))
	if f.options.Privacy == fdskl.Masked && !r.Same {
		return errors.New("the scores are not those of the first prediction")
	}
	return nil
}

// run runs a job on nodes that have just been started, and workers beside them. Trainings have the phases of the first
// one.
func (f *federation) run(
	ctx context.Context, job *contract.Job,
) (hash string, r *Result, report *jobs.Report, err error) {
	if err := f.restart(ctx); err != nil {
		return "", nil, nil, err
	}
	r = &Result{Shards: job.Shards, Load: lab.Load(), Sides: make([]Side, len(f.Names))}
	begun := time.Now()
	if hash, _, err = f.Propose(ctx, job, nil); err != nil {
		return "", nil, nil, err
	}
	r.Prepare = time.Since(begun).Seconds()
	before := make([]float64, len(f.Names))
	for i, name := range f.Names {
		before[i] = localnet.CPUOf(f.Node(name).Pid())
		r.Sides[i].ReadCPU = before[i]
	}
	agreed := job.Task == contract.TaskTrain && f.first != "" // and under way
	if agreed {
		if err := f.agree(ctx, hash); err != nil {
			return "", nil, nil, err
		}
		clear(before) // they are new
	}
	told := make(lab.Steps)
	client, err := f.Client(f.Names[0])
	if err != nil {
		return "", nil, nil, err
	}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if agreed {
			report, err = client.Report(inner, hash)
		} else {
			report, err = client.Launch(inner, hash, told.Receive)
		}
		return err
	})
	for i := range f.Names {
		group.Go(func() error { return f.work(inner, i, hash, job.Shards, &r.Sides[i]) })
	}
	if err := group.Wait(); err != nil {
		return "", nil, nil, f.Explain(err)
	}
	r.Rows, r.Seconds = report.Rows, report.Seconds
	if err := f.account(ctx, hash, r, before); err != nil {
		return "", nil, nil, err
	}
	return hash, r, report, f.times(hash, r, told)
}

// agree has all parties consent to a training, and gives it the phases of the first one.
func (f *federation) agree(ctx context.Context, hash string) error {
	inner, cancel := context.WithCancel(ctx)
	starts := false
	_, err := f.Run(inner, hash, func(e jobs.Event) {
		if e.Kind == jobs.EventState && e.Text == "session 1 starts" {
			starts = true
			cancel()
		}
	})
	cancel()
	if !starts {
		return fmt.Errorf("the job did not start: %w", err)
	}
	if err := f.Stop(); err != nil {
		return err
	}
	for _, name := range f.Names {
		if err := errors.Join(samePhase(f.JobFolder(name, f.first), f.JobFolder(name, hash)),
			os.RemoveAll(filepath.Join(f.NodeDir(name), "parts"))); err != nil {
			return err
		}
	}
	return f.restart(ctx)
}

// samePhase gives a training whose session was stopped the phase of another of the same party, and takes back what that
// session had come to, so that both come to the same model. The arguments are the jobs' folders.
func samePhase(from, to string) error {
	var vaults [2]*vault.Vault
	for i, folder := range []string{from, to} {
		h, err := job.HashOf(folder)
		if err != nil {
			return err
		}
		if vaults[i], err = vault.Open(folder, vault.Options{Owner: h}); err != nil {
			return err
		}
		defer vaults[i].Close()
	}
	seed, err := fdskl.PhaseOf(vaults[0])
	if err == nil {
		err = vaults[1].Save(fdskl.PhaseFile, seed[:])
	}
	return errors.Join(err, columns.Clean(vaults[1]))
}

// work runs a party's workers, the first shards first.
func (f *federation) work(ctx context.Context, party int, hash string, count int, side *Side) error {
	if count == 0 {
		return nil
	}
	name := f.Names[party]
	log := f.Path(name, "workers.log")
	var places errgroup.Group
	places.SetLimit(count)
	if f.options.Parallel > 0 {
		places.SetLimit(f.options.Parallel)
	}
	keys, err := localnet.Start(localnet.Launch{Name: name + "/keys", Program: f.Program,
		Args: f.WorkerKeyArgs(name, hash), Log: log})
	if err != nil {
		return err
	}
	if err := keys.Wait(ctx); err != nil {
		return err
	}
	if keys.Code() != 0 {
		return fmt.Errorf("the keys of the workers of %s are not made:\n%s", name, keys.Tail(4))
	}
	ended, peaks := make([]*localnet.Process, count), make([]int64, count)
	for shard := range count {
		places.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p, err := localnet.Start(localnet.Launch{Name: fmt.Sprintf("%s/%d", name, shard), Program: f.Program,
				Args: f.WorkerArgs(name, hash, shard, count), Log: log})
			if err != nil {
				return err
			}
			peaks[shard] = watch(p)
			if err := p.Wait(ctx); err != nil {
				return err
			}
			if p.Code() != 0 {
				return fmt.Errorf("the worker of shard %d of %s ended with code %d:\n%s", shard, name, p.Code(), p.Tail(4))
			}
			ended[shard] = p
			return nil
		})
	}
	if err := places.Wait(); err != nil {
		return err
	}
	for shard, p := range ended {
		side.WorkerCPU += p.Processor().Seconds()
		side.WorkerPeak = max(side.WorkerPeak, peaks[shard])
	}
	return nil
}

// watchEvery is the time between two looks at a worker's memory, of which the system keeps the peak.
const watchEvery = 20 * time.Millisecond

// watch returns the peak of a worker's resident memory when it has ended. What the system says of a process that is
// no more, localnet's Memory, has in it what this one had when it started the worker.
func watch(p *localnet.Process) (peak int64) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.Ended():
			return peak
		case <-tick.C:
			peak = max(peak, localnet.PeakOf(p.Pid()))
		}
	}
}

// account fills in what nodes took, and what they and their workers sent.
func (f *federation) account(ctx context.Context, hash string, r *Result, before []float64) error {
	all, err := f.Reports(ctx, hash)
	if err != nil {
		return err
	}
	for i, name := range f.Names {
		side, pid := &r.Sides[i], f.Node(name).Pid()
		side.Role = roles[i]
		side.NodeCPU, side.NodePeak = localnet.CPUOf(pid)-before[i], localnet.PeakOf(pid)
		side.NodeBytes = all[name].BytesOut
		for shard := range r.Shards {
			t, err := f.session(name, hash, shard)
			if err != nil {
				return err
			}
			side.WorkerBytes, side.WorkerIn = side.WorkerBytes+t.sent, side.WorkerIn+t.received
		}
		r.Bytes += side.NodeBytes + side.WorkerBytes
	}
	return nil
}

// trace is what a transcript tells of its last session.
type trace struct {
	begun, ended   time.Time
	sent, received int64 // bytes of frames
}

// session reads a party's transcript of the session of a shard that was done.
func (f *federation) session(name, hash string, shard int) (trace, error) {
	list, err := filepath.Glob(filepath.Join(f.JobFolder(name, hash), shards.Folder, fmt.Sprintf("%05d", shard), "*",
		shards.TranscriptFile))
	if err != nil || len(list) == 0 {
		return trace{}, errors.Join(err, fmt.Errorf("%s has no transcript of shard %d", name, shard))
	}
	return read(slices.Max(list))
}

// read reads a transcript.
func read(path string) (t trace, err error) {
	file, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer file.Close()
	r, err := transcript.NewReader(file)
	for err == nil {
		var rec transcript.Record
		if err = r.Next(&rec); err != nil {
			break
		}
		t.ended = time.Unix(0, rec.Time)
		bytes := int64(rec.Bytes) + int64(protocol.HeaderSize(rec.Kind))
		switch rec.Type {
		case transcript.TypeSession:
			t = trace{begun: t.ended, ended: t.ended}
		case transcript.TypeSent:
			t.sent += bytes
		case transcript.TypeReceived:
			t.received += bytes
		}
	}
	if errors.Is(err, io.EOF) {
		return t, nil
	}
	return t, fmt.Errorf("%s: %w", path, err)
}

// times divides the seconds of a job by what the label holder was doing.
func (f *federation) times(hash string, r *Result, told lab.Steps) error {
	own, err := read(filepath.Join(f.JobFolder(f.Names[0], hash), node.TranscriptFile))
	if err != nil {
		return err
	}
	var from, to time.Time
	take := func(begun, ended time.Time) {
		if from.IsZero() || begun.Before(from) {
			from = begun
		}
		if ended.After(to) {
			to = ended
		}
	}
	for shard := range r.Shards {
		t, err := f.session(f.Names[0], hash, shard)
		if err != nil {
			return err
		}
		take(t.begun, t.ended)
	}
	for _, step := range []string{"columns", "angles", "normal equations", "scores"} {
		if at := told[step]; r.Shards == 0 && at != nil {
			take(at[0], at[1])
		}
	}
	if from.IsZero() {
		return nil
	}
	r.Before, r.InRows = max(0, from.Sub(own.begun).Seconds()), to.Sub(from).Seconds()
	r.After = max(0, r.Seconds-r.Before-r.InRows)
	return nil
}
