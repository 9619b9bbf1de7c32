package columns

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// featuresFile is where a party keeps shares of all features while it trains.
const featuresFile = sealed.FilePrefix + "features"

// RoleHelper is the role of a party that holds shares and no data.
const RoleHelper = "helper"

// idle reports whether this node is the helper of a sealed job and brings no data to it.
func (j *Jobs) idle(job *contract.Job, p fdskl.Params) bool {
	return job.Privacy == keys.PrivacySealed && p.Helper == j.Name() && !j.Tables.Has(job.Table)
}

// idleFacts is what a party without data says of it.
func (j *Jobs) idleFacts() contract.Facts {
	return contract.Facts{Name: j.Name(), ID: j.ID, Role: RoleHelper}
}

// checkSealable refuses sealed jobs of which nothing can come.
func checkSealable(job *contract.Job) error {
	if len(job.Parties) < rss.Roles {
		return fmt.Errorf("job %q: sealed jobs need %d parties, it has %d: name any third member of the charter as one; it "+
			"needs no data and learns of no row by itself, and with either of the others it could rebuild all (helper = "+
			"\"its name\" in the job's parameters)", job.Name, rss.Roles, len(job.Parties))
	}
	if job.Encrypted() {
		return fmt.Errorf("job %q: aggregation is %q: the sums of a sealed job are under masks and open no angle", job.Name,
			job.Aggregation)
	}
	return nil
}

// sealing is this node's part of a sealed training.
type sealing struct{ *training }

// newSealing reads a sealed training job's parameters and checks its roles.
func (j *Jobs) newSealing(job *contract.Job) (*sealing, error) {
	t, err := j.newTraining(job)
	if err != nil {
		return nil, err
	}
	t.params = sealed.WithDefaults(t.params)
	if err := j.checkSealed(job, t.params); err != nil {
		return nil, err
	}
	return &sealing{t}, nil
}

// checkSealed checks what a sealed job asks of its parameters, and that no two of the three that hold shares
// are affiliated.
func (j *Jobs) checkSealed(job *contract.Job, p fdskl.Params) error {
	if err := sealed.Validate(p, job.Parties); err != nil {
		return wrongRoles(job, err)
	}
	charter := j.Charter()
	three := []string{p.Active[0], p.Keeper, p.Helper}
	for i, a := range three {
		for _, b := range three[:i] {
			if charter.Affiliated(a, b) {
				return fmt.Errorf("job %q: %s and %s are affiliated in charter %q: together they could rebuild everything, so "+
					"no two of label holder, keeper and helper may be", job.Name, b, a, charter.Name)
			}
		}
	}
	return nil
}

// completeSealed fills in what the proposer of a sealed training left open: the loss that opens nothing of the
// rows, and the keeper and the helper, the first parties that may hold shares beside the label holder.
func (j *Jobs) completeSealed(job *contract.Job) error {
	if err := checkSealable(job); err != nil {
		return err
	}
	if job.Parameters == nil {
		job.Parameters = make(map[string]any)
	}
	if job.Algorithm == contract.GLM && job.Parameters["bins"] == nil {
		job.Parameters["bins"] = int64(fdskl.DefaultBins)
	}
	if job.Parameters["loss"] == nil && job.Algorithm != contract.GLM { // a scorecard's follows from its target
		job.Parameters["loss"] = kernel.Square.String()
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		return wrongRoles(job, err)
	}
	charter := j.Charter()
	three := []string{p.Active[0], p.Keeper, p.Helper}
	taken := func(name string) bool { // it may not hold shares beside those who do
		return slices.ContainsFunc(three, func(other string) bool {
			return other == name || other != "" && charter.Affiliated(other, name)
		})
	}
	for place, role := range []string{"", "keeper", "helper"} {
		if place == 0 || three[place] != "" {
			continue
		}
		for _, name := range job.Parties {
			if three[place] == "" && !taken(name) {
				three[place] = name
				job.Parameters[role] = name
			}
		}
		if three[place] == "" {
			return fmt.Errorf("job %q: none of its parties can be the %s: it must be another than the label holder and "+
				"affiliated with nobody who holds shares; add a member of the charter to the job, it needs no data", job.Name, role)
		}
	}
	return nil
}

// Facts implements jobs.Task.
func (s *sealing) Facts() (contract.Facts, error) {
	if s.member.idle(s.job, s.params) {
		return s.member.idleFacts(), nil
	}
	return s.training.Facts()
}

// Disclose implements jobs.Task.
func (s *sealing) Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error) {
	return wired.Disclose(s.job, all, s.params)
}

// run implements part.
func (s *sealing) run(ctx context.Context, r *session) (*jobs.Report, error) {
	if err := ofThisVersion(r.Contract(), s.params); err != nil {
		return nil, err
	}
	party, prepared, err := s.party(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &sealed.Party{Party: party, Network: r.sealed, Session: r.Number(), Owner: s.member.ID,
		Scratch: func(bytes int64) (joint.Scratch, error) {
			f, err := r.Vault.Scratch(featuresFile, bytes)
			if err != nil {
				return nil, fmt.Errorf("shares of features: %w", err)
			}
			return f, nil
		}}
	if s.params.Binned() {
		if party.Params, err = sealed.WithFacts(s.params, r.Contract().Parties); err != nil {
			return nil, err
		}
		if len(party.Parts) > 0 {
			p.Bins, party.Parts = &party.Parts[0], nil
		}
	}
	if s.job.Shards > 0 {
		var rows *kernel.Matrix
		if prepared.own != nil {
			rows = prepared.own.Rows
		}
		p.Sums = func(ctx context.Context, b *sealed.Begun) ([]sealed.Sums, error) {
			return s.sums(ctx, r, party.Params, rows, b)
		}
	}
	m, err := sealed.Train(ctx, p)
	if err != nil {
		return nil, err
	}
	m.Contract, m.Columns, m.Reading = r.Contract().Hash(), prepared.columns, prepared.reading
	var labels *joint.Labels
	if prepared.own != nil {
		labels = prepared.own.Labels
	}
	by := s.chooseEvent(m, labels)
	if err := r.keepModel(m); err != nil {
		return nil, err
	}
	if prepared.own != nil {
		if err := saveFitted(r.Vault, TrainedRowsFile, prepared.own.Table.IDs); err != nil {
			return nil, err
		}
	}
	report := r.Report(party.Rows)
	report.Sigma, report.Lambda, report.Positive = m.Sigma, m.Lambda, positiveOf(m, by)
	report.NotConverged = m.NotConverged()
	if s.active() {
		report.Trained = &jobs.Training{Iterations: m.Iterations}
		if err := trainingFigures(r, report, prepared.own, m, nil, s.member.Workers); err != nil {
			r.Warn("there will be nothing to hold the model against: " + err.Error())
		}
	}
	return report, nil
}

// ofThisVersion refuses a contract of a training that parties signed under an earlier version: one that opens scores of
// its rows, or whose steps with the logistic loss do not tell how far they are.
func ofThisVersion(c *contract.Contract, p fdskl.Params) error {
	opens := func(kind string) bool {
		return slices.ContainsFunc(c.Openings, func(o contract.Opening) bool { return o.Kind == kind })
	}
	if !opens(sealed.Scores) && (opens(sealed.Progress) || p.Loss != kernel.Logistic.String()) {
		return nil
	}
	return fmt.Errorf("the contract of job %q is of an earlier version of this program, whose trainings with loss = %q "+
		"took other steps: propose the job anew", c.Job.Name, kernel.Logistic)
}

// prepared is what a model part keeps of a table.
type prepared struct {
	columns []string
	reading *joint.Reading
	own     *vertical.Prepared
}

// party is this node's part as the algorithm wants it, once the row ids are compared; of an idle helper without data.
func (s *sealing) party(ctx context.Context, r *session) (*fdskl.Party, prepared, error) {
	p := &fdskl.Party{
		Self: r.wire.Self(), Names: s.job.Parties, Params: s.params, Privacy: s.job.Privacy, Rows: r.Contract().Rows(),
		Vault: r.Vault, Workers: s.member.Workers, Report: r.progress, Opened: r.Learned,
	}
	if s.member.idle(s.job, s.params) {
		return p, prepared{}, r.compareRows(ctx, nil)
	}
	table, err := s.load()
	if err != nil {
		return nil, prepared{}, err
	}
	if err := r.Unchanged(table.Path, table.Sum); err != nil {
		return nil, prepared{}, err
	}
	if err := r.compareRows(ctx, table); err != nil {
		return nil, prepared{}, err
	}
	own, err := s.prepare(table)
	if err != nil {
		return nil, prepared{}, err
	}
	phase, err := wired.PhaseOf(r.Vault)
	if err != nil {
		return nil, prepared{}, err
	}
	p.Parts = []fdskl.Part{{Owner: s.member.ID, Normaliser: own.Normaliser, Rows: own.Rows, Phase: phase}}
	p.Labels = own.Labels
	return p, prepared{own.Columns, vertical.ReadingOf(table, s.member.Tables.Options(s.job.Table)), own}, nil
}

// sealedScorer scores rows by shares.
type sealedScorer struct {
	*sealed.Scorer
	model *fdskl.Model
	asked *asked
}

// newSealedScorer prepares this party's part of a sealed prediction. Before it returns all have been told which rows
// are asked for, and none of them was scored as often as it may be; single rows are looked at one by one. table is
// nil at a helper without data.
func newSealedScorer(ctx context.Context, p *prediction, r *session, table *dataset.Table) (*sealedScorer, error) {
	a, err := p.newAsked(r)
	if err != nil {
		return nil, err
	}
	p.asked = a
	openings, known := p.job.Requests, []byte(nil)
	if openings == 0 {
		openings = batchesOf(r.Contract().Rows())
		if known, err = a.sendKnown(ctx, p, r, table); err != nil {
			return nil, err
		}
	}
	var words func(number, n int) (sealed.ScoreWords, error)
	if p.job.Shards > 0 {
		var rows *kernel.Matrix
		var ids []string
		if table != nil {
			if rows, err = vertical.PrepareScoring(table, p.model); err != nil {
				return nil, err
			}
			ids = table.IDs
		}
		if words, err = p.scoreWords(ctx, r, rows, ids); err != nil {
			return nil, err
		}
	}
	s, err := sealed.NewScorer(ctx, sealed.Scoring{
		Words: words,
		Self:  r.wire.Self(), Receiver: p.job.Index(p.job.OpenTo), Model: p.model, Network: r.sealed,
		Vault: r.Vault, Session: r.Number(),
		Openings: openings, Singly: p.job.Requests > 0, Workers: p.member.Workers, Opened: r.Learned,
		Asked: a.of, Record: a.record,
	}) // it confirms what was told
	if err == nil && known != nil {
		err = a.settle(r, known, table)
	}
	return &sealedScorer{s, p.model, a}, err
}

// score implements scorer.
func (s *sealedScorer) score(ctx context.Context, number, n int, t *dataset.Table) ([]float64, error) {
	if t == nil {
		return s.Score(ctx, number, n, nil, nil)
	}
	rows, err := vertical.PrepareScoring(t, s.model)
	if err != nil {
		return nil, err
	}
	s.asked.ids = t.IDs
	scores, err := s.Score(ctx, number, n, []*kernel.Matrix{rows}, t.IDs)
	if err == nil && scores != nil {
		err = s.asked.keep(number, scores)
	}
	return scores, err
}
