// Package contract is what the parties of a job agree on: the job, its facts, operations and openings, along which
// plans sums travel, what each party may send, and how the job ends. It is a leaf: it knows of no session and no
// network.
package contract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// DomainContract separates signatures on contracts from all others.
const DomainContract = "hanse contract v1"

// Format is the first field of every contract.
const Format = "hanse-contract-v3"

// Party is a member inside a session.
type Party struct {
	Name string
	ID   keys.ID
}

// Facts is what a party says of its data before it consents: numbers, never values.
type Facts struct {
	Name string  `toml:"name"`
	ID   keys.ID `toml:"id"`
	// "active", "passive" or, of a sealed job without data, "helper"; in jobs over clients "server" or "client"
	Role    string    `toml:"role"`
	Rows    int       `toml:"rows"`
	Columns int       `toml:"columns"`
	Header  keys.Hash `toml:"header"` // of a client: digest of the names of its columns; else zero
	// of an alignment: how many rows have an id under each of its keys, and what commits the party to these ids
	IDs        []int  `toml:"ids,omitempty"`
	Commitment string `toml:"commitment,omitempty"`
	Bins       int    `toml:"bins,omitzero"` // glm: how many bins its columns have together
	// Of a job over columns: what commits the party to its set of rows and, of a training, the label holder to its labels.
	// A node says the same of the same rows, and of the same labels on them, in all its jobs.
	RowSet string `toml:"row_set,omitempty"`
	Labels string `toml:"labels,omitempty"`
}

// Equal reports whether two parties' facts are the same.
func (f Facts) Equal(o Facts) bool {
	return f.Name == o.Name && f.ID == o.ID && f.Role == o.Role && f.Rows == o.Rows && f.Columns == o.Columns &&
		f.Header == o.Header && slices.Equal(f.IDs, o.IDs) && f.Commitment == o.Commitment &&
		f.Bins == o.Bins && f.RowSet == o.RowSet && f.Labels == o.Labels
}

// Opening is a value that a party learns by design.
type Opening struct {
	To      string `toml:"to"`
	Kind    string `toml:"kind"`
	Count   int64  `toml:"count"`
	Meaning string `toml:"meaning"` // one sentence for people: what follows from it
}

// Contract is a job together with what each party brings, what the parties do together, with its
// budget, and what each learns. Counter-signed by all parties it is in force; its hash is in every
// frame.
type Contract struct {
	Format     string      `toml:"format"`
	JobText    string      `toml:"job"`
	Parties    []Facts     `toml:"party"`
	Openings   []Opening   `toml:"opening"`
	Operations []Operation `toml:"operation"`
	// what the sessions of all shards do together, beside the job's own; see InShards
	Sharded []Operation `toml:"sharded,omitempty"`

	Job            *Job     `toml:"-"`
	Shard          *ShardOf `toml:"-"` // nil but in the contract of a shard's session
	*keys.Document `toml:"-"`
}

// NewContract renders an unsigned contract; see SessionOperations for the operations that every
// contract must list, and InShards for those of a job's shards.
func NewContract(job *Job, parties []Facts, openings []Opening, operations []Operation) (*Contract, error) {
	text, err := job.Text()
	if err != nil {
		return nil, err
	}
	c := &Contract{Format: Format, JobText: string(text), Parties: parties, Openings: openings, Job: job}
	for _, o := range operations {
		if o.Shards > 0 {
			c.Sharded = append(c.Sharded, o)
		} else {
			c.Operations = append(c.Operations, o)
		}
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("contract of job %q: %w", wording.Clip(job.Name), err)
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		return nil, fmt.Errorf("contract of job %q: %w", job.Name, err)
	}
	c.Document = keys.NewDocument(DomainContract, b.Bytes())
	return c, nil
}

// ParseContract reads a contract and the signatures it bears, which must be right but need not be
// complete; see Complete.
func ParseContract(text []byte) (*Contract, error) {
	doc, err := keys.ParseDocument(DomainContract, text)
	if err != nil {
		return nil, err
	}
	c := &Contract{Document: doc}
	if err := keys.DecodeStrict("contract", doc.Body, c); err != nil {
		return nil, err
	}
	if c.Format != Format {
		return nil, fmt.Errorf("contract: format is %q, want %q", wording.Clip(c.Format), Format)
	}
	if c.Job, err = ParseJob([]byte(c.JobText)); err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("contract of job %q: %w", c.Job.Name, err)
	}
	return c, nil
}

// Signers lists the parties that have signed the contract, in its order.
func (c *Contract) Signers() []string {
	var names []string
	for i := range c.Parties {
		if c.SignedBy(c.Parties[i].ID) {
			names = append(names, c.Parties[i].Name)
		}
	}
	return names
}

// InForce is a contract that all its parties have signed: the proof that whoever starts a session of it asks for. Only
// Contract.InForce makes one; the zero value proves nothing.
type InForce struct{ contract *Contract }

// Contract returns the contract with all its signatures, nil of the zero value. It must not be changed.
func (f InForce) Contract() *Contract { return f.contract }

// InForce checks that every party has signed; the error names those who have not.
func (c *Contract) InForce() (InForce, error) {
	signed := c.Signers()
	names := slices.DeleteFunc(slices.Clone(c.Job.Parties),
		func(name string) bool { return slices.Contains(signed, name) })
	if len(names) > 0 {
		return InForce{}, fmt.Errorf("the contract of job %q is not in force: %s must still sign it",
			c.Job.Name, strings.Join(names, ", "))
	}
	return InForce{c}, nil
}

// Holders returns the parties that bring rows, by index.
func (c *Contract) Holders() []int {
	var list []int
	for i, f := range c.Parties {
		if f.Role != roleHelper {
			list = append(list, i)
		}
	}
	return list
}

// Members returns the parties as a session wants them.
func (c *Contract) Members() []Party {
	var parties []Party
	for _, f := range c.Parties {
		parties = append(parties, Party{Name: f.Name, ID: f.ID})
	}
	return parties
}
