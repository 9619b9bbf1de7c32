//go:build long

package ofmsft

import (
	"math"
	"testing"
)

// TestAirInPlaceIsThePapers compares both updates with what was measured with other draws, 7.40 in
// place, the paper's 7.46, and 8.35 by equation 11.
func TestAirInPlaceIsThePapers(t *testing.T) {
	for update, want := range map[string]float64{UpdateInPlace: 7.40, UpdateEquation11: 8.35} {
		if got := airRun(t, 5, update, airRounds); math.Abs(got-want) > 0.2 {
			t.Errorf("%s: mean squared error %.2f, want %.2f", update, got, want)
		}
	}
}

// airRun runs the paper's air experiment for so many rounds and returns the mean over clients of their
// squared errors, times 1000.
func airRun(t *testing.T, budget float64, update string, rounds int) float64 {
	t.Helper()
	p, networks := airParams(t, budget, update)
	f, err := NewFederation(p, networks, airClients, [32]byte{1})
	mustDo(t, err)
	rows, labels := airRows(t)
	mean, predictions := 0.0, make([]float64, airClients)
	for r := range rounds {
		mustDo(t, f.Round(rows[r], labels[r], predictions))
		for i, y := range predictions {
			d := (y - labels[r][i]) / (airHigh - airLow)
			mean += 1e3 * d * d / float64(rounds*airClients)
		}
	}
	return mean
}

// TestAirWithoutFineTuningIsAsMeasured compares with 8.6, 8.5 and 8.5 at budgets 2, 5 and 10, measured
// with other draws; seeds differ by 0.05.
func TestAirWithoutFineTuningIsAsMeasured(t *testing.T) {
	for budget, want := range map[float64]float64{2: 8.60, 5: 8.51, 10: 8.46} {
		if got := airRun(t, budget, UpdateNone, airRounds); math.Abs(got-want) > 0.2 {
			t.Errorf("budget %v: mean squared error %.2f, want %.2f", budget, got, want)
		}
	}
}
