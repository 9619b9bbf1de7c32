package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/protocol/contract"
)

// scoreBits are the bits behind the point of the scores that are compared with floating point: more than a job
// would open, so that the rounding of the scores hides nothing.
const scoreBits = 14

// Result is what one case gave. Ratios are of figures of this run.
type Result struct {
	Set      string  `json:"set"`
	Rows     int     `json:"rows"` // to train on
	Features int     `json:"features"`
	Ring     int     `json:"ring"`
	Loss     string  `json:"loss"`
	Steps    int     `json:"steps"`
	Outer    int     `json:"outer,omitempty"` // steps taken
	Seed     uint64  `json:"seed"`
	Load     float64 `json:"load"` // of the machine at the start

	Bins   int     `json:"bins,omitempty"` // of each column of numbers, about; 0: a kernel
	Lambda float64 `json:"lambda"`

	Error float64 `json:"test_error"`
	AUC   float64 `json:"auc"`
	// mean probability of test rows over the share of the second class; of the logistic loss
	Calibration float64 `json:"mean_probability_to_share,omitempty"`
	RowBytes    float64 `json:"row_bytes"`   // to share a row's features
	FloatError  float64 `json:"float_error"` // the same steps and phases in floating point
	ExactError  float64 `json:"exact_error"` // the exact solution for the same phases
	Masked      float64 `json:"masked_error"`
	Clear       float64 `json:"clear_error"`
	RMS         float64 `json:"rms_to_float"`   // of scores of test rows
	ExactRMS    float64 `json:"rms_to_exact"`   // of scores of test rows
	Flips       int     `json:"flips_to_float"` // labels of test rows
	ExactFlips  int     `json:"flips_to_exact"` // labels of test rows
	Tested      int     `json:"rows_test"`

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

	Bytes        int64            `json:"bytes"`         // sent by all, with frames
	Busiest      int64            `json:"busiest_bytes"` // sent by who sends most
	BusiestIn    int64            `json:"busiest_bytes_in"`
	MaskedBytes  int64            `json:"masked_bytes"`
	Payload      int64            `json:"payload_bytes"`           // under masks and pads
	Formula      int64            `json:"formula_bytes"`           // of the same
	ScorePayload int64            `json:"score_payload_bytes"`     // of all test rows
	ScoreFormula int64            `json:"score_formula_bytes"`     // of the same
	Proxied      int64            `json:"proxied_bytes,omitempty"` // that went over slowed links
	Peaks        map[string]int64 `json:"peak_bytes"`              // resident, by role
	MaskedPeak   int64            `json:"masked_peak_bytes"`       // of the active party
	// block x D + D^2 words of what is held, see expectedMemory
	ExpectedBytes int64 `json:"expected_resident_bytes"`
}

// sealedLab measures cases.
type sealedLab struct {
	program *lab.Program
	dir     string
	repeat  int
	slow    *slowness // nil: links are as fast as they are
	log     io.Writer
}

// measure measures one case.
func (l *sealedLab) measure(ctx context.Context, c sealedCase) (*Result, error) {
	data, err := trial.Files(c.set.Files, c.set.Options(), sets.Parties, c.seed)
	if err != nil {
		return nil, err
	}
	p := c.sealedParams(data)
	r := &Result{Set: c.set.Name, Features: c.features, Ring: p.Ring, Loss: c.loss, Steps: p.Iterations, Outer: p.Outer,
		Seed: c.seed, Load: lab.Load(), Bins: c.bins}
	r.Rows, r.Tested = data.Train[0].Rows(), data.Test[0].Rows()
	for i := range l.repeat {
		if err := l.sealed(ctx, c, data, r, i == 0); err != nil {
			return nil, err
		}
	}
	if c.bins > 0 { // always sealed
		fmt.Fprintf(l.log, "%s %d bins D=%d k=%d %s T=%d E=%d seed %d: %.2f s; error %.4f, AUC %.4f, float %.4f, "+
			"exact %.4f; rms to exact %.2g, %d flips; %.0f bytes a row, %.1f MB in all; load %.1f\n", r.Set, r.Bins, r.Features,
			r.Ring, r.Loss, r.Steps, r.Outer, r.Seed, r.Seconds, r.Error, r.AUC, r.FloatError, r.ExactError, r.ExactRMS,
			r.ExactFlips, r.RowBytes, float64(r.Payload)/1e6, r.Load)
		return r, nil
	}
	if err := l.masked(ctx, c, data, r); err != nil {
		return nil, err
	}
	r.ToMasked, r.ToClear = r.Seconds/r.MaskedSeconds, r.Seconds/r.ClearSeconds
	fmt.Fprintf(l.log, "%s D=%d k=%d %s seed %d: sealed %.2f s (%.2f s of processors), masked %.2f s (%.2f), "+
		"clear %.2f s; error %.4f, float %.4f, exact %.4f; rms %.2g, %d flips; load %.1f\n",
		r.Set, r.Features, r.Ring, r.Loss, r.Seed, r.Seconds, r.CPU, r.MaskedSeconds, r.MaskedCPU, r.ClearSeconds,
		r.Error, r.FloatError, r.ExactError, r.RMS, r.ExactFlips, r.Load)
	return r, nil
}

// params are the parameters of a case's masked or clear job.
func (c *sealedCase) params(data *trial.Data) fdskl.Params {
	if c.bins > 0 {
		p := fdskl.Params{
			Active: data.Names[:1], Label: data.Label, Loss: c.loss, Lambda: fdskl.Lambda(c.lambda), Iterations: c.steps,
			BinParams: fdskl.BinParams{Bins: c.bins},
		}
		if c.zScores {
			p.ZScores = data.Names[0]
		}
		return p.WithDefaults()
	}
	sigma, lambda := c.width()
	if c.loss == kernel.Logistic.String() { // or every node refuses it
		lambda = max(lambda, .02/float64(data.Train[0].Rows()))
	}
	return fdskl.Params{
		Active: data.Names[:1], Label: data.Label, Schedule: fdskl.Fixed, Loss: c.loss, Kernel: "gaussian", Sigma: sigma,
		Features: c.features, Lambda: fdskl.Lambda(lambda), Seed: fmt.Sprint(c.seed), Scale: c.set.Scale, Constant: "drop",
	}.WithDefaults()
}

// sealedParams are those of its sealed job.
func (c *sealedCase) sealedParams(data *trial.Data) fdskl.Params {
	p := c.params(data)
	p.Outer, p.Ring, p.ScoreBits = c.outer, c.ring, scoreBits
	if c.steps > 0 {
		p.Iterations = c.steps
	}
	p.Keeper, p.Helper = data.Names[1], data.Names[2]
	return sealed.WithDefaults(p)
}

// sealed trains and scores in one network; the first time scores are compared too.
func (l *sealedLab) sealed(ctx context.Context, c sealedCase, data *trial.Data, r *Result, first bool) (err error) {
	network, err := l.open(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, network.close()) }()
	p := c.sealedParams(data)
	trained, err := network.train(ctx, fdskl.Sealed, p)
	if err != nil {
		return err
	}
	if r.Seconds == 0 || trained.seconds < r.Seconds {
		r.Seconds, r.CPU = trained.seconds, trained.cpu
		t := trained.steps
		r.Columns, r.Equations, r.Stepping = t.Between("columns", 0, "columns", 1), t.Between("columns", 1, "steps", 0),
			t.Between("steps", 0, "steps", 1)
		r.Peaks = map[string]int64{"label holder": trained.peaks[data.Names[0]], "keeper": trained.peaks[p.Keeper],
			"helper": trained.peaks[p.Helper], "outside": trained.peaks[data.Names[3]]}
	}
	if !first {
		return nil
	}
	models, err := network.models(trained.contract)
	if err != nil {
		return err
	}
	p = models[0].Params // with the parties' bins
	if p.Outer > 0 {
		r.Outer = models[0].Iterations / p.SolverSteps()
	}
	r.Features, r.Lambda = p.Features, float64(p.Lambda)
	r.RowBytes = float64(featureBytes(p, r.Rows)) / float64(r.Rows)
	r.Bytes, r.Busiest, r.BusiestIn, r.Payload = trained.out, trained.busiest, trained.busiestIn, trained.payload
	r.Formula, r.ExpectedBytes = trainingBytes(p, r.Rows, r.Outer), expectedMemory(p)
	r.Proxied = network.carried()
	if err := network.slowed(r.Bytes); err != nil {
		return err
	}
	algorithm := contract.FDSKL
	if p.Binned() {
		algorithm = contract.GLM
	}
	scored, err := network.predict(ctx, algorithm, fdskl.Sealed, trained.contract)
	if err != nil {
		return err
	}
	r.ScoreSeconds, r.ScorePayload, r.ScoreFormula = scored.seconds, scored.payload, scoringBytes(p, r.Tested)
	return r.compare(data, models, scored.scores)
}

// masked trains a masked job in a network of its own, and the same in the clear.
func (l *sealedLab) masked(ctx context.Context, c sealedCase, data *trial.Data, r *Result) (err error) {
	network, err := l.open(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, network.close()) }()
	p := c.params(data)
	for range l.repeat {
		trained, err := network.train(ctx, fdskl.Masked, p)
		if err == nil {
			err = network.slowed(trained.out)
		}
		if err != nil {
			return err
		}
		if r.MaskedSeconds == 0 || trained.seconds < r.MaskedSeconds {
			r.MaskedSeconds, r.MaskedCPU = trained.seconds, trained.cpu
			r.MaskedBytes, r.MaskedPeak = trained.out, trained.peaks[data.Names[0]]
		}
		if r.Masked == 0 {
			scored, err := network.predict(ctx, contract.FDSKL, fdskl.Masked, trained.contract)
			if err != nil {
				return err
			}
			if r.Masked, err = data.ScoresError(scored.scores, p.Target); err != nil {
				return err
			}
		}
		clear, err := data.Pooled(ctx, p, network.IDs(), 0)
		if err != nil {
			return err
		}
		if r.ClearSeconds == 0 || clear.Seconds < r.ClearSeconds {
			r.ClearSeconds, r.Clear = clear.Seconds, clear.Error
		}
	}
	return nil
}
