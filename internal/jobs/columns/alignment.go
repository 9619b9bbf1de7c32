package columns

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Files of an alignment job: what all secrets follow from, and the digests of what came.
const (
	alignmentRootFile     = "alignment-root"
	alignmentReceivedFile = "alignment-received"
)

// aligning is this node's part of an alignment.
type aligning struct {
	member      *Jobs
	job         *contract.Job
	params      psi.Params
	identifiers []keys.Identifier // of the charter, by pass; none: the id column
	charter     keys.Hash
}

// newAlignment reads an alignment job's parameters.
func (j *Jobs) newAlignment(job *contract.Job) (*aligning, error) {
	p, err := psi.ParamsOf(job)
	if err == nil {
		err = p.Check(job, &j.Charter().Charter)
	}
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	a := &aligning{member: j, job: job, params: p, charter: j.Charter().Digest()}
	for _, name := range p.Keys {
		id, _ := j.Charter().Identifier(name) // checked with the parameters
		a.identifiers = append(a.identifiers, id)
	}
	return a, nil
}

// completeAlignment fills in what the proposer of an alignment left open.
func (j *Jobs) completeAlignment(job *contract.Job) error {
	p, err := psi.ParamsOf(job)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	return job.SetParameters(p.Complete(job, j.Charter().Rules))
}

// settleAlignment says whether this node has no rows for an alignment that leaves open who counts.
func (j *Jobs) settleAlignment(job *contract.Job) (s jobs.Settled, err error) {
	p, err := psi.ParamsOf(job)
	if err != nil {
		return s, fmt.Errorf("job %q: %w", job.Name, err)
	}
	s.Bare = j.mayHelp(p, j.Name()) && !j.Tables.Has(job.Table)
	return s, nil
}

// mayHelp reports whether a party may be who counts in an alignment that leaves that open.
func (j *Jobs) mayHelp(p psi.Params, party string) bool {
	return p.WantsHelper() && party != p.Asker && party != p.Keeper && !j.Charter().Affiliated(party, p.Asker)
}

// takeInHelper has a party that has no rows count for the others, where the job leaves open who does. Nobody else has
// the number then: from it two who count could read what an alignment of too few rows is not to tell.
func (j *Jobs) takeInHelper(job *contract.Job, party string) (string, error) {
	p, err := psi.ParamsOf(job)
	if err != nil {
		return "", fmt.Errorf("job %q: %w", job.Name, err)
	}
	if !j.mayHelp(p, party) {
		return "", fmt.Errorf("job %q: %s has no table %q: one party at most may have none, it counts for the others (%s "+
			"here), and it is not affiliated with the asker", job.Name, party, job.Table, cmp.Or(p.Helper, "nobody"))
	}
	return fmt.Sprintf("mode: helper. %s has no table %q, and counts for the others (say mode = %q, with parties that "+
		"all have one, for none)", party, job.Table, psi.ModeDH), job.SetParameters(p.Help(party))
}

// idle reports whether this node only counts, and brings no rows.
func (a *aligning) idle() bool {
	return a.params.Helper == a.member.Name() && !a.member.Tables.Has(a.job.Table)
}

// idLists is what an alignment needs of a table: the ids by key, their numbers, and what commits the party to them.
// A job asks for it several times.
type idLists struct {
	source     *jobs.Source
	nonce      string
	lists      [][]psi.ID
	counts     []int
	unreadable []ids.Left // rows with a cell that has no normal form
	commitment keys.Hash
}

// lists keep what was made last of a table for an alignment.
type lists struct {
	mu   sync.Mutex
	last *idLists
}

// list makes the own ids under each key, unless they are those of the same job and file as last time.
func (a *aligning) list() (*idLists, error) {
	source, err := a.member.Tables.Source(a.job.Table)
	if err != nil {
		return nil, err
	}
	kept := &a.member.lists
	kept.mu.Lock()
	defer kept.mu.Unlock()
	l := kept.last
	if l != nil && l.nonce == a.job.Nonce && l.source.Path() == source.Path() && l.source.Sum() == source.Sum() {
		return l, nil
	}
	kept.last = nil // its memory is free for the new one
	found, err := alignment.Lists(a.charter, a.identifiers, source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source.Path(), err)
	}
	l = &idLists{source: source, nonce: a.job.Nonce}
	for _, made := range found {
		l.lists = append(l.lists, made.IDs)
		l.counts = append(l.counts, len(made.IDs)-made.Empty.Count-made.Unreadable.Count)
		l.unreadable = append(l.unreadable, made.Unreadable)
	}
	l.commitment = psi.Commit(a.commitmentSecret(), l.lists, a.workers())
	kept.last = l
	return l, nil
}

// Facts implements jobs.Task.
func (a *aligning) Facts() (contract.Facts, error) {
	f := contract.Facts{Name: a.member.Name(), ID: a.member.ID, Role: "passive"}
	if a.params.Asker == f.Name {
		f.Role = "active"
	}
	if a.idle() {
		return a.member.idleFacts(), nil
	}
	l, err := a.list()
	if err != nil {
		return contract.Facts{}, err
	}
	if n := l.counts[0]; n < a.params.MinRows {
		own := append([]string{""}, jobs.Doubts(a.member.Tables.Looks(a.job.Table, a.identifiers))...)
		return contract.Facts{}, faults.Errorf(fault.CodeTable, "table %q: %s: %s with an id, and alignment %q opens "+
			"nothing below min_rows = %d: nothing was sent; align a larger table, or change min_rows of the charter's rules%s",
			a.job.Table, l.source.Path(), wording.Count(n, "row"), a.job.Name, a.params.MinRows, strings.Join(own, "; "))
	}
	f.Rows, f.IDs, f.Commitment = len(l.source.RowIDs()), l.counts, l.commitment.String()
	return f, nil
}

// fitAlignment refuses an alignment with a party that lists fewer rows than may open, whatever that party's node says.
func fitAlignment(job *contract.Job, all []contract.Facts) error {
	p, err := psi.ParamsOf(job)
	if err != nil {
		return fmt.Errorf("job %q: %w", job.Name, err)
	}
	for _, f := range all {
		if len(f.IDs) > 0 && f.IDs[0] < p.MinRows {
			return faults.Errorf(fault.CodeTable, "job %q: %s lists %s with an id under the first key, and min_rows is "+
				"%d: who aligns so few asks about these, and nothing could open", job.Name, f.Name, wording.Count(f.IDs[0], "row"),
				p.MinRows)
		}
	}
	return nil
}

// commitmentSecret is what hides the own ids in the commitment: the same whenever it is asked for, so that the owner
// can show what it committed to.
func (a *aligning) commitmentSecret() keys.Hash {
	return a.member.Secret(psi.DomainCommitment, []byte(a.job.Nonce))
}

// workers are the goroutines for arithmetic.
func (a *aligning) workers() int { return cores(a.member.Workers) }

// Disclose implements jobs.Task.
func (a *aligning) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	s, err := psi.SpecOf(a.job, all)
	if err != nil {
		return nil, nil, fmt.Errorf("job %q: %w", a.job.Name, err)
	}
	openings, operations := s.Disclose(a.job.Parties)
	return openings, contract.SessionOperations(len(all), operations), nil
}

// run implements part.
func (a *aligning) run(ctx context.Context, r *session) (*jobs.Report, error) {
	spec, err := psi.SpecOf(a.job, r.Contract().Parties)
	if err != nil {
		return nil, err
	}
	root, err := rootOf(r.Vault)
	if err != nil {
		return nil, err
	}
	keep, err := keeper(r.Vault)
	if err != nil {
		return nil, err
	}
	p := &psi.Party{
		Spec: *spec, Self: r.wire.Self(), Contract: r.Contract().Hash(), Root: root, Network: alignmentNetwork{r.wire},
		Workers: a.workers(), Keep: keep, Opened: r.Learned,
		Step: func(step string, done, total int) { r.Step(step, done, total, 0) },
	}
	if !a.idle() {
		l, err := a.list()
		if err != nil {
			return nil, err
		}
		if err := r.Unchanged(l.source.Path(), l.source.Sum()); err != nil {
			return nil, err
		}
		p.Lists = l.lists
		a.warnOfUnreadable(r, l)
	}
	result, err := psi.Run(ctx, p)
	var deviation *psi.Deviation
	if errors.As(err, &deviation) {
		return nil, &protocol.StepError{Peer: r.wire.Name(deviation.Party), Kind: deviation.Kind,
			Operation: r.wire.Operations(), Err: fmt.Errorf("%w: %s", contract.ErrDeviation, deviation.Why)}
	}
	var overflow *psi.OverflowError
	if errors.As(err, &overflow) {
		return nil, faults.Errorf(fault.CodeTable, "table %q: %w", a.job.Table, err)
	}
	if err != nil {
		return nil, err
	}
	made := &alignment.Alignment{Name: a.job.Name, Contract: p.Contract, Charter: a.charter, Keys: a.identifiers,
		Digest: result.Digest}
	for _, c := range result.Rows {
		made.Add(c.Pass, p.Lists[c.Pass][c.Row])
	}
	if r.kept, err = made.Encode(); err != nil {
		return nil, err
	}
	common := 0
	for _, n := range result.Sizes {
		common += n
	}
	report := r.Report(r.Contract().Parties[p.Self].Rows)
	report.Aligned = &jobs.Aligned{Name: a.job.Name, Table: a.job.Table, Common: common, ByKey: result.Sizes,
		Keys: a.params.Keys, KeepDays: a.params.KeepDays}
	return report, nil
}

// warnOfUnreadable tells this node's owner which rows take no part because a cell of theirs has no normal form.
func (a *aligning) warnOfUnreadable(r *session, l *idLists) {
	for pass, left := range l.unreadable {
		if left.Count > 0 && r.Number() == 1 {
			r.Warn(fmt.Sprintf("%s of your own table %q: ids.%s cannot be made of them and they take no part, one in line %d: "+
				"hanse ids check says why", wording.Count(left.Count, "row"), a.job.Table, a.identifiers[pass].Name,
				left.Lines[0]))
		}
	}
}

// rootOf returns what the party's secrets in an alignment follow from, drawn once for its contract and kept until the
// job ends.
func rootOf(v *vault.Vault) (root psi.Root, err error) {
	err = joint.DrawnOnce(v, alignmentRootFile, root[:], func() { rand.Read(root[:]) })
	return root, err
}

// unmatched lists the rows of a job's table that its alignment does not have, none where the job names none.
func (j *Jobs) unmatched(job *contract.Job) ([]string, error) {
	a, err := j.alignmentOf(job)
	if a == nil || err != nil {
		return nil, err
	}
	return j.Tables.Rest(job.Table, a)
}

// keeper notes the digests of what came, over all sessions of a job.
func keeper(v *vault.Vault) (func(name string, digest keys.Hash) error, error) {
	known := make(map[string]keys.Hash)
	var damage error
	if _, err := v.Records(alignmentReceivedFile, -1, func(record []byte) error {
		if len(record) <= len(keys.Hash{}) {
			damage = fmt.Errorf("%s has a record of %d bytes", v.Path(alignmentReceivedFile), len(record))
			return damage
		}
		known[string(record[len(keys.Hash{}):])] = keys.Hash(record)
		return nil
	}); err != nil {
		return nil, err
	}
	return func(name string, digest keys.Hash) error {
		if before, ok := known[name]; ok {
			if before != digest {
				return psi.ErrOther
			}
			return nil
		}
		if err := v.Append(alignmentReceivedFile, append(digest[:], name...)); err != nil {
			return err
		}
		known[name] = digest
		return v.Sync(alignmentReceivedFile)
	}, nil
}

// alignmentNetwork is a session as an alignment sees it.
type alignmentNetwork struct{ *protocol.Session }

// Pass implements psi.Network.
func (n alignmentNetwork) Pass(ctx context.Context, m psi.Message, data []byte) ([]byte, error) {
	var received []byte
	if n.Self() == m.To {
		received = make([]byte, 0, min(m.Size, contract.DefaultChunk)) // who announces much need not send it
	}
	err := n.Session.Pass(ctx, protocol.Direct{
		Kind: m.Kind, Class: m.Class, Encoding: contract.Bytes, From: m.From, To: m.To, Size: m.Size,
		Load:  func(offset int, chunk []byte) error { copy(chunk, data[offset:]); return nil },
		Store: func(_ int, chunk []byte) error { received = append(received, chunk...); return nil },
	})
	return received, err
}

// Exchange implements psi.Network.
func (n alignmentNetwork) Exchange(ctx context.Context, m psi.Message, data []byte) ([][]byte, error) {
	return n.Session.Exchange(ctx, m.Kind, data, m.Size)
}

// completeRows finds the alignment that a job names: the newest one of that name that this node has, else the one whose
// contract's hash begins so, by whose name the job then calls it.
func (j *Jobs) completeRows(job *contract.Job) error {
	if job.Rows == "" || job.Alignment != "" {
		return nil
	}
	done := j.Finished(contract.TaskAlign, job.Rows)
	named := slices.IndexFunc(done, func(f jobs.Finished) bool { return f.Contract.Job.Name == job.Rows })
	switch {
	case len(done) == 0:
		var names []string
		for _, f := range j.Finished(contract.TaskAlign, "") {
			names = append(names, f.Contract.Job.Name)
		}
		return fmt.Errorf("job %q: rows is %q, and this node has no alignment of that name: hanse jobs lists its "+
			"alignments, and hanse align --name %s --parties NAMES makes one%s",
			job.Name, wording.Clip(job.Rows), wording.Clip(job.Rows), wording.DidYouMean(job.Rows, names))
	case named < 0 && len(done) > 1:
		return fmt.Errorf("job %q: rows is %q, and the contracts of %d alignments begin so: give more digits, or a name",
			job.Name, job.Rows, len(done))
	}
	found := done[max(0, named)].Contract
	job.Rows, job.Alignment = found.Job.Name, found.Hash().String()
	return nil
}

// alignmentOf returns the alignment whose rows a job takes, nil where it names none. It is the one that all parties
// signed for when it was made, it is not too old, and every party of the job with rows took part in it.
func (j *Jobs) alignmentOf(job *contract.Job) (*alignment.Alignment, error) {
	if job.Rows == "" {
		return nil, nil
	}
	fail := func(format string, args ...any) error {
		return faults.Errorf(fault.CodeTable, "job %q: rows is %q: %w", job.Name, job.Rows, fmt.Errorf(format, args...))
	}
	var h keys.Hash
	if err := h.UnmarshalText([]byte(job.Alignment)); err != nil {
		return nil, fail("the job does not say which alignment that is: propose it through a node that has it")
	}
	for _, done := range j.Finished(contract.TaskAlign, job.Rows) {
		if done.Contract.Hash() != h || done.Contract.Job.Name != job.Rows {
			continue
		}
		p, err := psi.ParamsOf(done.Contract.Job)
		if err != nil {
			return nil, fail("%w", err)
		}
		if end := done.Ended.AddDate(0, 0, p.KeepDays); j.Now().After(end) {
			return nil, fail("the alignment expired on %s (keep_days = %d): run hanse align again",
				end.UTC().Format("2006-01-02"), p.KeepDays)
		}
		for _, name := range job.Parties {
			if done.Contract.Job.Index(name) < 0 {
				return nil, fail("%s took no part in the alignment: run hanse align with all parties of the job", name)
			}
		}
		v, ok := j.Folder(h)
		if !ok {
			break
		}
		if err := j.Signed(h, jobs.AlignmentFile); err != nil {
			return nil, err
		}
		data, err := v.Load(jobs.AlignmentFile)
		if err != nil {
			return nil, err
		}
		return alignment.Decode(data)
	}
	return nil, fail("this node has no such alignment with contract %s any more: run hanse align --name %s again",
		h.Short(), job.Rows)
}
