package main

import (
	"cmp"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
)

// makeParams turns flags into a job's parameters.
func (d *demo) makeParams() (fdskl.Params, error) {
	p := fdskl.Params{
		Active: []string{d.data.Names[0]}, Label: d.data.Label, Target: d.c.String("target"), Schedule: d.c.String("schedule"),
		Loss: d.c.String("loss"), Kernel: d.c.String("kernel"), Sigma: d.c.Float64("sigma"), Features: d.c.Int("features"),
		Lambda: d.c.Float64("lambda"), Seed: fmt.Sprint(d.c.Uint64("seed")), Scale: d.c.String("scale"), Constant: "drop",
		Iterations: d.c.Int("iterations"),
	}
	if p.Target == "" && d.data.Classes() > 2 {
		p.Target = fdskl.Regression
	}
	if privacyOf(d.c) == fdskl.Sealed {
		return d.sealedParams(p)
	}
	p = p.WithDefaults()
	if err := p.Validate(d.data.Names); err != nil {
		return p, &usageError{err}
	}
	return p, nil
}

// sealedParams completes the parameters of a sealed job: the first three parties hold the shares, and the loss
// is the one that opens no scores of training rows.
func (d *demo) sealedParams(p fdskl.Params) (fdskl.Params, error) {
	p.Loss = cmp.Or(p.Loss, kernel.Square.String())
	p.Keeper, p.Helper = d.data.Names[1], d.data.Names[2]
	p = sealed.WithDefaults(p.WithDefaults())
	if err := cmp.Or(p.Validate(d.data.Names), sealed.Validate(p, d.data.Names)); err != nil {
		return p, &usageError{err}
	}
	return p, nil
}
