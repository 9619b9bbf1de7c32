// Package demo runs a whole federation on one machine, from made-up or given data to the audit of its transcripts:
// parties with columns of the same people, or clients with streams. Each node is a process of this program, started
// with the words of package localnet; there are no shortcuts between them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// demo is one run, whatever it shows.
type demo struct {
	*Options
	steps    *steps
	network  *localnet.Federation
	begun    time.Time
	contract string // of the training
}

// federation is what a demo shows. Its methods are called in this order.
type federation interface {
	// prepare makes data, and with found key files and a charter, in a folder.
	prepare(ctx context.Context, dir string) error
	// start starts the nodes, and returns what runs in one process.
	start(ctx context.Context) (whose string, err error)
	// learn runs the jobs and collects what everybody says of them.
	learn(ctx context.Context) error
	// compare learns in other ways beside it.
	compare(ctx context.Context) error
	// evidence adds the parties' own data to what an audit of the training reads.
	evidence(in *audit.Input) error
	// print prints the results. The report is the audit's.
	print(dir string, r *audit.Report) error
}

// Run runs a demo. A *usage.Error says that the options do not go together, an *auditing.VerdictError what the audit
// found.
func Run(ctx context.Context, o *Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	d := &demo{Options: o, steps: &steps{w: o.Err}, begun: time.Now()}
	var f federation = &columns{demo: d}
	if !o.overColumns() {
		f = newClients(d)
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hanse-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := makeFolder(dir); err != nil {
		return err
	}
	if err := f.prepare(ctx, dir); err != nil {
		return err
	}
	if err := d.federate(ctx, f); err != nil {
		return err
	}
	if err := f.compare(ctx); err != nil {
		return err
	}
	r, err := d.audit(ctx, f, dir)
	if err != nil {
		return err
	}
	if err := f.print(dir, r); err != nil {
		return err
	}
	if r.Exit == audit.ExitPartial && o.record() != contract.RecordFull {
		return nil // whoever asks for no payloads leaves attacks out on purpose, and the report lists them
	}
	return auditing.Verdict(r)
}

// makeFolder makes the folder that a demo is kept in. One that is there may hold keys and data of another: it must be
// empty.
func makeFolder(dir string) error {
	there, err := os.ReadDir(dir)
	switch {
	case err == nil && len(there) > 0:
		return usage.Errorf("--dir %s is there already, with %s in it: name a new folder, or remove that one", dir,
			wording.Count(len(there), "file"))
	case err == nil:
		return nil
	}
	return textfile.MakeFolder(dir)
}

// federate has the nodes learn.
func (d *demo) federate(ctx context.Context, f federation) (err error) {
	defer func() { err = errors.Join(err, d.network.Stop()) }()
	whose, err := f.start(ctx)
	if err != nil {
		return err
	}
	d.steps.nodes(d.network.Nodes(), whose)
	return f.learn(ctx)
}

// propose proposes a job at the first member's node and follows it; each event passes through seen on its way to the
// screen.
func (d *demo) propose(ctx context.Context, what string, screen *terminal.Screen, job *contract.Job,
	seen func(jobs.Event) jobs.Event) (*jobs.Report, error) {
	d.steps.step(what, "proposed by the first party, consented to by the others' policies")
	defer screen.End()
	hash, summary, err := d.network.Propose(ctx, job, screen.Show)
	if err != nil {
		return nil, err
	}
	if job.Task == contract.TaskTrain {
		d.contract = hash
	}
	d.steps.contract(summary, d.Verbose)
	return d.network.Run(ctx, hash, func(e jobs.Event) { screen.Show(seen(e)) })
}

// jobFile is a file of the training in a member's node's folder.
func (d *demo) jobFile(name, file string) string {
	return d.network.JobFile(name, d.contract, file)
}

// audit audits the training with the transcripts of all parties and, where payloads were kept, with all their data: it
// sees more than any member could, so that every attack can be tried and scored.
func (d *demo) audit(ctx context.Context, f federation, dir string) (*audit.Report, error) {
	text := "every transcript against the contract and the others"
	full := d.overColumns() || d.record() == contract.RecordFull
	if full {
		text += ", and real attacks on what was recorded"
	}
	d.steps.step("audit", text)
	in := &audit.Input{Workers: d.Workers}
	for _, name := range d.network.Names {
		source, err := auditing.SourceOf(d.jobFile(name, node.TranscriptFile))
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, source)
	}
	var err error
	if in.Contract, err = auditing.ReadContract(d.jobFile(d.network.Names[0], job.ContractCopy)); err != nil {
		return nil, err
	}
	if in.Charter, err = charterfile.ReadInForce(d.network.CharterFile()); err != nil {
		return nil, err
	}
	if full {
		if err := f.evidence(in); err != nil {
			return nil, err
		}
	}
	load := func(path string) (*keys.KeyFile, error) { return keys.LoadKeyFile(path, nil) }
	who, err := auditing.NewAuditor("", load, in)
	if err != nil {
		return nil, err
	}
	screen := terminal.NewScreen(d.Err)
	in.Told = screen.Work
	r, err := who.Audit(ctx, in)
	screen.End()
	if err != nil || d.Dir == "" {
		return r, err
	}
	if err := who.Sign(d.Err, r); err != nil {
		return nil, err
	}
	return r, auditing.WritePage(filepath.Join(dir, "audit.html"), r)
}

// tables names the members' files of the trained data, PARTY=FILE each.
func (d *demo) tables(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%s=%s", name, d.network.Path(name, "train.csv")))
	}
	return all
}
