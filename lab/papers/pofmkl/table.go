package pofmkl

import (
	"fmt"

	"github.com/hanse-project/hanse/lab/table"
)

// errorTable lays out the errors, one row for each algorithm.
func errorTable(rows []Row) *table.Table {
	t := table.New("algorithm", "M", "D", "ours", "paper", "spec", "ours against spec")
	for _, r := range rows {
		t.Add(r.label(), size(r.Chosen), size(r.Features), fmt.Sprintf("%.2f ± %.2f", r.Mean, r.Deviation),
			r.Paper.Text(), r.Spec.Text(), r.Verdict)
	}
	return t
}

// regretTable lays out the regrets and what a round sends.
func regretTable(rows []Row) *table.Table {
	t := table.New("algorithm", "M", "D", "ours", "paper", "words masked", "published")
	for _, r := range rows {
		if r.Regret == nil {
			continue
		}
		t.Add(r.label(), size(r.Chosen), size(r.Features), fmt.Sprintf("%.2f ± %.2f", r.Regret.Mean,
			r.Regret.Deviation),
			r.PaperRegret.Text(), size(r.Words), size(r.OpenWords))
	}
	return t
}

// timeTable lays out run times, ours and the paper's, and both as multiples of eM-KOFL's, which two machines and
// two languages leave to compare.
func timeTable(rows []Row, rounds int) *table.Table {
	var drawn Row
	for _, r := range rows {
		if r.Algorithm == emKOFL {
			drawn = r
		}
	}
	t := table.New("algorithm", "M", "D", "µs a round", "s", "paper, s", "of eM-KOFL", "paper")
	for _, r := range rows {
		if r.Carried {
			continue
		}
		t.Addf("%s|%s|%s|%.1f|%.4f|%.2f|%.2f|%.2f", r.Algorithm, size(r.Chosen), size(r.Features),
			1e6*r.RunSeconds/float64(rounds), r.RunSeconds, r.PaperSeconds, r.RunSeconds/drawn.RunSeconds,
			r.PaperSeconds/drawn.PaperSeconds)
	}
	return t
}

// exploreTable lays out the study of xi.
func exploreTable(rows []Row) *table.Table {
	t := table.New("xi", "M", "D", "error", "regret")
	for _, r := range rows {
		t.Addf("%g|%s|%s|%.2f ± %.2f|%.2f ± %.2f", r.Explore, size(r.Chosen), size(r.Features), r.Mean,
			r.Deviation, r.Regret.Mean, r.Regret.Deviation)
	}
	return t
}

// commonTable lays out the study of common bins.
func commonTable(rows []Row) *table.Table {
	t := table.New("bin", "M", "D", "step", "error", "regret", "words masked")
	for _, r := range rows {
		bin := "own"
		if r.Common {
			bin = "common"
		}
		t.Addf("%s|%s|%s|%.3g|%.2f ± %.2f|%.2f ± %.2f|%s", bin, size(r.Chosen), size(r.Features), r.Step, r.Mean,
			r.Deviation, r.Regret.Mean, r.Regret.Deviation, size(r.Words))
	}
	return t
}

// label names a row's algorithm and variant.
func (r *Row) label() string {
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
