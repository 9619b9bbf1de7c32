package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Parameters of jobs that take a protection away, by their names in job texts.
const (
	paramScoreBits    = "score_bits"
	paramScoreRange   = "score_range"
	paramScoresPerRow = "scores_per_row"
)

// usualThreshold is what part of those who hold shares of a client's secret must answer to open it, more than which
// jobs that name no threshold want.
const usualThreshold = 2.0 / 3

// parameters holds what the job says against what it would have said without a word: what takes a protection away is a
// finding, though every party has signed it. least is the smallest number of contributors that the charter allows.
func (a *auditor) parameters(least int) {
	job := a.in.Contract.Job
	add := func(v finding.Verdict, format string, args ...any) {
		detail := fmt.Sprintf(format, args...)
		a.report.Checks = append(a.report.Checks, finding.Check{Name: finding.CheckParameters, Verdict: v, Detail: detail})
	}
	if job.Privacy == keys.PrivacyPublished {
		add(finding.Leak, "privacy = %q runs the protocol as it was published, which protects nothing that is sent",
			keys.PrivacyPublished)
	}
	var weak []string
	if job.Threshold > 0 && job.Threshold <= usualThreshold {
		weak = append(weak, fmt.Sprintf("threshold = %v lets fewer of those who hold shares of a client's secret open it "+
			"than the usual more than two thirds", job.Threshold))
	}
	usual := a.usual()
	if n, ok := wholeNumber(job, paramScoreBits); ok && n > int64(usual.ScoreBits) && job.Privacy == fdskl.Sealed {
		weak = append(weak, fmt.Sprintf("%s = %d opens %d bits behind the point of each score, where %d are usual: "+
			"each bit tells more of the row", paramScoreBits, n, n, usual.ScoreBits))
	}
	if n, ok := wholeNumber(job, paramScoreRange); ok && n > int64(usual.ScoreRange) && job.Privacy == fdskl.Sealed {
		weak = append(weak, fmt.Sprintf("%s = %d opens more bits before the point of each score than the usual range of %d: "+
			"each bit tells more of the row", paramScoreRange, n, usual.ScoreRange))
	}
	if n, ok := wholeNumber(job, paramScoresPerRow); ok && n > 1 {
		weak = append(weak, fmt.Sprintf("%s = %d lets a row be scored %d times, where once is usual: "+
			"repeated scores of a row are sharper than one", paramScoresPerRow, n, n))
	}
	for _, text := range weak {
		add(finding.Disclosed, "%s", text)
	}
	if len(weak) > 0 || job.Privacy == keys.PrivacyPublished {
		return
	}
	detail := "no parameter of the job takes away a protection that it would have had without it"
	if n := job.MinContributors; n > 0 && n < least {
		detail += fmt.Sprintf("; min_contributors = %d is less than the charter's %d, which holds", n, least)
	}
	add(finding.Passed, "%s", detail)
}

// usual are the parameters that the job would have had without a word, but for those that defaults follow from.
func (a *auditor) usual() fdskl.Params {
	p, _, err := a.in.Params()
	if err != nil {
		p = fdskl.Params{}
	}
	p.ScoreBits, p.ScoreRange = 0, 0
	return sealed.WithDefaults(p)
}

// wholeNumber reads a parameter of a job that is a whole number.
func wholeNumber(job *contract.Job, name string) (int64, bool) {
	n, ok := job.Parameters[name].(int64)
	return n, ok
}
