package ofmsft

import (
	"context"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// learnRows predicts and learns up to n rows, fewer when the stream ends.
func (a *clientRun) learnRows(ctx context.Context, models []*Runner, n int) (err error) {
	a.ended, err = federated.LearnRows(ctx, a.Rows, a.row, n, federated.Learner{
		Predict: func(x []float64) (float64, error) { return a.client.Predict(models, x) },
		Learn:   a.learnRow,
	})
	return err
}

// learnRow learns the row that was predicted last.
func (a *clientRun) learnRow(row int, prediction, y float64) error {
	if err := a.client.Learn(y); err != nil {
		return err
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
func (a *clientRun) report() {
	if a.Report == nil {
		return
	}
	p := federated.Progress{Round: a.question.round + 1, Rounds: a.Params.Uploads(), Loss: math.NaN(),
		Accuracy: math.NaN(), Regret: math.NaN()}
	switch n := float64(a.client.rounds); {
	case a.Params.Classes > 0:
		p.Accuracy = float64(a.right) / n
	default:
		p.Loss = a.squared / n
	}
	a.Report(p)
}
