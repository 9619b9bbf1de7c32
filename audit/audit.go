package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Run audits the transcripts of one job. An error says that something could not be read, or that the
// inputs do not go together; whatever is wrong with a transcript is in the report.
func Run(ctx context.Context, in *Input) (*Report, error) {
	switch {
	case in.Contract == nil:
		return nil, errors.New("audit: no contract was given")
	case len(in.Sources) == 0:
		return nil, errors.New("audit: no transcript was given")
	}
	a := &auditor{in: *in, report: &Report{Job: describe(in)}}
	if a.in.Columns == nil {
		a.in.Columns = make([]*Columns, len(in.Contract.Parties))
	}
	if err := checkColumns(&a.in); err != nil {
		return nil, err
	}
	if err := checkStreams(&a.in); err != nil {
		return nil, err
	}
	a.checkCharter()
	a.consented()
	a.parameters(a.in.MinContributors)
	if err := a.examine(ctx); err != nil {
		return nil, err
	}
	if err := a.attack(ctx); err != nil {
		return nil, err
	}
	a.ledger()
	a.limits()
	a.conclude()
	return a.report, nil
}

// auditor collects a report.
type auditor struct {
	in     Input
	report *Report
	exams  []*examination
}

// describe says what the contract is about.
func describe(in *Input) Job {
	c := in.Contract
	j := Job{
		Name: c.Job.Name, Algorithm: c.Job.Algorithm, Task: c.Job.Task, Privacy: c.Job.Privacy, Aggregation: c.Job.Aggregation, Topology: c.Job.Topology,
		Contract: c.Hash().String(), Charter: c.Job.Charter, Rows: jobRows(c), Servers: c.Job.Servers,
	}
	three, shared := trioOf(in)
	for i, p := range c.Parties {
		party := Party{Name: p.Name, ID: p.ID.String(), Role: p.Role, Columns: p.Columns}
		if shared {
			party.Share = three.share(i)
		}
		j.Parties = append(j.Parties, party)
	}
	return j
}

// checkCharter is the name of the check of the contract's parties against the charter.
const checkCharter = "charter"

// checkCharter holds the contract against the charter.
func (a *auditor) checkCharter() {
	check := Check{Name: checkCharter, Verdict: Passed}
	defer func() { a.report.Checks = append(a.report.Checks, check) }()
	if a.in.Charter == nil {
		check.Verdict = Skipped
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
		check.Verdict, check.Detail = Failed, fmt.Sprintf("the job was agreed under the charter with digest %.8s, this one has %.8s", got, want)
		return
	}
	members, err := a.in.Contract.Job.Members(&a.in.Charter.Charter)
	for i := 0; err == nil && i < len(members); i++ {
		if members[i].ID != a.in.Contract.Parties[i].ID {
			err = fmt.Errorf("the contract gives %s another key than the charter", members[i].Name)
		}
	}
	if err != nil {
		check.Verdict, check.Detail = Failed, err.Error()
		return
	}
	check.Detail = fmt.Sprintf("the contract's parties are members of %q, version %d, with the keys it names", a.in.Charter.Name, a.in.Charter.Version)
}

// examine reads every transcript by itself and against the others.
func (a *auditor) examine(ctx context.Context) error {
	for i := range a.in.Sources {
		e, err := examine(ctx, &a.in, &a.in.Sources[i])
		if err != nil {
			return err
		}
		a.exams = append(a.exams, e)
		a.report.Transcripts = append(a.report.Transcripts, e.transcript)
		a.report.Checks = append(a.report.Checks, e.checks...)
		a.report.Egress = append(a.report.Egress, e.egress...)
		if e.federation != nil {
			a.report.Federations = append(a.report.Federations, *e.federation)
		}
		if e.self >= 0 {
			a.report.Job.Parties[e.self].Audited = true
		}
	}
	a.alone()
	if len(a.exams) > 1 {
		a.report.Checks = append(a.report.Checks, crossExamine(ctx, &a.in, a.exams)...)
	}
	return nil
}

// alone says what the transcript of one party never proves by itself.
func (a *auditor) alone() {
	if len(a.exams) != 1 || a.exams[0].self < 0 {
		return
	}
	a.report.Unchecked = append(a.report.Unchecked,
		fmt.Sprintf("That nothing came after what the transcript of %s holds: "+
			"one transcript alone never proves that there is no later session. The others' would show it.", a.exams[0].transcript.Party))
}

// atOnce is how many parties' views are attacked at the same time: each may take some hundred megabytes.
const atOnce = 2

// assault is what attacks on one party's transcript came to.
type assault struct {
	attacks []Attack
	checks  []Check
	err     error
}

// attack runs all attacks on every transcript that verifies.
func (a *auditor) attack(ctx context.Context) error {
	if len(a.in.Contract.Job.Servers) > 0 {
		return a.attackClients(ctx)
	}
	a.sampled()
	done := make(map[int]bool)
	results := make([]assault, len(a.exams))
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, e := range a.exams {
		if e.self < 0 || e.stopped || done[e.self] {
			a.report.NotLookedAt = append(a.report.NotLookedAt, fmt.Sprintf(
				"What is in the transcript %s: no attack was tried on it, since it is not whole or was read before.", e.source.Path))
			continue
		}
		done[e.self] = true
		slots <- struct{}{}
		running.Go(func() {
			results[i] = a.attackOn(ctx, e)
			<-slots
		})
	}
	running.Wait()
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
		a.report.Attacks = append(a.report.Attacks, r.attacks...)
		a.report.Checks = append(a.report.Checks, r.checks...)
	}
	a.report.Attacks = append(a.report.Attacks, membership(a.in.Contract))
	return nil
}

// attackOn runs all attacks on one party's transcript.
func (a *auditor) attackOn(ctx context.Context, e *examination) assault {
	f, err := follow(ctx, &a.in, e.source, e.self)
	if err != nil {
		return assault{err: fmt.Errorf("transcript %s: %w", e.source.Path, err)}
	}
	if f.kept+f.lost+f.missed == 0 && f.unfollowed() == "" {
		return assault{attacks: []Attack{notApplicable(f.name(), "nothing that an attack looks at came to this party or left it")}}
	}
	if f.kept+f.lost == 0 {
		if e.transcript.Kept {
			c := absentPayloads(f.name())
			return assault{attacks: []Attack{notTried(f.name(), c.Detail)}, checks: []Check{c}}
		}
		return assault{attacks: []Attack{notTried(f.name(), errNotKept.Error())}}
	}
	list, err := f.attacks(ctx)
	if err != nil {
		return assault{err: err}
	}
	if reason := f.unfollowed(); reason != "" {
		list = append(list, Attack{Name: "difference", Party: f.name(), View: "angles", Verdict: Skipped, Detail: "not tried on all that was seen: " + reason})
	}
	checks := []Check{f.payloads()}
	if f.compared {
		checks = append(checks, f.tables())
	}
	return assault{attacks: list, checks: checks}
}

// notTried is what stands in place of all attacks on a party's transcript.
func notTried(party, reason string) Attack {
	return Attack{Name: "difference", Party: party, View: "all views", Verdict: Skipped, Detail: "not tried, nor any other: " + reason}
}

// notApplicable is what stands in place of all attacks where there is nothing to attack.
func notApplicable(party, reason string) Attack {
	return Attack{Name: "difference", Party: party, View: "all views", Verdict: NotApplicable,
		Detail: "there is none to try, nor any other: " + reason}
}

// attacks runs all attacks on what a party saw.
func (f *follower) attacks(ctx context.Context) ([]Attack, error) {
	var list []Attack
	try := func(a Attack, err error) error {
		if err != nil && ctx.Err() == nil {
			a.Verdict, a.Detail = Skipped, "not tried: "+err.Error()
		}
		list = append(list, a)
		return ctx.Err()
	}
	for _, s := range f.sights() {
		if len(s.system) == 0 {
			continue
		}
		if err := errors.Join(try(f.difference(ctx, s)), try(f.knownRows(ctx, s))); err != nil {
			return nil, err
		}
	}
	for _, s := range f.cosines() {
		if err := try(f.knownCosines(ctx, s)); err != nil {
			return nil, err
		}
	}
	if a, ok := f.uniformity(); ok {
		reuse := f.reuse
		if f.encrypted != nil {
			reuse = f.repeatedPolynomials
		}
		if err := errors.Join(try(a, nil), try(reuse(ctx))); err != nil {
			return nil, err
		}
	}
	if f.in.Contract.Parties[f.party].Role == "passive" {
		if err := try(f.labelLeakage(ctx)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
