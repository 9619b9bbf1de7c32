package fdskl

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
)

// split is the objective when several active parties each hold the angles and coefficients of
// their own features, and labels of some rows. Every party evaluates it at the same time, the
// passive ones with no variables. Per evaluation: each owner of labels learns the scores of its
// rows, each active party learns the derivatives of all rows, everybody learns the value.
type split struct {
	*trainer
	held  *angles
	root  float64
	owned [][]int // [active]: the rows whose label is its own that counts
}

// size returns the number of this party's variables: its coefficients, and at the leader the
// intercept behind them.
func (o *split) size() int {
	switch o.rank {
	case -1:
		return 0
	case 0:
		return o.held.features() + 1
	}
	return o.held.features()
}

// count implements objective.
func (o *split) count() int { return o.Rows }

// agree settles whose label counts for each row: the first active party's that has one.
func (o *split) agree(ctx context.Context) error {
	owner := make([]int, o.Rows) // position among the actives, from 1 on
	for k := len(o.actives) - 1; k >= 0; k-- {
		data, err := o.Network.Broadcast(ctx, KindLabelled, o.actives[k], o.labelled(k), (o.Rows+7)/8)
		if err != nil {
			return err
		}
		if len(data) != (o.Rows+7)/8 {
			return fmt.Errorf("labelled: %s sent %d bytes for %d rows", o.Names[o.actives[k]], len(data), o.Rows)
		}
		if o.rank != k {
			o.opened(KindLabelled, o.Rows)
		}
		for j := range owner {
			if data[j/8]>>(j%8)&1 == 1 {
				owner[j] = k + 1
			}
		}
	}
	missing := 0
	o.owned = make([][]int, len(o.actives))
	for j, k := range owner {
		if k == 0 {
			missing++
			continue
		}
		o.owned[k-1] = append(o.owned[k-1], j)
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d rows have no label at any active party", missing, o.Rows)
	}
	return nil
}

// labelled returns the bitmap of rows that the k-th active party has labels for, nil elsewhere.
func (o *split) labelled(k int) []byte {
	if o.rank != k {
		return nil
	}
	bits := make([]byte, (o.Rows+7)/8)
	for j, y := range o.target.values {
		if !math.IsNaN(y) {
			bits[j/8] |= 1 << (j % 8)
		}
	}
	return bits
}

// Evaluate returns the objective and writes this party's part of the gradient.
func (o *split) Evaluate(ctx context.Context, x, grad []float64) (float64, error) {
	scores, err := o.scores(ctx, x)
	if err != nil {
		return 0, err
	}
	value, derivatives, err := o.derivatives(ctx, scores)
	if err != nil {
		return 0, err
	}
	clear(grad)
	if o.rank >= 0 {
		n := o.held.features()
		parts := make([][]float64, pieces)
		eachPiece(o.Rows, o.Workers, func(s, lo, hi int) {
			parts[s] = make([]float64, n)
			phi := make([]float64, n)
			for j := lo; j < hi; j++ {
				o.cosine.Pairs64(phi, o.held.row(j))
				floats.AddScaled(parts[s], derivatives[j]/(o.root*float64(o.Rows)), phi)
			}
		})
		for _, p := range parts {
			floats.Add(grad[:n], p)
		}
		floats.AddScaled(grad[:n], float64(o.Params.Lambda), x[:n])
		if o.rank == 0 {
			grad[n] = floats.Sum(derivatives) / float64(o.Rows)
		}
		value += float64(o.Params.Lambda) / 2 * floats.Dot(x[:n], x[:n])
	}
	total := []float64{value}
	err = o.sumScalars(ctx, KindObjective, total)
	o.opened(KindProducts, 1)
	return total[0], err
}

// scores opens f_j to the owner of row j's label.
func (o *split) scores(ctx context.Context, x []float64) ([]float64, error) {
	own := make([]float64, o.Rows)
	if o.rank >= 0 {
		n := o.held.features()
		eachRow(o.Rows, o.Workers, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				own[j] = o.cosine.DotPairs(o.held.row(j), x[:n]) / o.root
				if o.rank == 0 {
					own[j] += x[n]
				}
			}
		})
	}
	scores := make([]float64, o.Rows)
	for k, active := range o.actives {
		rows := o.owned[k]
		part := make([]float64, len(rows))
		for i, j := range rows {
			part[i] = own[j]
		}
		if err := o.Network.SumReals(ctx, KindScores, active, part); err != nil {
			return nil, err
		}
		if o.rank == k {
			o.opened(KindScores, len(part))
		}
		for i, j := range rows {
			scores[j] = part[i]
		}
	}
	return scores, nil
}

// derivatives computes L' on the rows this party owns and opens the derivatives of all rows to
// every active party; the loss returned is that of the own rows, as a part of the mean.
func (o *split) derivatives(ctx context.Context, scores []float64) (loss float64, all []float64, err error) {
	own := make([]float64, o.Rows)
	if o.rank >= 0 {
		for _, j := range o.owned[o.rank] {
			y := o.target.values[j]
			loss += o.loss.Value(scores[j], y) / float64(o.Rows)
			own[j] = o.loss.Derivative(scores[j], y)
		}
	}
	for k, active := range o.actives {
		v := append([]float64(nil), own...)
		if err := o.Network.SumReals(ctx, KindDerivatives, active, v); err != nil {
			return 0, nil, err
		}
		if o.rank == k {
			all = v
			o.opened(KindDerivatives, len(v))
		}
	}
	return loss, all, nil
}

// Dots sums the parties' inner products and tells all.
func (o *split) Dots(ctx context.Context, pairs []lbfgs.Pair) ([]float64, error) {
	out := dots(pairs)
	err := o.sumScalars(ctx, KindProducts, out)
	o.opened(KindProducts, len(out))
	return out, err
}

// sumScalars adds the parties' scalars at the leader, who tells all.
func (o *split) sumScalars(ctx context.Context, kind string, v []float64) error {
	// Adds the parties' scalars and tells every party the totals: a secure sum to the
	// root and a broadcast from it.
	n := o.Network
	self := o.Self
	root := o.leader()
	digits := make([]float64, wideDigits*len(v))
	for i, x := range v {
		if err := splitWide(digits[i*wideDigits:], x); err != nil {
			return err
		}
	}
	if err := n.SumReals(ctx, kind, root, digits); err != nil {
		return err
	}
	if self == root {
		for i := range v {
			v[i] = joinWide(digits[i*wideDigits : (i+1)*wideDigits])
		}
	}
	if err := broadcastReals(ctx, n, kind+total, root, v); err != nil {
		return err
	}
	return o.checkpoints.confirmClear(ctx)
}

// coefficients turns the solution into alpha and, at the leader, the intercept.
func (o *split) coefficients(x []float64) (alpha []float64, intercept float64) {
	if o.rank < 0 {
		return nil, 0
	}
	n := o.held.features()
	alpha = append(alpha, x[:n]...)
	floats.Scale(1/o.root, alpha)
	if o.rank == 0 {
		intercept = x[n]
	}
	return alpha, intercept
}
