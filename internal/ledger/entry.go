package ledger

import (
	"math"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Entry is what one job tells others of this node's data, at most. It follows from the job's contract, but for Rows and
// Entropy, which only this node knows.
type Entry struct {
	Contract  keys.Hash `cbor:"1,keyasint" json:"contract"`
	Job       string    `cbor:"2,keyasint" json:"job"`
	Proposer  keys.ID   `cbor:"3,keyasint" json:"proposer"` // of an alignment its asker
	Table     string    `cbor:"4,keyasint" json:"table"`
	Algorithm string    `cbor:"5,keyasint" json:"algorithm"`
	Task      string    `cbor:"6,keyasint" json:"task"`
	At        time.Time `cbor:"7,keyasint" json:"at"` // of the consent
	// Model is the contract of the training of the model that a training makes, or that a prediction uses.
	Model keys.Hash `cbor:"8,keyasint" json:"model"`
	// Times is how often a row counts at most, over all predictions with the model; 0: as often as it is scored.
	Times int `cbor:"9,keyasint,omitempty" json:"times,omitempty"`
	// Rows names the set of rows; zero: nobody knows which they were, and the entry counts for every row.
	Rows    keys.Hash `cbor:"10,keyasint" json:"rows"`
	Count   int       `cbor:"11,keyasint" json:"count"` // rows of the set or, of an alignment, ids of the asker's list
	Entropy float64   `cbor:"12,keyasint,omitempty" json:"entropy,omitempty"`
	// Labels is by what the label holder says that it is committed to the labels; empty: it does not say.
	Labels string     `cbor:"13,keyasint,omitempty" json:"labels,omitempty"`
	Told   []Receiver `cbor:"14,keyasint,omitempty" json:"told,omitempty"`
	Struck bool       `cbor:"15,keyasint,omitempty" json:"struck,omitempty"` // the job ended before its first session
	Key    uint64     `cbor:"16,keyasint" json:"-"`                          // names the key that Rows was made under
	Idle   bool       `cbor:"17,keyasint,omitempty" json:"idle,omitempty"`   // this node brought no rows that have ids
}

// Receiver is a member to which something of a job opens, and how much.
type Receiver struct {
	ID      keys.ID `cbor:"1,keyasint" json:"id"`
	Name    string  `cbor:"2,keyasint" json:"name"` // in the contract
	RowBits int64   `cbor:"3,keyasint,omitempty" json:"row_bits,omitempty"`
	Numbers int64   `cbor:"4,keyasint,omitempty" json:"numbers,omitempty"` // of the rows as a whole
}

// entryOf returns what follows from a contract, for the party of that name.
func entryOf(c *contract.Contract, self string, at time.Time) Entry {
	j := c.Job
	e := Entry{
		Contract: c.Hash(), Job: j.Name, Proposer: c.Parties[j.Index(j.Proposer)].ID, Table: j.Table,
		Algorithm: j.Algorithm, Task: j.Task, At: at.UTC().Round(0), Model: c.Hash(),
	}
	switch j.Task {
	case contract.TaskPredict:
		if e.Model.UnmarshalText([]byte(j.Model)) != nil {
			e.Model = c.Hash()
		}
		if j.Privacy == keys.PrivacySealed {
			e.Times = j.TimesPerRow()
		}
	case contract.TaskAlign:
		asker := j.Index(j.Proposer)
		if p, err := psi.ParamsOf(j); err == nil && j.Index(p.Asker) >= 0 {
			asker = j.Index(p.Asker)
		}
		e.Proposer, e.Count = c.Parties[asker].ID, consent.Listed(&c.Parties[asker])
	}
	for i := range c.Parties {
		if c.Parties[i].Labels != "" {
			e.Labels = c.Parties[i].Labels
		}
	}
	for i := range c.Parties {
		p := &c.Parties[i]
		if p.Name == self {
			continue
		}
		r := Receiver{ID: p.ID, Name: p.Name}
		for k := range c.Openings {
			if o := &c.Openings[k]; o.To == p.Name {
				bits, numbers := consent.Weigh(c, o)
				r.RowBits, r.Numbers = plus(r.RowBits, bits), plus(r.Numbers, numbers)
			}
		}
		if r.RowBits > 0 || r.Numbers > 0 {
			e.Told = append(e.Told, r)
		}
	}
	return e
}

// rowBits returns the bits that one row's openings have: to the member with a key or, for nil, to all together.
func (e *Entry) rowBits(to *keys.ID) int64 {
	var sum int64
	for i := range e.Told {
		if to == nil || e.Told[i].ID == *to {
			sum = plus(sum, e.Told[i].RowBits)
		}
	}
	return sum
}

// plus adds two counts; what is too large stays the largest there is.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
