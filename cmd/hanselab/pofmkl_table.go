package main

import "fmt"

// pofmklTable lays out the errors, one row for each algorithm.
func pofmklTable(rows []pofmklRow) *table {
	t := newTable("algorithm", "M", "D", "ours", "paper", "spec", "ours against spec")
	for _, r := range rows {
		t.add(r.label(), size(r.Chosen), size(r.Features), fmt.Sprintf("%.2f ± %.2f", r.Mean, r.Deviation),
			r.Paper.text(), r.Spec.text(), r.Verdict)
	}
	return t
}

// pofmklRegretTable lays out the regrets and what a round sends.
func pofmklRegretTable(rows []pofmklRow) *table {
	t := newTable("algorithm", "M", "D", "ours", "paper", "words masked", "published")
	for _, r := range rows {
		if r.Regret == nil {
			continue
		}
		t.add(r.label(), size(r.Chosen), size(r.Features), fmt.Sprintf("%.2f ± %.2f", r.Regret.Mean, r.Regret.Deviation),
			r.PaperRegret.text(), size(r.Words), size(r.OpenWords))
	}
	return t
}

// pofmklTimeTable lays out run times, ours and the paper's, and both as multiples of eM-KOFL's, which two machines and
// two languages leave to compare.
func pofmklTimeTable(rows []pofmklRow, rounds int) *table {
	var drawn pofmklRow
	for _, r := range rows {
		if r.Algorithm == emKOFL {
			drawn = r
		}
	}
	t := newTable("algorithm", "M", "D", "µs a round", "s", "paper, s", "of eM-KOFL", "paper")
	for _, r := range rows {
		if r.Carried {
			continue
		}
		t.add(r.Algorithm, size(r.Chosen), size(r.Features), fmt.Sprintf("%.1f", 1e6*r.RunSeconds/float64(rounds)),
			fmt.Sprintf("%.4f", r.RunSeconds), fmt.Sprintf("%.2f", r.PaperSeconds),
			fmt.Sprintf("%.2f", r.RunSeconds/drawn.RunSeconds), fmt.Sprintf("%.2f", r.PaperSeconds/drawn.PaperSeconds))
	}
	return t
}

// pofmklExploreTable lays out the study of xi.
func pofmklExploreTable(rows []pofmklRow) *table {
	t := newTable("xi", "M", "D", "error", "regret")
	for _, r := range rows {
		t.add(fmt.Sprintf("%g", r.Explore), size(r.Chosen), size(r.Features), fmt.Sprintf("%.2f ± %.2f", r.Mean, r.Deviation),
			fmt.Sprintf("%.2f ± %.2f", r.Regret.Mean, r.Regret.Deviation))
	}
	return t
}

// pofmklCommonTable lays out the study of common bins.
func pofmklCommonTable(rows []pofmklRow) *table {
	t := newTable("bin", "M", "D", "step", "error", "regret", "words masked")
	for _, r := range rows {
		bin := "own"
		if r.Common {
			bin = "common"
		}
		t.add(bin, size(r.Chosen), size(r.Features), fmt.Sprintf("%.3g", r.Step),
			fmt.Sprintf("%.2f ± %.2f", r.Mean, r.Deviation),
			fmt.Sprintf("%.2f ± %.2f", r.Regret.Mean, r.Regret.Deviation), size(r.Words))
	}
	return t
}

// label names a row's algorithm and variant.
func (r *pofmklRow) label() string {
	switch {
	case r.Algorithm != pofMKL:
		return r.Algorithm
	case r.Carried:
		return pofMKL + ", weights carried over"
	}
	return pofMKL + ", Algorithm 2"
}

// size writes a count, nothing for 0.
func size(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// text writes a published figure, nothing if there is none.
func (f *pofmklFigure) text() string {
	switch {
	case f == nil:
		return ""
	case f.Deviation == 0:
		return fmt.Sprintf("%.2f", f.Value)
	}
	return fmt.Sprintf("%.2f ± %.2f", f.Value, f.Deviation)
}
