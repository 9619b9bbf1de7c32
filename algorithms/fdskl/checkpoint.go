package fdskl

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// checkpoints is what all parties go on from after an interruption.
type checkpoints struct{ *setting }

// An iterative schedule keeps its two newest checkpoints in two slots of the vault. Parties are
// killed at different moments, and one may have written a checkpoint that another has not; so
// they go on from the newest one that all have. Every run is the same, bit for bit: it does not matter that
// some of them do a few iterations twice.
const slots = 2

// slotName returns the slot of the n-th checkpoint, which replaces the last but one.
func slotName(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n%slots) }

// Files lists what a training keeps in its vault until it is done. Each of them can be lost: what it held is computed
// again, and is the same.
func Files() []string {
	list := []string{anglesFile, widthFile, lambdaFile}
	for n := range slots {
		list = append(list, slotName("iteration", n))
		for k := range MaxClasses {
			list = append(list, slotName(solverFile(k), n))
		}
	}
	return list
}

// solverFile names the solver's checkpoints of a class; the first one's are those of two classes and of a regression,
// too.
func solverFile(class int) string {
	if class == 0 {
		return "solver"
	}
	return fmt.Sprintf("solver-%d", class)
}

// The files of a training beside its slots.
const (
	anglesFile = "angles"
	widthFile  = "width"
)

// loadSlots returns the checkpoints of a kind that the vault holds, by the number that count reads
// from them.
func loadSlots[S any](v joint.Vault, kind string, count func(*S) int) (map[int]*S, error) {
	mode, err := cbor.DecOptions{MaxArrayElements: kernel.MaxFeatures}.DecMode()
	if err != nil {
		return nil, err
	}
	states := make(map[int]*S)
	for n := range slots {
		data, err := v.Load(slotName(kind, n))
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		s := new(S)
		if err := mode.Unmarshal(data, s); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", slotName(kind, n), err)
		}
		states[count(s)] = s
	}
	return states, nil
}

// newestCommon returns the newest checkpoint that all the given parties have, 0 when there is
// none: each tells the others the iterations of those it has, which are at most limit.
func (t *checkpoints) newestCommon(
	ctx context.Context, kind string, parties []int, have []int, limit int,
) (int, error) {
	slices.Sort(have)
	var common []int
	for k, i := range parties {
		v := make([]float64, slots)
		for s, n := range have {
			v[s] = float64(n)
		}
		if err := broadcastReals(ctx, t.Network, kind, i, v); err != nil {
			return 0, err
		}
		theirs, err := t.resumePoints(i, v, limit)
		if err != nil {
			return 0, err
		}
		if k == 0 {
			common = theirs
		}
		common = slices.DeleteFunc(common, func(n int) bool { return !slices.Contains(theirs, n) })
	}
	return slices.Max(append(common, 0)), t.Network.Confirm(ctx)
}

// confirmClear is Network.Confirm where sums have no masks that depend on what was told.
func (t *checkpoints) confirmClear(ctx context.Context) error {
	if t.Privacy != Published {
		return nil
	}
	return t.Network.Confirm(ctx)
}

// smallest returns the smallest number that the active parties tell: how much of a log all have.
func (t *checkpoints) smallest(ctx context.Context, have, limit int) (int, error) {
	from := limit
	for _, i := range t.actives {
		v := []float64{float64(have)}
		if err := broadcastReals(ctx, t.Network, KindResumePoint, i, v); err != nil {
			return 0, err
		}
		points, err := t.resumePoints(i, v, limit)
		if err != nil {
			return 0, err
		}
		from = min(from, points[0])
	}
	return from, t.Network.Confirm(ctx)
}

// resumePoints reads what party i says of its saved work.
func (t *checkpoints) resumePoints(i int, v []float64, limit int) ([]int, error) {
	points := make([]int, len(v))
	for s, x := range v {
		if !(x >= 0 && x <= float64(limit)) || x != math.Trunc(x) {
			return nil, fmt.Errorf("%s says its saved work reaches %v of %d", t.Names[i], x, limit)
		}
		points[s] = int(x)
	}
	return points, nil
}

// everybody lists the indices of all parties.
func (t *setting) everybody() []int {
	all := make([]int, len(t.Names))
	for i := range all {
		all[i] = i
	}
	return all
}

// numbers lists the keys of a map of checkpoints.
func numbers[S any](states map[int]*S) []int { return slices.Collect(maps.Keys(states)) }
