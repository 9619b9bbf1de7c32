package fdskl

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vertical"
)

// split is rows to train on and rows to test on as methods outside this program want them: each owner's columns,
// normalised by the training rows, and labels -1 and +1.
type split struct {
	Train, Test             []*kernel.Matrix // of each owner
	TrainLabels, TestLabels []float64
}

// prepareSplit normalises the owners' tables, the first of which has the label, as a training with these parameters
// does.
func prepareSplit(train, test []*dataset.Table, p fdskl.Params) (*split, error) {
	s := &split{}
	for i, t := range train {
		prepared, err := vertical.PrepareTraining(t, p.Goal(), i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.TrainLabels = prepared.Labels.Values
		}
		part := &fdskl.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser}
		scored, err := vertical.PrepareScoring(test[i], part.Model())
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
