package clients

import (
	"errors"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// TestAPausingServerBeginsNothing has a network without links: whatever began would panic.
func TestAPausingServerBeginsNothing(t *testing.T) {
	n := &serverNetwork{clients: []int{1, 2}}
	n.pausing.Store(true)
	_, sum := n.Sum(t.Context(), federated.Sum{Kind: "updates", N: 1, Bits: 20, Bound: 1}, []int{0, 1})
	_, exchange := n.Exchange(t.Context(), "models", 1, []int{1}, []float64{1})
	for what, err := range map[string]error{
		"SendValues": n.SendValues(t.Context(), 0, "model", 1, []float64{1}), "Sum": sum, "Exchange": exchange,
	} {
		if !errors.Is(err, federated.ErrPaused) {
			t.Errorf("%s: error %v, want %v", what, err, federated.ErrPaused)
		}
	}
}
