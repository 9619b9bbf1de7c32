package sealed

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// sharpener is a receiver that has the same rows scored again and again, in new jobs, where nobody keeps count. A party
// of the three may help it: that one adds in each opening another part of what is rounded away, evenly spread, so that
// the mean of what opens has no rounding left but for what others add.
type sharpener struct {
	receiver int
	helps    int // a party; nobody: -1
	off      int // a party that adds no dither, for a control; none: -1
}

// What the sharpener asks for.
const (
	repeatedJobs     = 10
	repeatedOpenings = 100 // of each
)

// sweep is the dither of who helps, in opening i of n.
func sweep(s *Scorer, i, n int) dither {
	part := uint64((float64(i) + 0.5) / float64(n) * math.Ldexp(1, s.shift()))
	return func(string, int) uint64 { return part }
}

// errors has the rows of a fixture scored by a model, and returns the root mean square of the error of one opening and
// of the mean of all, in units of the last bit that opens.
func (a *sharpener) errors(
	t *testing.T, f *fixture, testNetwork *federation, models []*fdskl.Model,
) (one, all float64) {
	t.Helper()
	truth := f.clear(t, models)
	mean := make([]float64, len(truth))
	var first []float64
	d, err := Disclose(f.prediction(f.rows*repeatedOpenings, f.rows, a.receiver))
	must(t, err)
	testNetwork.declare(t, d)
	for job := range repeatedJobs {
		f.forgetScoring()
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			s, err := NewScorer(ctx, Scoring{
				Self: i, Receiver: a.receiver, Model: models[i], Network: n, Vault: f.scoring[i], Session: testNetwork.session,
				Openings: repeatedOpenings, Workers: 1,
			})
			if err != nil {
				return err
			}
			if i == a.off {
				s.dither = nil
			}
			var rows []*kernel.Matrix
			for _, p := range f.parts[i] {
				rows = append(rows, p.Rows)
			}
			ids := make([]string, f.rows)
			for j := range ids {
				ids[j] = fmt.Sprint("row ", j)
			}
			for k := range repeatedOpenings {
				if i == a.helps {
					s.dither = sweep(s, job*repeatedOpenings+k, repeatedJobs*repeatedOpenings)
				}
				scores, err := s.Score(ctx, k+1, f.rows, rows, ids)
				if err != nil {
					return err
				}
				if i == a.receiver && first == nil {
					first = scores
				}
				for j, y := range scores {
					mean[j] += y / (repeatedJobs * repeatedOpenings)
				}
			}
			return nil
		})
		for i, err := range errs {
			if err != nil {
				t.Fatalf("party %d: %v", i, err)
			}
		}
	}
	if each := f.params.Scores(); each > 1 { // the scores of a row add up to 2 - K: what they are off by together is known
		for j := range f.rows {
			row, sum := mean[j*each:(j+1)*each], float64(each-2)
			for _, y := range row {
				sum += y
			}
			for k := range row {
				row[k] -= sum / float64(each)
			}
		}
	}
	unit := math.Ldexp(1, -f.params.ScoreBits)
	return rms(first, truth) / unit, rms(mean, truth) / unit
}

// TestSharpenersLearnNoMoreThanTheDithersLeave, whoever of the three helps them: what a dither hides, which they do not
// know, a thousand openings hide too. Without such a dither they have the score a hundred times finer.
func TestSharpenersLearnNoMoreThanTheDithersLeave(t *testing.T) {
	const holder, keeper, helper, outside, nobody = 0, 1, 2, 3, -1
	const two, three = 0, 3
	type job struct {
		*fixture
		*federation
		models []*fdskl.Model
	}
	jobs := make(map[int]job)
	for _, classes := range []int{two, three} {
		f := newFixture(t, 4, 24, fdskl.Params{Features: 8, Iterations: 8, Sigma: 1, Lambda: 1e-2, Classes: classes}, helper)
		testNetwork := f.testNetwork(t)
		jobs[classes] = job{f, testNetwork, f.train(t, testNetwork)}
	}
	// A dither alone leaves 1/sqrt(12) of a unit, and of three classes, of which the sum is known, sqrt(2/3) of that: of
	// 24 rows below 0.1 once in 10^10 runs. Truncations leave 0.4/sqrt(1000) of a unit.
	const least, most = 0.1, 0.05
	for _, c := range []struct {
		name    string
		classes int
		a       sharpener
		known   bool // the sharpener knows all dithers
	}{
		{"the receiver alone", two, sharpener{outside, nobody, nobody}, false},
		{"the keeper helps a receiver outside", two, sharpener{outside, keeper, nobody}, false},
		{"the label holder helps a receiver outside", two, sharpener{outside, holder, nobody}, false},
		{"the label holder receives", two, sharpener{holder, nobody, nobody}, false},
		{"the keeper receives", two, sharpener{keeper, nobody, nobody}, false},
		{"three classes, the keeper receives", three, sharpener{keeper, nobody, nobody}, false},
		{"three classes, the label holder helps", three, sharpener{outside, holder, nobody}, false},
		{"control: the keeper helps, and the label holder adds none", two, sharpener{outside, keeper, holder}, true},
		{"control: the label holder helps, and the keeper adds none", two, sharpener{outside, holder, keeper}, true},
		{"control: the same of three classes", three, sharpener{outside, holder, keeper}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, testNetwork, models := jobs[c.classes].fixture, jobs[c.classes].federation, jobs[c.classes].models
			one, all := c.a.errors(t, f, testNetwork, models)
			t.Logf("one opening is off by %.3f of a unit, the mean of %d by %.4f", one, repeatedJobs*repeatedOpenings, all)
			if !c.known && !(all > least) {
				t.Errorf("the mean is off by %.4f of a unit, want more than %v", all, least)
			}
			if c.known && !(all < most) {
				t.Errorf("with all dithers known the mean is off by %.4f of a unit, want less than %v: the test shows nothing",
					all, most)
			}
		})
	}
}

// TestRowsThatAreNotAskedForDoNotOpen, also where one of the three goes on to add its part of them.
func TestRowsThatAreNotAskedForDoNotOpen(t *testing.T) {
	const outside, nobody = 3, -1
	f := newFixture(t, 4, 24, fdskl.Params{Features: 8, Iterations: 8, Sigma: 1, Lambda: 1e-2})
	testNetwork := f.testNetwork(t)
	models := f.train(t, testNetwork)
	truth := f.clear(t, models)
	d, err := Disclose(f.prediction(f.rows, f.rows, outside))
	must(t, err)
	testNetwork.declare(t, d)
	half := f.rows / 2
	asked := make([]bool, f.rows)
	for j := range half {
		asked[j] = true
	}
	for deviates := nobody; deviates < outside; deviates++ {
		f.forgetScoring()
		var scores []float64
		var opened int64
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			s, err := NewScorer(ctx, Scoring{
				Self: i, Receiver: outside, Model: models[i], Network: n, Vault: f.scoring[i],
				Session: testNetwork.session, Openings: 1,
				Workers: 1, Asked: func(int) []bool { return asked },
			})
			if err != nil {
				return err
			}
			if i == deviates {
				s.Asked = nil
			}
			if i == outside {
				s.Opened = func(_ string, n int64) { opened += n }
			}
			var ids []string
			for j := range f.rows {
				ids = append(ids, fmt.Sprint("row ", j))
			}
			got, err := s.Score(ctx, 1, f.rows, []*kernel.Matrix{f.parts[i][0].Rows}, ids)
			if i == outside {
				scores = got
			}
			return err
		})
		for i, err := range errs {
			if err != nil {
				t.Fatalf("party %d: %v", i, err)
			}
		}
		if e := rms(scores[:half], truth[:half]); e > 2*math.Ldexp(1, -f.params.ScoreBits) {
			t.Errorf("party %d deviates: rows that are asked for are off by %v", deviates, e)
		}
		if opened != int64(half) {
			t.Errorf("party %d deviates: %d scores count as opened, want %d", deviates, opened, half)
		}
		var size float64
		for _, y := range scores[half:] {
			size = max(size, math.Abs(y))
		}
		if deviates == nobody && size != 0 || deviates != nobody && size < 4 {
			t.Errorf("party %d deviates: the other rows open to numbers up to %v, want 0 or noise", deviates, size)
		}
	}
}

// booked is a network that wants an opening to be booked before a word of it leaves, and dies there in the first
// session.
type booked struct {
	*sessionNetwork
	is    bool // in this session
	first bool
	fault func(text string)
}

// SumPacked implements joint.SealedNetwork.
func (n *booked) SumPacked(ctx context.Context, kind string, root, bits int, v []uint64) error {
	if !n.is {
		n.fault("a word leaves of what is not booked")
	}
	if n.first {
		return errKilled
	}
	return n.sessionNetwork.SumPacked(ctx, kind, root, bits, v)
}

// TestOpeningsAreBookedInEverySession also where the words were made in the one before: a party that died in that may
// have lost what it had booked.
func TestOpeningsAreBookedInEverySession(t *testing.T) {
	const outside = 3
	f := newFixture(t, 4, 24, fdskl.Params{Features: 8, Iterations: 8, Sigma: 1, Lambda: 1e-2})
	testNetwork := f.testNetwork(t)
	models := f.train(t, testNetwork)
	d, err := Disclose(f.prediction(f.rows, f.rows, outside))
	must(t, err)
	testNetwork.declare(t, d)
	for session := range 2 {
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			fault := func(text string) { t.Errorf("session %d, party %d: %s", session, i, text) }
			seen := &booked{n.(*sessionNetwork), false, session == 0, fault}
			s, err := NewScorer(ctx, Scoring{
				Self: i, Receiver: outside, Model: models[i], Network: seen, Vault: f.scoring[i], Session: testNetwork.session,
				Openings: 1, Workers: 1, Record: func(number int) error { seen.is = number == 1; return nil },
			})
			if err != nil {
				return err
			}
			if s.Fixed() != session {
				t.Errorf("session %d: %d openings are fixed", session, s.Fixed())
			}
			var ids []string
			for j := range f.rows {
				ids = append(ids, fmt.Sprint("row ", j))
			}
			_, err = s.Score(ctx, 1, f.rows, []*kernel.Matrix{f.parts[i][0].Rows}, ids)
			return err
		})
		for i, err := range errs {
			if session == 0 && err == nil || session == 1 && err != nil {
				t.Errorf("session %d: party %d ends with %v", session, i, err)
			}
		}
	}
}
