package contract

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
)

// Brief returns of a contract what stays of use when its job has ended: the job, its parties, what opened, and the
// operations that opened it, which say by how many bits; under the contract's hash. Text, signatures and all other
// operations are left out, so that it can be neither signed nor run. It shares no memory with the contract.
func (c *Contract) Brief() (*Contract, error) {
	var b bytes.Buffer
	few := Contract{Format: c.Format, JobText: c.JobText, Parties: c.Parties, Openings: c.Openings}
	for _, o := range c.Operations {
		if slices.ContainsFunc(c.Openings, func(opening Opening) bool { return opening.Kind == o.Kind }) {
			few.Operations = append(few.Operations, o)
		}
	}
	if err := toml.NewEncoder(&b).Encode(few); err != nil {
		return nil, fmt.Errorf("contract of job %q: %w", c.Job.Name, err)
	}
	brief := &Contract{Document: c.Document.Named(), Shard: c.Shard}
	if err := keys.DecodeStrict("contract", b.Bytes(), brief); err != nil {
		return nil, err
	}
	var err error
	brief.Job, err = ParseJob([]byte(c.JobText))
	brief.JobText = ""
	return brief, err
}
