package main

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// ofmsftRow is one case over all seeds. Scores are in the set's unit.
type ofmsftRow struct {
	Algorithm string  `json:"algorithm"`
	Budget    float64 `json:"budget"`
	Update    string  `json:"update"`
	Step      float64 `json:"step,omitempty"`
	Small     float64 `json:"share_with_budget_3,omitempty"`
	PerUpload int     `json:"rounds_per_upload,omitempty"` // 0: the report's

	Mean      float64       `json:"mean"`
	Spread    float64       `json:"sd_over_clients"` // mean over seeds
	Deviation float64       `json:"sd_over_seeds"`
	Late      float64       `json:"last_quarter"` // mean over the last quarter of the rounds
	Paper     *pofmklFigure `json:"paper,omitempty"`
	Spec      *pofmklFigure `json:"spec,omitempty"`

	Regret *measured `json:"regret,omitempty"`          // of a client, over seeds, against the networks as they were in each round
	First  *measured `json:"regret_at_first,omitempty"` // against the networks as they were before any fine-tuning

	Uploaded   float64      `json:"uploaded_bytes,omitempty"` // of a run, by the paper's model
	Downloaded float64      `json:"downloaded_bytes,omitempty"`
	Clipped    int          `json:"clipped,omitempty"`  // elements of steps, all runs
	Diverged   string       `json:"diverged,omitempty"` // how the first run that did ended
	Seconds    float64      `json:"seconds"`            // of a run, beside others
	Timed      *timed       `json:"table_5,omitempty"`
	Bound      *ofmsftBound `json:"bounds,omitempty"`

	of                ofmsftCase
	scores, scoreSD   []float64 // [T], of the score so far, over seeds
	regrets, regretSD []float64 // [T], as Regret; nil if not counted
}

// row sums up a case's runs.
func (l *ofmsftLab) row(c ofmsftCase, runs []*ofmsftRun) ofmsftRow {
	r := ofmsftRow{Algorithm: c.algorithm, Budget: c.budget, Update: c.update, Step: c.step, Small: c.small,
		PerUpload: c.perUpload, of: c}
	if l.options.paper {
		r.Paper, r.Spec = publishedOFMSFT(l.set.name, c)
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
		cpu := mean(each(runs, func(run *ofmsftRun) float64 { return run.cpu }))
		r.Timed = &timed{Ours: cpu / float64(len(l.set.labels)), Paper: paperSeconds(l.set.name, c)}
	}
	total := spread(each(runs, func(run *ofmsftRun) float64 { return mean(run.clients) }))
	r.Mean, r.Deviation = total.Mean, total.Deviation
	r.Spread = mean(each(runs, func(run *ofmsftRun) float64 { return overAll(run.clients) }))
	r.Late = mean(each(runs, func(run *ofmsftRun) float64 { return mean(run.rounds[len(run.rounds)*3/4:]) }))
	r.scores, r.scoreSD = alongRounds(each2(runs, func(run *ofmsftRun) []float64 { return run.scores }))
	first := each2(runs, func(run *ofmsftRun) []float64 { return run.first })
	r.First = atEnd(first)
	tuned := each2(runs, func(run *ofmsftRun) []float64 { return run.regrets })
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
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// each2 maps values to one of their series.
func each2[T any](values []T, series func(T) []float64) [][]float64 {
	all := make([][]float64, len(values))
	for i, v := range values {
		all[i] = series(v)
	}
	return all
}

// atEnd returns mean and deviation of the last values of some series.
func atEnd(series [][]float64) *measured {
	m := spread(each(series, func(s []float64) float64 { return s[len(s)-1] }))
	return &m
}

// alongRounds returns mean and deviation of some series, round by round.
func alongRounds(series [][]float64) (means, deviations []float64) {
	for t := range series[0] {
		m := spread(each(series, func(s []float64) float64 { return s[t] }))
		means, deviations = append(means, m.Mean), append(deviations, m.Deviation)
	}
	return means, deviations
}
