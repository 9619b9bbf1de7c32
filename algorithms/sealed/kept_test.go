package sealed

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// losses are the jobs whose rows are needed again, in words of both sizes, and with bins.
func losses(t testing.TB) map[string]*fixture {
	t.Helper()
	all := resumables(t)
	return map[string]*fixture{"64": all["logistic"].fixture, "bins": all["scorecard"].fixture,
		"32": all["small, logistic"].fixture}
}

// watched is a source that holds what comes back against what was handed out first.
type watched struct {
	source
	t     testing.TB
	bits  int
	first map[*block]rss.Share
	came  int
}

// each implements source.
func (w *watched) each(ctx context.Context, lo, hi, size int, take func(b *block, z rss.Share) error,
	behind func(ctx context.Context, row int) error) error {
	return w.source.each(ctx, lo, hi, size, func(b *block, z rss.Share) error {
		w.first[b] = z.Clone()
		return take(b, z)
	}, behind)
}

// again implements source.
func (w *watched) again(b *block, stored []uint64) rss.Share {
	z, want := w.source.again(b, stored), w.first[b]
	same := func(a, b uint64) bool { return (a^b)<<(64-w.bits) == 0 }
	if !slices.EqualFunc(z.X, want.X, same) || !slices.EqualFunc(z.Y, want.Y, same) {
		w.t.Errorf("rows %d to %d come back as %x, want %x", b.lo, b.hi, z, want)
	}
	w.came++
	return z
}

// TestRowsComeBackBitForBit at all parties in all steps, from files of the size that is stated, which are gone in the
// end.
func TestRowsComeBackBitForBit(t *testing.T) {
	for name, f := range losses(t) {
		t.Run(name, func(t *testing.T) {
			testNetwork := f.testNetwork(t)
			watch := make([]*watched, len(f.names))
			must(t, first(testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
				p := f.party(i, n, testNetwork.session)
				p.Party.Network = network{n}
				begun, err := fdskl.Begin(ctx, p.Party)
				if err != nil {
					return err
				}
				tr, err := newTrainer(p)
				if err != nil {
					return err
				}
				tr.begun = begun
				if tr.bins == nil {
					tr.angles.turns = func(lo, hi int) ([]uint16, error) { return begun.Turns(begun.Matrices(), lo, hi) }
				} else if p.Bins != nil {
					tr.bins.matrix = p.Bins.Rows
				}
				watch[i] = &watched{source: tr.columns, t: t, bits: tr.k, first: make(map[*block]rss.Share)}
				tr.columns = watch[i]
				_, err = tr.train(ctx)
				return err
			})))
			for i, v := range f.vaults {
				role := rolesOf(f.params, f.names, i).role
				blocks := (f.rows + f.block - 1) / f.block
				if want := blocks * (2*f.params.Outer - 1); role != rss.Outside && watch[i].came < want {
					t.Errorf("%s: %d blocks come back, want %d", f.names[i], watch[i].came, want)
				}
				want := FileBytes(f.params, f.rows, role)
				if v.asked != want || v.appended != want || v.scratches != 0 {
					t.Errorf("%s: it asks for %d bytes, writes %d and leaves %d files, want %d and none", f.names[i], v.asked,
						v.appended, v.scratches, want)
				}
			}
		})
	}
}

// TestAScratchThatFailsEndsTheSession at whatever byte the disk is full, and at whatever block cannot be read; no file
// is left at anybody's, and the next session ends as it should.
func TestAScratchThatFailsEndsTheSession(t *testing.T) {
	for name, f := range losses(t) {
		t.Run(name, func(t *testing.T) {
			testNetwork := f.testNetwork(t)
			session := func() error {
				errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
					_, err := Train(ctx, f.party(i, n, testNetwork.session))
					return err
				})
				for i, v := range f.vaults {
					if v.scratches != 0 {
						t.Errorf("%s leaves %d files", f.names[i], v.scratches)
					}
				}
				return errs[2]
			}
			size, blocks := FileBytes(f.params, f.rows, rss.Helper), (f.rows+f.block-1)/f.block
			for _, limit := range []int64{1, size / 2, size - 1} {
				f.forget()
				f.vaults[2].limit = limit
				if err := session(); !errors.Is(err, errScratch) {
					t.Errorf("with space for %d bytes: %v", limit, err)
				}
				f.vaults[2].limit, f.vaults[2].appended = 0, 0
			}
			for _, at := range []int{1, 2, blocks + 1, (2*f.params.Outer - 1) * blocks} {
				f.forget()
				f.vaults[2].unreadable = at
				if err := session(); !errors.Is(err, errScratch) {
					t.Errorf("with a read that fails, number %d: %v", at, err)
				}
				f.vaults[2].unreadable = 0
			}
			if err := session(); err != nil {
				t.Errorf("the session that follows: %v", err)
			}
		})
	}
}

// TestRowsEndWithTheSession: who is to stop reads no further block.
func TestRowsEndWithTheSession(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k := &kept{source: &bins{scales: new(scales)}, size: 8, scratch: &scratch{vault: newVault()}}
	for i := range 4 {
		z := rss.Share{X: []uint64{uint64(i)}, Y: []uint64{7}}
		must(t, k.add(&block{lo: i, hi: i + 1}, z))
	}
	var came []uint64
	err := k.each(ctx, func(b *block, z rss.Share) error {
		if came = append(came, z.X[0]); b.hi == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !slices.Equal(came, []uint64{0, 1}) {
		t.Errorf("rows %v came, %v", came, err)
	}
}
