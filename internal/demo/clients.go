package demo

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/trial/online"
	"github.com/hanse-project/hanse/internal/usage"
)

// clients is a demo over clients' streams.
type clients struct {
	*demo
	trial      online.Trial
	learning   online.Learning
	measure    measure
	federation *online.Federation
	selection  *online.Selection       // of OFMS-FT, else nil
	reported   map[string]*jobs.Report // by party
	outcome    *online.Outcome
	result     clientsResult
}

// newClients prepares a demo.
func newClients(d *demo) *clients {
	t, _ := online.TrialOf(d.Algorithm) // an algorithm that there is not was refused
	t.Exact = t.Exact || d.CommonBin
	return &clients{demo: d, trial: t}
}

// prepare makes streams, key files and the charter.
func (d *clients) prepare(ctx context.Context, dir string) (err error) {
	if err := d.makeStreams(ctx); err != nil {
		return &usage.Error{Err: err}
	}
	d.measure = newMeasure(d.federation.Classes > 0)
	// Tells who learns from what.
	f := d.federation
	names := f.AllClients()
	first := f.Streams[names[0]]
	d.steps.step("streams", fmt.Sprintf("%d clients with %d rows each, which come one by one and stay where they are",
		len(names), len(first.Labels)))
	d.steps.note("inputs " + strings.Join(first.Columns, ", "))
	d.steps.note(fmt.Sprintf("to foretell %s, before it is known", first.Label))
	for s, name := range f.Servers {
		d.steps.note(fmt.Sprintf("%s adds for %s", name, few(f.Clients[s], 6)))
	}
	if d.selection != nil {
		d.describeNetworks()
	}
	if d.network, err = localnet.Found(dir, d.federation.Parties(), d.privacy()); err != nil {
		return err
	}
	for name, stream := range d.federation.Streams {
		if err := stream.Write(d.network.Path(name, "train.csv")); err != nil {
			return err
		}
		if err := d.network.Offer(name, "train", stream.Label); err != nil {
			return err
		}
	}
	if d.selection != nil {
		networks := d.network.Path(d.federation.Servers[0], d.federation.Table)
		if err := d.selection.WriteNetworks(networks); err != nil {
			return err
		}
	}
	d.steps.members(d.network, true)
	return nil
}

// makeStreams draws the clients' streams, and for OFMS-FT trains the networks, or reads both from own files.
func (d *clients) makeStreams(ctx context.Context) (err error) {
	o := online.Options{
		Servers: cmp.Or(d.Servers, d.trial.Servers), Clients: cmp.Or(d.Clients, d.trial.Clients), Rounds: d.Iterations,
		Features: d.Features, Entries: d.Entries, Common: d.CommonBin, Budget: d.Budget, Seed: d.Seed, Diffusion: d.Diffusion,
	}
	if o.Tuning, err = d.tuning(); err != nil {
		return err
	}
	if d.Given("streams") {
		d.learning, err = d.readSelection(ctx, o)
	} else {
		d.learning, err = d.trial.New(o)
	}
	if err != nil {
		return err
	}
	d.federation = d.learning.Members()
	d.selection, _ = d.learning.(*online.Selection)
	return nil
}

// readSelection makes OFMS-FT's trial of own files.
func (d *clients) readSelection(ctx context.Context, o online.Options) (*online.Selection, error) {
	f := online.Files{Streams: d.Streams, Networks: d.Networks, Label: d.Label}
	t, err := online.ReadFiles(ctx, o, f)
	if err != nil {
		return nil, err
	}
	if n := len(t.AllClients()); n < 3 && d.privacy() == fdskl.Masked {
		return nil, fmt.Errorf("%s has %d streams, want at least 3, so that no sum is one other client's", f.Streams, n)
	}
	return t, nil
}

// describeNetworks tells what the server has.
func (d *clients) describeNetworks() {
	t, whose := d.selection, "of other towns"
	if d.Given("streams") {
		whose = "from " + filepath.ToSlash(d.Networks)
	}
	text := "%d at the server, %s; a client has room for some that cost %.4g together, the largest cost 1"
	d.steps.step("networks", fmt.Sprintf(text, t.Networks(), whose, t.Budget()))
	if !d.Given("streams") {
		return
	}
	if t.Classes > 0 {
		d.steps.note(fmt.Sprintf("they tell %d classes apart", t.Classes))
		return
	}
	low, high := t.LabelRange()
	if d.Given("label-range") {
		d.steps.note(fmt.Sprintf("labels from %.6g to %.6g, which errors are measured in", low, high))
		return
	}
	d.steps.note(fmt.Sprintf("labels from %.6g to %.6g, as the files have them, which errors are measured in; a real "+
		"federation states the range in its job, since nobody sees all labels", low, high))
}

// clientProcesses is how many processes a demo's clients share, or one for each server if that is more.
const clientProcesses = 4

// start starts a few processes for the clients and one for each server.
func (d *clients) start(ctx context.Context) (string, error) {
	f, silence := d.federation, silenceOf(d.federation)
	var all []localnet.Launch
	for s, server := range f.Servers {
		clients := f.Clients[s]
		groups := min(max(1, clientProcesses/len(f.Servers)), len(clients))
		for g := range groups {
			group := clients[g*len(clients)/groups : (g+1)*len(clients)/groups]
			name := group[0]
			if len(group) > 1 {
				name += " to " + group[len(group)-1]
			}
			all = append(all, localnet.Launch{Name: name, Log: d.network.Log(group[0]),
				Args: ClientArgs(d.network, server, silence, group)})
		}
	}
	for s, name := range f.Servers {
		all = append(all, localnet.Launch{Name: name, Args: ServerArgs(d.network, f, s, d.Workers)})
	}
	for _, l := range all {
		if _, err := d.network.Launch(l); err != nil {
			return "", err
		}
	}
	return "one process for a server, a few for the clients", d.network.Await(ctx)
}

// silenceOf is how long a client's node may be silent.
func silenceOf(f *online.Federation) time.Duration { return localnet.SilenceOf(len(f.AllClients())) }

// ServerArgs returns the command line of a server's node behind the program's name. It keeps links with its clients and
// the other servers, and has the servers' table if there is one.
func ServerArgs(l *localnet.Federation, f *online.Federation, server, workers int) []string {
	n := localnet.Node{Workers: workers, Silence: silenceOf(f)}
	if f.Table != "" {
		n.Tables = []string{"train=" + f.Table}
	}
	for _, other := range append(slices.Clone(f.Clients[server]), f.Servers...) {
		if other != f.Servers[server] {
			n.Neighbours = append(n.Neighbours, other)
		}
	}
	return l.Args(f.Servers[server], n)
}

// ClientArgs returns the command line of a process of several clients of a server.
func ClientArgs(l *localnet.Federation, server string, silence time.Duration, clients []string) []string {
	args := []string{"demo-clients", "--network", l.Dir, "--server", server, "--silence", silence.String()}
	return append(args, clients...)
}

// learn runs the job and collects what everybody says of it.
func (d *clients) learn(ctx context.Context) (err error) {
	job := d.job(d.federation.Parties())
	job.Servers, job.Parameters = d.federation.Servers, d.learning.Parameters()
	screen := terminal.NewScreen(d.Err)
	screen.Measure = d.measure.short
	follow := &follower{demo: d}
	report, err := d.propose(ctx, "learning", screen, &job, follow.with)
	if err != nil {
		return err
	}
	d.steps.done("learning", report, nil) // what the live line samples is no curve of all clients
	if d.reported, err = d.network.Reports(ctx, d.contract); err != nil {
		return err
	}
	d.outcome = &online.Outcome{Predictions: make(map[string][]float64), Regret: make(map[string]float64)}
	for _, name := range d.federation.AllClients() {
		if d.outcome.Predictions[name], err = ReadPredictions(d.jobFile(name, PredictionsFile)); err != nil {
			return err
		}
		if r := d.reported[name].Online; r != nil && r.Regret != nil {
			d.outcome.Regret[name] = *r.Regret
		}
	}
	return nil
}

// evidence gives the audit all clients' streams.
func (d *clients) evidence(in *audit.Input) error {
	if err := auditing.ReadStreams(in, d.tables(d.federation.AllClients())); err != nil {
		return err
	}
	for _, s := range in.Streams {
		if s != nil {
			s.Confirmed = true // the demo wrote them
		}
	}
	return nil
}

// compare judges the job, and the same learning in one process.
func (d *clients) compare(context.Context) error {
	if d.selection != nil { // a client knows nothing of the networks that it did not have
		if err := d.selection.CountRegret(d.outcome); err != nil {
			return err
		}
	}
	score, err := d.federation.Score(d.outcome)
	if err != nil {
		return err
	}
	d.result.describe(d, score)
	if d.Quick {
		return nil
	}
	d.steps.step("comparison", "the same learning in one process, in the clear; and every client alone")
	together, err := d.learning.Together()
	if err != nil {
		return err
	}
	alone, err := d.learning.Alone()
	if err != nil {
		return err
	}
	if err := d.result.compare(d, together, alone); err != nil || d.selection == nil {
		return err
	}
	return d.compareBudgets()
}
