package fdskl

import (
	"context"
	"errors"
	"math"

	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// svmTolerance is LIBSVM's.
const svmTolerance = 1e-3

// KernelTimes are the parts of PP-SVMV's time, in processor seconds of all parties.
type KernelTimes struct {
	Products float64 `json:"products"` // inner products, and the kernel from their sums
	Sums     float64 `json:"sums"`     // under masks, over links in memory
	SVM      float64 `json:"svm"`
}

// ppsvmv trains PP-SVMV: every party's inner products, their sum under this program's masks, and a support vector
// machine on the kernel matrix. Test rows are scored with all columns in one place: the sums would give the same.
func (l *Lab) ppsvmv(ctx context.Context, r *rows) (at Point, times KernelTimes, err error) {
	network, err := openMemory(sets.Parties, Wire{})
	if err != nil {
		return Point{}, times, err
	}
	defer func() { err = errors.Join(err, network.close()) }()
	var columns []*rivals.Rows
	for _, m := range r.split.Train {
		columns = append(columns, rivals.Stack(m))
	}
	sigma := math.Sqrt(1 / (2 * r.svmGamma()))
	at.Size = r.train.Len()
	sum := func(ctx context.Context, addends [][]float64) (total []float64, err error) {
		seconds, err := l.timed(func() error { total, err = network.masked(ctx, addends); return err })
		times.Sums += seconds
		return total, err
	}
	var k *rivals.KernelMatrix
	both, err := l.timed(func() error {
		k, err = rivals.PPSVMV(ctx, columns, sigma, l.Memory, sum)
		return err
	})
	if err != nil {
		return at, times, err
	}
	times.Products = both - times.Sums
	var machine *rivals.SVM
	times.SVM, err = l.timed(func() error {
		machine, err = rivals.TrainSVM(ctx, k, r.split.TrainLabels, svmCost, svmTolerance)
		return err
	})
	if err != nil {
		return at, times, err
	}
	at.CPUSeconds = both + times.SVM
	at.Error = rivals.Errors(machine.Scores(r.train, r.split.TrainLabels, r.test, sigma), r.split.TestLabels)
	return at, times, nil
}

// libsvm trains LIBSVM on all columns.
func (l *Lab) libsvm(ctx context.Context, r *rows) (Point, error) {
	svm := rivals.LIBSVM{Cost: svmCost, Gamma: r.svmGamma(), Dir: l.Work}
	run, err := svm.Run(ctx, r.split.Train, r.split.TrainLabels, r.split.Test, r.split.TestLabels)
	return Point{Size: r.train.Len(), CPUSeconds: run.CPUSeconds, Error: run.Error}, err
}
