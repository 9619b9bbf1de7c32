package protocol

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
)

// jobFormat is the first field of every job.
const jobFormat = "hanse-job-v1"

// The tasks of a job.
const (
	TaskTrain   = "train"
	TaskPredict = "predict"
)

// Privacies lists the privacy modes from the weakest to the strongest.
var privacies = []string{"published", "masked", "sealed"}

// Job is one computation that a member proposes to others. Its text is TOML; a field it does not
// know is an error. What an algorithm wants to know is in Parameters, which the algorithm checks.
//
// Evolution: fields are added with a zero value that keeps the old meaning; a changed meaning is
// a new format.
type Job struct {
	Format     string         `toml:"format"`
	Name       string         `toml:"name"`                 // as a member's name: a-z, 0-9, '-'
	Algorithm  string         `toml:"algorithm"`            // "fdskl"
	Task       string         `toml:"task"`                 // "train" or "predict"
	Parties    []string       `toml:"parties"`              // member names; their order is the order of sums
	Privacy    string         `toml:"privacy"`              // "published", "masked" or "sealed"
	Topology   string         `toml:"topology,omitempty"`   // "tree" (default), "star" or "ring"
	Table      string         `toml:"table,omitempty"`      // the name each party gave to its data; default "train"
	Model      string         `toml:"model,omitempty"`      // predict: hash of the contract that trained it
	OpenTo     string         `toml:"open_to,omitempty"`    // predict: the party that learns the scores
	Charter    string         `toml:"charter,omitempty"`    // digest of the charter, filled in by the proposer's node
	Proposer   string         `toml:"proposer,omitempty"`   // filled in by the proposer's node
	Nonce      string         `toml:"nonce,omitempty"`      // makes two runs of one job two contracts; filled in
	Parameters map[string]any `toml:"parameters,omitempty"` // the algorithm's own
}

// ParseJob reads a job and checks everything that can be checked without a charter.
func ParseJob(text []byte) (*Job, error) {
	var j Job
	if err := keys.DecodeStrict("job", text, &j); err != nil {
		return nil, err
	}
	if j.Topology == "" {
		j.Topology = Tree.String()
	}
	if j.Table == "" {
		j.Table = "train"
	}
	if j.Privacy == "" {
		j.Privacy = "masked"
	}
	if err := j.validate(); err != nil {
		return nil, fmt.Errorf("job %q: %w", j.Name, err)
	}
	return &j, nil
}

// validate checks the fields one by one; each message states the rule and the value received.
func (j *Job) validate() error {
	switch {
	case j.Format != jobFormat:
		return fmt.Errorf("format is %q, want %q", j.Format, jobFormat)
	case j.Algorithm == "":
		return fmt.Errorf("algorithm is missing, want for example algorithm = \"fdskl\"")
	case j.Task != TaskTrain && j.Task != TaskPredict:
		return fmt.Errorf("task is %q, want %q or %q", j.Task, TaskTrain, TaskPredict)
	case !slices.Contains(privacies, j.Privacy):
		return fmt.Errorf("privacy is %q, want one of %s", j.Privacy, strings.Join(privacies, ", "))
	case len(j.Parties) < 2:
		return fmt.Errorf("parties has %d names, want at least 2", len(j.Parties))
	case j.Task == TaskPredict && (j.Model == "" || j.OpenTo == ""):
		return fmt.Errorf("a predict job names its model and who the scores open to: model and open_to must be set")
	case j.Task == TaskPredict && !slices.Contains(j.Parties, j.OpenTo):
		return fmt.Errorf("open_to is %q, want one of its parties %s", j.OpenTo, strings.Join(j.Parties, ", "))
	}
	if _, err := ParseTopology(j.Topology); err != nil {
		return err
	}
	for i, p := range j.Parties {
		if slices.Contains(j.Parties[:i], p) {
			return fmt.Errorf("parties names %q twice", p)
		}
	}
	return nil
}

// Text renders the job; equal jobs give equal bytes.
func (j *Job) Text() ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(j); err != nil {
		return nil, fmt.Errorf("job %q: %w", j.Name, err)
	}
	return b.Bytes(), nil
}

// Members finds the job's parties in a charter, in the job's order, and checks the charter's
// rules.
func (j *Job) Members(c *keys.Charter) ([]Party, error) {
	if slices.Index(privacies, j.Privacy) < slices.Index(privacies, c.Rules.MinPrivacy) {
		return nil, fmt.Errorf("job %q: privacy is %q, the charter asks for at least %q", j.Name, j.Privacy, c.Rules.MinPrivacy)
	}
	parties := make([]Party, len(j.Parties))
	for i, name := range j.Parties {
		m, ok := c.MemberNamed(name)
		if !ok {
			return nil, fmt.Errorf("job %q: party %q is not a member of charter %q", j.Name, name, c.Name)
		}
		parties[i] = Party{Name: m.Name, ID: m.ID}
	}
	return parties, nil
}

// Index returns the position of the named party in the job, -1 when it is not in it.
func (j *Job) Index(name string) int { return slices.Index(j.Parties, name) }
