package views

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views/payload"
)

// attempts are the attacks on what a party saw, and what they show of the columns given.
type attempts struct {
	*follower
	compared bool   // the columns given were compared with what was seen
	unfit    string // why they are not those that were summed
}

// Attack runs all attacks on what one party of a job saw, as far as its payloads were kept. The checks are of what
// the attacks rest on: the payloads, and the columns given.
func Attack(ctx context.Context, in *evidence.Input, s *evidence.Source, party int, kept bool) ([]finding.Attack,
	[]finding.Check, error) {
	in.Begin("attacking what "+in.Contract.Parties[party].Name+" saw", "reading what it kept")
	f, err := follow(ctx, in, s, party)
	if err != nil {
		return nil, nil, fmt.Errorf("transcript %s: %w", s.Path, err)
	}
	blind := f.Unfollowed(cmp.Or(f.strange, f.blind))
	instead := func(v finding.Verdict, detail string) []finding.Attack { // of all attacks
		return []finding.Attack{{Name: "difference", Party: f.Name(), View: "all views", Verdict: v, Detail: detail}}
	}
	switch {
	case f.Kept+f.Lost+f.Missed == 0 && blind == "":
		return instead(finding.NotApplicable,
			"there is none to try, nor any other: nothing that an attack looks at came to this party or left it"), nil, nil
	case f.Kept+f.Lost == 0 && kept:
		c := payload.AbsentPayloads(f.Name())
		return instead(finding.Skipped, "not tried, nor any other: "+c.Detail), []finding.Check{c}, nil
	case f.Kept+f.Lost == 0:
		return instead(finding.Skipped, "not tried, nor any other: "+payload.ErrNotKept.Error()), nil, nil
	}
	t := &attempts{follower: f}
	list, err := t.attacks(ctx)
	if err != nil {
		return nil, nil, err
	}
	if blind != "" {
		list = append(list, finding.Attack{Name: "difference", Party: f.Name(), View: "angles", Verdict: finding.Skipped,
			Detail: "not tried on all that was seen: " + blind})
	}
	checks := []finding.Check{f.Check()}
	if t.compared {
		checks = append(checks, t.tables())
	}
	return list, checks, nil
}

// attacks runs all attacks on what a party saw.
func (t *attempts) attacks(ctx context.Context) ([]finding.Attack, error) {
	var list []finding.Attack
	says := func(name, view string) {
		t.In.Begin("attacking what "+t.Name()+" saw", strings.TrimSuffix(name+", "+view, ", "))
	}
	try := func(a finding.Attack, err error) error {
		if err != nil && ctx.Err() == nil {
			a.Verdict, a.Detail = finding.Skipped, "not tried: "+err.Error()
		}
		list = append(list, a)
		return ctx.Err()
	}
	for _, s := range t.views() {
		if len(s.system) == 0 {
			continue
		}
		says("difference", s.view)
		err := try(t.difference(ctx, s))
		says("known rows", s.view)
		if err = errors.Join(err, try(t.knownRows(ctx, s))); err != nil {
			return nil, err
		}
	}
	for _, s := range t.cosines() {
		says("known rows, by cosines", s.view)
		if err := try(t.knownCosines(ctx, s)); err != nil {
			return nil, err
		}
	}
	if a, ok := t.Uniformity(); ok {
		reuse := t.Reuse
		if t.encrypted != nil {
			reuse = t.RepeatedPolynomials
		}
		if err := errors.Join(try(a, nil), try(reuse(ctx))); err != nil {
			return nil, err
		}
	}
	if t.In.Contract.Parties[t.Party].Role == "passive" {
		says("label leakage", "")
		if err := try(t.labelLeakage(ctx)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
