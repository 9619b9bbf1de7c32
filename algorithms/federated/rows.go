package federated

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// NextRow waits for the first row beyond one number: those up to it, learned before, are passed over. At the
// end of the stream the error is io.EOF.
func NextRow(ctx context.Context, rows Rows, after int) (row int, x []float64, err error) {
	for {
		row, x, err := rows.Inputs(ctx)
		if err != nil || row > after {
			return row, x, err
		}
	}
}

// Learner is how a client takes a row in.
type Learner struct {
	Predict func(x []float64) (float64, error)
	// Learn takes the label of the row that was predicted last.
	Learn func(row int, prediction, y float64) error
}

// LearnRows takes in up to n rows beyond one number: each is predicted, its prediction kept, its label waited
// for, and learned. There are fewer when the stream ends.
func LearnRows(ctx context.Context, rows Rows, after, n int, l Learner) (ended bool, err error) {
	for range n {
		row, x, err := NextRow(ctx, rows, after)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("inputs after row %d: %w", after, err)
		}
		if err := l.learnRow(ctx, rows, row, x); err != nil {
			return false, err
		}
		after = row
	}
	return false, nil
}

// learnRow takes in one row.
func (l Learner) learnRow(ctx context.Context, rows Rows, row int, x []float64) error {
	prediction, err := l.Predict(x)
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if err := rows.Predicted(row, prediction); err != nil {
		return fmt.Errorf("keep the prediction of row %d: %w", row, err)
	}
	y, err := rows.Label(ctx)
	if err != nil {
		return fmt.Errorf("label of row %d: %w", row, err)
	}
	if err := l.Learn(row, prediction, y); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return nil
}
