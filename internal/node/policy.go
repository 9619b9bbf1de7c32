package node

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// policyFormat is the first field of every policy file.
const policyFormat = "hanse-policy-v1"

// Policy says which jobs a node consents to without asking. What no rule accepts waits for a
// person. A policy is the member's own: nobody else sees it.
type Policy struct {
	Format string `toml:"format"`
	Accept []Rule `toml:"accept"`
	Refuse []Rule `toml:"refuse"` // looked at first
}

// Rule matches a job when every field that is set does.
type Rule struct {
	Proposers   []string `toml:"proposers"`   // any of these members
	Algorithms  []string `toml:"algorithms"`  // any of these
	Tasks       []string `toml:"tasks"`       // any of "train", "predict"
	Privacy     []string `toml:"privacy"`     // any of these modes
	Aggregation []string `toml:"aggregation"` // what protects masked sums: any of "masked", "he"
	Tables      []string `toml:"tables"`      // any of these tables
	OpenTo      []string `toml:"open_to"`     // predict: any of these receivers
	MaxRows     int      `toml:"max_rows"`    // at most so many rows
	MaxBytes    int64    `toml:"max_bytes"`   // at most so many bytes leave this machine
}

// LoadPolicy reads a policy file.
func LoadPolicy(path string) (*Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	var p Policy
	if err := keys.DecodeStrict("policy "+path, text, &p); err != nil {
		return nil, err
	}
	if p.Format != policyFormat {
		return nil, fmt.Errorf("policy %s: format is %q, want %q", path, p.Format, policyFormat)
	}
	return &p, nil
}

// verdict is what a policy says of a contract.
type verdict int

const (
	ask verdict = iota
	accept
	refuse
)

// judge applies the policy to a contract for the named party; a nil policy asks about everything.
func (p *Policy) judge(c *protocol.Contract, self string) verdict {
	if p == nil {
		return ask
	}
	for _, r := range p.Refuse {
		if r.matches(c, self) {
			return refuse
		}
	}
	for _, r := range p.Accept {
		if r.matches(c, self) {
			return accept
		}
	}
	return ask
}

// matches reports whether all set fields of the rule fit.
func (r *Rule) matches(c *protocol.Contract, self string) bool {
	any := func(set []string, v string) bool { return len(set) == 0 || slices.Contains(set, v) }
	j := c.Job
	return any(r.Proposers, j.Proposer) && any(r.Algorithms, j.Algorithm) && any(r.Tasks, j.Task) &&
		any(r.Privacy, j.Privacy) && any(r.Aggregation, cmp.Or(j.Aggregation, protocol.AggregateMasked)) && any(r.Tables, j.Table) && (j.Task != protocol.TaskPredict || any(r.OpenTo, j.OpenTo)) &&
		(r.MaxRows == 0 || rows(c) <= r.MaxRows) && (r.MaxBytes == 0 || egress(c, self) <= r.MaxBytes)
}

// rows returns the rows of a contract.
func rows(c *protocol.Contract) int { return rowsOf(c.Parties) }

// rowsOf returns the rows that parties have, those of them who have any.
func rowsOf(all []protocol.Facts) int {
	n := 0
	for _, f := range all {
		n = max(n, f.Rows)
	}
	return n
}

// egress returns the payload bytes a contract lets a party send in one session.
func egress(c *protocol.Contract, party string) int64 {
	lines, err := c.Egress(c.Job.Index(party))
	if err != nil {
		return math.MaxInt64 // never small enough for a rule
	}
	var sum int64
	for _, e := range lines {
		sum += e.MaxBytes
	}
	return sum
}
