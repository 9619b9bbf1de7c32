package federated_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// four is a stream of four rows with labels 10 to 40.
func four() *memory.Rows {
	return memory.NewRows([][]float64{{1}, {2}, {3}, {4}}, []float64{10, 20, 30, 40})
}

// pupil predicts a row's input and remembers what it learned; it fails at an input or a label.
type pupil struct {
	badInput, badLabel float64
	learned            []float64 // rows, predictions and labels
}

func (p *pupil) learner() federated.Learner {
	return federated.Learner{
		Predict: func(x []float64) (float64, error) {
			if x[0] == p.badInput {
				return 0, errors.New("bad input")
			}
			return x[0], nil
		},
		Learn: func(row int, prediction, y float64) error {
			if y == p.badLabel {
				return errors.New("bad label")
			}
			p.learned = append(p.learned, float64(row), prediction, y)
			return nil
		},
	}
}

// TestRowsLearnedBeforeArePassedOver until the stream ends.
func TestRowsLearnedBeforeArePassedOver(t *testing.T) {
	rows, p := four(), new(pupil)
	ended, err := federated.LearnRows(t.Context(), rows, 2, 1, p.learner())
	if ended || err != nil || !slices.Equal(p.learned, []float64{3, 3, 30}) {
		t.Errorf("one row: ended %v, error %v, learned %v", ended, err, p.learned)
	}
	ended, err = federated.LearnRows(t.Context(), rows, 3, 5, p.learner())
	if !ended || err != nil || !slices.Equal(p.learned, []float64{3, 3, 30, 4, 4, 40}) {
		t.Errorf("to the end: ended %v, error %v, learned %v", ended, err, p.learned)
	}
	if len(rows.Predictions) != 2 || rows.Predictions[3] != 3 || rows.Predictions[4] != 4 {
		t.Errorf("predictions %v", rows.Predictions)
	}
	if _, _, err := federated.NextRow(t.Context(), four(), 4); err != io.EOF {
		t.Errorf("error %v after the last row, want EOF", err)
	}
}

// TestErrorsOfRows name the row. An end of the stream in the place of a label is an error.
func TestErrorsOfRows(t *testing.T) {
	lost := errors.New("the link is lost")
	for want, c := range map[string]struct {
		rows  memory.FaultyRows
		pupil pupil
	}{
		"inputs after row 1: the link is lost":           {rows: memory.FaultyRows{InputsErr: lost}},
		"predict: bad input":                             {pupil: pupil{badInput: 3}},
		"keep the prediction of row 2: the link is lost": {rows: memory.FaultyRows{PredictedErr: lost}},
		"label of row 2: EOF":                            {rows: memory.FaultyRows{LabelErr: io.EOF}},
		"learn: bad label":                               {pupil: pupil{badLabel: 40}},
	} {
		c.rows.Rows = four()
		ended, err := federated.LearnRows(t.Context(), &c.rows, 1, 3, c.pupil.learner())
		if ended || fmt.Sprint(err) != want {
			t.Errorf("ended %v, error %v, want %s", ended, err, want)
		}
		for row := range c.rows.Predictions {
			if n := len(c.pupil.learned) / 3; row > 2+n {
				t.Errorf("%s: row %d is predicted after %d were learned", want, row, n)
			}
		}
	}
}
