package fdskl

import (
	"context"

	"github.com/hanse-project/hanse/lab/sets"
)

// Table4 is the time that a training takes, on one set: FDSKL's own schedule and this program's, each between four
// parties over TLS, and boosted trees in one place, beside what the paper prints.
type Table4 struct {
	Set   string        `json:"set"`
	Rows  int           `json:"rows_train"`
	Own   FederationRun `json:"own"`
	Fixed FederationRun `json:"fixed"`
	Trees Point         `json:"trees"`
	Paper Published     `json:"paper"`
}

// Table4 trains once by each way.
func (l *Lab) Table4(ctx context.Context, s sets.Benchmark, steps Steps) (*Table4, error) {
	const seed = 1
	r, err := readRows(s, l.Rows, seed)
	if err != nil {
		return nil, err
	}
	t := &Table4{Set: s.Name, Rows: r.train.Len()}
	for _, p := range PublishedSets() {
		if p.Set == s.Name {
			t.Paper = p
		}
	}
	if t.Own, err = l.federation(ctx, r, l.ownParams(r, l.Iterations, steps, seed)); err != nil {
		return nil, err
	}
	fixed := trainingParams(r.set, r.data.Label, seed)
	fixed.Sigma = r.sigma
	if t.Fixed, err = l.federation(ctx, r, fixed); err != nil {
		return nil, err
	}
	if t.Trees, err = l.boosted(r); err != nil {
		return nil, err
	}
	l.say("%s, four parties over TLS: %s %.1f s (%.1f CPU s), error %.4f; %s %.1f s (%.1f CPU s), error %.4f; "+
		"trees in "+
		"one place %.1f CPU s", s.Name,
		NameOwn, t.Own.Seconds, t.Own.CPUSeconds, t.Own.Error,
		NameFixed, t.Fixed.Seconds, t.Fixed.CPUSeconds, t.Fixed.Error, t.Trees.CPUSeconds)
	return t, nil
}
