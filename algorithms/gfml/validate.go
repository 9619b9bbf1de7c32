package gfml

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Validate checks a Params for a job among the named parties. Each message states the rule and the
// value received.
func (p Params) Validate(parties []string) error {
	if err := p.validateRoles(parties); err != nil {
		return err
	}
	if err := p.validateColumns(); err != nil {
		return err
	}
	if err := p.validateNumbers(); err != nil {
		return err
	}

	// Checks which entries are shared. They move by Shift modulo Features, and so start
	// at every multiple of the greatest common divisor: runs that are shorter leave gaps for ever.
	if err := parameters.InRange("entries", p.Entries, p.Features); err != nil {
		return err
	}
	if err := parameters.InRange("shift", p.Shift, p.Features); err != nil {
		return err
	}
	if g := divisor(p.Shift, p.Features); g > p.Entries {
		return fmt.Errorf("shift is %d: with %d features and %d entries at a time some entries are never shared, want a "+
			"greatest common divisor of shift and features of at most %d, not %d",
			p.Shift, p.Features, p.Entries, p.Entries, g)
	}
	if p.Selection != Coordinated && p.Selection != Uncoordinated {
		return fmt.Errorf("selection is %q, want %q or %q", p.Selection, Coordinated, Uncoordinated)
	}
	if p.Diffusion != "" && p.Diffusion != DiffusionMasked && p.Diffusion != DiffusionPlain {
		return fmt.Errorf("diffusion is %q, want %q or %q", p.Diffusion, DiffusionMasked, DiffusionPlain)
	}
	g, err := newGraph(&p)
	if err != nil {
		return err
	}
	_, err = g.allRules(p.Rho, p.Combine)
	return err
}

// validateRoles checks that every party is a server, or a client of one server.
func (p Params) validateRoles(parties []string) error {
	if err := parameters.InRange("the number of servers", len(p.Servers), maxServers); err != nil {
		return err
	}
	role := make(map[string]string)
	take := func(name, as string) error {
		if was, ok := role[name]; ok {
			return fmt.Errorf("party %q is %s and %s, want one role for each party", name, was, as)
		}
		role[name] = as
		return nil
	}
	for _, s := range p.Servers {
		if err := take(s, "a server"); err != nil {
			return err
		}
	}
	for _, s := range p.Servers {
		if err := parameters.InRange(fmt.Sprintf("the number of clients of %q", s), len(p.Clients[s]),
			maxClients); err != nil {
			return err
		}
		for _, c := range p.Clients[s] {
			if err := take(c, fmt.Sprintf("a client of %q", s)); err != nil {
				return err
			}
		}
	}
	if len(p.Clients) > len(p.Servers) {
		// Names a key of Clients that is no server.
		var strange []string
		for s := range p.Clients {
			if !slices.Contains(p.Servers, s) {
				strange = append(strange, s)
			}
		}
		return fmt.Errorf("clients are listed for %q, which is not among the servers", slices.Min(strange))
	}

	// Checks that the parties with a role are those of the job.
	known := make(map[string]bool, len(parties))
	for _, name := range parties {
		known[name] = true
		if _, ok := role[name]; !ok {
			return fmt.Errorf("party %q has no role, want it among the servers or the clients", name)
		}
	}
	if len(role) == len(known) {
		return nil
	}
	var strange []string
	for name := range role {
		if !known[name] {
			strange = append(strange, name)
		}
	}
	name := slices.Min(strange)
	return fmt.Errorf("%q, %s, is not among the job's parties", name, role[name])
}

// validateColumns checks the names of the inputs and the label.
func (p Params) validateColumns() error {
	if err := parameters.InRange("the number of columns", len(p.Columns), maxColumns); err != nil {
		return err
	}
	seen := make(map[string]bool, len(p.Columns))
	for i, c := range p.Columns {
		if c == "" {
			return fmt.Errorf("column %d has no name", i+1)
		}
		if seen[c] {
			return fmt.Errorf("columns name %q twice", c)
		}
		seen[c] = true
	}
	if p.Label == "" {
		return fmt.Errorf("label is missing, want the name of the column that is learnt")
	}
	if seen[p.Label] {
		return fmt.Errorf("label %q is among the columns, want a column that is no input", p.Label)
	}
	return nil
}

// validateNumbers checks ranges.
func (p Params) validateNumbers() error {
	if err := parameters.InRange("features", p.Features, maxFeatures); err != nil {
		return err
	}
	if err := (kernel.Kernel{Kind: kernel.Gaussian, Sigma: p.Sigma}).Validate(); err != nil {
		return err
	}
	if err := parameters.InRange("iterations", p.Iterations, maxIterations); err != nil {
		return err
	}
	if !(p.Step > 0) || math.IsInf(p.Step, 0) {
		return fmt.Errorf("step is %v, want a positive number", p.Step)
	}
	if !(p.Eta >= 0 && p.Eta <= 1) {
		return fmt.Errorf("eta is %v, want 0 to 1", p.Eta)
	}
	if !(p.Bound >= 1 && p.Bound <= maxBound) {
		return fmt.Errorf("bound is %v, want 1 to %d", p.Bound, maxBound)
	}
	for _, s := range p.Servers {
		if k := len(p.Clients[s]); p.Participants < 1 || p.Participants > k {
			return fmt.Errorf("participants is %d, want 1 to %d, the number of clients of %q", p.Participants, k, s)
		}
	}
	return nil
}

// divisor returns the greatest common divisor of two positive numbers.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
