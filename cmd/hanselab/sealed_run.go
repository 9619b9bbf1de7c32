package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/trial"
)

// scoreBits are the bits behind the point of the scores that are compared with floating point: more than a job
// would open, so that the rounding of the scores hides nothing.
const scoreBits = 14

// sealedRun is what one case gave. Ratios are of figures of this run.
type sealedRun struct {
	Set      string  `json:"set"`
	Rows     int     `json:"rows"` // to train on
	Features int     `json:"features"`
	Ring     int     `json:"ring"`
	Loss     string  `json:"loss"`
	Steps    int     `json:"steps"`
	Outer    int     `json:"outer,omitempty"`
	Seed     uint64  `json:"seed"`
	Load     float64 `json:"load"` // of the machine at the start

	Error      float64 `json:"test_error"`
	FloatError float64 `json:"float_error"` // the same steps and phases in floating point
	ExactError float64 `json:"exact_error"` // the exact solution for the same phases
	Masked     float64 `json:"masked_error"`
	Clear      float64 `json:"clear_error"`
	RMS        float64 `json:"rms_to_float"`   // of scores of test rows
	ExactRMS   float64 `json:"rms_to_exact"`   // of scores of test rows
	Flips      int     `json:"flips_to_float"` // labels of test rows
	ExactFlips int     `json:"flips_to_exact"` // labels of test rows
	Tested     int     `json:"rows_test"`

	Seconds       float64 `json:"train_seconds"`
	Columns       float64 `json:"columns_seconds"`   // of the time, until all features are shared and in the sums
	Equations     float64 `json:"equations_seconds"` // until the first step
	Stepping      float64 `json:"steps_seconds"`     // until the last
	MaskedSeconds float64 `json:"masked_seconds"`
	ClearSeconds  float64 `json:"clear_seconds"`
	ToMasked      float64 `json:"sealed_to_masked"`
	ToClear       float64 `json:"sealed_to_clear"`
	ScoreSeconds  float64 `json:"score_seconds"` // of all test rows
	CPU           float64 `json:"cpu_seconds"`   // of all nodes
	MaskedCPU     float64 `json:"masked_cpu_seconds"`

	Bytes         int64            `json:"bytes"`         // sent by all, with frames
	Busiest       int64            `json:"busiest_bytes"` // sent by who sends most
	BusiestIn     int64            `json:"busiest_bytes_in"`
	MaskedBytes   int64            `json:"masked_bytes"`
	Payload       int64            `json:"payload_bytes"`           // under masks and pads
	Formula       int64            `json:"formula_bytes"`           // of the same
	ScorePayload  int64            `json:"score_payload_bytes"`     // of all test rows
	ScoreFormula  int64            `json:"score_formula_bytes"`     // of the same
	Proxied       int64            `json:"proxied_bytes,omitempty"` // that went over slowed links
	Peaks         map[string]int64 `json:"peak_bytes"`              // resident, by role
	MaskedPeak    int64            `json:"masked_peak_bytes"`       // of the active party
	ExpectedBytes int64            `json:"expected_resident_bytes"` // block x D + D^2 words of what is held, see expectedMemory
}

// sealedLab measures cases.
type sealedLab struct {
	program *program
	dir     string
	repeat  int
	slow    *slowness // nil: links are as fast as they are
	log     io.Writer
}

// measure measures one case.
func (l *sealedLab) measure(ctx context.Context, c sealedCase) (*sealedRun, error) {
	data, err := trial.Files(c.set.files, c.set.options(), benchmarkParties, c.seed)
	if err != nil {
		return nil, err
	}
	r := &sealedRun{Set: c.set.name, Features: c.features, Ring: c.ring, Loss: c.loss, Steps: c.steps, Outer: c.outer, Seed: c.seed, Load: loadNow()}
	r.Rows, r.Tested = data.Train[0].Rows(), data.Test[0].Rows()
	for i := range l.repeat {
		if err := l.sealed(ctx, c, data, r, i == 0); err != nil {
			return nil, err
		}
	}
	if err := l.masked(ctx, c, data, r); err != nil {
		return nil, err
	}
	r.ToMasked, r.ToClear = r.Seconds/r.MaskedSeconds, r.Seconds/r.ClearSeconds
	fmt.Fprintf(l.log, "%s D=%d k=%d %s seed %d: sealed %.2f s (%.2f s of processors), masked %.2f s (%.2f), clear %.2f s; error %.4f, float %.4f, exact %.4f; rms %.2g, %d flips; load %.1f\n",
		r.Set, r.Features, r.Ring, r.Loss, r.Seed, r.Seconds, r.CPU, r.MaskedSeconds, r.MaskedCPU, r.ClearSeconds, r.Error, r.FloatError, r.ExactError, r.RMS, r.ExactFlips, r.Load)
	return r, nil
}

// params are the parameters of a case's masked or clear job.
func (c *sealedCase) params(data *trial.Data) fdskl.Params {
	sigma, lambda := c.width()
	return fdskl.Params{
		Active: data.Names[:1], Label: data.Label, Schedule: fdskl.Fixed, Loss: c.loss, Kernel: "gaussian", Sigma: sigma,
		Features: c.features, Lambda: lambda, Seed: fmt.Sprint(c.seed), Scale: c.set.scale, Constant: "drop",
	}.WithDefaults()
}

// sealedParams are those of its sealed job.
func (c *sealedCase) sealedParams(data *trial.Data) fdskl.Params {
	p := c.params(data)
	p.Iterations, p.Outer, p.Ring, p.ScoreBits = c.steps, c.outer, c.ring, scoreBits
	p.Keeper, p.Helper = data.Names[1], data.Names[2]
	return sealed.WithDefaults(p)
}

// sealed trains and scores in one league; the first time scores are compared too.
func (l *sealedLab) sealed(ctx context.Context, c sealedCase, data *trial.Data, r *sealedRun, first bool) (err error) {
	league, err := l.open(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, league.close()) }()
	p := c.sealedParams(data)
	trained, err := league.train(ctx, fdskl.Sealed, p)
	if err != nil {
		return err
	}
	if r.Seconds == 0 || trained.seconds < r.Seconds {
		r.Seconds, r.CPU = trained.seconds, trained.cpu
		t := trained.phases
		r.Columns, r.Equations, r.Stepping = t.between("columns", 0, "columns", 1), t.between("columns", 1, "steps", 0), t.between("steps", 0, "steps", 1)
		r.Peaks = map[string]int64{"label holder": trained.peaks[data.Names[0]], "keeper": trained.peaks[p.Keeper], "helper": trained.peaks[p.Helper], "outside": trained.peaks[data.Names[3]]}
	}
	if !first {
		return nil
	}
	r.Bytes, r.Busiest, r.BusiestIn, r.Payload = trained.out, trained.busiest, trained.busiestIn, trained.payload
	r.Formula, r.ExpectedBytes = trainingBytes(p, r.Rows), expectedMemory(p, r.Rows)
	r.Proxied = league.carried()
	scored, err := league.predict(ctx, fdskl.Sealed, trained.contract)
	if err != nil {
		return err
	}
	r.ScoreSeconds, r.ScorePayload, r.ScoreFormula = scored.seconds, scored.payload, scoringBytes(p, r.Tested)
	models, err := league.models(trained.contract)
	if err != nil {
		return err
	}
	return r.compare(data, models, scored.scores)
}

// masked trains a masked job in a league of its own, and the same in the clear.
func (l *sealedLab) masked(ctx context.Context, c sealedCase, data *trial.Data, r *sealedRun) (err error) {
	league, err := l.open(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, league.close()) }()
	p := c.params(data)
	for range l.repeat {
		trained, err := league.train(ctx, fdskl.Masked, p)
		if err != nil {
			return err
		}
		if r.MaskedSeconds == 0 || trained.seconds < r.MaskedSeconds {
			r.MaskedSeconds, r.MaskedCPU, r.MaskedBytes, r.MaskedPeak = trained.seconds, trained.cpu, trained.out, trained.peaks[data.Names[0]]
		}
		if r.Masked == 0 {
			scored, err := league.predict(ctx, fdskl.Masked, trained.contract)
			if err != nil {
				return err
			}
			if r.Masked, err = data.ScoresError(scored.scores, p.Target); err != nil {
				return err
			}
		}
		clear, err := data.Pooled(ctx, p, league.owners(), 0)
		if err != nil {
			return err
		}
		if r.ClearSeconds == 0 || clear.Seconds < r.ClearSeconds {
			r.ClearSeconds, r.Clear = clear.Seconds, clear.Error
		}
	}
	return nil
}

// loadNow returns the machine's load, 0 where the system does not tell.
func loadNow() float64 {
	var load float64
	if text, err := os.ReadFile(filepath.Join("/proc", "loadavg")); err == nil {
		fmt.Sscan(string(text), &load)
	}
	return load
}
