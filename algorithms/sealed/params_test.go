package sealed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol/contract"
)

// wantError compares an error's whole text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("error is\n\t%s\nwant\n\t%s", got, want)
	}
}

// sound are valid parameters.
func sound() fdskl.Params {
	p := fdskl.Params{Active: []string{"p0"}, Label: "y", Loss: "square", Features: 64, Iterations: 10, Keeper: "p1",
		Helper: "p2", Ring: 64}
	return WithDefaults(p.WithDefaults())
}

// TestJobsThatAreNoneAreRefused by name.
func TestJobsThatAreNoneAreRefused(t *testing.T) {
	for _, c := range []struct {
		spoil func(p *fdskl.Params)
		want  string
	}{
		{func(p *fdskl.Params) {}, "<nil>"},
		{func(p *fdskl.Params) { p.Schedule = fdskl.DoublyStochastic }, `schedule is "doubly-stochastic": a sealed job wants "fixed", or privacy "masked" for the other`},
		{func(p *fdskl.Params) { p.Active = []string{"p0", "p1"} }, `active names 2 parties: a sealed job wants one, or privacy "masked" for several`},
		{func(p *fdskl.Params) { p.Features = 1 }, "features is 1, want 2 to 4096 in a sealed job, which shares a matrix " +
			"with their square"},
		{func(p *fdskl.Params) { p.Features = 4097 }, "features is 4097, want 2 to 4096 in a sealed job, which shares a " +
			"matrix with their square"},
		{func(p *fdskl.Params) { p.Ring = 56 }, "ring is 56, want 32, 48 or 64"},
		{func(p *fdskl.Params) { p.Ring, p.ScoreRange = 32, 256 }, "score_range is 256, want at most 128 with ring = 32"},
		{func(p *fdskl.Params) { p.Ring, p.ScoreRange = 32, 128 }, "<nil>"},
		{func(p *fdskl.Params) { p.Ring, p.Bins = 32, 10 }, `ring is 32, want 48 or 64 in a job with bins and loss = "square"`},
		{func(p *fdskl.Params) { p.Ring, p.Bins, p.Loss, p.Outer = 64, 10, "logistic", 4 },
			`ring is 64, want 32 in a job with bins and loss = "logistic"`},
		{func(p *fdskl.Params) { p.Ring, p.Loss, p.Outer = 48, "logistic", 4 }, `ring is 48, want 64 with loss "logistic", ` +
			`whose derivative wants cosines of more than 7 bits`},
		{func(p *fdskl.Params) { p.Ring = 48 }, "<nil>"},
		{func(p *fdskl.Params) { p.Loss, p.Outer = "logistic", 24 }, "<nil>"},
		{func(p *fdskl.Params) { p.Loss, p.Outer = "smooth-hinge", 4 }, `loss is "smooth-hinge": a sealed job wants ` +
			`"square" or "logistic", or privacy "masked" for this one`},
		{func(p *fdskl.Params) { p.Loss, p.Outer, p.Bins = "smooth-hinge", 4, 10 }, `loss is "smooth-hinge", want "square" ` +
			`or "logistic" in a job with bins`},
		{func(p *fdskl.Params) { p.ScoreBits = 17 }, "score_bits is 17, want 1 to 16"},
		{func(p *fdskl.Params) { p.ScoreBits = -1 }, "score_bits is -1, want 1 to 16"},
		{func(p *fdskl.Params) { p.Bound = "none" }, `bound is "none", want "frobenius" or "public"`},
		{func(p *fdskl.Params) { p.Outer = 1 }, "outer is 1, want none for the square loss, which is solved in one " +
			"step"},
		{func(p *fdskl.Params) { p.Loss, p.Outer = "logistic", 65 }, "outer is 65, want 24 to 40"},
		{func(p *fdskl.Params) { p.Loss, p.Outer = "logistic", 23 }, "outer is 23, want 24 to 40"},
		{func(p *fdskl.Params) { p.Keeper = "p2" }, `keeper and helper are both "p2": the three that hold shares are three`},
		{func(p *fdskl.Params) { p.Helper = "p0" }, `helper is "p0", who is the label holder: the three that hold shares are three`},
		{func(p *fdskl.Params) { p.Keeper = "p0" }, `keeper is "p0", who is the label holder: the three that hold shares are three`},
		{func(p *fdskl.Params) { p.Keeper = "p9" }, `keeper is "p9", want one of the job's parties`},
		{func(p *fdskl.Params) { p.Helper = "" }, `helper is "", want one of the job's parties`},
	} {
		p := sound()
		c.spoil(&p)
		wantError(t, Validate(p, []string{"p0", "p1", "p2", "p3"}), c.want)
	}
}

// TestSumsThatCouldWrapAreRefused by public numbers, before anything is sent.
func TestSumsThatCouldWrapAreRefused(t *testing.T) {
	for _, c := range []struct {
		rows  int
		spoil func(p *fdskl.Params)
		want  string
	}{
		{1 << 20, func(p *fdskl.Params) {}, "<nil>"},
		{100_000, func(p *fdskl.Params) { p.Ring = 48 }, "<nil>"},
		{1, func(p *fdskl.Params) {}, "1 rows: sealed jobs with ring = 64 take 2 to 1048576"},
		{1<<20 + 1, func(p *fdskl.Params) {}, "1048577 rows: sealed jobs with ring = 64 take 2 to 1048576"},
		{100_001, func(p *fdskl.Params) { p.Ring = 48 }, "100001 rows: sealed jobs with ring = 48 take 2 to 100000"},
		{1 << 20, func(p *fdskl.Params) { p.Features, p.Lambda = 4096, 1 },
			"1048576 rows, 4096 features, lambda 1: lambda times coefficients could need 63.0 bits, ring = 64 has 62"},
		{1000, func(p *fdskl.Params) { p.Loss, p.Outer, p.Lambda = "logistic", 5, 1.5e308 },
			"1000 rows, 64 features, lambda 1.5e+308: lambda times coefficients could need 563.4 bits, ring = 64 has 62"},
		{1000, func(p *fdskl.Params) { p.Loss, p.Outer, p.Lambda, p.Ring = "logistic", 5, math.MaxFloat64, 32 },
			"1000 rows, 64 features, lambda 1.7976931348623157e+308: lambda times coefficients could need 561.5 bits, " +
				"ring = 32 has 62"},
		{1 << 20, func(p *fdskl.Params) { p.Ring = 32 }, "<nil>"},
		{1 << 28, func(p *fdskl.Params) { p.Ring, p.Features, p.Lambda = 32, 1024, 1e-6 }, "<nil>"},
		{1<<28 + 1, func(p *fdskl.Params) { p.Ring = 32 },
			"268435457 rows: sealed jobs with ring = 32 take 2 to 268435456"},
		{1<<20 + 1, func(p *fdskl.Params) { p.Ring, p.Loss, p.Outer = 32, "logistic", 2 },
			"1048577 rows: sealed jobs with ring = 32 take 2 to 1048576"},
		{5, func(p *fdskl.Params) { p.Ring, p.Features, p.Lambda = 32, 2, 1 }, "<nil>"},
		{100, func(p *fdskl.Params) { p.Loss = "cubic" }, `unknown loss "cubic": it must be one of square, logistic, smooth-hinge`},
	} {
		p := sound()
		c.spoil(&p)
		_, err := scalesOf(p, c.rows)
		wantError(t, err, c.want)
	}
}

// TestCentredWordsAddUpToZero, and are the values less their mean up to one unit each.
func TestCentredWordsAddUpToZero(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 50).Draw(rt, "values")
		scale := rapid.IntRange(0, 20).Draw(rt, "scale")
		m, words := centred(values, scale)
		var sum uint64
		for i, w := range words {
			sum += w
			if d := float64(int64(w)) - math.Ldexp(values[i]-m, scale); math.Abs(d) > 1.5+1e-6 {
				rt.Errorf("value %v less %v is %d at scale %d", values[i], m, int64(w), scale)
			}
		}
		if sum != 0 || len(words) != len(values) || math.Abs(m-mean(values)) > 1e-9 {
			rt.Errorf("%d words with mean %v add up to %d", len(words), m, int64(sum))
		}
	})
}

// TestASizeThatLiesIsNamed: the keeper and the helper, whose blocks have another size, are named by who hears of it.
// The label holder is the first to hear of any.
func TestASizeThatLiesIsNamed(t *testing.T) {
	f := newFixture(t, 3, 20, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1})
	for who, name := range f.names {
		if who == 0 {
			continue
		}
		testNetwork := f.testNetwork(t)
		f.forget()
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			p := f.party(i, n, 1)
			if i == who {
				p.BlockRows = 3
			}
			_, err := Train(ctx, p)
			return err
		})
		named := false
		for i, err := range errs {
			named = named || i != who && errors.Is(err, contract.ErrDeviation) && strings.Contains(err.Error(), name)
		}
		if !named {
			t.Errorf("nobody names %s: %v", name, errs)
		}
	}
}

// TestTheRingFollowsFromTheRegulariser where the job names none.
func TestTheRingFollowsFromTheRegulariser(t *testing.T) {
	for _, c := range []struct {
		spoil func(p *fdskl.Params)
		want  int
	}{
		{func(p *fdskl.Params) { p.Lambda = 0 }, 32},                 // "auto": 1e-6 at the least
		{func(p *fdskl.Params) { p.Lambda, p.Features = 0, 20 }, 64}, // 4 x 2/20 x 2^-16/6 = 1.02e-6
		{func(p *fdskl.Params) { p.Lambda = 2e-8 }, 32},
		{func(p *fdskl.Params) { p.Lambda = 1.9e-8 }, 64}, // 4 x 2/1,024 x 2^-16/6 = 1.99e-8
		{func(p *fdskl.Params) { p.ScoreRange = 256 }, 64},
		{func(p *fdskl.Params) { p.Bins = 10 }, 64},
		{func(p *fdskl.Params) { p.Lambda, p.Ring = 1e-9, 32 }, 32},
	} {
		p := sound()
		p.Features, p.Lambda, p.Ring = 1024, 1e-6, 0
		c.spoil(&p)
		if got := WithDefaults(p).Ring; got != c.want {
			t.Errorf("%d features, lambda %v: ring %d, want %d", p.Features, p.Lambda, got, c.want)
		}
	}
}

// must ends a test at an error.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
