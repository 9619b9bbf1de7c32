package contract

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// DomainDelegation separates signatures on delegations from all others.
const DomainDelegation = "hanse delegation v1"

// delegationFormat is the first field of every delegation.
const delegationFormat = "hanse-delegation-v1"

// MaxShards is the most shards of a job.
const MaxShards = 4096

// Shard is a run of a job's rows of which workers of all parties have a session of their own.
type Shard struct {
	Index int `toml:"shard"` // from 0
	Of    int `toml:"of"`    // how many the job has
	First int `toml:"first"` // the first of its rows, from 0
	Rows  int `toml:"rows"`
}

// check refuses a shard that a job of so many shards and rows cannot have.
func (s Shard) check(shards, rows int) error {
	switch {
	case s.Of != shards:
		return fmt.Errorf("shard %d of %d, the job has %d shards", s.Index, s.Of, shards)
	case s.Index < 0 || s.Index >= s.Of:
		return fmt.Errorf("shard %d, want 0 to %d", s.Index, s.Of-1)
	case s.First < 0 || s.Rows < 1 || s.First > rows-s.Rows:
		return fmt.Errorf("shard %d has %d rows from %d on, the job has %d", s.Index, s.Rows, s.First, rows)
	}
	return nil
}

// Delegation lets a key stand for a party in one session of a shard. The party signs it; the key is a worker's, drawn
// for this one session. Generations of a shard only rise.
type Delegation struct {
	Contract   keys.Hash // of the job
	Shard      Shard
	Generation uint32 // of the shard: 1 for its first session
	Worker     keys.ID
	Expires    time.Time // when the session must have begun

	*keys.Document
}

// delegationText is a delegation's body.
type delegationText struct {
	Format   string    `toml:"format"`
	Contract keys.Hash `toml:"contract"`
	Shard
	Generation int64   `toml:"generation"`
	Worker     keys.ID `toml:"worker"`
	Expires    string  `toml:"expires"`
}

// NewDelegation renders a delegation and signs it.
func NewDelegation(d Delegation, by *keys.PrivateKey) (*Delegation, error) {
	if err := d.render(); err != nil {
		return nil, err
	}
	d.Sign(by)
	return &d, nil
}

// render makes the document of what a delegation says: equal delegations have equal bytes.
func (d *Delegation) render() error {
	d.Expires = d.Expires.UTC().Truncate(time.Second)
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(delegationText{
		Format: delegationFormat, Contract: d.Contract, Shard: d.Shard, Generation: int64(d.Generation), Worker: d.Worker,
		Expires: d.Expires.Format(time.RFC3339),
	}); err != nil {
		return fmt.Errorf("delegation of shard %d: %w", d.Shard.Index, err)
	}
	d.Document = keys.NewDocument(DomainDelegation, b.Bytes())
	return nil
}

// ParseDelegation reads a delegation. Its signatures are right; whose they must be is for the caller to say.
func ParseDelegation(text []byte) (*Delegation, error) {
	doc, err := keys.ParseDocument(DomainDelegation, text)
	if err != nil {
		return nil, err
	}
	var t delegationText
	if err := keys.DecodeStrict("delegation", doc.Body, &t); err != nil {
		return nil, err
	}
	if t.Format != delegationFormat {
		return nil, fmt.Errorf("delegation: format is %q, want %q", wording.Clip(t.Format), delegationFormat)
	}
	if t.Generation < 1 || t.Generation > math.MaxUint32 {
		return nil, fmt.Errorf("delegation: generation is %d, want 1 to %d", t.Generation, uint32(math.MaxUint32))
	}
	if t.Worker.IsZero() {
		return nil, fmt.Errorf("delegation: worker is missing")
	}
	d := &Delegation{Contract: t.Contract, Shard: t.Shard, Generation: uint32(t.Generation), Worker: t.Worker,
		Document: doc}
	if d.Expires, err = time.Parse(time.RFC3339, t.Expires); err != nil {
		return nil, fmt.Errorf("delegation: expires is %q, want a time such as 2026-12-24T18:00:00Z", wording.Clip(t.Expires))
	}
	return d, nil
}

// By checks that a party has signed the delegation, and that it is for this shard and generation of this job.
func (d *Delegation) By(p Party, contract keys.Hash, s Shard, generation uint32) error {
	switch {
	case !d.SignedBy(p.ID):
		return fmt.Errorf("%s has not signed the delegation for shard %d that is said to be its own", p.Name, s.Index)
	case d.Contract != contract:
		return fmt.Errorf("the delegation of %s is for contract %s, want %s", p.Name, d.Contract.Short(), contract.Short())
	case d.Shard != s:
		return fmt.Errorf("the delegation of %s is for shard %d of %d, rows %d to %d, want shard %d of %d, rows %d to %d",
			p.Name, d.Shard.Index, d.Shard.Of, d.Shard.First, d.Shard.First+d.Shard.Rows, s.Index, s.Of, s.First,
			s.First+s.Rows)
	case d.Generation != generation:
		return fmt.Errorf("the delegation of %s for shard %d is of generation %d, want %d", p.Name, s.Index, d.Generation,
			generation)
	}
	return nil
}

// Fresh refuses a delegation whose session should have begun before now.
func (d *Delegation) Fresh(p Party, now time.Time) error {
	if now.After(d.Expires) {
		return fmt.Errorf("the delegation of %s for shard %d expired at %s", p.Name, d.Shard.Index,
			d.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}
