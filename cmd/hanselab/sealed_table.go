package main

import "fmt"

// sealedHead are the cells that say which case a row is of.
func sealedHead(r *sealedRun) []string {
	loss := r.Loss
	if r.Outer > 0 {
		loss = fmt.Sprintf("%s, E = %d", r.Loss, r.Outer)
	}
	return []string{r.Set, fmt.Sprint(r.Features), fmt.Sprint(r.Ring), loss, fmt.Sprint(r.Steps), fmt.Sprint(r.Seed)}
}

// errorTable lays out errors and differences.
func errorTable(runs []sealedRun) *table {
	t := newTable("set", "D", "ring", "loss", "T", "seed", "test error", "same steps in float", "exact", "masked", "clear", "rms to float", "flips", "rms to exact", "flips", "of rows")
	for i := range runs {
		r := &runs[i]
		t.add(append(sealedHead(r), fmt.Sprintf("%.4f", r.Error), fmt.Sprintf("%.4f", r.FloatError), fmt.Sprintf("%.4f", r.ExactError),
			fmt.Sprintf("%.4f", r.Masked), fmt.Sprintf("%.4f", r.Clear), fmt.Sprintf("%.2g", r.RMS), fmt.Sprint(r.Flips),
			fmt.Sprintf("%.2g", r.ExactRMS), fmt.Sprint(r.ExactFlips), fmt.Sprint(r.Tested))...)
	}
	return t
}

// timeTable lays out times.
func timeTable(runs []sealedRun) *table {
	t := newTable("set", "D", "ring", "loss", "T", "seed", "sealed s", "columns", "equations", "steps", "masked s", "clear s", "to masked", "to clear", "CPU s", "masked CPU s", "scoring s", "µs a row", "load")
	for i := range runs {
		r := &runs[i]
		t.add(append(sealedHead(r), fmt.Sprintf("%.2f", r.Seconds), fmt.Sprintf("%.2f", r.Columns), fmt.Sprintf("%.2f", r.Equations), fmt.Sprintf("%.2f", r.Stepping), fmt.Sprintf("%.2f", r.MaskedSeconds), fmt.Sprintf("%.2f", r.ClearSeconds),
			fmt.Sprintf("%.1f", r.ToMasked), fmt.Sprintf("%.1f", r.ToClear), unknown(r.CPU > 0, "%.1f", r.CPU), unknown(r.MaskedCPU > 0, "%.1f", r.MaskedCPU),
			fmt.Sprintf("%.2f", r.ScoreSeconds), fmt.Sprintf("%.0f", 1e6*r.ScoreSeconds/float64(r.Tested)), fmt.Sprintf("%.1f", r.Load))...)
	}
	return t
}

// byteTable lays out bytes and memory.
func byteTable(runs []sealedRun) *table {
	t := newTable("set", "D", "ring", "loss", "T", "seed", "MB sent", "busiest out", "in", "masked MB", "payload MB", "as the formula", "scoring MB", "as the formula", "peak MB A", "K", "H", "outside", "at least", "masked A")
	mb := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
	peak := func(n int64) string { return unknown(n > 0, "%.0f", float64(n)/1e6) }
	for i := range runs {
		r := &runs[i]
		t.add(append(sealedHead(r), mb(r.Bytes), mb(r.Busiest), mb(r.BusiestIn), mb(r.MaskedBytes), mb(r.Payload), agrees(r.Payload, r.Formula),
			mb(r.ScorePayload), agrees(r.ScorePayload, r.ScoreFormula), peak(r.Peaks["label holder"]), peak(r.Peaks["keeper"]), peak(r.Peaks["helper"]),
			peak(r.Peaks["outside"]), peak(r.ExpectedBytes), peak(r.MaskedPeak))...)
	}
	return t
}

// agrees says whether bytes are those of the formula, and else by how much they differ.
func agrees(got, want int64) string {
	if got == want {
		return "yes"
	}
	return fmt.Sprintf("%+d", got-want)
}
