package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
)

// stochasticCheckpoint is how many iterations lie between two checkpoints.
const stochasticCheckpoint = 50

// stochastic is the state of the doubly stochastic loop (Algorithm 1, in blocks of r features and
// B rows) at one party.
type stochastic struct {
	*trainer
	omegas   [][]*omega // [active][part]: frequencies of the features that belong to the active party
	opened   [][]int    // [active][row]: how many of the active party's features are open for the row
	held     []angleRow // [row]: what this party, when active, holds
	features []int      // [active]: how many features belong to it so far
	phases   []uint16
	cosines  []float64 // sqrt(2) cos by turn, for one angle at a time
	coeffs   coefficients
	running  float64 // running mean of the batch loss, for people
}

// doublyStochastic runs the schedule "doubly-stochastic".
func (t *trainer) doublyStochastic(ctx context.Context) (*Model, error) {
	s := &stochastic{trainer: t, coeffs: coefficients{decay: 1}, running: math.NaN(), cosines: allCosines(t.cosine),
		features: make([]int, len(t.actives))}
	if t.rank >= 0 {
		s.held = make([]angleRow, t.Rows)
	}
	for range t.actives {
		var parts []*omega
		for _, part := range t.Parts {
			parts = append(parts, newOmega(t.kernel, t.Params.PublicSeed(), part))
		}
		s.omegas = append(s.omegas, parts)
		s.opened = append(s.opened, make([]int, t.Rows))
	}
	from, err := s.resume(ctx)
	if err != nil {
		return nil, err
	}
	err = t.loop(from, t.Params.Iterations, len(t.actives), func(n int) error {
		if err := s.iterate(ctx, n); err != nil {
			return fmt.Errorf("iteration %d: %w", n+1, err)
		}
		if (n+1)%stochasticCheckpoint == 0 || n+1 == t.Params.Iterations {
			if err := s.save(n + 1); err != nil {
				return err
			}
		}
		t.report("iterations", n+1, t.Params.Iterations, s.running)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.model(), nil
}

// iterate is one iteration: the leader picks a batch, every active party gets the angles it lacks,
// the score opens to the leader, and the leader sets its new coefficients.
func (s *stochastic) iterate(ctx context.Context, n int) error {
	lead := s.grow(n)
	batch, err := s.pickBatch(ctx, n, lead)
	if err != nil {
		return err
	}
	for k := range s.actives {
		if err := s.openBatch(ctx, k, batch); err != nil {
			return err
		}
	}
	scores, err := s.scores(ctx, lead, batch)
	if err != nil {
		return err
	}
	s.update(lead, batch, scores)
	return nil
}

// grow draws the block of features of iteration n, which belongs to its leader (step 2), and returns
// the leader's position among the actives.
func (s *stochastic) grow(n int) (lead int) {
	lead = n % len(s.actives)
	for _, o := range s.omegas[lead] {
		o.extend(n*s.Params.BlockFeatures, s.Params.BlockFeatures)
	}
	s.features[lead] += s.Params.BlockFeatures
	return lead
}

// pickBatch draws B of the leader's labelled rows from the public seed and tells their numbers to
// all (step 1).
func (s *stochastic) pickBatch(ctx context.Context, n, lead int) ([]int, error) {
	var data []byte
	if s.rank == lead {
		for _, j := range s.drawBatch(n) {
			data = binary.LittleEndian.AppendUint32(data, uint32(j))
		}
	}
	data, err := s.Network.Broadcast(ctx, KindBatch, s.actives[lead], data, 4*min(s.Params.Batch, s.Rows))
	if err != nil {
		return nil, err
	}
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("%s sent %d bytes of row numbers, want 4 for each", s.Names[s.actives[lead]], len(data))
	}
	batch := make([]int, len(data)/4)
	seen := make(map[int]bool, len(batch))
	for i := range batch {
		j := int(binary.LittleEndian.Uint32(data[4*i:]))
		if j >= s.Rows || seen[j] {
			return nil, fmt.Errorf("%s picked row %d of %d, or picked it twice", s.Names[s.actives[lead]], j, s.Rows)
		}
		seen[j] = true
		batch[i] = j
	}
	if len(batch) == 0 {
		return nil, fmt.Errorf("%s picked no rows", s.Names[s.actives[lead]])
	}
	return batch, s.checkpoints.confirmClear(ctx)
}

// drawBatch draws different labelled rows, a pure function of the seed and the iteration.
func (s *stochastic) drawBatch(n int) []int {
	var labelled []int
	for j, y := range s.target.values {
		if !math.IsNaN(y) {
			labelled = append(labelled, j)
		}
	}
	h := keys.HashOf("hanse batch v1", []byte(s.Params.Seed), binary.BigEndian.AppendUint32(nil, uint32(n)))
	rng := rand.New(rand.NewChaCha8(h))
	size := min(s.Params.Batch, len(labelled))
	for i := range size {
		k := i + rng.IntN(len(labelled)-i)
		labelled[i], labelled[k] = labelled[k], labelled[i]
	}
	return labelled[:size]
}

// scores opens f(x_j) of the batch to the leader (step 4): the sum over the active parties of
// alpha_i phi_i(x_j).
func (s *stochastic) scores(ctx context.Context, lead int, batch []int) ([]float64, error) {
	f := make([]float64, len(batch))
	if s.rank >= 0 {
		for b, j := range batch {
			row := s.held[j]
			for i, a := range s.coeffs.scaled {
				f[b] += a * row.phi(s.cosines, i)
			}
			f[b] *= s.coeffs.decay
		}
	}
	if len(s.actives) > 1 { // who holds all coefficients needs nobody's part
		if err := s.Network.SumReals(ctx, KindScores, s.actives[lead], f); err != nil {
			return nil, err
		}
	}
	if s.rank == lead {
		s.trainer.opened(KindScores, len(f))
	}
	return f, nil
}

// update sets the coefficients of the leader's new block (step 5) and shrinks all older ones
// (step 6).
func (s *stochastic) update(lead int, batch []int, scores []float64) {
	gamma, r := s.Params.Step, s.Params.BlockFeatures
	s.coeffs.shrink(1 - gamma*float64(s.Params.Lambda))
	if s.rank != lead {
		return
	}
	alpha := make([]float64, r)
	first := len(s.coeffs.scaled)
	var loss float64
	for b, j := range batch {
		y := s.target.values[j]
		loss += s.loss.Value(scores[b], y) / float64(len(batch))
		g := s.loss.Derivative(scores[b], y) / float64(len(batch))
		for i := range alpha {
			alpha[i] -= gamma / float64(r) * g * s.held[j].phi(s.cosines, first+i)
		}
	}
	c := &s.coeffs
	for _, a := range alpha {
		c.scaled = append(c.scaled, a/c.decay)
	}
	if math.IsNaN(s.running) {
		s.running = loss
	}
	s.running += 0.1 * (loss - s.running)
}
