package contract

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Limits of a contract. No honest one comes near them.
const (
	maxLines   = 1 << 16 // openings, and operations
	maxCount   = 1 << 50 // rows, columns, values or bytes
	maxMeaning = 500     // bytes
	maxKeys    = 16      // of an alignment
)

// The roles of a party.
const (
	roleActive  = "active"
	rolePassive = "passive"
	roleServer  = keys.RoleServer
	roleHelper  = "helper" // of a sealed job: it holds shares and brings no data
	roleClient  = keys.RoleClient
)

// validate checks everything in a contract that can be checked without a charter: a contract that
// parses can be shown to a person and counted with.
func (c *Contract) validate() error {
	// Holds the facts against the job's parties.
	if len(c.Parties) != len(c.Job.Parties) {
		return fmt.Errorf("facts of %d parties, the job has %d", len(c.Parties), len(c.Job.Parties))
	}
	seen := make(map[keys.ID]string, len(c.Parties))
	for i, f := range c.Parties {
		if f.Name != c.Job.Parties[i] {
			return fmt.Errorf("party %d is %q, the job says %q", i+1, wording.Clip(f.Name), c.Job.Parties[i])
		}
		if other, ok := seen[f.ID]; ok {
			return fmt.Errorf("%s and %s have the same id", other, f.Name)
		}
		seen[f.ID] = f.Name
		if err := f.check(); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if n := len(c.Operations) + len(c.Sharded); len(c.Openings) > maxLines || n > maxLines {
		return fmt.Errorf("%d openings and %d operations, at most %d of each are allowed", len(c.Openings), n, maxLines)
	}
	for i, o := range c.Openings {
		if err := o.check(c.Job); err != nil {
			return fmt.Errorf("opening %d: %w", i+1, err)
		}
	}
	if err := c.checkOperations(c.Operations, 0); err != nil {
		return err
	}
	if err := c.checkOperations(c.Sharded, int64(c.Job.Shards)); err != nil {
		return fmt.Errorf("shards: %w", err)
	}
	return nil
}

// checkOperations checks every operation by itself, that it is of so many shards, and that one kind always means the
// same.
func (c *Contract) checkOperations(list []Operation, shards int64) error {
	first := make(map[string]*Operation)
	var count, bytes int64
	for i := range list {
		o := &list[i]
		if o.Shards != shards {
			return fmt.Errorf("operation %d: shards is %d, want %d", i+1, o.Shards, shards)
		}
		if err := o.check(c.Job); err != nil {
			return fmt.Errorf("operation %d: %w", i+1, err)
		}
		count, bytes = count+o.Count, bytes+o.Bytes
		if count > maxCount || bytes > maxCount {
			return fmt.Errorf("operation %d: all up to it have %d vectors of %d bytes, at most %d are allowed",
				i+1, count, bytes, int64(maxCount))
		}
		f, ok := first[o.Kind]
		if !ok {
			first[o.Kind] = o
			continue
		}
		if f.Stage != o.Stage || f.Collective != o.Collective || f.Class != o.Class || f.Encoding != o.Encoding {
			return fmt.Errorf("operation %d: %q has another stage, collective, class or encoding than before", i+1, o.Kind)
		}
	}
	return nil
}

// check checks what a party says of its data.
func (f *Facts) check() error {
	if f.ID.IsZero() {
		return errors.New("the id is missing")
	}
	switch f.Role {
	case roleActive, rolePassive, roleHelper, roleServer, roleClient:
	default:
		return fmt.Errorf("role is %q, want %q, %q, %q, %q or %q", wording.Clip(f.Role), roleActive, rolePassive,
			roleHelper, roleServer, roleClient)
	}
	if err := checkCount("rows", int64(f.Rows)); err != nil {
		return err
	}
	if len(f.IDs) > maxKeys {
		return fmt.Errorf("ids has %d numbers, at most %d are allowed", len(f.IDs), maxKeys)
	}
	for _, n := range f.IDs {
		if n < 0 || n > f.Rows {
			return fmt.Errorf("ids has %d, want 0 to %d, the number of rows", n, f.Rows)
		}
	}
	for name, text := range map[string]string{"commitment": f.Commitment, "row_set": f.RowSet, "labels": f.Labels} {
		var hash keys.Hash
		if err := hash.UnmarshalText([]byte(text)); text != "" && err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := checkCount("bins", int64(f.Bins)); err != nil {
		return err
	}
	return checkCount("columns", int64(f.Columns))
}

// check checks a line of the openings.
func (o *Opening) check(job *Job) error {
	if job.Index(o.To) < 0 {
		return fmt.Errorf("to is %q, want one of the job's parties", wording.Clip(o.To))
	}
	if err := CheckKind(o.Kind); err != nil {
		return err
	}
	if len(o.Meaning) > maxMeaning || strings.ContainsFunc(o.Meaning, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("meaning of %d bytes, want one line of at most %d that prints", len(o.Meaning), maxMeaning)
	}
	return checkCount("count", o.Count)
}

// checkCount refuses a number that is no count, or so large that sums of it could overflow.
func checkCount(field string, n int64) error {
	if n < 0 || n > maxCount {
		return fmt.Errorf("%s is %d, want 0 to %d", field, n, int64(maxCount))
	}
	return nil
}
