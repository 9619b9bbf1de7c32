package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/rss"
)

// scorecard is a job with bins and the logistic loss, whose points and z-scores go to the owners of columns. All else
// is as it is in a job that says no more.
func scorecard() fdskl.Params {
	return fdskl.Params{Loss: "logistic",
		BinParams: fdskl.BinParams{Bins: 10, Points: fdskl.ToOwners, ZScores: fdskl.ToOwners}}
}

// TestADefaultScorecardIsClean: all that opens are numbers over all rows, and the attacks find nothing in the rest.
func TestADefaultScorecardIsClean(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 300, -1, scorecard())
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantSealed(t, r)
	opened := make(map[string]int64)
	for _, l := range r.Ledger {
		if l.BitsPerRow > 0 || l.Count >= int64(f.rows) || l.Verdict != finding.Clean {
			t.Errorf("the ledger has %+v", l)
		}
		opened[l.Party+" "+l.Kind] = l.Bits
	}
	if n := opened["p0 progress"]; n < 2 || n > 8*2 || opened["p1 progress"] != n || opened["p3 pace"] != n {
		t.Errorf("the ledger has %v", opened)
	}
}

// The uses of the pads of a scorecard's steps; see package sealed and package rss.
const (
	padTurnOne   = rss.FirstFree + 21
	padTurnTwo   = rss.FirstFree + 22
	padSines     = rss.FirstFree + 25
	padSecondary = rss.FirstFree + 26
	padPrimary   = rss.FirstFree + 27
	padReshare   = rss.Use(8)
)

// The kinds of the masked messages that the steps of a scorecard have and no other training.
const (
	kindTurns         = "score turns"
	kindSines         = "sines"
	kindProbabilities = "probabilities"
	kindSlopes        = "slopes"
	kindWeighed       = "weighed rows"
)

// otherSteps has pads of some uses be other ones in the steps whose description begins so.
type otherSteps struct {
	rss.Source
	about string
	uses  []rss.Use
	pad   func(unknown rss.Role, use rss.Use) rss.Pad
}

// Pad implements rss.Source.
func (o *otherSteps) Pad(unknown rss.Role, at rss.Place, use rss.Use) (rss.Pad, error) {
	pad, err := o.Source.Pad(unknown, at, use)
	if strings.HasPrefix(at.About, o.about) && slices.Contains(o.uses, use) {
		return o.pad(unknown, use), err
	}
	return pad, err
}

// TestDeviationsInTheStepsOfScorecardsAreFound has pads left out, or used for two steps, beside an honest job.
//
// The terms of scores, which turns are made of, look uniform without a pad, too: that they lack it, or have that of
// another message, shows where the same rows' go twice, for probabilities and for slopes, which is so of all in jobs
// with less than 8,192 rows, and of none but the rows of a sample in larger ones. And the halves of probabilities and
// slopes are sums of uniform words: a transcript cannot show that one of keeper and helper leaves out its pad, or uses
// it twice; that both do, it shows.
func TestDeviationsInTheStepsOfScorecardsAreFound(t *testing.T) {
	none := func(rss.Role, rss.Use) rss.Pad { return zeros{} }
	same := func(unknown rss.Role, use rss.Use) rss.Pad { return fixed{byte(unknown), byte(use)} }
	sigmoid, weighed := "sigmoid|", `reshare|"`+kindWeighed+`"`
	for name, c := range map[string]struct {
		about              string
		uses               []rss.Use
		pad                func(rss.Role, rss.Use) rss.Pad
		party, check, part string // of the finding; none: the job is honest
	}{
		"honest": {},
		"a keeper's turns without pad": {sigmoid, []rss.Use{padTurnOne}, none, "p0", finding.CheckMasks,
			kindTurns + ", received from p1) has the payload of record"},
		"a helper's turns without pad": {sigmoid, []rss.Use{padTurnTwo}, none, "p2", finding.CheckMasks,
			kindTurns + ", sent to p0) has the payload of record"},
		"one pad for all turns": {sigmoid, []rss.Use{padTurnOne, padTurnTwo}, same, "p0", finding.CheckMasks,
			kindTurns + ", received from p1) has the payload of record"},
		"sines in one part": {sigmoid, []rss.Use{padSines}, none, "p1", "uniformity",
			"the words of " + kindSines + ", received from p0, that should be masked are not uniform"},
		"one pad for all sines": {sigmoid, []rss.Use{padSines}, same, "p2", "mask reuse", "cancel their masks (difference"},
		"probabilities without both pads": {sigmoid, []rss.Use{padPrimary, padSecondary}, none, "p1", "mask reuse",
			"cancel their masks (sum"},
		"weighed rows without pads": {weighed, []rss.Use{padReshare}, none, "p0", "uniformity",
			"the words of " + kindWeighed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newThrees(t, 150, -1, steps())
			if c.uses != nil {
				f.pads = func(s rss.Source) rss.Source { return &otherSteps{s, c.about, c.uses, c.pad} }
			}
			must(t, f.learn(-1, 0, nil))
			r := f.audited(f.input())
			switch {
			case c.uses == nil:
				wantSealed(t, r)
				return
			case c.check == finding.CheckMasks:
				wantCheck(t, r.Checks, c.check, finding.Leak, c.part)
			default:
				wantLeak(t, r, c.check, c.party, c.part)
			}
			if r.Verdict != finding.Leak {
				t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
			}
		})
	}
}

// TestMessagesOfStepsKeepToTheContract: none of them opens, has another kind or another class, or goes to another.
func TestMessagesOfStepsKeepToTheContract(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 100, -1, steps())
	must(t, f.learn(-1, 0, nil))
	for _, c := range []struct {
		who  int
		kind string
	}{{0, kindTurns}, {1, kindSines}, {1, kindProbabilities}, {2, kindSlopes}, {1, kindWeighed}, {0, kindWeighed}} {
		is := func(r *transcript.Record) bool { return r.Type == received && r.Kind == c.kind }
		for what, change := range map[string]edit{
			"opened":             openedOf(c.kind, c.who),
			"of another kind":    alter(is, 0, func(r *transcript.Record) { r.Kind = "other " + c.kind }),
			"of another class":   alter(is, 0, func(r *transcript.Record) { r.Class = contract.ClassOpening }),
			"from one outside":   alter(is, 0, func(r *transcript.Record) { r.Peer = 3 }),
			"longer than agreed": alter(is, -1, func(r *transcript.Record) { r.Size += 8; r.Bytes += 8 }),
		} {
			in := f.input()
			in.Columns = nil
			in.Sources = []evidence.Source{source("forged", f.deviate(c.who, change))}
			checks := f.audited(in).Checks
			if !slices.ContainsFunc(checks, func(k finding.Check) bool {
				return k.Name == finding.CheckOperations && k.Verdict == finding.Failed
			}) {
				t.Errorf("%s of %s, %s: not found in %+v", c.kind, f.names[c.who], what, checks)
			}
		}
	}
}
