package vertical

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
)

// Split is rows to train on and rows to test on as methods outside this program want them: each owner's columns,
// normalised by the training rows, and labels -1 and +1.
type Split struct {
	Train, Test             []*kernel.Matrix // of each owner
	TrainLabels, TestLabels []float64
}

// PrepareSplit normalises the owners' tables, the first of which has the label, as a training with these parameters
// does.
func PrepareSplit(train, test []*dataset.Table, p fdskl.Params) (*Split, error) {
	s := &Split{}
	for i, t := range train {
		prepared, err := PrepareTraining(t, p, i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.TrainLabels = prepared.Labels.Values
		}
		scored, err := PrepareScoring(test[i], &fdskl.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser})
		if err != nil {
			return nil, err
		}
		s.Train, s.Test = append(s.Train, prepared.Rows), append(s.Test, scored)
	}
	held, err := test[0].Labels(p.Label, dataset.Classification)
	if err != nil {
		return nil, err
	}
	s.TestLabels = held.Values
	return s, nil
}
