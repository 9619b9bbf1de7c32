package consent

import (
	"crypto/sha256"
	"fmt"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// Format is the first field of every policy file.
const Format = "hanse-policy-v1"

// Policy says which jobs a node consents to without asking. A nil policy asks about every job.
type Policy struct {
	Format string  `toml:"format"`
	Accept []Rule  `toml:"accept"`
	Refuse []Rule  `toml:"refuse"` // looked at first
	Tables []Table `toml:"table"`
	// fields of a job's [purpose] that must say something, or the node refuses the job, whoever proposes it
	Purpose []string `toml:"purpose"`
	// how many of Approvers must approve what no rule decides on; nil: whoever commands the node consents alone
	Approvals *int64     `toml:"approvals"`
	Approvers []Approver `toml:"approver"`

	KeepPayloads string `toml:"keep_payloads"` // of transcripts, after a job's end; empty: until they are removed
	DiskQuota    string `toml:"disk_quota"`    // of the node's folder; empty: the default

	// MinCell is the smallest min_cell of another member's scorecard that this node cuts its columns by; 0: that of all
	// jobs.
	MinCell int64 `toml:"min_cell"`

	file   string
	digest keys.Hash
}

// Rule fits a job when every key that is set does; docs/policy.md has an example of each.
type Rule struct {
	Proposers    []string  `toml:"proposers"`
	Algorithms   []string  `toml:"algorithms"`
	Tasks        []string  `toml:"tasks"`
	Privacy      []string  `toml:"privacy"`
	Aggregation  []string  `toml:"aggregation"`
	Tables       []string  `toml:"tables"`
	LabelColumns []string  `toml:"label_columns"` // trainings: the column that the job names
	Roles        []string  `toml:"roles"`         // this node's
	Parties      []string  `toml:"parties"`       // every other party must be one of these
	OpenTo       []string  `toml:"open_to"`       // predictions
	MinRows      *int64    `toml:"min_rows"`
	MaxRows      *int64    `toml:"max_rows"`
	MaxShards    *int64    `toml:"max_shards"`
	MaxBytes     *int64    `toml:"max_bytes"`
	MaxMemory    string    `toml:"max_memory"` // such as "2GB"; empty, in a rule that accepts: half of what the node has
	Openings     []Opening `toml:"openings"`   // all that may open; nil: not looked at
	ScoresPerRow *int64    `toml:"scores_per_row"`

	// What jobs add up to, and how long lists are. Where an accept rule says nothing of one of these, or of MinRows, a
	// standard holds.
	Trainings30     *int64 `toml:"trainings_30_days"`
	Alignments30    *int64 `toml:"alignments_30_days"`
	ListPercent     *int64 `toml:"list_percent"`
	RowBits         *int64 `toml:"row_bits"`
	LeastDifference *int64 `toml:"least_difference"`

	Hours []string `toml:"hours"`
	Until string   `toml:"until"`
}

// Opening bounds what may open of one kind, to all of To together or, without To, to anybody.
type Opening struct {
	Kind    string   `toml:"kind"`
	To      []string `toml:"to"`
	Count   *int64   `toml:"count"` // of one job
	Bits    *int64   `toml:"bits"`
	Count30 *int64   `toml:"count_30_days"` // of this job and the others consented to that count in the last 30 days
	Bits30  *int64   `toml:"bits_30_days"`
}

// Table is one of the node's tables that other members may ask about.
type Table struct {
	Name    string   `toml:"name"`
	Labels  []string `toml:"labels"`  // columns that they may name as the label where this node holds labels
	Members []string `toml:"members"` // who may ask; nil: all
}

// Read reads a policy file and checks it, against the members of a charter too where one is given.
func Read(path string, charter *keys.Charter) (*Policy, error) {
	p, err := Load(path)
	if err != nil {
		return nil, err
	}
	return p, p.Check(charter)
}

// Load reads a policy file. Check must follow.
func Load(path string) (*Policy, error) {
	text, err := textfile.Read(path, keys.MaxDocument)
	if err != nil {
		return nil, fmt.Errorf("policy %w", err)
	}
	return Parse(path, text)
}

// Parse reads the text of a policy file; file names it in errors. Check must follow.
func Parse(file string, text []byte) (*Policy, error) {
	if err := keys.CheckKind(text, Format); err != nil {
		return nil, fmt.Errorf("policy %s: %w", file, err)
	}
	p := &Policy{}
	if err := keys.DecodeStrict("policy "+file, text, p); err != nil {
		return nil, err
	}
	if p.Format != Format {
		return nil, fmt.Errorf("policy %s: format is %q, want %q", file, clip(p.Format), Format)
	}
	p.file, p.digest = file, sha256.Sum256(text)
	return p, nil
}

// File is the file that the policy was read from.
func (p *Policy) File() string {
	if p == nil {
		return ""
	}
	return p.file
}

// Digest is the SHA-256 of the policy's file.
func (p *Policy) Digest() keys.Hash {
	if p == nil {
		return keys.Hash{}
	}
	return p.digest
}

// numbered is a rule and what errors and explanations call it.
type numbered struct {
	name   string
	accept bool
	rule   *Rule
}

// rules lists all rules in the order in which they are looked at.
func (p *Policy) rules() []numbered {
	if p == nil {
		return nil
	}
	var all []numbered
	for i := range p.Refuse {
		all = append(all, numbered{fmt.Sprintf("refuse rule %d", i+1), false, &p.Refuse[i]})
	}
	for i := range p.Accept {
		all = append(all, numbered{fmt.Sprintf("accept rule %d", i+1), true, &p.Accept[i]})
	}
	return all
}
