package ofmsftbaseline

import (
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// tune has clients fine-tune the networks that they store, by Params.Update. As in OFMS-FT they are
// packed by bandwidth into alpha groups, of which one takes part, and steps are eta_f alpha times the
// mean gradient over the window; there is no probability to divide by. Elements beyond Params.Clip are
// cut to it.
func (m *models) tune(stored [][]int) error {
	if !m.tunes() {
		return nil
	}
	groups, err := m.groups(stored)
	if err != nil {
		return err
	}
	group, weight := groups[m.source.IntN(len(groups))], m.params.Step*float64(len(groups))
	for k := range m.networks {
		// Fine-tunes network k.
		sum := make([]float64, m.networks[k].Size())
		step := m.step[:len(sum)]
		for _, i := range group {
			if !slices.Contains(stored[i], k) {
				continue
			}
			x, y := m.windows[i].Before(0, m.params.Window)
			for j, g := range m.runners[k].Gradient(x, y) {
				step[j] = math.Max(-m.params.Clip, math.Min(weight*float64(g), m.params.Clip))
			}
			if m.params.Update == ofmsft.UpdateInPlace {
				m.move(k, step, 1)
				continue
			}
			for j, v := range step {
				sum[j] += v
			}
		}
		if m.params.Update != ofmsft.UpdateInPlace {
			m.move(k, sum, 1/float64(len(stored)))
		}
	}
	return nil
}

// groups packs the clients.
func (m *models) groups(stored [][]int) ([][]int, error) {
	needs := make([]float64, len(stored))
	for i, set := range stored {
		for _, k := range set {
			needs[i] += m.params.Models[k].Bandwidth
		}
	}
	return ofmsft.FirstFitDecreasing(needs, m.params.Bandwidth*(1+1e-9))
}
