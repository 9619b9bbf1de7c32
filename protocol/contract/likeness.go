package contract

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
)

// domainLikeness separates likenesses from all other digests.
const domainLikeness = "hanse contract likeness v1"

// NotInLikeness says for people what a likeness leaves out of a contract.
const NotInLikeness = "keys, the charter's digest, nonce and expiry, the contracts of an alignment or a model that " +
	"the job takes, and digests of data: ids, rows and labels that a party commits to, names of a client's columns"

// Likeness is the digest of all that two contracts have alike when they are of the same job over data of the same shape
// and differ only in whose data these are: see NotInLikeness. Names of parties, parameters, numbers of rows and
// columns, openings and operations are in it.
func (c *Contract) Likeness() (keys.Hash, error) {
	job := *c.Job
	job.Charter, job.Nonce, job.Expires, job.Alignment, job.Model = "", "", "", "", ""
	alike := Contract{Format: c.Format, Parties: slices.Clone(c.Parties), Openings: c.Openings,
		Operations: c.Operations, Sharded: c.Sharded}
	for i := range alike.Parties {
		p := &alike.Parties[i]
		p.ID, p.Header, p.Commitment, p.RowSet, p.Labels = keys.ID{}, keys.Hash{}, "", "", ""
	}
	text, err := job.Text()
	if err != nil {
		return keys.Hash{}, err
	}
	var body bytes.Buffer
	if err := toml.NewEncoder(&body).Encode(alike); err != nil {
		return keys.Hash{}, fmt.Errorf("likeness of the contract of job %q: %w", job.Name, err)
	}
	return keys.HashOf(domainLikeness, text, body.Bytes()), nil
}
