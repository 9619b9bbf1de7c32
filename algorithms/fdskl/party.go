package fdskl

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// Part is the columns of one owner: its normalised rows, the way they were normalised, and the
// owner's phases. A party of a federation has one part; the pooled computation has them all.
type Part struct {
	Owner      keys.ID
	Normaliser *kernel.Normaliser
	Rows       *kernel.Matrix
	Phase      PhaseSeed
}

// Party is one party's part of a training.
type Party struct {
	Self    int
	Names   []string // all parties, in the job's order
	Params  Params   // with defaults
	Privacy string   // Published or Masked
	Parts   []Part
	Rows    int
	Labels  *joint.Labels // nil at a passive party
	Network joint.Network
	Vault   joint.Vault
	Workers int // goroutines for arithmetic; 0 means all cores

	// Report is called with the party's progress, Opened with what it learned; both may be nil.
	Report func(joint.Progress)
	Opened func(kind string, count int64)
	// Scored is called with the finished model's scores of the training rows, as the solver sees them, where one party
	// alone has the labels and the fixed schedule's angles: it has these scores anyway. It may be nil.
	Scored func(scores []float64)

	// Sums has the sums of all rows made elsewhere, shard by shard, in sessions of their own, and returns those of the
	// label holder, elsewhere nothing; see SumRows and CheckSharded. nil: the training's own session opens the angles.
	// The model is bit for bit the same, but for what says how good it is: the objective is of the sums, the share of
	// wrong labels NaN, and Scored is not called.
	Sums func(ctx context.Context, b *Begun) ([]Sums, error)

	blockBytes int     // about the size of a block of angles; tests make it small
	newtonSide int     // the largest matrix that newton factorises; tests make it small
	tracer     *tracer // notes what this party sends, instead of sending it; nil but there
}

// trainer is one party's part of a training or a prediction. Its parts share the setting, and a part calls only parts
// that stand above it here.
type trainer struct {
	*setting
	published   *published
	checkpoints *checkpoints
	solver      *solver
}

// setting is a Party with what all its parts derive from it.
type setting struct {
	*Party
	loss    kernel.Loss
	kernel  kernel.Kernel
	cosine  *kernel.Table
	actives []int // indices of the active parties
	rank    int   // this party's position among the actives, -1 for a passive one
	target  target
	class   int    // of three or more, which one the solver is at
	heldOut []bool // the rows that choose the regulariser; nil: the job names it
}

// newTrainer checks a party's inputs against the job.
func newTrainer(p *Party) (*trainer, error) {
	t, err := newRole(p, p.Params.Sigma)
	if err != nil {
		return nil, err
	}
	if t.blockBytes == 0 {
		t.blockBytes = blockBytes
	}
	if t.newtonSide == 0 {
		t.newtonSide = newtonSide
	}
	if t.loss, err = kernel.ParseLoss(p.Params.Loss); err != nil {
		return nil, err
	}
	return t, t.check()
}

// newRole settles what training and scoring share: the kernel, the active parties and this party's
// place among them.
func newRole(p *Party, sigma float64) (*trainer, error) {
	t := newParts(&setting{Party: p, cosine: kernel.Cosines(), rank: -1})
	if t.Workers == 0 {
		t.Workers = runtime.GOMAXPROCS(0)
	}
	var err error
	if t.kernel.Kind, err = kernel.ParseKind(p.Params.Kernel); err != nil {
		return nil, err
	}
	t.kernel.Sigma = sigma
	for k, name := range p.Params.Active {
		i := slices.Index(p.Names, name)
		t.actives = append(t.actives, i)
		if i == p.Self {
			t.rank = k
		}
	}
	return t, nil
}

// newParts puts the parts of a trainer together.
func newParts(s *setting) *trainer {
	t := &trainer{setting: s, published: &published{setting: s, remains: make(map[int][]int)},
		checkpoints: &checkpoints{s}}
	t.solver = &solver{s, t.checkpoints}
	return t
}

// check refuses inputs of this party that do not fit together.
func (t *setting) check() error {
	for _, part := range t.Parts {
		if part.Rows.Rows != t.Rows {
			return fmt.Errorf("%s has columns of %d rows, want %d", t.Names[t.Self], part.Rows.Rows, t.Rows)
		}
	}
	if t.rank >= 0 {
		// The labels must be ones that can be learned from.
		self := t.Names[t.Self]
		if t.Labels == nil || len(t.Labels.Values) != t.Rows {
			return fmt.Errorf("%s is active and has no labels for its %d rows", self, t.Rows)
		}
		missing := 0
		for j, y := range t.Labels.Values {
			switch {
			case math.IsNaN(y):
				missing++
			case t.Params.Scores() > 1:
				if n := len(t.Labels.Classes); y != math.Trunc(y) || y < 0 || y >= float64(n) {
					return fmt.Errorf("%s: the label of row %d is class number %v, want a whole number from 0 below %d", self, j+1,
						y, n)
				}
			case math.IsInf(y, 0) || t.Params.Target != joint.Regression && y != 1 && y != -1:
				return fmt.Errorf("%s: the label of row %d is %v, want -1 or 1 for classes and a finite number "+
					"for a regression", self, j+1, y)
			}
		}
		switch {
		case missing == t.Rows:
			return fmt.Errorf("%s is active and has no label for any row", self)
		case missing > 0 && len(t.actives) == 1:
			return fmt.Errorf("%s has no label for %d of %d rows, and no other party is active", self, missing, t.Rows)
		case len(t.Labels.Classes) != t.Params.ClassCount():
			return fmt.Errorf("%s has labels of %d classes, the job says %d", self, len(t.Labels.Classes),
				t.Params.ClassCount())
		}
		return nil
	}
	return nil
}

// share returns the angles whose features' coefficients belong to the k-th active party under the fixed schedule: equal
// contiguous shares.
func (t *trainer) share(k int) Run { return share(t.Params.Angles(), len(t.actives), k) }

// share cuts n angles into equal contiguous parts and returns the k-th.
func share(n, parts, k int) Run {
	first := n * k / parts
	return Run{First: first, Count: n*(k+1)/parts - first}
}

// leader is the first active party: it roots what one party must root.
func (t *setting) leader() int { return t.actives[0] }

// report tells the progress, if anybody listens.
func (t *setting) report(step string, done, total int, metric float64) {
	if t.Report != nil {
		t.Report(joint.Progress{Step: step, Done: done, Total: total, Metric: metric})
	}
}

// opened counts values this party learned.
func (t *trainer) opened(kind string, count int) {
	if t.Opened != nil && count > 0 {
		t.Opened(kind, int64(count))
	}
}
