// Package stage rehearses a job on one machine: a node for each party, each a process of this program with a key of its
// own and a made-up table, real links between them, real transcripts, and the audit of all of them. The nodes are under
// a charter with the real one's rules, and what they agree on is held against the real contract.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/localnet"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/rehearsal"
	"github.com/hanse-project/hanse/internal/rehearsal/standin"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Options are what is rehearsed, and how.
type Options struct {
	Contract *contract.Contract   // nil: what schemas say of Job alone
	Job      *contract.Job        // where there is no contract
	Takes    []*contract.Contract // of the alignment and the training that it builds on
	Charter  *keys.Charter        // nil without a contract
	Schemas  map[string]*standin.Schema
	// Common is, of an alignment, the share of the smallest table that all parties have. Without a contract it is of a job
	// that takes its rows from an alignment, too.
	Common  float64
	Dir     string // keep everything in this folder, which must not hold anything; empty: a temporary one, removed
	Workers int    // goroutines of each node; 0: all cores
	Version string // of this program
	Err     io.Writer
}

// staged is one rehearsal.
type staged struct {
	*Options
	screen  *terminal.Screen
	network *localnet.Federation
	tables  map[string]map[string]*standin.Table // by party and name of the table
	trained *contract.Contract
	result  *rehearsal.Result
	since   time.Time
}

// Run rehearses a contract. The report is of the audit, nil where it did not come to that. A result whose likeness is
// not that of the contract comes with an error.
func Run(ctx context.Context, o *Options) (_ *rehearsal.Result, _ *audit.Report, err error) {
	p := &staged{Options: o, tables: make(map[string]map[string]*standin.Table)}
	foretold := o.Contract != nil
	if !foretold {
		if o.Contract, err = standin.Sketch(registry.Program(), o.Job, o.Schemas, o.Common); err != nil {
			return nil, nil, err
		}
		o.Charter = &keys.Charter{Name: "rehearsal", Rules: keys.Rules{MinPrivacy: o.Job.Privacy}}
	}
	if err := p.layOut(); err != nil {
		return nil, nil, err
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hanse-rehearsal-"); err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := newFolder(dir); err != nil {
		return nil, nil, err
	}
	j := o.Contract.Job
	p.result = &rehearsal.Result{Job: j.Name, Algorithm: j.Algorithm, Task: j.Task, Privacy: j.Privacy,
		Version: o.Version, Cores: runtime.NumCPU()}
	p.screen = terminal.NewScreen(o.Err)
	defer p.screen.End()
	if err := p.found(dir); err != nil {
		return nil, nil, err
	}
	made, err := p.play(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p.result.Rehearsed, err = made.Likeness(); err != nil {
		return nil, nil, err
	}
	p.result.Rows, p.result.Likeness = contract.RowsOf(made.Parties), p.result.Rehearsed
	if foretold {
		if p.result.Likeness, err = o.Contract.Likeness(); err != nil {
			return nil, nil, err
		}
	}
	if !p.result.Alike() {
		return p.result, nil, fmt.Errorf("what was rehearsed is not the contract of job %q: %s; its seconds and bytes say "+
			"nothing of it", j.Name, difference(o.Contract, made))
	}
	report, err := p.audit(ctx, made)
	if err != nil {
		return nil, nil, err
	}
	p.result.At = time.Now().UTC().Truncate(time.Second)
	return p.result, report, nil
}

// newFolder makes the folder that a rehearsal is kept in.
func newFolder(dir string) error {
	there, err := os.ReadDir(dir)
	switch {
	case err == nil && len(there) > 0:
		return usage.Errorf("--keep %s is there already, with %s in it: name a new folder, or remove that one", dir,
			wording.Count(len(there), "file"))
	case err == nil:
		return nil
	}
	return os.MkdirAll(dir, 0o700)
}

// maxNodes is how many nodes a rehearsal starts: each is a process with some 50 megabytes.
const maxNodes = 100

// layOut says which tables every party's stand-in has.
func (p *staged) layOut() error {
	j := p.Contract.Job
	if n := len(j.Parties); n > maxNodes {
		return fmt.Errorf("job %q cannot be rehearsed: it has %d parties, and at most %d nodes are started on one machine",
			j.Name, n, maxNodes)
	}
	layout := &standin.Layout{Contract: p.Contract, Sketched: p.Job != nil, Schemas: p.Schemas, Common: p.Common}
	var job map[string]*standin.Table
	var err error
	switch {
	case j.OverClients():
		if given := registry.Program().OverClients(j).Given; given != nil && given(j) {
			return fmt.Errorf("job %q cannot be rehearsed: it starts from models that are one party's alone, and these "+
				"cannot be made up", j.Name)
		}
		job, err = layout.OverClients(rowsOfStream(j))
	case j.Task == contract.TaskAlign:
		if layout.Identifiers, err = identifiersOf(j, p.Charter); err == nil {
			job, err = layout.OfAlignment()
		}
	case j.Task == contract.TaskPredict:
		if j.Requests > 0 {
			return fmt.Errorf("job %q cannot be rehearsed: it answers rows one by one, when somebody asks", j.Name)
		}
		if p.trained = p.taken(contract.TaskTrain); p.trained == nil {
			return fmt.Errorf("job %q cannot be rehearsed: the contract of the training that made its model is missing", j.Name)
		}
		layout.Trained = p.trained
		job, err = layout.OverColumns()
	default:
		job, err = layout.OverColumns()
	}
	if err != nil {
		return fmt.Errorf("job %q cannot be rehearsed: %w", j.Name, err)
	}
	p.add(j.Table, job)
	if p.trained != nil {
		if err := p.addTrained(layout); err != nil {
			return err
		}
	}
	if j.Rows != "" {
		p.addAligned()
	}
	return nil
}

// rowsOfStream is how many rows a client may be asked for: one a round, and some to look ahead.
func rowsOfStream(j *contract.Job) int {
	rounds := int64(1000) // the most that a job has that does not say
	for _, name := range []string{"rounds", "iterations"} {
		if n, ok := j.Parameters[name].(int64); ok {
			rounds = n
		}
	}
	return int(min(2*max(rounds, 1)+100, standin.MaxCells))
}

// add gives parties a table of one name.
func (p *staged) add(name string, tables map[string]*standin.Table) {
	for party, t := range tables {
		if p.tables[party] == nil {
			p.tables[party] = make(map[string]*standin.Table)
		}
		p.tables[party][name] = t
	}
}

// taken returns the contract of a task that the job builds on, nil where there is none.
func (p *staged) taken(task string) *contract.Contract {
	for _, c := range p.Takes {
		if c.Job.Task == task {
			return c
		}
	}
	return nil
}

// prelude names what a table is called that only jobs before the rehearsed one work on.
func (p *staged) prelude(name string) string {
	if name == p.Contract.Job.Table {
		name += "-2"
	}
	return name
}

// The tables that only jobs before the rehearsed one work on, and by how many rows and steps a model is trained that
// nobody looks at.
const (
	alignedTable      = "aligned"
	trainedTable      = "trained"
	trainedRows       = 2000
	trainedIterations = 10
)

// addTrained gives parties a table on which to train what a prediction needs: with few rows, since a part of a model is
// as large whatever it was trained on. Of bins all rows count, since each has a least number of them.
func (p *staged) addTrained(layout *standin.Layout) error {
	tables, err := (&standin.Layout{Contract: p.trained, Schemas: layout.Schemas}).OverColumns()
	if err != nil {
		return fmt.Errorf("job %q cannot be rehearsed: %w", p.Contract.Job.Name, err)
	}
	goal, err := registry.Program().Goal(p.trained.Job)
	for _, t := range tables {
		if err == nil && !goal.Binned() {
			t.Rows = min(t.Rows, trainedRows)
			t.Common = t.Rows
		}
	}
	p.add(p.prelude(trainedTable), tables)
	return nil
}

// addAligned gives parties a table of the rows that the job takes from an alignment, each with a few of its own beside.
func (p *staged) addAligned() {
	const own = 3
	common := contract.RowsOf(p.Contract.Parties)
	tables := make(map[string]*standin.Table)
	for i, name := range p.alignmentJob().Parties {
		tables[name] = &standin.Table{Owner: name, Rows: common + own, Common: common, First: common + own*i,
			Columns: []standin.Column{{Name: "x1", Kind: standin.Number}}}
	}
	p.add(p.prelude(alignedTable), tables)
}

// alignmentJob is the alignment that the job takes its rows from, by the id column of tables that are made up for it.
func (p *staged) alignmentJob() *contract.Job {
	j := contract.Job{Format: p.Contract.Job.Format, Algorithm: contract.PSI, Task: contract.TaskAlign,
		Parties: p.Contract.Job.Parties, Privacy: keys.PrivacySealed}
	if made := p.taken(contract.TaskAlign); made != nil {
		j = *made.Job
		j.Parameters = make(map[string]any)
		for name, v := range made.Job.Parameters {
			if name != "keys" {
				j.Parameters[name] = v
			}
		}
	}
	j.Name, j.Table, j.Record = p.Contract.Job.Rows, p.prelude(alignedTable), contract.RecordDigests
	return &j
}

// identifiersOf are those of the charter that an alignment goes by.
func identifiersOf(j *contract.Job, charter *keys.Charter) ([]keys.Identifier, error) {
	var list []keys.Identifier
	names, _ := j.Parameters["keys"].([]any)
	for _, name := range names {
		id, ok := charter.Identifier(fmt.Sprint(name))
		if !ok {
			return nil, fmt.Errorf("the charter has no identifier %q", name)
		}
		list = append(list, id)
	}
	return list, nil
}

// found makes keys, a charter, policies and tables.
func (p *staged) found(dir string) error {
	p.begin("tables", "made up from the numbers that the contract states")
	j := p.Contract.Job
	names := []string{j.Proposer}
	for _, c := range append([]*contract.Contract{p.Contract}, p.Takes...) {
		for _, name := range c.Job.Parties {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	var err error
	if p.network, err = localnet.FoundLike(dir, names, p.Charter); err != nil {
		return err
	}
	for _, name := range names {
		for table, t := range p.tables[name] {
			if err := t.Write(p.network.Path(name, table+".csv")); err != nil {
				return err
			}
			if t.Label != nil && name != j.Proposer {
				if err := p.network.Offer(name, table, t.Label.Name); err != nil {
					return err
				}
			}
		}
	}
	p.end("tables")
	return nil
}

// begin tells that a step begins.
func (p *staged) begin(step, text string) {
	p.since = time.Now()
	lines := wording.Wrap(wording.Columns, strings.Repeat(" ", 11), text)
	fmt.Fprintf(p.Err, "%-10s %s", step, strings.TrimLeft(lines, " "))
}

// end notes how long a step took.
func (p *staged) end(step string) {
	p.result.Steps = append(p.result.Steps, rehearsal.Step{Name: step, Seconds: time.Since(p.since).Seconds()})
}

// play starts the nodes and has them run the job, and what it builds on before that. It returns their contract.
func (p *staged) play(ctx context.Context) (made *contract.Contract, err error) {
	defer func() {
		err = errors.Join(err, p.network.Stop())
		if err != nil {
			return
		}
		for i := range p.result.Parties {
			party := &p.result.Parties[i]
			party.Memory = p.network.Node(party.Name).Memory()
		}
	}()
	if err := p.join(ctx); err != nil {
		return nil, err
	}
	j := *p.Contract.Job
	if p.Job != nil {
		j = *p.Job
	}
	if j.Rows != "" {
		p.begin("alignment", "which the job takes its rows from")
		if _, err := p.run(ctx, p.alignmentJob(), false); err != nil {
			return nil, err
		}
		p.end("alignment before")
	}
	if p.trained != nil {
		p.begin("training", "of the model that the job predicts with")
		before := *p.trained.Job
		before.Rows, before.Table = "", p.prelude(trainedTable)
		before.Parameters = maps.Clone(before.Parameters)
		before.Parameters["iterations"] = int64(trainedIterations)
		if j.Model, err = p.run(ctx, &before, false); err != nil {
			return nil, err
		}
		p.end("training before")
	}
	hash, err := p.run(ctx, &j, true)
	if err != nil {
		return nil, err
	}
	return auditing.ReadContract(p.network.JobFile(p.network.Names[0], hash, job.ContractCopy))
}

// join starts a process for each party, and waits until they have their links.
func (p *staged) join(ctx context.Context) error {
	p.begin("nodes", fmt.Sprintf("%s on this machine, TLS 1.3 between them", wording.Count(len(p.network.Names), "node")))
	how := func(name string) localnet.Node {
		n := localnet.Node{Workers: p.Workers, Silence: localnet.SilenceOf(len(p.network.Names))}
		for table := range p.tables[name] {
			n.Tables = append(n.Tables, table+"="+table+".csv")
		}
		slices.Sort(n.Tables)
		n.Neighbours = p.neighbours(name)
		return n
	}
	if err := p.network.Start(ctx, how); err != nil {
		return err
	}
	if err := p.network.Linked(ctx); err != nil {
		return err
	}
	p.end("join")
	return nil
}

// neighbours lists whom a member keeps links with: all, but for clients, who have their server alone.
func (p *staged) neighbours(name string) []string {
	j := p.Contract.Job
	if !j.OverClients() {
		return nil
	}
	if i := j.Index(name); !j.Serves(i) {
		return []string{j.Parties[j.ServerOf(i)]}
	}
	list := slices.DeleteFunc(slices.Clone(j.Servers), func(other string) bool { return other == name })
	return append(list, j.ClientNames(j.Index(name))...)
}

// run has the nodes agree on a job and run it, and returns its contract's hash. Of the rehearsed one it notes how long
// each part took, and what every party sent.
func (p *staged) run(ctx context.Context, job *contract.Job, rehearsed bool) (string, error) {
	j := *job // without what the nodes of another federation filled in
	j.Charter, j.Proposer, j.Nonce, j.Expires, j.Alignment = "", "", "", "", ""
	if rehearsed {
		p.begin("survey", "what the parties bring, which makes the contract")
	}
	hash, _, err := p.network.Propose(ctx, &j, p.screen.Show)
	if err != nil {
		p.screen.End()
		return "", err
	}
	if rehearsed {
		p.end("survey")
		p.begin("job", fmt.Sprintf("%s %s, consented to by all stand-ins' policies", job.Algorithm, job.Task))
	}
	report, err := p.network.Run(ctx, hash, p.screen.Show)
	p.screen.End()
	if err != nil || !rehearsed {
		return hash, err
	}
	r := p.result
	r.Seconds = report.Seconds
	around := max(0, time.Since(p.since).Seconds()-report.Seconds)
	r.Steps = append(r.Steps, rehearsal.Step{Name: "consent and signatures", Seconds: around},
		rehearsal.Step{Name: job.Task, Seconds: report.Seconds})
	own, err := p.network.Reports(ctx, hash, job.Parties...)
	if err != nil {
		return "", err
	}
	for _, name := range job.Parties {
		r.Parties = append(r.Parties, rehearsal.Party{Name: name, Sent: own[name].BytesOut, Received: own[name].BytesIn})
	}
	return hash, nil
}

// audit audits the job with the transcripts of all parties and all their tables.
func (p *staged) audit(ctx context.Context, c *contract.Contract) (*audit.Report, error) {
	p.begin("audit", "all transcripts against the contract and each other, and attacks on what they hold")
	q := auditing.Request{Charter: p.network.CharterFile(), Workers: p.Workers, Told: io.Discard}
	for _, name := range c.Job.Parties {
		q.Given = append(q.Given, p.network.JobFile(name, c.Hash().String(), node.TranscriptFile))
		if t := p.tables[name][c.Job.Table]; t != nil && (!t.Stream || c.Job.Record == contract.RecordFull) {
			q.Data = append(q.Data, name+"="+p.network.Path(name, c.Job.Table+".csv"))
		}
	}
	in, err := auditing.Read(q)
	if err != nil {
		return nil, err
	}
	for _, s := range in.Streams {
		if s != nil {
			s.Confirmed = true // this program wrote them
		}
	}
	load := func(path string) (*keys.KeyFile, error) { return keys.LoadKeyFile(path, nil) }
	who, err := auditing.NewAuditor("", load, in)
	if err != nil {
		return nil, err
	}
	if terminal.IsTerminal(p.Err) {
		in.Told = p.screen.Work
	}
	r, err := who.Audit(ctx, in)
	p.screen.End()
	if err != nil {
		return nil, err
	}
	p.end("audit")
	p.result.Audit = rehearsal.Audit{Verdict: string(r.Verdict), Exit: r.Exit, Summary: r.Summary,
		NotLookedAt: r.NotLookedAt}
	if p.Dir == "" {
		return r, nil
	}
	return r, auditing.WritePage(filepath.Join(p.Dir, "audit.html"), r)
}

// difference says what two contracts that are not alike differ in.
func difference(real, made *contract.Contract) string {
	for i := range min(len(real.Parties), len(made.Parties)) {
		a, b := real.Parties[i], made.Parties[i]
		b.ID, b.Header, b.Commitment = a.ID, a.Header, a.Commitment
		if !a.Equal(b) {
			return fmt.Sprintf("%s brings %s there and %s here", a.Name, brings(a), brings(b))
		}
	}
	switch {
	case fmt.Sprint(real.Openings) != fmt.Sprint(made.Openings):
		return "other values open"
	case fmt.Sprint(real.Operations) != fmt.Sprint(made.Operations):
		return "the parties do other things together"
	}
	return "the job's text differs"
}

// brings says what a party states of its data.
func brings(f contract.Facts) string {
	return fmt.Sprintf("%s in %s as %s, ids %v, %s", wording.Count(f.Rows, "row"), wording.Count(f.Columns, "column"),
		f.Role, f.IDs, wording.Count(f.Bins, "bin"))
}
