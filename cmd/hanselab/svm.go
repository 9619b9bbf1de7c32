package main

import (
	"context"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/lab/rivals"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
)

// svmCost is C of the support vector machine.
const svmCost = 10

// runSVM trains and tests LIBSVM on the rows that the federation has with this seed, scaled in the same way.
func runSVM(ctx context.Context, s *benchmarkSet, parties int, seed uint64, dir string) (rivals.LIBSVMRun, error) {
	data, err := trial.Files(s.files, s.options(), parties, seed)
	if err != nil {
		return rivals.LIBSVMRun{}, err
	}
	scaled := fdskl.Params{Label: data.Label, Scale: s.scale, Constant: "drop"}.WithDefaults()
	p, err := vertical.PrepareSplit(data.Train, data.Test, scaled)
	if err != nil {
		return rivals.LIBSVMRun{}, err
	}
	svm := rivals.LIBSVM{Cost: svmCost, Gamma: s.svmGamma(), Dir: dir}
	return svm.Run(ctx, p.Train, p.TrainLabels, p.Test, p.TestLabels)
}
