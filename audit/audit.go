package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/audit/conform"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/audit/views/aligned"
	"github.com/hanse-project/hanse/audit/views/payload"
	"github.com/hanse-project/hanse/audit/views/updates"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Run audits the transcripts of one job. An error says that something could not be read, or that the
// inputs do not go together; whatever is wrong with a transcript is in the report.
func Run(ctx context.Context, in *evidence.Input) (*finding.Report, error) {
	switch {
	case in.Contract == nil:
		return nil, errors.New("audit: no contract was given")
	case len(in.Sources) == 0:
		return nil, errors.New("audit: no transcript was given")
	}
	a := &auditor{account: &account{in: *in, report: &finding.Report{Job: describe(in)}}}
	if a.in.Columns == nil {
		a.in.Columns = make([]*evidence.Columns, len(in.Contract.Parties))
	}
	if err := evidence.CheckColumns(&a.in); err != nil {
		return nil, err
	}
	if err := evidence.CheckStreams(&a.in); err != nil {
		return nil, err
	}
	a.checkCharter()
	a.consented()
	a.approvals()
	a.parameters(a.in.MinContributors)
	if err := a.read(ctx); err != nil {
		return nil, err
	}
	for _, e := range a.exams {
		a.report.Transcripts = append(a.report.Transcripts, e.Transcript)
		a.report.Egress = append(a.report.Egress, e.Egress...)
		if e.Federation != nil {
			a.report.Federations = append(a.report.Federations, *e.Federation)
		}
		if e.Self >= 0 {
			a.report.Job.Parties[e.Self].Audited = true
		}
	}
	a.alone()
	if err := a.attack(ctx); err != nil {
		return nil, err
	}
	if err := a.auditShards(ctx); err != nil {
		return nil, err
	}
	a.ledger()
	a.together()
	a.limits()
	a.conclude()
	return a.report, nil
}

// auditor looks at the transcripts of one job, or of the session of one of its shards, and puts what it finds into the
// account.
type auditor struct {
	*account
	exams  []*conform.Examination
	shards *sharded // of a job in shards; else nil
}

// read reads every transcript by itself and against the others.
func (a *auditor) read(ctx context.Context) error {
	for i := range a.in.Sources {
		s := &a.in.Sources[i]
		a.in.Begin("reading transcripts", s.Path)
		e, err := conform.Examine(ctx, &a.in, s)
		if err != nil {
			return err
		}
		a.report.Checks = append(a.report.Checks, e.Checks...)
		if s.Of == "" || a.placed(e, s.Of) {
			a.exams = append(a.exams, e)
		}
	}
	if len(a.exams) > 1 {
		a.in.Begin("comparing transcripts with each other", "")
		a.report.Checks = append(a.report.Checks, conform.Cross(ctx, &a.in, a.exams)...)
	}
	return nil
}

// exam returns what the transcript of a party shows, the first where there are several; nil where there is none.
func (a *auditor) exam(party int) *conform.Examination {
	at := slices.IndexFunc(a.exams, func(e *conform.Examination) bool { return e.Self == party })
	if at < 0 {
		return nil
	}
	return a.exams[at]
}

// describe says what the contract is about.
func describe(in *evidence.Input) finding.Job {
	c := in.Contract
	j := finding.Job{
		Name: c.Job.Name, Algorithm: c.Job.Algorithm, Task: c.Job.Task, Privacy: c.Job.Privacy,
		Aggregation: c.Job.Aggregation, Topology: c.Job.Topology,
		Contract: c.Hash().String(), Charter: c.Job.Charter, Rows: evidence.JobRows(c), Servers: c.Job.Servers,
		Beside: in.Algorithms.OverClients(c.Job).Beside,
	}
	for _, f := range c.Job.Purpose.Fields() {
		if f.Text != "" {
			j.Purpose = append(j.Purpose, finding.Stated{Field: f.Name, Text: f.Text})
		}
	}
	three, shared := evidence.TrioOf(in)
	for i, p := range c.Parties {
		party := finding.Party{Name: p.Name, ID: p.ID.String(), Role: p.Role, Columns: p.Columns}
		if shared {
			party.Share = three.Share(i)
		}
		j.Parties = append(j.Parties, party)
	}
	return j
}

// checkCharter holds the contract against the charter.
func (a *auditor) checkCharter() {
	check := finding.Check{Name: finding.CheckCharter, Verdict: finding.Passed}
	defer func() { a.report.Checks = append(a.report.Checks, check) }()
	if a.in.Charter == nil {
		check.Verdict = finding.Skipped
		check.Detail = "no charter was given: that the parties' keys are those of the members was not checked"
		if a.in.NoCharter != "" {
			check.Detail = a.in.NoCharter
		}
		return
	}
	if c, ok := affiliations(&a.in, a.in.Charter); ok {
		defer func() { a.report.Checks = append(a.report.Checks, c) }()
	}
	a.in.MinContributors = max(a.in.MinContributors, a.in.Charter.Rules.MinContributors)
	if got, want := a.in.Contract.Job.Charter, a.in.Charter.Digest().String(); got != want {
		check.Verdict, check.Detail = finding.Failed,
			fmt.Sprintf("the job was agreed under the charter with digest %.8s, this one has %.8s", got, want)
		return
	}
	members, err := a.in.Contract.Job.Members(&a.in.Charter.Charter)
	for i := 0; err == nil && i < len(members); i++ {
		if members[i].ID != a.in.Contract.Parties[i].ID {
			err = fmt.Errorf("the contract gives %s another key than the charter", members[i].Name)
		}
	}
	if err != nil {
		check.Verdict, check.Detail = finding.Failed, err.Error()
		return
	}
	check.Detail = fmt.Sprintf("the contract's parties are members of %q, version %d, with the keys it names",
		a.in.Charter.Name, a.in.Charter.Version)
}

// alone says what the transcript of one party never proves by itself.
func (a *auditor) alone() {
	if len(a.exams) != 1 || a.exams[0].Self < 0 {
		return
	}
	a.report.Unchecked = append(a.report.Unchecked,
		fmt.Sprintf("That nothing came after what the transcript of %s holds: "+
			"one transcript alone never proves that there is no later session. The others' would show it.",
			a.exams[0].Transcript.Party))
}

// atOnce is how many parties' views are attacked at the same time: each may take some hundred megabytes.
const atOnce = 2

// attacked is what the attacks on one party's transcript came to.
type attacked struct {
	attacks []finding.Attack
	checks  []finding.Check
	err     error
}

// attack runs all attacks on every transcript that verifies.
func (a *auditor) attack(ctx context.Context) error {
	if len(a.in.Contract.Job.Servers) > 0 {
		return a.attackClients(ctx)
	}
	if a.in.Contract.Job.Task == contract.TaskAlign {
		return a.attackAlignment(ctx)
	}
	total, most := evidence.JobRows(a.in.Contract), a.in.Rows
	if usual := min(total, evidence.DefaultRows); 0 < most && most < usual {
		a.report.Checks = append(a.report.Checks,
			finding.Check{Name: finding.CheckRows, Verdict: finding.Skipped, Detail: fmt.Sprintf("attacks were to work on "+
				"%d of %d rows, and they work on %d unless told otherwise: with so few they may find nothing", most, total, usual)})
	}
	if err := a.attackViews(ctx, atOnce); err != nil {
		return err
	}
	membership := views.Membership(a.in.Contract)
	if membership.Verdict == finding.Clean && len(a.unread()) > 0 {
		membership.Verdict = finding.NotRead
	}
	a.report.Attacks = append(a.report.Attacks, membership)
	return nil
}

// attackViews attacks what each party saw, at most so many at the same time.
func (a *auditor) attackViews(ctx context.Context, most int) error {
	done := make(map[int]bool)
	var todo []*conform.Examination
	for _, e := range a.exams {
		if a.attackable(e, done) {
			todo = append(todo, e)
		}
	}
	results := make([]attacked, len(todo))
	parallel.All(most, len(todo), func(i int) {
		r, e := &results[i], todo[i]
		r.attacks, r.checks, r.err = views.Attack(ctx, &a.in, e.Source, e.Self, e.Transcript.Kept)
	})
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
		a.report.Attacks = append(a.report.Attacks, r.attacks...)
		a.report.Checks = append(a.report.Checks, r.checks...)
	}
	return nil
}

// attackAlignment tries guessed ids on every transcript of an alignment that verifies.
func (a *auditor) attackAlignment(ctx context.Context) error {
	done := make(map[int]bool)
	for _, e := range a.exams {
		if !a.attackable(e, done) {
			continue
		}
		a.in.Begin("attacking what "+a.in.Contract.Parties[e.Self].Name+" saw", "guessed ids")
		attacks, checks, err := aligned.Attack(ctx, &a.in, e.Source, e.Self, e.Transcript.Kept)
		if err != nil {
			return fmt.Errorf("transcript %s: %w", e.Source.Path, err)
		}
		a.report.Attacks = append(a.report.Attacks, attacks...)
		a.report.Checks = append(a.report.Checks, checks...)
	}
	a.committed()
	return nil
}

// committed holds the ids of tables against what their parties committed to in the contract. Without a party's key
// nobody can tell.
func (a *auditor) committed() {
	for i, p := range a.in.Contract.Parties {
		if p.Commitment == "" {
			continue
		}
		if i >= len(a.in.IDs) || a.in.IDs[i] == nil || a.in.IDs[i].Commitment == "" {
			a.report.Unchecked = append(a.report.Unchecked, fmt.Sprintf("Whether the rows of %s are those that it committed to "+
				"in the contract: that takes its table and its key (--data and --key), which only it has.", p.Name))
			continue
		}
		check := finding.Check{Name: finding.CheckCommitment, Party: p.Name, Verdict: finding.Passed,
			Detail: "the ids of its table are those that it committed to in the contract"}
		if a.in.IDs[i].Commitment != p.Commitment {
			check.Verdict = finding.Failed
			check.Detail = "the ids of the table given are not those that it committed to in the contract: it aligned other rows"
		}
		a.report.Checks = append(a.report.Checks, check)
	}
}

// attackable reports whether a transcript can be attacked: it is of the job and whole, and no other of its party came
// before. The report says of any other that nothing was tried on it.
func (a *auditor) attackable(e *conform.Examination, done map[int]bool) bool {
	switch {
	case e.Self >= 0 && !e.Stopped && !done[e.Self]:
		done[e.Self] = true
		return true
	case a.in.Job != nil: // of a shard's session
		a.note(e.Transcript.Party, finding.Skipped, "no attack was tried on its transcript, which is not whole")
	default:
		a.report.NotLookedAt = append(a.report.NotLookedAt, fmt.Sprintf(
			"What is in the transcript %s: no attack was tried on it, since it is not whole or was read before.", e.Source.Path))
	}
	return false
}

// attackClients runs the attacks on jobs over clients, on every transcript that verifies: first on those of servers.
func (a *auditor) attackClients(ctx context.Context) error {
	for _, e := range a.exams {
		if e.Self < 0 || e.Stopped || !e.Transcript.Kept {
			continue
		}
		if e.Source.Payload == nil {
			a.report.Checks = append(a.report.Checks, payload.AbsentPayloads(e.Transcript.Party))
			continue
		}
		f := payload.NewReader(&a.in, e.Source, e.Self)
		if err := f.Present(ctx, e.Verified); err != nil {
			return err
		}
		a.report.Checks = append(a.report.Checks, f.Check())
	}
	job := a.in.Contract.Job
	isServer := func(e *conform.Examination) bool { return e.Self >= 0 && job.ServerOf(e.Self) == e.Self }
	order := slices.Clone(a.exams)
	slices.SortStableFunc(order, func(x, y *conform.Examination) int {
		switch {
		case isServer(x) == isServer(y):
			return 0
		case isServer(x):
			return -1
		}
		return 1
	})
	done, modelled := make(map[int]bool), make(map[int]bool)
	for _, e := range order {
		if !a.attackable(e, done) {
			continue
		}
		server := job.ServerOf(e.Self)
		if e.Self != server && modelled[server] {
			continue // what a client sent and heard is what its server has
		}
		a.in.Begin("attacking what "+a.in.Contract.Parties[e.Self].Name+" saw", "")
		list, err := updates.Attack(ctx, &a.in, e.Source, e.Self, e.Transcript.Kept, !modelled[server])
		if err != nil {
			return fmt.Errorf("transcript %s: %w", e.Source.Path, err)
		}
		modelled[server] = true // what one has heard of the models the others of its server have too
		a.report.Attacks = append(a.report.Attacks, list...)
	}
	return nil
}

// affiliations checks that the charter declares no two of a sealed job's three affiliated.
func affiliations(in *evidence.Input, charter *keys.SignedCharter) (finding.Check, bool) {
	c := in.Contract
	three, ok := evidence.TrioOf(in)
	if !ok {
		return finding.Check{}, false
	}
	check := finding.Check{Name: finding.CheckAffiliations, Verdict: finding.Passed,
		Detail: "no two of label holder, keeper and helper are affiliated in the charter; that they do " +
			"not collude all the same is trusted"}
	for r := range three {
		for s := range r {
			a, b := c.Parties[three[s]].Name, c.Parties[three[r]].Name
			if charter.Affiliated(a, b) {
				check.Verdict = finding.Failed
				check.Detail = fmt.Sprintf("%s and %s, %s and %s of the job, are affiliated in the charter: together "+
					"they can rebuild every column, the labels and the model", a, b, rss.Role(s), rss.Role(r))
			}
		}
	}
	return check, true
}
