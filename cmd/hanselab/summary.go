package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/internal/lab/rivals"
)

// measured is the mean and the standard deviation of one figure over the seeds.
type measured struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"sd"` // with n-1; 0 for one seed
}

// setReport is what was measured on one set. Seconds and bytes are medians over the seeds.
type setReport struct {
	Set          string   `json:"set"`
	Rows         int      `json:"rows"` // to train on
	Features     int      `json:"features"`
	Loss         string   `json:"loss"`
	Error        measured `json:"test_error"`
	ErrorLimit   float64  `json:"test_error_limit"`
	ClearError   measured `json:"clear_error"`
	Seconds      float64  `json:"train_seconds"`
	ClearSeconds float64  `json:"clear_seconds"`
	Ratio        float64  `json:"private_to_clear"`
	PassiveBytes int64    `json:"passive_bytes_out"`
	PeakBytes    int64    `json:"active_peak_bytes"` // 0: the system does not tell
	SVM          *svmSide `json:"svm,omitempty"`
}

// svmSide is the comparison with svm-train.
type svmSide struct {
	Seconds    float64  `json:"seconds"`
	CPUSeconds float64  `json:"cpu_seconds"`
	Error      measured `json:"test_error"`
	SpeedUp    float64  `json:"speed_up"` // svm-train's processor seconds over our seconds by the clock
}

// summarise reduces the runs of a set, one for each seed. Ratios are medians of the runs' ratios.
func summarise(s *benchmarkSet, runs []*demoRun, svms []rivals.LIBSVMRun) setReport {
	r := setReport{Set: s.name, Rows: runs[0].RowsTrain, Features: s.features, Loss: s.loss, ErrorLimit: s.limit}
	r.Error = spread(each(runs, func(d *demoRun) float64 { return d.TestError }))
	r.ClearError = spread(each(runs, func(d *demoRun) float64 { return d.ClearError }))
	r.Seconds = median(each(runs, func(d *demoRun) float64 { return d.TrainSeconds }))
	r.ClearSeconds = median(each(runs, func(d *demoRun) float64 { return d.ClearSeconds }))
	r.Ratio = median(each(runs, func(d *demoRun) float64 { return d.TrainSeconds / d.ClearSeconds }))
	r.PassiveBytes = int64(median(each(runs, func(d *demoRun) float64 { return float64(d.passiveBytes()) })))
	r.PeakBytes = int64(slices.Max(each(runs, func(d *demoRun) float64 { return float64(d.Peaks[d.active()]) })))
	if len(svms) == 0 {
		return r
	}
	ups := make([]float64, len(svms))
	for i, v := range svms {
		ups[i] = v.CPUSeconds / runs[i].TrainSeconds
	}
	r.SVM = &svmSide{
		Seconds:    median(each(svms, func(v rivals.LIBSVMRun) float64 { return v.Seconds })),
		CPUSeconds: median(each(svms, func(v rivals.LIBSVMRun) float64 { return v.CPUSeconds })),
		Error:      spread(each(svms, func(v rivals.LIBSVMRun) float64 { return v.Error })),
		SpeedUp:    median(ups),
	}
	return r
}

// setTable lays the reports out, one row for each set.
func setTable(sets []setReport) *table {
	t := newTable("set", "rows", "D", "loss", "test error", "limit", "clear error", "train s", "clear s", "private/clear", "MB sent", "peak MB", "svm-train s", "its CPU s", "svm error", "speed-up")
	for _, s := range sets {
		cells := []string{
			s.Set, fmt.Sprint(s.Rows), fmt.Sprint(s.Features), s.Loss, s.Error.text(), unknown(s.ErrorLimit > 0, "%.4f",
				s.ErrorLimit), s.ClearError.text(),
			fmt.Sprintf("%.2f", s.Seconds), fmt.Sprintf("%.2f", s.ClearSeconds), fmt.Sprintf("%.2f", s.Ratio),
			fmt.Sprintf("%.1f", float64(s.PassiveBytes)/1e6), unknown(s.PeakBytes > 0, "%.0f", float64(s.PeakBytes)/1e6),
		}
		if s.SVM == nil {
			cells = append(cells, "", "", "", "")
		} else {
			cells = append(cells, fmt.Sprintf("%.2f", s.SVM.Seconds), fmt.Sprintf("%.2f", s.SVM.CPUSeconds), s.SVM.Error.text(), fmt.Sprintf("%.1f", s.SVM.SpeedUp))
		}
		t.add(cells...)
	}
	return t
}

// text renders mean and deviation.
func (m measured) text() string { return fmt.Sprintf("%.4f ± %.4f", m.Mean, m.Deviation) }

// unknown renders a figure, or nothing when it is not known.
func unknown(known bool, format string, v float64) string {
	if !known {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// each maps values to one of their figures.
func each[T any](values []T, figure func(T) float64) []float64 {
	figures := make([]float64, len(values))
	for i, v := range values {
		figures[i] = figure(v)
	}
	return figures
}

// median returns the middle one of one or more values, or the mean of the two in the middle.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// spread returns mean and deviation of one or more values.
func spread(values []float64) measured {
	var m measured
	for _, v := range values {
		m.Mean += v / float64(len(values))
	}
	if len(values) == 1 {
		return m
	}
	for _, v := range values {
		m.Deviation += (v - m.Mean) * (v - m.Mean) / float64(len(values)-1)
	}
	m.Deviation = math.Sqrt(m.Deviation)
	return m
}
