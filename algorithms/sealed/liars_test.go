package sealed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// lyingJob is a job in whose steps one of the three lies.
type lyingJob struct {
	*fixture
	// How many bits behind the point a message's words have, of each kind that the steps add to those of the square loss.
	points map[string]int
	last   []lastWord
}

// lastWord is a truncation whose last message changes a coefficient: how many values it has, and bits behind their
// point; those of the steps where it is -1.
type lastWord struct {
	kind          string
	values, scale int
}

// lyingJobs are a scorecard whose points and z-scores open, and a kernel that comes to use all its secants.
func lyingJobs(t testing.TB) map[string]lyingJob {
	with := func(more map[string]int) map[string]int {
		maps.Copy(more, map[string]int{kindBase: coefBits, kindGradient: gramBits, kindTurns: turnBits - turnRange,
			kindLengths: lengthPoint, kindPassed: 0, kindPassedBits: 0, kindProgress: 0,
			kindProgress + rss.SuffixVouched: 0})
		return more
	}
	kernel := newFixture(t, 3, 40, fdskl.Params{Features: 6, Sigma: 1, Iterations: 6, Loss: "logistic", Outer: 6,
		Lambda: 1e-2, Ring: ringSmall})
	card := lyingCard(t)
	steps := func(f *fixture) lastWord { return lastWord{kindProduct, 2 * runs * f.params.Features, -1} }
	return map[string]lyingJob{
		"scorecard": {card, with(map[string]int{kindEvents: eventBits, kindSums: eventBits, kindSines: 11,
			kindProbabilities: eventBits, kindSlopes: slopeBits, kindWeighed: slopeBits, kindWeighedSums: slopeBits,
			kindCentres: centreBits, kindInverse: inverseBits, kindWeighedGram: gramBits, kindTaken: coefBits}),
			[]lastWord{{kindTaken, runs*card.params.Features + 1, coefBits}, steps(card)}},
		"kernel": {kernel, with(map[string]int{kindEvents: smallBits, kindSums: 2 * smallBits, kindSines: 12,
			kindProbabilities: smallBits, kindScored: smallScore, kindSecants: scalarBits, kindSteep: 0, kindSteepBits: 0,
			kindGained: gramBits, kindStretched: secantBits, kindDirection: secantBits, kindTaken: secantBits,
			kindRounded: smallScore}), []lastWord{steps(kernel)}},
	}
}

// lyingCard is a scorecard whose points and z-scores open.
func lyingCard(t testing.TB) *fixture {
	f := newFixture(t, 3, 40, binned(fdskl.Params{Iterations: 6, Loss: "logistic", Outer: 6, Lambda: 1e-2,
		BinParams: fdskl.BinParams{Points: fdskl.ToOwners, ZScores: fdskl.ToOwners}}))
	f.coin = "one, so that all trainings draw the same rows"
	return f
}

// TestLiesInStepsOpenNoMore: each of the three lies in a message of each kind that the steps of the logistic loss have,
// by C from 2^-2 to 2^18, in one word and in all. No lie has more numbers open than the contract lists, or more bits of
// one; what ends a training names the liar, and of progress, and its vouching, the two that hold it.
func TestLiesInStepsOpenNoMore(t *testing.T) {
	for name, job := range lyingJobs(t) {
		t.Run(name, job.liesInStepsOpenNoMore)
	}
}

// liesInStepsOpenNoMore tells each lie in a job.
func (f lyingJob) liesInStepsOpenNoMore(t *testing.T) {
	_, sent, err := f.attacked(t, "honest")
	must(t, err)
	d, err := f.disclose()
	must(t, err)
	listed := newTally()
	for _, o := range d.Openings {
		listed.add(o.To, o.Kind, o.Count)
	}
	seen, ended, at := make(map[string]bool), 0, 0
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		kind, who, _ := strings.Cut(name, " of the ")
		of, _ := truncationOf(kind)
		point, new := f.points[of]
		if !new {
			continue
		}
		seen[of] = true
		role := rss.Role(slices.IndexFunc(roleOrder(), func(r rss.Role) bool { return r.String() == who }))
		for e := -2; e <= 18; e += 4 {
			for _, all := range []bool{false, true} {
				if at++; !drawn.Today(t, at, 12) {
					continue
				}
				nth := (sent[name] + 1) / 2
				if all {
					nth = sent[name]
				}
				learned := newTally()
				f.opened = learned.add
				models, _, err := f.attacked(t, "honest", falsehood{role, kind, nth, func(words []uint64) {
					for i := range words {
						if all || i == len(words)/2 {
							words[i] += 1 << max(point+e, 0)
						}
					}
				}})
				what := fmt.Sprintf("2^%d in %s, all words %t", e, name, all)
				for line, n := range learned.count {
					if n > listed.count[line] {
						t.Errorf("%s: %d %s open, the contract lists %d", what, n, line, listed.count[line])
					}
				}
				if err == nil {
					f.opensFewBits(t, what, models)
					continue
				}
				ended++
				var found *rss.DeviationError
				liar := f.names[rolesOf(f.params, f.names, 0).parties[role]]
				if !errors.As(err, &found) || !errors.Is(err, contract.ErrDeviation) || !slices.Contains(found.Parties, liar) {
					t.Errorf("%s: the training ends with %v, want a deviation of %s", what, err, liar)
				} else if (kind == kindProgress || kind == kindProgress+rss.SuffixVouched) &&
					(found.Kind != kindProgress || len(found.Parties) != 2) {
					t.Errorf("%s: the training ends with %v, want it to name the two that hold the word", what, err)
				}
			}
		}
	}
	for kind := range f.points {
		if !seen[kind] {
			t.Errorf("nobody has sent %q: the test says nothing of it", kind)
		}
	}
	if ended == 0 {
		t.Error("no lie has ended a training: the test says little")
	}
}

// opensFewBits wants points and z-scores to have their bits.
func (f *fixture) opensFewBits(t *testing.T, what string, models []*fdskl.Model) {
	t.Helper()
	within := func(list []int64, width int) {
		for _, v := range list {
			if v < -1<<(width-1) || v >= 1<<(width-1) {
				t.Errorf("%s: %d opened, want %d bits", what, v, width)
			}
		}
	}
	for _, m := range models {
		if m.Points != nil {
			within(m.Points.Bins[0], pointsWidth)
		}
		if m.ZScores != nil {
			within(m.ZScores.Bins[0], zWidth)
		}
	}
}

// lyingPace is the Network of a label holder that tells another progress than what opened.
type lyingPace struct {
	joint.SealedNetwork
	by byte
}

// Broadcast implements joint.SealedNetwork.
func (n *lyingPace) Broadcast(ctx context.Context, kind string, root int, data []byte, limit int) ([]byte, error) {
	if kind == kindPace && data != nil {
		data = []byte{data[0] ^ n.by}
	}
	return n.SealedNetwork.Broadcast(ctx, kind, root, data, limit)
}

// TestALieAboutPaceNamesTheLabelHolder at all who know what opened.
func TestALieAboutPaceNamesTheLabelHolder(t *testing.T) {
	f := lyingCard(t)
	for _, by := range []byte{1, 2, 3, 1 << 6, 1 << 7} {
		testNetwork := f.testNetwork(t)
		f.forget()
		testNetwork.wrap = func(i int, n *sessionNetwork) joint.SealedNetwork {
			if i == 0 {
				return &lyingPace{n, by}
			}
			return n
		}
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, testNetwork.session))
			return err
		})
		for i, err := range errs[1:] {
			var found *rss.DeviationError
			if !errors.As(err, &found) || found.Kind != kindPace || !slices.Equal(found.Parties, []string{"p0"}) {
				t.Errorf("pace off by %d: p%d's error is %v, want a deviation of p0", by, i+1, err)
			}
		}
	}
}

// TestAddingToTheLastTakenStepIsCaught: each of the three adds C to one coefficient of a scorecard where the last step
// is taken, which is after the runs of the check have parted, and of a scorecard and a kernel in the last step of the
// solver before it.
func TestAddingToTheLastTakenStepIsCaught(t *testing.T) {
	for name, job := range lyingJobs(t) {
		t.Run(name, job.addingAtLastIsCaught)
	}
}

// addingAtLastIsCaught adds to each last word of a job.
func (f lyingJob) addingAtLastIsCaught(t *testing.T) {
	_, sent, err := f.attacked(t, "honest")
	must(t, err)
	for _, c := range f.last {
		if c.scale < 0 {
			c.scale = f.precision(t, nil).step
		}
		for role := range rss.Role(rss.Roles) {
			kind, at, found := "", 0, false
			for _, part := range []string{rss.SuffixOut, rss.SuffixCarry} {
				if found {
					break
				}
				kind, at = c.kind+part, 1
				if part == rss.SuffixOut { // two words a value, the second its part
					at += c.values
				}
				last := sent[fmt.Sprintf("%s of the %s", kind, role)]
				for e := -2; e <= 18 && last > 0; e += 4 {
					told := false
					_, _, err := f.attacked(t, "honest", falsehood{role, kind, last, func(words []uint64) {
						if len(words) > at { // the base's own truncation is shorter
							told, words[at] = true, words[at]+1<<(c.scale+e)
						}
					}})
					if !told {
						break
					}
					found = true
					if err == nil {
						t.Errorf("the %s adds 2^%d to a coefficient by its last %q, and nobody finds it", role, e, kind)
						continue
					}
					wantCaught(t, err)
				}
			}
			if !found {
				t.Errorf("the %s has sent nothing of %q to lie in", role, c.kind)
			}
		}
	}
}
