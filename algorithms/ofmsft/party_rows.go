package ofmsft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// learnRows predicts and learns up to n rows, fewer when the stream ends.
func (a *attendance) learnRows(ctx context.Context, models []*Runner, n int) error {
	for range n {
		row, x, err := a.next(ctx)
		if errors.Is(err, io.EOF) {
			a.ended = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("inputs after row %d: %w", a.row, err)
		}
		if err := a.learnRow(ctx, models, row, x); err != nil {
			return err
		}
	}
	return nil
}

// next waits for the first row that was not learned before.
func (a *attendance) next(ctx context.Context) (row int, x []float64, err error) {
	for {
		row, x, err := a.Rows.Inputs(ctx)
		if err != nil || row > a.row {
			return row, x, err
		}
	}
}

// learnRow predicts one row, waits for its label and learns it.
func (a *attendance) learnRow(ctx context.Context, models []*Runner, row int, x []float64) error {
	prediction, err := a.client.Predict(models, x)
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if err := a.Rows.Predicted(row, prediction); err != nil {
		return fmt.Errorf("keep the prediction of row %d: %w", row, err)
	}
	y, err := a.Rows.Label(ctx)
	if err != nil {
		return fmt.Errorf("label of row %d: %w", row, err)
	}
	if err := a.client.Learn(y); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	a.row = row
	a.squared += (prediction - y) * (prediction - y)
	if prediction == y {
		a.right++
	}
	return nil
}

// report tells the progress, if anybody listens. A client knows no regret: it sees the losses of the networks that
// it stores alone.
func (a *attendance) report() {
	if a.Report == nil {
		return
	}
	p := federated.Progress{Round: a.question.round + 1, Rounds: a.Params.Uploads(), Loss: math.NaN(), Accuracy: math.NaN(), Regret: math.NaN()}
	switch n := float64(a.client.rounds); {
	case a.Params.Classes > 0:
		p.Accuracy = float64(a.right) / n
	default:
		p.Loss = a.squared / n
	}
	a.Report(p)
}
