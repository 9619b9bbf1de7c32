package sealed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// viewed are jobs whose views are replayed: as small as they can be with blocks of both orders, a shorter last one, a
// party outside, and steps of all kinds.
func viewed() map[string]fdskl.Params {
	p := fdskl.Params{Features: 6, Iterations: 3, Sigma: 1, Lambda: 1e-3}
	outer := 3
	if drawn.All {
		outer = 5 // with as many secants as there ever are
	}
	with := func(change func(p *fdskl.Params)) fdskl.Params {
		q := p
		change(&q)
		return q
	}
	return map[string]fdskl.Params{
		"square":          p,
		"auto":            with(func(p *fdskl.Params) { p.Lambda = 0 }),
		"auto, logistic":  with(func(p *fdskl.Params) { p.Loss, p.Outer, p.Iterations, p.Lambda = "logistic", 2, 2, 0 }),
		"classes":         with(func(p *fdskl.Params) { p.Classes = 3 }),
		"classes, auto":   with(func(p *fdskl.Params) { p.Classes, p.Lambda, p.Iterations = 3, 0, 2 }),
		"compact":         with(func(p *fdskl.Params) { p.Ring = 48 }),
		"small":           with(func(p *fdskl.Params) { p.Ring = 32 }),
		"small, auto":     with(func(p *fdskl.Params) { p.Ring, p.Lambda, p.Classes, p.Iterations = 32, 0, 3, 2 }),
		"small, logistic": with(func(p *fdskl.Params) { p.Ring, p.Loss, p.Outer, p.Iterations = 32, "logistic", 2, 2 }),
		"a public bound":  with(func(p *fdskl.Params) { p.Bound = boundPublic }),
		"logistic":        with(func(p *fdskl.Params) { p.Loss, p.Outer, p.Iterations, p.Lambda = "logistic", outer, 2, .1 }),
		"bins":            binned(fdskl.Params{Iterations: 3, Lambda: 1e-2}),
		"bins, logistic":  binned(fdskl.Params{Loss: "logistic", Outer: 2, Iterations: 2, Lambda: 100}),
		"points, owners":  carded("owners"),
		"points, one":     carded("p1"),
		"z-scores":        tested("logistic", 5, fdskl.ToOwners),
		"z, square":       tested("", 0, "p0"),
		"swapped":         with(func(p *fdskl.Params) { p.Keeper, p.Helper = "p3", "p1" }),
	}
}

// carded are parameters of a job that opens points.
func carded(to string) fdskl.Params {
	p := binned(fdskl.Params{Loss: "logistic", Outer: 5, Iterations: 2, Lambda: 100})
	p.Points = to
	return p
}

// tested are parameters of a job that opens z-scores.
func tested(loss string, outer int, to string) fdskl.Params {
	p := binned(fdskl.Params{Loss: loss, Outer: outer, Iterations: 2, Lambda: 100})
	p.ZScores = to
	return p
}

// TestAPartysMessagesDiscloseNothing: whatever the others' rows and labels are, each of the three may receive
// the same words in a whole training and a prediction; see replay.
func TestAPartysMessagesDiscloseNothing(t *testing.T) {
	for name, p := range viewed() {
		for _, role := range roleOrder() {
			always := slices.Contains([]string{"square", "auto", "classes", "small, auto", "bins", "points, owners"}, name) ||
				name == "z-scores" && role == rss.LabelHolder
			if !drawn.All && !always && (name != "logistic" || role == rss.Helper) {
				continue
			}
			t.Run(fmt.Sprintf("%s, the %s", name, role), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 40, p)
				f.window = 20
				f.coin = "the same in both runs"
				subject := rolesOf(f.params, f.names, 0).parties[role]
				other := f.disguised(t, subject)
				receiver := 3 // of the scores
				if role == rss.LabelHolder {
					receiver = 0
				}
				r, err := replayed(t, f.names, role, subject, 0, func(l *lab, second bool) (string, error) {
					if second {
						return other.whole(t, l, subject, receiver)
					}
					return f.whole(t, l, subject, receiver)
				})
				must(t, err)
				if want := f.opens(role, subject, receiver); !slices.Equal(r.openings, want) {
					t.Errorf("to it opened %q, want %q", r.openings, want)
				}
				t.Logf("%d messages of %d words, solved in %d runs", len(r.log), r.words(), r.sweeps)
			})
		}
	}
}

// opens lists what a job opens to a party of the three.
func (f *fixture) opens(role rss.Role, self, receiver int) []string {
	var list []string
	if role == rss.LabelHolder {
		if f.params.Bound != boundPublic {
			list = append(list, kindBound)
		}
		if f.params.Lambda == 0 {
			list = append(list, kindValidation)
		}
	}
	if f.params.Outer > 0 {
		list = append(list, slices.Repeat([]string{kindProgress}, len(progressSteps(f.params)))...)
	}
	list = append(list, kindCheck) // a component, from one of its holders
	if f.params.Points == "owners" || f.params.Points == f.names[self] {
		list = append(list, kindPoints)
	}
	if f.params.ZScores == fdskl.ToOwners || f.params.ZScores == f.names[self] {
		list = append(list, kindZScores)
	}
	if self == receiver {
		list = append(list, kindScores)
	}
	return list
}

// disguised is the fixture with other rows, other phases and, unless the subject has them, other labels at
// everybody but the subject.
func (f *fixture) disguised(t testing.TB, subject int) *fixture {
	t.Helper()
	g := newFixtureOf(t, 2, len(f.names), f.rows, f.params, f.idle...)
	g.block, g.save, g.window, g.coin = f.block, f.save, f.window, f.coin
	g.parts[subject] = f.parts[subject]
	if subject == 0 {
		g.labels = f.labels
	}
	return g
}

// whole is a training and a prediction of its rows in a lab; it returns all that a party has in the end.
func (f *fixture) whole(t testing.TB, l *lab, self, receiver int) (string, error) {
	f.forget()
	models := make([]*fdskl.Model, len(f.names))
	var scores []float64
	err := l.run(t, func(ctx context.Context, i int, n joint.SealedNetwork) (err error) {
		if models[i], err = Train(ctx, f.party(i, n, 1)); err != nil {
			return err
		}
		got, err := f.score(ctx, i, n.(*place).again(), 1, models[i], receiver)
		if i == self {
			scores = got
		}
		return err
	})
	if err != nil {
		return "", err
	}
	data, err := models[self].Encode()
	all := []string{fmt.Sprintf("model %x, scores %v", data, scores)}
	files := f.vaults[self].files
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, fmt.Sprintf("%s %x", name, files[name]))
	}
	return strings.Join(all, "\n"), err
}

// forget empties the vaults.
func (f *fixture) forget() {
	for i := range f.vaults {
		f.vaults[i] = newVault()
	}
	f.forgetScoring()
}

// forgetScoring empties those of a prediction.
func (f *fixture) forgetScoring() {
	for i := range f.scoring {
		f.scoring[i] = newVault()
	}
}

// score is a party's part of a prediction of the training rows.
func (f *fixture) score(ctx context.Context, i int, n joint.SealedNetwork, session uint32, m *fdskl.Model,
	receiver int) ([]float64, error) {
	s, err := NewScorer(ctx, Scoring{Self: i, Receiver: receiver, Model: m, Network: n, Vault: f.scoring[i],
		Session: session, Openings: 1, Workers: 2})
	if err != nil {
		return nil, err
	}
	var rows []*kernel.Matrix
	for _, p := range f.parts[i] {
		rows = append(rows, p.Rows)
	}
	var ids []string
	for j := range f.rows {
		ids = append(ids, fmt.Sprint("row ", j))
	}
	return s.Score(ctx, 1, f.rows, rows, ids)
}

// TestAMissingPadIsFound leaves out the pads of one use, and wants the replay to fail at the party that they
// hide something from.
func TestAMissingPadIsFound(t *testing.T) {
	const label, keeper, helper = rss.LabelHolder, rss.Keeper, rss.Helper
	for _, c := range []struct {
		name string
		use  rss.Use
		from []rss.Role
		job  string // empty: square
	}{
		{"r", useRotation, []rss.Role{label}, ""},
		{"a part of cos", useFirst, []rss.Role{keeper, helper}, ""},
		{"a part of sin", useSecond, []rss.Role{keeper, helper}, ""},
		{"Z_1", useOne, []rss.Role{keeper}, ""},
		{"Z_2", useTwo, []rss.Role{helper}, ""},
		{"a part of cos, small", useFirst, []rss.Role{keeper, helper}, "small"},
		{"Z_1, small", useOne, []rss.Role{keeper}, "small"},
		{"Z_2, small", useTwo, []rss.Role{helper}, "small"},
		{"labels", padInput, []rss.Role{keeper}, ""},
		{"labels of three classes", padInput, []rss.Role{keeper}, "classes"},
		{"rho", padRho, []rss.Role{label, helper}, ""},
		{"v", padV, []rss.Role{label, helper}, ""},
		{"t_1", padT, []rss.Role{keeper}, ""},
		{"m_1", padM, []rss.Role{keeper}, ""},
		{"n_1", padN, []rss.Role{keeper}, ""},
		{"m_0", padM0, []rss.Role{label, helper}, ""},
		{"bins", padInput, []rss.Role{label, keeper, helper}, "bins"},
	} {
		for _, role := range roleOrder() {
			if !drawn.All && !slices.Contains(c.from, role) {
				continue
			}
			t.Run(fmt.Sprintf("%s, the %s", c.name, role), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 40, viewed()[cmp.Or(c.job, "square")])
				f.coin = "the same in both runs"
				other := f.disguised(t, int(role))
				_, err := replayed(t, f.names, role, int(role), c.use, func(l *lab, second bool) (string, error) {
					if second {
						return other.whole(t, l, int(role), 3)
					}
					return f.whole(t, l, int(role), 3)
				})
				switch hides := slices.Contains(c.from, role); {
				case hides && (err == nil || !strings.Contains(err.Error(), "depends on the others' inputs")):
					t.Errorf("the %s can tell, and the replay says %v", role, err)
				case !hides && err != nil:
					t.Error(err)
				}
			})
		}
	}
}
