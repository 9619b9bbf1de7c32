package psi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// The modes of an alignment.
const (
	ModeDH     = "dh"     // by points of asker and keeper
	ModeHelper = "helper" // by tags that a third party counts
)

// maxKeepDays is how long an alignment may be kept.
const maxKeepDays = 3660

// Params are the parameters of a job with task "align".
type Params struct {
	Keys     []string `toml:"keys,omitempty"` // identifiers of the charter, by pass; none: the id column
	Mode     string   `toml:"mode,omitempty"`
	Asker    string   `toml:"asker"`
	Keeper   string   `toml:"keeper,omitempty"`
	Helper   string   `toml:"helper,omitempty"`
	MinRows  int      `toml:"min_rows"`  // fewer common rows than this do not open
	KeepDays int      `toml:"keep_days"` // how long jobs may use the alignment
	// Buckets is in how many buckets and pieces the lists are worked on: see Spec. Where the job says nothing, the
	// proposer's node chooses; 0 is 1.
	Buckets int `toml:"buckets,omitempty"`
}

// Complete fills in what a job leaves open: the proposer asks, and the charter says how few rows may open. Who keeps
// and, where the job does not say, in which mode, follows once it is known who has rows: see CompleteFor.
func (p Params) Complete(job *contract.Job, rules keys.Rules) Params {
	if p.Helper != "" {
		p.Mode = cmp.Or(p.Mode, ModeHelper)
	}
	p.Asker = cmp.Or(p.Asker, job.Proposer)
	p.MinRows = cmp.Or(p.MinRows, rules.LeastCommon())
	p.KeepDays = cmp.Or(p.KeepDays, 365)
	return p
}

// WantsHelper reports whether a job leaves open who helps: a party that has no rows does.
func (p Params) WantsHelper() bool { return p.Mode != ModeDH && p.Helper == "" }

// Help has a party without rows count for the others.
func (p Params) Help(name string) Params {
	p.Mode, p.Helper = ModeHelper, name
	return p
}

// CompleteFor fills in what only the parties' numbers of rows tell: the mode, where nobody without rows helps; the
// keeper, the first other party that may be; and into how many buckets the longest list goes. apart reports whether two
// parties may be two of asker, keeper and helper.
func (p Params) CompleteFor(job *contract.Job, all []contract.Facts, apart func(a, b string) bool) (Params, error) {
	p.Mode = cmp.Or(p.Mode, ModeDH)
	if p.WantsHelper() {
		return p, fmt.Errorf("job %q: mode is %q, and every party has rows: name one as its helper, or a member of the "+
			"charter without rows as another party", job.Name, p.Mode)
	}
	if p.Keeper == "" {
		at := slices.IndexFunc(job.Parties, func(name string) bool {
			return name != p.Asker && name != p.Helper && apart(p.Asker, name) && (p.Helper == "" || apart(p.Helper, name))
		})
		if at < 0 {
			return p, fmt.Errorf("job %q: none of its parties can be the keeper: it must be another than the asker, and not "+
				"affiliated with it", job.Name)
		}
		p.Keeper = job.Parties[at]
	}
	longest := 0
	for _, f := range all {
		longest = max(longest, slices.Max(append(slices.Clone(f.IDs), 0)))
	}
	if n := BucketsFor(longest); p.Buckets == 0 && n > 1 {
		p.Buckets = n
	}
	return p, nil
}

// ParamsOf reads a job's parameters.
func ParamsOf(job *contract.Job) (p Params, err error) {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(job.Parameters); err != nil {
		return p, err
	}
	return p, keys.InTable(text.Bytes(), keys.DecodeStrict("parameters", text.Bytes(), &p))
}

// Check holds the parameters against the job, the charter's rules and its affiliations. Mode, keeper and helper may be
// open, until a contract says them: SpecOf wants them all.
func (p Params) Check(job *contract.Job, charter *keys.Charter) error {
	in := func(name string) bool { return job.Index(name) >= 0 }
	mistyped := func(name string) string {
		if in(name) {
			return ""
		}
		return wording.DidYouMean(name, job.Parties)
	}
	switch {
	case p.Mode != "" && p.Mode != ModeDH && p.Mode != ModeHelper:
		return fmt.Errorf("mode is %q, want %q or %q", wording.Clip(p.Mode), ModeDH, ModeHelper)
	case !in(p.Asker) || p.Keeper != "" && !in(p.Keeper) || p.Asker == p.Keeper:
		return fmt.Errorf("asker is %q and keeper %q, want two of its parties%s", wording.Clip(p.Asker),
			wording.Clip(p.Keeper), mistyped(p.Keeper))
	case p.Mode != ModeHelper && p.Helper != "":
		return fmt.Errorf("mode is %q and helper %q: mode %q names a helper, and no other does", p.Mode,
			wording.Clip(p.Helper), ModeHelper)
	case p.Helper != "" && (!in(p.Helper) || p.Helper == p.Asker || p.Helper == p.Keeper):
		return fmt.Errorf("helper is %q, want one of its parties, neither asker nor keeper%s", wording.Clip(p.Helper),
			mistyped(p.Helper))
	case p.MinRows < charter.Rules.LeastCommon():
		return fmt.Errorf("min_rows is %d, want at least %d: fewer common rows may open only where the rules of charter %q "+
			"say so (min_rows there)", p.MinRows, charter.Rules.LeastCommon(), charter.Name)
	case p.KeepDays < 1 || p.KeepDays > maxKeepDays:
		return fmt.Errorf("keep_days is %d, want 1 to %d", p.KeepDays, maxKeepDays)
	case p.Buckets < 0 || p.Buckets > MaxBuckets:
		return fmt.Errorf("buckets is %d, want 1 to %d, or nothing", p.Buckets, MaxBuckets)
	case len(p.Keys) > MaxPasses:
		return fmt.Errorf("keys has %d names, want at most %d", len(p.Keys), MaxPasses)
	}
	for i, name := range p.Keys {
		if _, ok := charter.Identifier(name); !ok || slices.Contains(p.Keys[:i], name) {
			return fmt.Errorf("keys has %q, want identifiers of charter %q ([ids.%s] there), each once", wording.Clip(name),
				charter.Name, wording.Clip(name))
		}
	}
	three := []string{p.Asker, p.Keeper, p.Helper}
	for i, a := range three {
		for _, b := range three[:i] {
			if a != "" && charter.Affiliated(a, b) {
				return fmt.Errorf("%s and %s are affiliated in charter %q: together they could test any id against every list, so "+
					"no two of asker, keeper and helper may be", b, a, charter.Name)
			}
		}
	}
	return nil
}

// SpecOf is the intersection that a contract is about.
func SpecOf(job *contract.Job, all []contract.Facts) (*Spec, error) {
	p, err := ParamsOf(job)
	if err != nil {
		return nil, err
	}
	if p.Mode == "" || p.WantsHelper() {
		return nil, fmt.Errorf("mode is %q and helper %q, want mode %q, or %q and who helps", wording.Clip(p.Mode),
			wording.Clip(p.Helper), ModeDH, ModeHelper)
	}
	s := &Spec{Asker: job.Index(p.Asker), Keeper: job.Index(p.Keeper), Helper: None, MinRows: p.MinRows,
		Buckets: p.Buckets}
	if p.Helper != "" {
		s.Helper = job.Index(p.Helper)
	}
	if s.Asker < 0 || s.Keeper < 0 || p.Helper != "" && s.Helper < 0 {
		return nil, errors.New("asker, keeper and helper are not all among the parties")
	}
	for _, f := range all {
		s.Counts = append(s.Counts, f.IDs)
	}
	if len(s.Counts) != len(job.Parties) {
		return nil, fmt.Errorf("facts of %d parties, the job has %d", len(s.Counts), len(job.Parties))
	}
	return s, s.Check()
}
