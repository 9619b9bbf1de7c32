package figures

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// reference is testdata/reference.json, which scikit-learn and SciPy made.
type reference struct {
	TwoClasses []struct {
		Labels           []float64
		Scores           []float64
		Probabilities    []float64
		AUC, Error, KS   float64
		AveragePrecision float64 `json:"average_precision"`
		LogLoss          float64 `json:"log_loss"`
		Brier            float64
		Recall           float64
		Precision        float64
		Confusion        [4]int
		Came, Meant      []float64
		Youden           float64
		Platt            [2]float64
	} `json:"two_classes"`
	Numbers []struct {
		Labels, Predictions []float64
		RMSE, MAE, R2       float64
	}
	Several []struct {
		Labels            []int
		Scores            [][]float64
		Error             float64
		Recall, Precision []float64
		MeanRecall        float64 `json:"mean_recall"`
		Confusion         [][]int
	}
	Wilson []struct{ Hits, Rows, Low, High float64 }
}

// TestReference holds every figure against scikit-learn's and SciPy's, to 1e-9.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.json")
	must(t, err)
	var want reference
	must(t, json.Unmarshal(text, &want))
	same := func(what string, i int, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
			t.Errorf("%s of set %d is %.12g, the reference has %.12g", what, i, got, want)
		}
	}
	for i, w := range want.TwoClasses {
		s := Scored{Scores: w.Scores, Probabilities: w.Probabilities, Rule: Rule{Kind: Zero}}
		for _, y := range w.Labels {
			s.Labels = append(s.Labels, 2*y-1)
		}
		b, err := OfClasses(s)
		must(t, err)
		same("AUC", i, b.AUC.Value, w.AUC)
		same("Gini", i, b.Gini.Value, 2*w.AUC-1)
		same("error", i, b.Error.Value, w.Error)
		same("KS", i, b.KS.Value, w.KS)
		same("average precision", i, b.AveragePrecision.Value, w.AveragePrecision)
		same("log loss", i, b.LogLoss.Value, w.LogLoss)
		same("Brier", i, b.Brier.Value, w.Brier)
		same("recall", i, b.Recall.Value, w.Recall)
		same("precision", i, b.Precision.Value, w.Precision)
		c := b.Confusion
		if got := [4]int{c.TruePositives, c.FalsePositives, c.FalseNegatives, c.TrueNegatives}; got != w.Confusion {
			t.Errorf("confusion of set %d is %v, the reference has %v", i, got, w.Confusion)
		}
		if len(b.Calibration) != len(w.Came) {
			t.Fatalf("set %d has %d bins of probabilities, the reference has %d", i, len(b.Calibration), len(w.Came))
		}
		for k, bin := range b.Calibration {
			same("share in a bin", i, bin.Share.Value, w.Came[k])
			same("mean probability of a bin", i, bin.Probability, w.Meant[k])
		}
		cuts := Cuts(s.Labels, s.Scores)
		at := cuts[Rule{Kind: Youden}.choose(cuts)]
		last := cuts[len(cuts)-1]
		same("Youden's distance", i, at.True/last.True-at.False/last.False, w.Youden)
		p, err := FitPlatt(s.Labels, s.Scores)
		must(t, err)
		if math.Abs(p.A-w.Platt[0]) > 1e-4 || math.Abs(p.B-w.Platt[1]) > 1e-4 { // the reference stops earlier
			t.Errorf("Platt's A and B of set %d are %v, the reference has %v", i, p, w.Platt)
		}
	}
	for i, w := range want.Numbers {
		n, err := OfNumbers(w.Labels, w.Predictions)
		must(t, err)
		same("RMSE", i, n.RMSE.Value, w.RMSE)
		same("MAE", i, n.MAE.Value, w.MAE)
		same("R2", i, n.R2.Value, w.R2)
	}
	for i, w := range want.Several {
		s, err := OfSeveral([]string{"a", "b", "c", "d"}, w.Labels, slices.Concat(w.Scores...))
		must(t, err)
		same("error", i, s.Error.Value, w.Error)
		same("mean recall", i, s.MeanRecall, w.MeanRecall)
		for k, c := range s.Classes {
			same("recall", i, c.Recall.Value, w.Recall[k])
			same("precision", i, c.Precision.Value, w.Precision[k])
			for l, n := range c.Said {
				if n != w.Confusion[k][l] {
					t.Errorf("%d rows of class %d said to be of %d, the reference has %d", n, k, l, w.Confusion[k][l])
				}
			}
		}
	}
	for i, w := range want.Wilson {
		e := Share(w.Hits, w.Rows)
		same("Wilson's lower end", i, e.Interval[0], w.Low)
		same("Wilson's upper end", i, e.Interval[1], w.High)
	}
}
