package ofmsft

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
)

// Row is one case over all seeds. Scores are in the set's unit.
type Row struct {
	Algorithm string  `json:"algorithm"`
	Budget    float64 `json:"budget"`
	Update    string  `json:"update"`
	Step      float64 `json:"step,omitempty"`
	Small     float64 `json:"share_with_budget_3,omitempty"`
	PerUpload int     `json:"rounds_per_upload,omitempty"` // 0: the report's

	Mean      float64        `json:"mean"`
	Spread    float64        `json:"sd_over_clients"` // mean over seeds
	Deviation float64        `json:"sd_over_seeds"`
	Late      float64        `json:"last_quarter"` // mean over the last quarter of the rounds
	Paper     *lab.Published `json:"paper,omitempty"`
	Spec      *lab.Published `json:"spec,omitempty"`

	// of a client, over seeds, against the networks as they were in each round
	Regret *lab.Measured `json:"regret,omitempty"`
	First  *lab.Measured `json:"regret_at_first,omitempty"` // against the networks as they were before any fine-tuning

	Uploaded   float64 `json:"uploaded_bytes,omitempty"` // of a run, by the paper's model
	Downloaded float64 `json:"downloaded_bytes,omitempty"`
	Clipped    int     `json:"clipped,omitempty"`  // elements of steps, all runs
	Diverged   string  `json:"diverged,omitempty"` // how the first run that did ended
	Seconds    float64 `json:"seconds"`            // of a run, beside others
	Timed      *timed  `json:"table_5,omitempty"`
	Bound      *Bound  `json:"bounds,omitempty"`

	of                setting
	scores, scoreSD   []float64 // [T], of the score so far, over seeds
	regrets, regretSD []float64 // [T], as Regret; nil if not counted
}

// row sums up a case's runs.
func (l *bench) row(c setting, runs []*course) Row {
	r := Row{Algorithm: c.algorithm, Budget: c.budget, Update: c.update, Step: c.step, Small: c.small,
		PerUpload: c.perUpload, of: c}
	if l.options.paper {
		r.Paper, r.Spec = publishedFigures(l.set.name, c)
	}
	for _, run := range runs {
		r.Seconds += run.seconds / float64(len(runs))
		r.Uploaded += run.uploaded / float64(len(runs))
		r.Downloaded += run.downloaded / float64(len(runs))
		r.Clipped += run.clipped
		if run.diverged != "" && r.Diverged == "" {
			r.Diverged = run.diverged
		}
	}
	if r.Diverged != "" {
		return r
	}
	if l.options.times {
		cpu := lab.Mean(lab.Each(runs, func(run *course) float64 { return run.cpu }))
		r.Timed = &timed{Ours: cpu / float64(len(l.set.Labels)), Paper: paperSeconds(l.set.name, c)}
	}
	total := lab.Spread(lab.Each(runs, func(run *course) float64 { return lab.Mean(run.clients) }))
	r.Mean, r.Deviation = total.Mean, total.Deviation
	r.Spread = lab.Mean(lab.Each(runs, func(run *course) float64 { return overAll(run.clients) }))
	r.Late = lab.Mean(lab.Each(runs, func(run *course) float64 { return lab.Mean(run.rounds[len(run.rounds)*3/4:]) }))
	r.scores, r.scoreSD = alongRounds(lab.Each(runs, func(run *course) []float64 { return run.scores }))
	first := lab.Each(runs, func(run *course) []float64 { return run.first })
	r.First = atEnd(first)
	tuned := lab.Each(runs, func(run *course) []float64 { return run.regrets })
	if c.algorithm == ofmsFT && c.update == ofmsft.UpdateNone {
		tuned = first // networks that nobody changed
	}
	if len(tuned[0]) > 0 {
		r.Regret = atEnd(tuned)
		r.regrets, r.regretSD = alongRounds(tuned)
	}
	return r
}

// timed is a row of the paper's table 5, in seconds of a client over all rounds.
type timed struct {
	Ours  float64 `json:"processor_seconds"`
	Paper float64 `json:"paper_seconds"`
}

// overAll returns the standard deviation of all clients, with n, as the paper's code has it.
func overAll(values []float64) float64 {
	m, sum := lab.Mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// atEnd returns mean and deviation of the last values of some series.
func atEnd(series [][]float64) *lab.Measured {
	m := lab.Spread(lab.Each(series, func(s []float64) float64 { return s[len(s)-1] }))
	return &m
}

// alongRounds returns mean and deviation of some series, round by round.
func alongRounds(series [][]float64) (means, deviations []float64) {
	for t := range series[0] {
		m := lab.Spread(lab.Each(series, func(s []float64) float64 { return s[t] }))
		means, deviations = append(means, m.Mean), append(deviations, m.Deviation)
	}
	return means, deviations
}
