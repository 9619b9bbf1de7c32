package contract

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// domainShard separates the hashes of shards' contracts from all others.
const domainShard = "hanse shard contract v1"

// shardFormat is the first field of every shard's contract.
const shardFormat = "hanse-shard-v1"

// ShardOf is what a contract of a shard has beside what all contracts have.
type ShardOf struct {
	Shard
	Contract    keys.Hash // of the job
	Generation  uint32
	Delegations []*Delegation // of all parties, in their order
}

// shardText is the text of a shard's contract. The job's own contract is needed to read it.
type shardText struct {
	Format   string    `toml:"format"`
	Contract keys.Hash `toml:"contract"`
	Shard
	Generation  int64            `toml:"generation"`
	Delegations []delegationSaid `toml:"delegation"` // of all parties, in their order
	Openings    []Opening        `toml:"opening"`
	Operations  []Operation      `toml:"operation"`
}

// delegationSaid is what a delegation adds to the rest of a shard's contract.
type delegationSaid struct {
	Worker    keys.ID `toml:"worker"`
	Expires   string  `toml:"expires"`
	Signature string  `toml:"signature"` // of the party, in base64
}

// Shard returns the contract of one session of a shard of a job in force: its parties are the workers to whom the
// job's parties have delegated it, its rows the shard's. It follows from the job's contract and the delegations and is
// in force by both; see SessionOperations for the operations that every contract must list.
func (f InForce) Shard(list []*Delegation, openings []Opening, operations []Operation) (InForce, error) {
	c := f.contract
	if c == nil || c.Shard != nil {
		return InForce{}, errors.New("a shard is of a job's contract in force")
	}
	if len(list) != len(c.Parties) || len(list) == 0 {
		return InForce{}, fmt.Errorf("%d delegations, the job has %d parties", len(list), len(c.Parties))
	}
	s, generation := list[0].Shard, list[0].Generation
	text := shardText{Format: shardFormat, Contract: c.Hash(), Shard: s, Generation: int64(generation),
		Openings: openings, Operations: operations}
	for i, d := range list {
		text.Delegations = append(text.Delegations, delegationSaid{Worker: d.Worker, Expires: d.Expires.Format(time.RFC3339),
			Signature: base64.StdEncoding.EncodeToString(d.Signatures[c.Parties[i].ID])})
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(text); err != nil {
		return InForce{}, fmt.Errorf("contract of shard %d: %w", s.Index, err)
	}
	shard, err := c.shard(list, openings, operations, keys.NewDocument(domainShard, b.Bytes()))
	return InForce{shard}, err
}

// ParseShard reads a shard's contract, which proves by itself that all parties of the job have delegated it.
func (f InForce) ParseShard(text []byte) (InForce, error) {
	c := f.contract
	if c == nil || c.Shard != nil {
		return InForce{}, errors.New("a shard is of a job's contract in force")
	}
	doc, err := keys.ParseDocument(domainShard, text)
	if err != nil {
		return InForce{}, err
	}
	var t shardText
	if err := keys.DecodeStrict("contract of a shard", doc.Body, &t); err != nil {
		return InForce{}, err
	}
	switch {
	case t.Format != shardFormat:
		return InForce{}, fmt.Errorf("contract of a shard: format is %q, want %q", wording.Clip(t.Format), shardFormat)
	case t.Contract != c.Hash():
		return InForce{}, fmt.Errorf("contract of a shard of job %s, want one of %s", t.Contract.Short(), c.Hash().Short())
	case len(t.Delegations) != len(c.Parties):
		return InForce{}, fmt.Errorf("%d delegations, the job has %d parties", len(t.Delegations), len(c.Parties))
	}
	list := make([]*Delegation, len(t.Delegations))
	for i, said := range t.Delegations {
		d := &Delegation{Contract: t.Contract, Shard: t.Shard, Generation: uint32(t.Generation), Worker: said.Worker}
		if t.Generation < 1 || t.Generation > math.MaxUint32 {
			return InForce{}, fmt.Errorf("contract of a shard: generation is %d, want 1 to %d", t.Generation,
				uint32(math.MaxUint32))
		}
		if d.Expires, err = time.Parse(time.RFC3339, said.Expires); err != nil {
			return InForce{}, fmt.Errorf("contract of a shard: expires is %q, want a time", wording.Clip(said.Expires))
		}
		if err := d.render(); err != nil {
			return InForce{}, err
		}
		signature, err := base64.StdEncoding.DecodeString(said.Signature)
		if err == nil {
			err = d.AddSignature(c.Parties[i].ID, signature)
		}
		if err != nil {
			return InForce{}, fmt.Errorf("contract of a shard: delegation of %s: %w", c.Parties[i].Name, err)
		}
		list[i] = d
	}
	shard, err := c.shard(list, t.Openings, t.Operations, doc)
	return InForce{shard}, err
}

// shard checks what a shard's contract is made of and puts it together.
func (c *Contract) shard(
	list []*Delegation, openings []Opening, operations []Operation, doc *keys.Document,
) (*Contract, error) {
	s, generation := list[0].Shard, list[0].Generation
	if err := s.check(c.Job.Shards, c.Rows()); err != nil {
		return nil, fmt.Errorf("job %q: %w", c.Job.Name, err)
	}
	shard := &Contract{
		Format: shardFormat, JobText: c.JobText, Parties: slices.Clone(c.Parties), Openings: openings,
		Operations: operations, Job: c.Job, Document: doc,
		Shard: &ShardOf{Shard: s, Contract: c.Hash(), Generation: generation, Delegations: list},
	}
	for i, d := range list {
		if err := d.By(Party{c.Parties[i].Name, c.Parties[i].ID}, c.Hash(), s, generation); err != nil {
			return nil, fmt.Errorf("job %q: %w", c.Job.Name, err)
		}
		p := &shard.Parties[i]
		p.ID = d.Worker
		if p.Rows > 0 {
			p.Rows = s.Rows
		}
	}
	if err := shard.validate(); err != nil {
		return nil, fmt.Errorf("contract of shard %d of job %q: %w", s.Index, c.Job.Name, err)
	}
	return shard, nil
}

// InShards marks operations of one or several shards' sessions, so that the job's contract lists them as what all its
// shards send together.
func InShards(shards int, lists ...[]Operation) []Operation {
	var all []Operation
	place := make(map[string]int)
	for _, list := range lists {
		for _, o := range list {
			at, ok := place[o.Kind+"\n"+o.Root+"\n"+o.To]
			if !ok {
				place[o.Kind+"\n"+o.Root+"\n"+o.To] = len(all)
				o.Shards = int64(shards)
				all = append(all, o)
				continue
			}
			t := &all[at]
			t.Shape = addShapes(t.Shape, o.Shape)
			t.Count, t.Bytes = t.Count+o.Count, t.Bytes+o.Bytes
			t.Stage = max(t.Stage, o.Stage)
		}
	}
	return all
}
