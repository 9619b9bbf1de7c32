package fdskl

import (
	"context"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
)

// opener opens angles to the active parties, block of rows by block of rows, by the job's privacy
// mode. Training and scoring share it.
type opener struct {
	*trainer
	shares []openerShare // [active]
}

// openerShare is what opening one active party's features needs.
type openerShare struct {
	runs   []Run
	count  int
	maps   [][]*kernel.Map // masked: [part][run]
	omegas []*omega        // published: [part]
	phases []uint16        // masked: the sum of this party's parts' phases
	ids    []int           // published: the frequency at each position
}

// newOpener draws the frequencies of every active party's features for this party's columns.
func (t *trainer) newOpener() (*opener, error) {
	o := &opener{trainer: t}
	for k := range t.actives {
		s := openerShare{runs: t.runs(k)}
		for _, r := range s.runs {
			s.count += r.Count
		}
		if t.Privacy == Published {
			t.drawPublished(&s)
		} else if err := t.drawMasked(&s); err != nil {
			return nil, err
		}
		o.shares = append(o.shares, s)
	}
	return o, nil
}

// runs returns the angles of the k-th active party's features, the same at every party: one contiguous
// share under the fixed schedule, every len(actives)-th block under the paper's.
func (t *trainer) runs(k int) []Run { return runsOf(t.Params, k) }

// runsOf returns the angles of the k-th active party's features.
func runsOf(p Params, k int) []Run {
	if p.Schedule == Fixed {
		return []Run{share(p.Angles(), len(p.Active), k)}
	}
	var runs []Run
	for n := k; n < p.Iterations; n += len(p.Active) {
		runs = append(runs, Run{First: n * p.BlockFeatures, Count: p.BlockFeatures})
	}
	return runs
}

// drawMasked prepares feature maps and phases.
func (t *trainer) drawMasked(s *openerShare) error {
	for _, part := range t.Parts {
		dense, binary := part.Normaliser.Names()
		var maps []*kernel.Map
		for _, r := range s.runs {
			m, err := kernel.NewMap(t.kernel, t.Params.PublicSeed(), part.Owner, dense, binary, r.First, r.Count)
			if err != nil {
				return err
			}
			maps = append(maps, m)
		}
		s.maps = append(s.maps, maps)
	}
	for _, r := range s.runs {
		phases := make([]uint16, r.Count)
		for _, part := range t.Parts {
			addTurns(phases, part.Phase.Turns(r.First, r.Count))
		}
		s.phases = append(s.phases, phases...)
	}
	return nil
}

// drawPublished prepares frequencies in double precision.
func (t *trainer) drawPublished(s *openerShare) {
	for _, part := range t.Parts {
		w := newOmega(t.kernel, t.Params.PublicSeed(), part)
		for _, r := range s.runs {
			w.extend(r.First, r.Count)
		}
		s.omegas = append(s.omegas, w)
	}
	for _, r := range s.runs {
		for i := range r.Count {
			s.ids = append(s.ids, r.First+i)
		}
	}
}

// openAngles opens the angles of rows [lo, hi) of this party's parts to the k-th active party, row-major
// [hi-lo][angles of k]. Elsewhere the result means nothing.
func (o *opener) openAngles(ctx context.Context, k int, rows []*kernel.Matrix, lo, hi int) ([]uint16, error) {
	list := func() []trace.Angle { return o.list(k, lo, hi) }
	if err := o.tracer.angles(k, (hi-lo)*o.shares[k].count, list); err != nil {
		return nil, err
	}
	if o.Privacy == Published {
		// Opens a block by Algorithm 3 and rounds it to turns.
		s := &o.shares[k]
		angles := make([]float64, (hi-lo)*s.count)
		ids := make([]int, 0, len(angles))
		for j := lo; j < hi; j++ {
			row := angles[(j-lo)*s.count : (j-lo+1)*s.count]
			for p, x := range rows {
				s.omegas[p].addTo(row, 0, x, j)
			}
			ids = append(ids, s.ids...)
		}
		for i := range angles {
			angles[i] *= 2 * math.Pi
		}
		if err := o.published.openRadians(ctx, o.actives[k], ids, angles); err != nil {
			return nil, err
		}
		turns := make([]uint16, len(angles))
		for i, a := range angles {
			turns[i] = toTurns(a / (2 * math.Pi))
		}
		return turns, nil
	}
	block, err := o.turns(&o.shares[k], rows, lo, hi)
	if err != nil {
		return nil, err
	}
	return block, o.Network.SumTurns(ctx, KindAngles, o.actives[k], block)
}

// list names the angles of a block, in the order of its words.
func (o *opener) list(k, lo, hi int) (list []trace.Angle) {
	for j := lo; j < hi; j++ {
		for _, r := range o.shares[k].runs {
			for i := range r.Count {
				list = append(list, trace.Angle{Row: j, Frequency: r.First + i})
			}
		}
	}
	return list
}

// turns returns this party's addends of a block of angles.
func (o *opener) turns(s *openerShare, rows []*kernel.Matrix, lo, hi int) ([]uint16, error) {
	block := make([]uint16, (hi-lo)*s.count)
	if len(rows) == 0 {
		return block, nil // who has no part has no phase
	}
	for p, x := range rows {
		if err := o.addPart(s, p, x, lo, hi, block); err != nil {
			return nil, err
		}
	}
	addPhases(block, s.phases)
	return block, nil
}

// addPart adds one part's turns to a block.
func (o *opener) addPart(s *openerShare, p int, x *kernel.Matrix, lo, hi int, block []uint16) error {
	if len(s.runs) == 1 && p == 0 { // the common case needs no second buffer
		return s.maps[p][0].Turns(x, lo, hi, nil, block, o.Workers)
	}
	at := 0
	for r, run := range s.runs {
		own := make([]uint16, (hi-lo)*run.Count)
		if err := s.maps[p][r].Turns(x, lo, hi, nil, own, o.Workers); err != nil {
			return err
		}
		for j := range hi - lo {
			addTurns(block[j*s.count+at:j*s.count+at+run.Count], own[j*run.Count:])
		}
		at += run.Count
	}
	return nil
}

// addPhases adds the phases to every row of a block.
func addPhases(block, phases []uint16) {
	for len(block) > 0 {
		addTurns(block[:len(phases)], phases)
		block = block[len(phases):]
	}
}

// addTurns adds b to a, modulo one turn.
func addTurns(a, b []uint16) {
	b = b[:len(a)]
	for i := range a {
		a[i] += b[i]
	}
}
