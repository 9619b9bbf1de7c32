package figures

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// rows draws rows of two classes, of each at least two, with scores of which many are equal.
func rows(t *rapid.T) (labels, scores []float64) {
	n := rapid.IntRange(4, 60).Draw(t, "rows")
	for i := range n {
		y := float64(2*rapid.IntRange(0, 1).Draw(t, "label") - 1)
		if i < 4 {
			y = float64(2*(i%2) - 1)
		}
		labels = append(labels, y)
		scores = append(scores, float64(rapid.IntRange(-6, 6).Draw(t, "score"))/4)
	}
	return labels, scores
}

// wins is DeLong's psi (1988, equation 1).
func wins(x, y float64) float64 {
	switch {
	case x > y:
		return 1
	case x == y:
		return 0.5
	}
	return 0
}

// dumbDeLong is DeLong's estimate and covariance by their definitions (1988, equations 2 to 6): every pair, one by one.
func dumbDeLong(labels []float64, scorings ...[]float64) (auc []float64, covariance [][]float64) {
	var xs, ys []int
	for i, y := range labels {
		if y > 0 {
			xs = append(xs, i)
		} else {
			ys = append(ys, i)
		}
	}
	m, n := float64(len(xs)), float64(len(ys))
	v10, v01 := make([][]float64, len(scorings)), make([][]float64, len(scorings))
	for r, f := range scorings {
		sum := 0.0
		for _, i := range xs {
			v := 0.0
			for _, j := range ys {
				v += wins(f[i], f[j]) / n
			}
			v10[r] = append(v10[r], v)
			sum += v
		}
		for _, j := range ys {
			v := 0.0
			for _, i := range xs {
				v += wins(f[i], f[j]) / m
			}
			v01[r] = append(v01[r], v)
		}
		auc = append(auc, sum/m)
	}
	for r := range scorings {
		covariance = append(covariance, make([]float64, len(scorings)))
		for s := range scorings {
			for i := range xs {
				covariance[r][s] += (v10[r][i] - auc[r]) * (v10[s][i] - auc[s]) / (m - 1) / m
			}
			for j := range ys {
				covariance[r][s] += (v01[r][j] - auc[r]) * (v01[s][j] - auc[s]) / (n - 1) / n
			}
		}
	}
	return auc, covariance
}

// near fails where two numbers differ by more than 1e-9.
func near(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) {
		t.Fatalf("%s is %.12g, want %.12g", what, got, want)
	}
}

// TestDeLong holds area, its variance and the difference of two areas against every pair, one by one.
func TestDeLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, scores := rows(t)
		var others []float64
		for range labels {
			others = append(others, float64(rapid.IntRange(-3, 3).Draw(t, "other")))
		}
		want, s := dumbDeLong(labels, scores, others)
		area, ofPositives, ofNegatives := rank(labels, scores).deLong()
		near(t, "area", area, want[0])
		near(t, "variance", ofPositives+ofNegatives, s[0][0])
		mine, theirs, d := AUC(labels, scores), AUC(labels, others), AUCDifference(labels, scores, others)
		near(t, "difference", d.Value, want[0]-want[1])
		if !mine.Interval.Contains(mine.Value) || !d.Interval.Contains(d.Value) {
			t.Fatalf("the intervals %v and %v do not hold %v and %v", mine.Interval, d.Interval, mine.Value, d.Value)
		}
		if s[0][0] < 1e-12 || s[1][1] < 1e-12 {
			return
		}
		// Zou, Donner (2008), equations 11 and 12.
		correlation := min(max(s[0][1]/math.Sqrt(s[0][0]*s[1][1]), -1), 1)
		half := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*correlation*x*y+y*y)) }
		low := half(mine.Value-mine.Interval[0], theirs.Interval[1]-theirs.Value)
		high := half(mine.Interval[1]-mine.Value, theirs.Value-theirs.Interval[0])
		if low > 1e-4 && high > 1e-4 { // a root of what rounding leaves of zero is far from zero
			near(t, "lower end of the difference", d.Interval[0], max(-1, d.Value-low))
			near(t, "upper end of the difference", d.Interval[1], min(1, d.Value+high))
		}
	})
}

// TestDeLongByHand holds the difference of two areas against one worked out by hand. Of three rows a class, the model
// puts shares of 1, 1, 2/3 of the negatives below the positives, and of 2/3, 1, 1 of the positives above the negatives:
// its area is 8/9, with variance 1/81 + 1/81. The other's are 2/3, 1/3, 2/3 and 2/3, 1, 0: 5/9, with 1/81 + 7/81. Their
// covariance is -1/162 - 1/162, the correlation -1/81 over the root of 2/81 times 8/81, which is -1/4.
func TestDeLongByHand(t *testing.T) {
	labels := []float64{1, 1, 1, -1, -1, -1}
	scores, others := []float64{5, 4, 2, 3, 1, 0}, []float64{4, 1, 3, 2, 0, 5}
	mine, theirs, d := AUC(labels, scores), AUC(labels, others), AUCDifference(labels, scores, others)
	x, y := mine.Value-mine.Interval[0], theirs.Interval[1]-theirs.Value
	low := 8./9 - 5./9 - math.Sqrt(x*x+x*y/2+y*y)
	for what, pair := range map[string][2]float64{
		"area": {mine.Value, 8. / 9}, "other area": {theirs.Value, 5. / 9}, "difference": {d.Value, 1. / 3},
		"lower end": {d.Interval[0], low},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
	if low <= -1 {
		t.Errorf("the lower end %v is cut off at -1, and shows no correlation", low)
	}
}

// TestEnds holds ends of intervals against what defines them: Smirnov's and Student's tables, and Newcombe's equation,
// whose roots lie so many deviations away.
func TestEnds(t *testing.T) {
	var labels, scores []float64
	for i := range 100 {
		labels, scores = append(labels, float64(2*(i%2)-1)), append(scores, float64(i))
	}
	ks := rank(labels, scores).ks()
	if want := max(0, ks.Value-1.3581/5); math.Abs(ks.Interval[0]-want) > 1e-12 || ks.Interval[1] <= ks.Value {
		t.Errorf("KS %v of 50 and 50 rows has the interval %v, want it to begin at %v", ks.Value, ks.Interval, want)
	}
	if q := student(9); math.Abs(q-2.262157) > 1e-6 {
		t.Errorf("the 97.5 %% quantile of the t distribution with 9 degrees of freedom is %v, want 2.262157", q)
	}
	r := &ranking{positives: 50, negatives: 50}
	for k, end := range r.areasOfExponentials(0.8) {
		v := end * (1 - end) * (1 + 49*(1-end)/(2-end) + 49*end/(1+end)) / 2500
		if got := math.Abs(end-0.8) / math.Sqrt(v); math.Abs(got-z) > 1e-6 {
			t.Errorf("end %d of Newcombe's interval, %v, lies %v deviations from 0.8, want %v", k, end, got, z)
		}
	}
}

// sameEstimate compares values and intervals.
func sameEstimate(t *rapid.T, got, want *Estimate) {
	t.Helper()
	if got == nil || want == nil || (got.Interval == nil) != (want.Interval == nil) {
		if got != nil || want != nil {
			t.Fatalf("a figure is %+v, in another order of the rows %+v", want, got)
		}
		return
	}
	near(t, "a figure of the other order", got.Value, want.Value)
	if want.Interval == nil { // nor has the other one; a range over a nil array would go on to its ends
		return
	}
	for end := range want.Interval {
		near(t, "an interval of the other order", got.Interval[end], want.Interval[end])
	}
}

// TestOrderOfNumbers shuffles predicted numbers: no figure and no interval changes, nor the gain over a rival.
func TestOrderOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 40).Draw(t, "rows")
		var columns, shuffled [3][]float64 // labels, predictions, a rival's
		order := rapid.Permutation(places(n)).Draw(t, "order")
		for c := range columns {
			columns[c] = rapid.SliceOfN(rapid.Float64Range(-9, 9), n, n).Draw(t, "numbers")
			for _, at := range order {
				shuffled[c] = append(shuffled[c], columns[c][at])
			}
		}
		var of [2]*Numbers
		var gain [2]*Estimate
		for i, rows := range [][3][]float64{columns, shuffled} {
			var err error
			if of[i], err = OfNumbers(rows[0], rows[1]); err != nil {
				t.Fatal(err)
			}
			r := Report{Numbers: of[i]}
			must(t, r.CompareNumbers("rival", rows[0], rows[1], rows[2]))
			gain[i] = r.Against[0].Gain
		}
		sameEstimate(t, &of[1].RMSE, &of[0].RMSE)
		sameEstimate(t, &of[1].MAE, &of[0].MAE)
		sameEstimate(t, of[1].R2, of[0].R2)
		sameEstimate(t, gain[1], gain[0])
	})
}

// TestOrderOfRows shuffles rows, among them many with equal scores: no figure changes.
func TestOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, scores := rows(t)
		places := rapid.Permutation(places(len(labels))).Draw(t, "order")
		other, shuffled := make([]float64, len(labels)), make([]float64, len(labels))
		for i, at := range places {
			other[i], shuffled[i] = labels[at], scores[at]
		}
		p, err := FitPlatt(labels, scores)
		must(t, err)
		a, errA := OfClasses(Scored{Labels: labels, Scores: scores, Probabilities: p.Probabilities(scores)})
		b, errB := OfClasses(Scored{Labels: other, Scores: shuffled, Probabilities: p.Probabilities(shuffled)})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for _, pair := range [][2]*Estimate{{a.AUC, b.AUC}, {a.KS, b.KS}, {a.AveragePrecision, b.AveragePrecision},
			{a.LogLoss, b.LogLoss}, {a.Brier, b.Brier}, {&a.Error, &b.Error}} {
			sameEstimate(t, pair[1], pair[0])
		}
		for i, g := range a.Lift {
			near(t, "positives of a tenth", b.Lift[i].Positives, g.Positives)
		}
		for i, bin := range a.Calibration {
			near(t, "share of a bin", b.Calibration[i].Share.Value, bin.Share.Value)
		}
		if !slices.Equal(a.Cuts, b.Cuts) || a.Confusion != b.Confusion {
			t.Fatal("cuts or confusion differ in another order of the rows")
		}
	})
}

// places lists 0 to n-1.
func places(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestSums: the tenths hold all rows and positives once, the confusion all rows, the bins too, and reversed scores
// have the reversed area.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, scores := rows(t)
		p := Platt{A: -1}
		b, err := OfClasses(Scored{Labels: labels, Scores: scores, Probabilities: p.Probabilities(scores)})
		must(t, err)
		var n, binned int
		var positives, share float64
		for _, g := range b.Lift {
			n, positives = n+g.Rows, positives+g.Positives
			share += g.Lift * float64(g.Rows) / float64(b.Rows)
		}
		for _, bin := range b.Calibration {
			binned += bin.Rows
		}
		c := b.Confusion
		if n != b.Rows || binned != b.Rows || c.TruePositives+c.FalsePositives+c.FalseNegatives+c.TrueNegatives != b.Rows ||
			c.TruePositives+c.FalseNegatives != b.Positives {
			t.Fatalf("%d rows in tenths, %d in bins and %v in the confusion, of %d", n, binned, c, b.Rows)
		}
		near(t, "positives of all tenths", positives, float64(b.Positives))
		near(t, "mean lift", share, 1)
		var reversed []float64
		for _, s := range scores {
			reversed = append(reversed, -s)
		}
		near(t, "area of reversed scores", AUC(labels, reversed).Value, 1-b.AUC.Value)
	})
}

// TestChoose tries every threshold one by one: none is better than the chosen one by its rule.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, scores := rows(t)
		count := func(threshold float64) (yes, no, positives, negatives float64) {
			for i, y := range labels {
				if y > 0 {
					positives++
				} else {
					negatives++
				}
				if scores[i] > threshold && y > 0 {
					yes++
				} else if scores[i] > threshold {
					no++
				}
			}
			return yes, no, positives, negatives
		}
		amount := rapid.Float64Range(0.05, 0.95).Draw(t, "amount")
		value := map[string]func(threshold float64) float64{
			Youden: func(threshold float64) float64 {
				yes, no, positives, negatives := count(threshold)
				return yes/positives - no/negatives
			},
			Cost: func(threshold float64) float64 {
				yes, no, positives, _ := count(threshold)
				return -no - 10*amount*(positives-yes)
			},
			Rate: func(threshold float64) float64 {
				yes, no, positives, negatives := count(threshold)
				if yes+no > amount*(positives+negatives) {
					return -1
				}
				return yes + no
			},
		}
		cuts := Cuts(labels, scores)
		for kind, of := range value {
			r := Rule{Kind: kind, Amount: amount}
			if kind == Cost {
				r.Amount = 10 * amount
			}
			got := of(r.Choose(cuts))
			for k := -20; k <= 20; k++ {
				if better := of(float64(k) / 8); better > got+1e-9 {
					t.Fatalf("%s: the threshold %v comes to %v, %v to %v", r, r.Choose(cuts), got, float64(k)/8, better)
				}
			}
			if kind == Rate {
				continue // a thinned curve has not every rate
			}
			if kind == Youden {
				near(t, "Youden's of a thinned curve", of(r.Choose(Thin(cuts, 3))), got)
			}
		}
		thin := Thin(cuts, 3)
		zero := thin[doing(thin, 0)]
		if yes, no, _, _ := count(0); yes != zero.True || no != zero.False {
			t.Fatalf("a threshold of zero has %v and %v above, the thinned curve says %v", yes, no, zero)
		}
		for _, c := range cuts {
			if yes, no, _, _ := count(c.Threshold); yes != c.True || no != c.False {
				t.Fatalf("the cut %v says %v and %v above, there are %v and %v", c.Threshold, c.True, c.False, yes, no)
			}
		}
	})
}

// TestRules: what a rule is written as reads as the same rule; others are refused.
func TestRules(t *testing.T) {
	for _, text := range []string{"zero", "youden", "rate=0.1", "cost=5", "at=-0.25"} {
		r, err := ParseRule(text)
		if err != nil || r.String() != text {
			t.Errorf("%q reads as %v, %v", text, r, err)
		}
	}
	for _, text := range []string{
		"", "zero=1", "rate", "rate=0", "rate=1", "cost=-1", "cost=NaN", "at=Inf", "best", "at=",
	} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q reads as %v, want an error", text, r)
		}
	}
}

// TestPlatt: the likelihood's gradient at the fit is zero, and scores that are a million times larger have the same
// probabilities.
func TestPlatt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, scores := rows(t)
		p, err := FitPlatt(labels, scores)
		must(t, err)
		positives := 0.0
		for _, y := range labels {
			positives += max(0, y)
		}
		negatives := float64(len(labels)) - positives
		var g1, g2 float64
		var large []float64
		for i, s := range scores {
			target := 1 / (negatives + 2)
			if labels[i] > 0 {
				target = (positives + 1) / (positives + 2)
			}
			g1, g2 = g1+s*(target-p.Probability(s)), g2+target-p.Probability(s)
			large = append(large, 1e6*s)
		}
		if math.Abs(g1) > 1e-6 || math.Abs(g2) > 1e-6 {
			t.Fatalf("the gradient at %v is %g, %g", p, g1, g2)
		}
		q, err := FitPlatt(labels, large)
		must(t, err)
		for i, s := range scores {
			if got, want := q.Probability(large[i]), p.Probability(s); math.Abs(got-want) > 1e-7 {
				t.Fatalf("the probability of a score a million times as large is %v, want %v", got, want)
			}
		}
	})
}

// TestRefused: numbers that are none, labels that are none, and nothing at all.
func TestRefused(t *testing.T) {
	for _, s := range []Scored{
		{},
		{Labels: []float64{1, -1}, Scores: []float64{0, math.NaN()}},
		{Labels: []float64{1, -1}, Scores: []float64{0, math.Inf(1)}},
		{Labels: []float64{math.NaN(), -1}, Scores: []float64{0, 1}},
		{Labels: []float64{0, -1}, Scores: []float64{0, 1}},
		{Labels: []float64{1}, Scores: []float64{0, 1}},
		{Labels: []float64{1}, Scores: []float64{0}, Probabilities: []float64{1.5}},
	} {
		if b, err := OfClasses(s); err == nil {
			t.Errorf("%v has the figures %v, want an error", s, b)
		}
	}
	if n, err := OfNumbers([]float64{1, 2}, []float64{1, math.Inf(-1)}); err == nil {
		t.Errorf("figures %v of an infinite prediction", n)
	}
	if s, err := OfSeveral([]string{"a", "b", "c"}, []int{0, 3}, []float64{1, 2, 3, 1, 2, 3}); err == nil {
		t.Errorf("figures %v of a class that there is not", s)
	}
	if s, err := OfSeveral([]string{"a", "b"}, []int{0}, []float64{1, math.NaN()}); err == nil {
		t.Errorf("figures %v of a score that is no number", s)
	}
	if _, err := FitPlatt([]float64{1, 1}, []float64{0, 1}); err == nil {
		t.Error("probabilities were fitted to labels that are all the same")
	}
}

// TestConstant: labels or scores that are all the same have the figures that are defined, and no others.
func TestConstant(t *testing.T) {
	b, err := OfClasses(Scored{Labels: []float64{-1, -1, -1}, Scores: []float64{1, 2, -3}})
	must(t, err)
	if b.AUC != nil || b.Gini != nil || b.KS != nil || b.AveragePrecision != nil || b.Lift != nil || b.Recall != nil {
		t.Errorf("one class has the figures %+v", b)
	}
	if b.Error.Value != 2./3 {
		t.Errorf("error %v, want 2/3", b.Error.Value)
	}
	b, err = OfClasses(Scored{Labels: []float64{-1, 1, -1, 1}, Scores: make([]float64, 4)})
	must(t, err)
	if b.AUC.Value != 0.5 || b.KS.Value != 0 || b.Lift[0].Lift != 1 {
		t.Errorf("equal scores have AUC %v, KS %v, lift %v, want 0.5, 0 and 1", b.AUC, b.KS, b.Lift[0])
	}
	n, err := OfNumbers([]float64{0.1, 0.1, 0.1}, []float64{0, 1, 2})
	if err != nil || n.R2 != nil {
		t.Errorf("equal labels have R2 %v, %v", n.R2, err)
	}
}

// TestScoresBeyondAllMeasure has scores of a file somebody wrote that are so large that half of one is lost in them.
func TestScoresBeyondAllMeasure(t *testing.T) {
	b, err := OfClasses(Scored{Labels: []float64{1, -1}, Scores: []float64{1e300, 1e300}, Classes: [2]string{"a", "b"}})
	if err != nil || b.Distribution.Positives[0] != 1 || b.Distribution.Negatives[0] != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
