package evidence

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// OverColumns reports whether the job trains or scores over columns of the same rows.
func (in *Input) OverColumns() bool { return in.Algorithms.OverColumns(in.Contract.Job).Name != "" }

// Trio are the three parties of a sealed job that hold shares, by index: label holder, keeper and helper.
type Trio [rss.Roles]int

// TrioOf finds the three of a sealed job: by its parameters, or those of the model that a prediction scores with; where
// the auditor has no part of that, by its messages. It returns false for jobs that have no such three.
func TrioOf(in *Input) (Trio, bool) {
	job := in.Contract.Job
	if job.Privacy != keys.PrivacySealed || !in.OverColumns() {
		return Trio{}, false
	}
	three := in.Algorithms.Sharers(in.Contract)
	if job.Task == contract.TaskPredict && in.Model != nil {
		three = in.Model.Model().Goal.Sharers()
	}
	t := Trio{job.Index(three.Holder), job.Index(three.Keeper), job.Index(three.Helper)}
	return t, !slices.Contains(t[:], -1)
}

// Share names the role of a party among the three; empty outside.
func (t Trio) Share(party int) string {
	if r := slices.Index(t[:], party); r >= 0 {
		return rss.Role(r).String()
	}
	return ""
}

// JobRows is how many rows a job is about: those of any party that brings some.
func JobRows(c *contract.Contract) int {
	rows := 0
	for i := range c.Parties {
		rows = max(rows, c.Parties[i].Rows)
	}
	return rows
}

// WithoutData reports whether a party brings no rows to its job, as the helper of a sealed one may.
func WithoutData(p *contract.Facts) bool { return p.Role == "helper" && p.Rows == 0 }

// DefaultRows is how many rows an attack works on unless told otherwise.
const DefaultRows = 4096

// SampleRows draws the rows that attacks work on, ascending: the same for every view.
func SampleRows(total, most int) []int {
	if most <= 0 {
		most = DefaultRows
	}
	rng := rand.New(rand.NewPCG(1, uint64(total)))
	chosen := make(map[int]bool)
	for j := max(0, total-most); j < total; j++ { // Floyd: each set of rows is equally likely
		pick := rng.IntN(j + 1)
		if chosen[pick] {
			pick = j
		}
		chosen[pick] = true
	}
	return slices.Sorted(maps.Keys(chosen))
}

// Kinds of openings from which something about other parties' rows or labels follows.
const (
	OpeningAngles        = "angles"
	OpeningPartialAngles = "partial angles"
	OpeningDerivatives   = "derivatives"
	OpeningScores        = "scores"
	OpeningReach         = "reach"      // one number that all are told
	OpeningLambda        = "lambda"     // which candidate of the regulariser is taken, that all are told
	OpeningCheck         = sealed.Check // whether the steps of a sealed training were taken
	OpeningProgress      = "progress"   // whether another step of the logistic loss follows, that the three are told
	OpeningPace          = "pace"       // the same, that those outside are told
)

// SourcesOf are the operations that a kind of opening comes from, where it is not one of its own name.
func SourcesOf(kind string) []string {
	switch kind {
	case OpeningAngles:
		return []string{"angles", "published-angles"}
	case OpeningPartialAngles:
		return []string{"published-angles"}
	case "products":
		return []string{"products-total", "objective-total"}
	case "class names", "target moments":
		return []string{"target"}
	}
	return []string{kind}
}
