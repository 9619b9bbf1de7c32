package clients

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/cache"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// algorithm is what this package knows of an algorithm over clients.
type algorithm struct {
	part func(*Jobs, *contract.Job) (part, error)
	// model reads what the party at a place of the contract kept; private is what of it is a client's alone, with a verb.
	model    func(c *contract.Contract, self int, data []byte) (federated.Model, error)
	private  string
	complete func(*Jobs, *contract.Job) error // fills in what the server's node knows; may be nil
	warnings func(*contract.Job) []string     // what is doubtful by public numbers alone; may be nil
	picks    bool                             // clients are chosen, or choose, in each round
	summed   summed                           // see Summed
}

// summed is Summed of one algorithm.
type summed func(job *contract.Job, server string) (clients float64, beside string)

// algorithms is the registry, by the names in jobs.
func algorithms() map[string]algorithm {
	return map[string]algorithm{
		contract.GFML: {
			part: newGFML, model: gfmlModel, private: "the numbers in theta are", warnings: gfmlWarnings, picks: true,
			summed: gfmlSummed,
		},
		contract.OFMSFT: {
			part: newOFMSFT, model: ofmsftModel, private: "the networks' weights and shares are", complete: describeModels,
			picks: true, summed: ofmsftSummed,
		},
		contract.POFMKL: {
			part: newPOFMKL, model: pofmklModel, private: "the kernels' weights are", warnings: pofmklWarnings,
			summed: pofmklSummed,
		},
	}
}

// networksKept is how many bytes of networks a client keeps on its disk, of all jobs, and networksDir is where in the
// node's folder.
const (
	networksKept = 1 << 30
	networksDir  = "networks"
)

// Jobs is a node's part in all jobs over clients.
type Jobs struct {
	*jobs.Member

	mu       sync.Mutex
	networks *cache.Cache // that travelled, once a job has asked for it
}

// New prepares a member's part in jobs over clients.
func New(m *jobs.Member) *Jobs { return &Jobs{Member: m} }

// Algorithms lists the algorithms of jobs over clients.
func Algorithms() []string { return slices.Sorted(maps.Keys(algorithms())) }

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
	p, err := algorithms()[job.Algorithm].part(j, job)
	return &task{part: p, member: j.Member}, err
}

// Complete implements jobs.Kind.
func (j *Jobs) Complete(job *contract.Job) error {
	if complete := algorithms()[job.Algorithm].complete; complete != nil {
		return complete(j, job)
	}
	return nil
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
		case f.Role != roleClient:
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

// Warnings says what is doubtful in a job by public numbers alone.
func Warnings(job *contract.Job) []string {
	if warnings := algorithms()[job.Algorithm].warnings; warnings != nil {
		return warnings(job)
	}
	return nil
}

// Summed returns how many clients have a part in the totals that a server of a job learns, at most or about, and a
// sentence on what is in them all the same of a single one, with a blank before it; empty: nothing.
func Summed(job *contract.Job, server string) (clients float64, beside string) {
	return algorithms()[job.Algorithm].summed(job, server)
}

// Predicted counts the predictions in a job's folder; one that is damaged has fewer.
func Predicted(v *vault.Vault) int {
	n := 0
	v.Records(predictionsLog, -1, func([]byte) error { n++; return nil })
	return n
}
