package sealed

import (
	"fmt"

	"github.com/hanse-project/hanse/lab/table"
)

// sealedHead are the cells that say which case a row is of.
func sealedHead(r *Result) []string {
	loss := r.Loss
	if r.Outer > 0 {
		loss = fmt.Sprintf("%s, E = %d", r.Loss, r.Outer)
	}
	return []string{r.Set, fmt.Sprint(r.Features), fmt.Sprint(r.Ring), loss, fmt.Sprint(r.Steps), fmt.Sprint(r.Seed)}
}

// errorTable lays out errors and differences.
func errorTable(runs []Result) *table.Table {
	t := table.New("set", "D", "ring", "loss", "T", "seed", "test error", "AUC", "mean p to share", "same steps in float",
		"exact", "masked", "clear", "rms to float", "flips", "rms to exact", "flips", "of rows")
	for i := range runs {
		r := &runs[i]
		t.Add(append(sealedHead(r), table.Cells("%.4f|%.4f|%s|%s|%.4f|%s|%s|%s|%s|%.2g|%v|%v", r.Error, r.AUC,
			table.If(r.Calibration > 0, "%.4f", r.Calibration), table.If(r.stepped(), "%.4f", r.FloatError), r.ExactError,
			table.If(r.Bins == 0, "%.4f", r.Masked), table.If(r.Bins == 0, "%.4f", r.Clear),
			table.If(r.stepped(), "%.2g", r.RMS), table.If(r.stepped(), "%.0f", float64(r.Flips)), r.ExactRMS, r.ExactFlips,
			r.Tested)...)...)
	}
	return t
}

// timeTable lays out times.
func timeTable(runs []Result) *table.Table {
	t := table.New("set", "D", "ring", "loss", "T", "seed", "sealed s", "columns", "equations", "steps", "masked s",
		"clear s", "to masked", "to clear", "CPU s", "masked CPU s", "scoring s", "µs a row", "load")
	for i := range runs {
		r := &runs[i]
		t.Add(append(sealedHead(r), table.Cells("%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.1f|%.1f|%s|%s|%.2f|%.0f|%.1f",
			r.Seconds, r.Columns, r.Equations, r.Stepping, r.MaskedSeconds, r.ClearSeconds, r.ToMasked, r.ToClear,
			table.If(r.CPU > 0, "%.1f", r.CPU), table.If(r.MaskedCPU > 0, "%.1f", r.MaskedCPU), r.ScoreSeconds,
			1e6*r.ScoreSeconds/float64(r.Tested), r.Load)...)...)
	}
	return t
}

// byteTable lays out bytes and memory.
func byteTable(runs []Result) *table.Table {
	t := table.New("set", "D", "ring", "loss", "T", "seed", "MB sent", "busiest out", "in", "masked MB",
		"payload MB", "as the formula", "scoring MB", "as the formula", "peak MB A", "K", "H",
		"outside", "at least", "masked A")
	mb := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
	peak := func(n int64) string { return table.If(n > 0, "%.0f", float64(n)/1e6) }
	for i := range runs {
		r := &runs[i]
		t.Add(append(sealedHead(r), table.Cells("%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|%s", mb(r.Bytes),
			mb(r.Busiest), mb(r.BusiestIn), mb(r.MaskedBytes), mb(r.Payload), agrees(r.Payload, r.Formula),
			mb(r.ScorePayload), agrees(r.ScorePayload, r.ScoreFormula), peak(r.Peaks["label holder"]),
			peak(r.Peaks["keeper"]), peak(r.Peaks["helper"]), peak(r.Peaks["outside"]), peak(r.ExpectedBytes),
			peak(r.MaskedPeak))...)...)
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
