package rivals

import (
	"context"
	"fmt"
	"math"
)

// SVM is a support vector machine with a Gaussian kernel, without the rows it was trained on.
type SVM struct {
	Alpha   []float64 // of each training row, from 0 to the cost
	Bias    float64   // b of f(x) = sum_j y_j alpha_j K(x_j, x) + b
	Steps   int       // pairs of coefficients that were moved
	Maximal float64   // the largest violation of the optimality conditions that is left
}

// TrainSVM minimises (1/2) sum_ij alpha_i alpha_j y_i y_j K_ij - sum_i alpha_i over 0 <= alpha_i <= cost with
// sum_i y_i alpha_i = 0: sequential minimal optimisation, the pairs chosen by second-order information (Fan, Chen and
// Lin, JMLR 6, 2005, "WSS 2"), which is what LIBSVM does, without its shrinking and its cache. It stops when no pair
// violates the optimality conditions by more than tolerance, for which LIBSVM has 1e-3.
func TrainSVM(ctx context.Context, k *KernelMatrix, labels []float64, cost, tolerance float64) (*SVM, error) {
	n := k.Len()
	if len(labels) != n {
		return nil, fmt.Errorf("support vector machine: %d labels for %d rows", len(labels), n)
	}
	s := &SVM{Alpha: make([]float64, n)}
	gradient := make([]float64, n) // of the objective in alpha
	for i := range gradient {
		gradient[i] = -1
	}
	most := max(10_000_000, 100*n) // as LIBSVM
	for ; s.Steps < most; s.Steps++ {
		if s.Steps%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		i, j, violation := s.pair(k, labels, gradient, cost)
		if s.Maximal = violation; violation < tolerance {
			s.Bias = s.bias(labels, gradient, cost)
			return s, nil
		}
		// Finds the best alpha_i and alpha_j with y_i alpha_i + y_j alpha_j as it is.
		rowI, rowJ := k.Row(i), k.Row(j)
		curvature := max(tau, float64(rowI[i])+float64(rowJ[j])-2*float64(rowI[j]))
		step := (-labels[i]*gradient[i] + labels[j]*gradient[j]) / curvature
		step = min(step, space(s.Alpha[i], labels[i], cost), space(s.Alpha[j], -labels[j], cost))
		s.Alpha[i] = settle(s.Alpha[i]+labels[i]*step, cost)
		s.Alpha[j] = settle(s.Alpha[j]-labels[j]*step, cost)
		for t := range gradient {
			gradient[t] += labels[t] * step * float64(rowI[t]-rowJ[t])
		}
	}
	return nil, fmt.Errorf("support vector machine: after %d steps a pair still violates the optimality conditions by "+
		"%.2g, want %.2g", most, s.Maximal, tolerance)
}

// raises and lowers say whether y_i alpha_i may grow, or shrink.
func raises(alpha, y, cost float64) bool { return y > 0 && alpha < cost || y < 0 && alpha > 0 }
func lowers(alpha, y, cost float64) bool { return y > 0 && alpha > 0 || y < 0 && alpha < cost }

// tau stands for a curvature that is not positive.
const tau = 1e-12

// pair chooses what to move: i violates most, and j promises the largest fall of the objective with it.
func (s *SVM) pair(k *KernelMatrix, labels, gradient []float64, cost float64) (i, j int, violation float64) {
	i, j = -1, -1
	up, down := math.Inf(-1), math.Inf(1)
	for t, g := range gradient {
		if v := -labels[t] * g; raises(s.Alpha[t], labels[t], cost) && v >= up {
			i, up = t, v
		}
	}
	if i < 0 {
		return 0, 0, 0
	}
	best, row := math.Inf(1), k.Row(i)
	for t, g := range gradient {
		if !lowers(s.Alpha[t], labels[t], cost) {
			continue
		}
		v := -labels[t] * g
		down = min(down, v)
		if gap := up - v; gap > 0 {
			curvature := max(tau, float64(row[i])+float64(k.values[t*k.n+t])-2*float64(row[t]))
			if fall := -gap * gap / curvature; fall <= best {
				j, best = t, fall
			}
		}
	}
	if j < 0 {
		return 0, 0, 0
	}
	return i, j, up - down
}

// space returns how far alpha may move in the direction of sign.
func space(alpha, sign, cost float64) float64 {
	if sign > 0 {
		return cost - alpha
	}
	return alpha
}

// settle puts an alpha that rounding left beside a bound onto it.
func settle(alpha, cost float64) float64 {
	switch {
	case alpha < 1e-12*cost:
		return 0
	case alpha > cost*(1-1e-12):
		return cost
	}
	return alpha
}

// bias is the mean of -y_i g_i over the free coefficients, or the middle of what the others allow.
func (s *SVM) bias(labels, gradient []float64, cost float64) float64 {
	sum, free := 0.0, 0
	up, down := math.Inf(-1), math.Inf(1)
	for i, g := range gradient {
		v := -labels[i] * g
		if s.Alpha[i] > 0 && s.Alpha[i] < cost {
			sum += v
			free++
		}
		if raises(s.Alpha[i], labels[i], cost) {
			up = max(up, v)
		}
		if lowers(s.Alpha[i], labels[i], cost) {
			down = min(down, v)
		}
	}
	if free > 0 {
		return sum / float64(free)
	}
	return (up + down) / 2
}

// Scores returns f of new rows, given those it was trained on.
func (s *SVM) Scores(train *Rows, labels []float64, rows *Rows, sigma float64) []float64 {
	squares := make([]float64, train.Len())
	for j := range squares {
		squares[j] = square(train, j)
	}
	x := make([]float64, rows.Columns)
	scores := make([]float64, rows.Len())
	for i := range scores {
		rows.scatter(i, x)
		own := square(rows, i)
		scores[i] = s.Bias
		for j, a := range s.Alpha {
			if a > 0 {
				scores[i] += labels[j] * a * math.Exp(-(own+squares[j]-2*train.Dot(j, x))/(2*sigma*sigma))
			}
		}
		clear(x)
	}
	return scores
}

// square returns x_i . x_i.
func square(r *Rows, i int) float64 {
	sum := 0.0
	_, values := r.At(i)
	for _, v := range values {
		sum += v * v
	}
	return sum
}
