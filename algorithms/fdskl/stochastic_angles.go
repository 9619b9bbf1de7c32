package fdskl

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/trace"
)

// How far masked coefficients can be from those of real arithmetic with the same phases:
//
// Angles. Each of q parties rounds its addend once, to the nearest 2^-16 turn; phases are whole words. So
// an angle is off by at most q 2^-17 turns. (The feature maps of the fixed schedule and of scoring
// round each set binary cell by itself: there, 2^-16 (n/2 + 1) turns for a party with n of them.)
//
// Features. phi = sqrt(2) cos has slope at most sqrt(2) 2 pi a turn, and the table is off by half a
// unit of float32, 2^-24. So |phi' - phi| <= e = sqrt(2) 2 pi q 2^-17 + 2^-24, and |phi'| <= sqrt(2).
//
// Scores. With a active parties a score is a sum of addends that are rounded to 2^-36: rho = a 2^-37 (a > 1,
// else 0). Let M bound |L'| in the exact run and C be the loss's curvature. From
// alpha' phi' - alpha phi = (alpha' - alpha) phi' + alpha (phi' - phi) and |alpha| <= (gamma/r) sqrt(2) M,
// the error s_t of a score before iteration t+1 without its own rounding and the error d_t of the
// coefficients that the iteration makes obey
//
//	d_t     <= (gamma/r) (sqrt(2) C (s_t + rho) + M e)
//	s_{t+1} <= s_t + r (sqrt(2) d_t + (gamma/r) sqrt(2) M e) <= (1 + 2 gamma C) s_t + 2 sqrt(2) gamma M e + 2 gamma C rho
//
// so that, from s_0 = 0,
//
//	s_t <= (sqrt(2) M e / C + rho) ((1 + 2 gamma C)^t - 1)
//
// whatever B and r are; shrinking by (1 - gamma lambda) only helps. The bound is for the worst
// signs: real errors grow like a random walk.

// openBatch opens to the k-th active party the angles of the batch that it does not hold yet
// (step 3), all in one sum: rows differ in how many features they lack, so the vector is ragged.
func (s *stochastic) openBatch(ctx context.Context, k int, batch []int) error {
	if s.tracer != nil && !s.tracer.Following() {
		if s.features[k] > 0 {
			s.tracer.bound(k)
		}
		return nil
	}

	var ids []int // features of the batch's angles that the k-th active party does not hold, row by row
	lacks, n := make([]int, len(batch)), 0
	for b, j := range batch {
		lacks[b] = s.features[k] - s.opened[k][j]
		n += lacks[b]
	}
	if n == 0 {
		return nil
	}
	if err := s.tracer.angles(k, n, func() (list []trace.Angle) {
		for b, j := range batch {
			for _, id := range ids[len(list) : len(list)+lacks[b]] {
				list = append(list, trace.Angle{Row: j, Frequency: id})
			}
		}
		return list
	}); err != nil {
		return err
	}
	for _, j := range batch {
		for f := s.opened[k][j]; f < s.features[k]; f++ {
			ids = append(ids, s.global(k, f))
		}
	}
	total, err := s.openAngles(ctx, k, batch, ids)
	if err != nil {
		return err
	}
	for b, j := range batch {
		n := lacks[b]
		s.opened[k][j] = s.features[k]
		if s.rank != k {
			continue
		}
		var row angleRow
		row, total = total.cut(n)
		s.held[j] = s.held[j].append(row)
		s.trainer.opened(KindAngles, n)
	}
	return nil
}

// global returns the job-wide number of the k-th active party's feature f.
func (s *stochastic) global(k, f int) int {
	r := s.Params.BlockFeatures
	return (f/r*len(s.actives)+k)*r + f%r
}

// openAngles opens the lacking angles of a batch to the k-th active party by the job's privacy
// mode; ids are their features. Elsewhere the result means nothing.
func (s *stochastic) openAngles(ctx context.Context, k int, batch, ids []int) (angleRow, error) {
	if s.Privacy == Published {
		radians := make([]float64, len(ids))
		for p := range s.Parts {
			s.addAngles(radians, k, p, batch)
		}
		floats.Scale(2*math.Pi, radians)
		return angleRow{radians: radians}, s.published.openRadians(ctx, s.actives[k], ids, radians)
	}
	turns := s.maskedTurns(k, batch, ids)
	return angleRow{turns: turns}, s.Network.SumTurns(ctx, KindAngles, s.actives[k], turns)
}

// maskedTurns returns this party's addends of the lacking angles. Each part is rounded by itself, so
// that the total is the same whoever owns how many parts: turns add exactly.
func (s *stochastic) maskedTurns(k int, batch, ids []int) []uint16 {
	if s.phases == nil {
		s.phases = make([]uint16, s.Params.Features)
		for _, part := range s.Parts {
			addTurns(s.phases, part.Phase.Turns(0, len(s.phases)))
		}
	}
	phases := s.phases
	turns := make([]uint16, len(ids))
	for i, id := range ids {
		turns[i] = phases[id]
	}
	angles := make([]float64, len(ids))
	for p := range s.Parts {
		clear(angles)
		s.addAngles(angles, k, p, batch)
		for i, a := range angles {
			turns[i] += toTurns(a)
		}
	}
	return turns
}

// addAngles adds one part's omega . x, in turns, to the lacking angles of a batch.
func (s *stochastic) addAngles(angles []float64, k, part int, batch []int) {
	for _, j := range batch {
		from := s.opened[k][j]
		n := s.features[k] - from
		s.omegas[k][part].addTo(angles[:n], from, s.Parts[part].Rows, j)
		angles = angles[n:]
	}
}
