package fdskl

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/keys"
)

// Lambda is the regulariser that a job asks for, of (lambda/2)|f|^2. 0 is "auto": one of Candidates, chosen by rows
// that are kept out of a first solution.
type Lambda float64

// Auto is how a job writes that its regulariser is chosen by validation.
const Auto = "auto"

// DefaultLambda is the regulariser of jobs that cannot choose one: those of the doubly-stochastic schedule and of
// several active parties.
const DefaultLambda = 1e-6

// HeldOutShare is one in how many rows is kept out of the first solution, and LeastHeldOut the fewest rows of a job
// that can keep out any.
const (
	HeldOutShare = 5
	LeastHeldOut = 2 * HeldOutShare
)

// Candidates lists the regularisers that "auto" chooses from, the largest first: of two with the same validation loss
// the first is taken.
func Candidates() []float64 { return []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6} }

// UnmarshalTOML reads a positive number, or Auto.
func (l *Lambda) UnmarshalTOML(value any) error {
	var x float64
	switch v := value.(type) {
	case float64:
		x = v
	case int64:
		x = float64(v)
	case string:
		if v == Auto {
			*l = 0
			return nil
		}
		return fmt.Errorf("lambda is %q, want a positive number or %q", v, Auto)
	default:
		return fmt.Errorf("lambda is of type %T, want a positive number or %q", v, Auto)
	}
	if !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("lambda is %v, want a positive number or %q", x, Auto)
	}
	*l = Lambda(x)
	return nil
}

// Chooses reports whether a job over rows chooses its regulariser by rows that are kept out: not where lambda is a
// number, nor with bins. It refuses one with fewer than LeastHeldOut rows.
func (p Params) Chooses(rows int) (bool, error) {
	if p.Lambda != 0 || p.Binned() { // bins have theirs by the number of rows
		return false, nil
	}
	if rows < LeastHeldOut {
		return false, fmt.Errorf("lambda is %q and the job has %d rows, want at least %d to choose by rows that are kept "+
			"out: give lambda as a number", Auto, rows, LeastHeldOut)
	}
	return true, nil
}

// HeldOut tells which rows are kept out of the first solution of a job with lambda = "auto": one in HeldOutShare, drawn
// from the job's public seed, the same at all parties; those of sealed jobs are drawn by a coin. It is nil for a job
// that does not choose; see Chooses.
func (p Params) HeldOut(rows int) ([]bool, error) {
	if chooses, err := p.Chooses(rows); !chooses {
		return nil, err
	}
	out := make([]bool, rows)
	draw := rand.New(rand.NewChaCha8(keys.HashOf("hanse held-out rows v1", []byte(p.Seed))))
	for _, j := range draw.Perm(rows)[:rows/HeldOutShare] {
		out[j] = true
	}
	return out, nil
}

// A candidate's loss that is larger by KeptLoss, of one row, is no reason against the smallest candidate where a first
// solution has manyRows rows for each feature.
const (
	manyRows = 8
	KeptLoss = 1.0 / 256
)

// Many reports whether so many rows, without those that are kept out, need no regulariser against noise.
func Many(rows, features int) bool { return rows >= manyRows*features }

// Choose returns the place of the regulariser to take by the losses of a row that is kept out, those of the largest
// first: that of the smallest loss, the first one of several. With many set it is the last one where no other is better
// by more than KeptLoss.
func Choose(losses []float64, many bool) int {
	best := 0
	for i, l := range losses {
		if l < losses[best] {
			best = i
		}
	}
	if last := len(losses) - 1; many && losses[last] <= losses[best]+KeptLoss {
		return last
	}
	return best
}

// lambdaFile keeps the choice of a training that goes on later.
const lambdaFile = "lambda"

// trial returns the loss of a first solution with a regulariser on the rows that are kept out of it, added up over them
// and over all functions.
type trial func(lambda float64) (float64, error)

// choose returns the regulariser of a party that solves alone: the job's, or for "auto" that of Candidates with the
// smallest loss in trials, of several classes the mean of theirs; see Choose. It writes it to the model.
func (t *solver) choose(m *Model, loss trial) (float64, error) {
	if t.Params.Lambda != 0 {
		return float64(t.Params.Lambda), nil
	}
	data, err := t.Vault.Load(lambdaFile)
	if err != nil {
		return 0, err
	}
	if len(data) == 0 {
		if data, err = t.try(loss); err != nil {
			return 0, err
		}
		if err := t.Vault.Save(lambdaFile, data); err != nil {
			return 0, err
		}
	}
	if len(data) != 1 || int(data[0]) >= len(Candidates()) {
		return 0, fmt.Errorf("checkpoint of the chosen lambda: %x is no candidate's number", data)
	}
	m.Lambda = Candidates()[data[0]]
	return m.Lambda, nil
}

// try returns the number of the best candidate as a byte.
func (t *solver) try(loss trial) ([]byte, error) {
	var losses []float64
	for i, lambda := range Candidates() {
		l, err := loss(lambda)
		if err != nil {
			return nil, fmt.Errorf("lambda %v: %w", lambda, err)
		}
		losses = append(losses, l/float64(t.Rows/HeldOutShare)/float64(t.Params.Scores()))
		t.report("choosing lambda", i+1, len(Candidates()), math.NaN())
	}
	return []byte{byte(Choose(losses, Many(t.Rows-t.Rows/HeldOutShare, t.Params.Features)))}, nil
}
