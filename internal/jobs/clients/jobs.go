package clients

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/cache"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// networksKept is how many bytes of networks a client keeps on its disk, of all jobs, and networksDir is where in the
// node's folder.
const (
	networksKept = 1 << 30
	networksDir  = "networks"
)

// Jobs is a node's part in all jobs over clients.
type Jobs struct {
	*jobs.Member
	algorithms registry.List

	mu       sync.Mutex
	networks *cache.Cache // that travelled, once a job has asked for it
}

// New prepares a member's part in jobs over clients, of the algorithms listed.
func New(m *jobs.Member, l registry.List) *Jobs { return &Jobs{Member: m, algorithms: l} }

// Task implements jobs.Kind.
func (j *Jobs) Task(job *contract.Job) (jobs.Task, error) {
	switch {
	case job.Task != contract.TaskTrain:
		return nil, fmt.Errorf("job %q: task is %q, want %q: %s predicts while it learns",
			job.Name, job.Task, contract.TaskTrain, job.Algorithm)
	case !job.OverClients():
		return nil, fmt.Errorf("job %q: servers is empty, want the parties that aggregate", job.Name)
	case job.Privacy == keys.PrivacySealed:
		return nil, fmt.Errorf("job %q: privacy %q is not for jobs over clients, want %q or %q",
			job.Name, keys.PrivacySealed, keys.PrivacyMasked, keys.PrivacyPublished)
	case !slices.Contains(job.Servers, cmp.Or(job.Proposer, job.Servers[0])):
		return nil, fmt.Errorf("job %q: %s proposes it and is no server: a server does", job.Name, job.Proposer)
	}
	t := &task{member: j, algorithm: j.algorithms.OverClients(job), contracted: job}
	least := 1 // client in a total that opens
	if job.Privacy != keys.PrivacyPublished {
		least = max(least, job.Contributors(j.Charter().Rules))
	}
	var err error
	if t.job, err = t.algorithm.Read(job, least); err != nil {
		return nil, fmt.Errorf("job %q: %w", job.Name, err)
	}
	return t, nil
}

// Complete implements jobs.Kind.
func (j *Jobs) Complete(job *contract.Job) error {
	if complete := j.algorithms.OverClients(job).Complete; complete != nil {
		return complete(job, j.table)
	}
	return nil
}

// table implements federated.Folder.
func (j *Jobs) table(job *contract.Job, of string) (string, error) {
	spec, ok := j.Tables.Specs[job.Table]
	if !ok {
		return "", fmt.Errorf("this node has no table %q; it has %s: start it with --data %s=FOLDER, a folder of %s",
			job.Table, j.Tables.Names(), job.Table, of)
	}
	return spec.Path, nil
}

// openCache returns where this node keeps networks that travelled.
func (j *Jobs) openCache() (federated.Cache, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.networks == nil {
		j.networks, err = cache.Open(filepath.Join(j.Dir, networksDir), networksKept)
	}
	return j.networks, err
}

// earlier returns the state that this node has kept as a client of an earlier job.
func (j *Jobs) earlier(h keys.Hash) ([]byte, error) {
	v, ok := j.Folder(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job with contract %s", h.Short())
	}
	return v.Load(ClientFile)
}

// CompleteFor implements jobs.Kind: numbers of rows leave nothing open.
func (j *Jobs) CompleteFor(*contract.Job, []contract.Facts) (string, error) { return "", nil }

// Settle implements jobs.Kind: clients' streams settle nothing.
func (j *Jobs) Settle(*contract.Job) (jobs.Settled, error) { return jobs.Settled{}, nil }

// TakeIn implements jobs.Kind.
func (j *Jobs) TakeIn(job *contract.Job, party string, s jobs.Settled) (string, error) {
	if s != (jobs.Settled{}) {
		return "", fmt.Errorf("job %q: %s settles a target, which a job over clients does not have", job.Name, party)
	}
	return "", nil
}

// Fit implements jobs.Kind: all clients' streams have the same columns.
func (j *Jobs) Fit(_ *contract.Job, all []contract.Facts) error {
	var first *contract.Facts
	for i := range all {
		f := &all[i]
		switch {
		case f.Role != federated.RoleClient:
		case first == nil:
			first = f
		case f.Columns != first.Columns:
			return fmt.Errorf("%s has %d input columns, %s has %d: all clients' streams need the same",
				f.Name, f.Columns, first.Name, first.Columns)
		case f.Header != first.Header:
			return fmt.Errorf("the input columns of %s have other names, or another order, than those of %s",
				f.Name, first.Name)
		}
	}
	return nil
}

// Stands implements jobs.Kind.
func (j *Jobs) Stands(*contract.Job) error { return nil }

// DataSum implements jobs.Kind: streams grow.
func (j *Jobs) DataSum(*contract.Job) (none keys.Hash, err error) { return none, nil }

// Label implements jobs.Kind.
func (j *Jobs) Label(job *contract.Job) string { return consent.LabelOf(job) }

// Known implements jobs.Kind: streams are not looked at beforehand.
func (j *Jobs) Known(*contract.Job) (nothing forecast.Known) { return nothing }

// Predicted counts the predictions in a job's folder; one that is damaged has fewer.
func Predicted(v *vault.Vault) int {
	n := 0
	v.Records(predictionsLog, -1, func([]byte) error { n++; return nil })
	return n
}
