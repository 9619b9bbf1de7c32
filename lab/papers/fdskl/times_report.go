package fdskl

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// setReport is what was measured on one set. Seconds and bytes are medians over the seeds.
type setReport struct {
	Set          string       `json:"set"`
	Rows         int          `json:"rows"` // to train on
	Features     int          `json:"features"`
	Loss         string       `json:"loss"`
	Error        lab.Measured `json:"test_error"`
	ErrorLimit   float64      `json:"test_error_limit"`
	ClearError   lab.Measured `json:"clear_error"`
	Seconds      float64      `json:"train_seconds"`
	ClearSeconds float64      `json:"clear_seconds"`
	Ratio        float64      `json:"private_to_clear"`
	PassiveBytes int64        `json:"passive_bytes_out"`
	PeakBytes    int64        `json:"active_peak_bytes"` // 0: the system does not tell
	SVM          *svmSide     `json:"svm,omitempty"`
}

// svmSide is the comparison with svm-train.
type svmSide struct {
	Seconds    float64      `json:"seconds"`
	CPUSeconds float64      `json:"cpu_seconds"`
	Error      lab.Measured `json:"test_error"`
	SpeedUp    float64      `json:"speed_up"` // svm-train's processor seconds over our seconds by the clock
}

// summarise reduces the runs of a set, one for each seed. Ratios are medians of the runs' ratios.
func summarise(s *sets.Benchmark, runs []*lab.Trained, svms []rivals.LIBSVMRun) setReport {
	r := setReport{Set: s.Name, Rows: runs[0].RowsTrain, Features: s.Features, Loss: s.Loss, ErrorLimit: s.Limit}
	r.Error = lab.Spread(lab.Each(runs, func(d *lab.Trained) float64 { return d.TestError }))
	r.ClearError = lab.Spread(lab.Each(runs, func(d *lab.Trained) float64 { return d.ClearError }))
	r.Seconds = lab.Median(lab.Each(runs, func(d *lab.Trained) float64 { return d.TrainSeconds }))
	r.ClearSeconds = lab.Median(lab.Each(runs, func(d *lab.Trained) float64 { return d.ClearSeconds }))
	r.Ratio = lab.Median(lab.Each(runs, func(d *lab.Trained) float64 { return d.TrainSeconds / d.ClearSeconds }))
	r.PassiveBytes = int64(lab.Median(lab.Each(runs,
		func(d *lab.Trained) float64 { return float64(d.PassiveBytes()) })))
	r.PeakBytes = int64(slices.Max(lab.Each(runs, func(d *lab.Trained) float64 { return float64(d.Peak) })))
	if len(svms) == 0 {
		return r
	}
	ups := make([]float64, len(svms))
	for i, v := range svms {
		ups[i] = v.CPUSeconds / runs[i].TrainSeconds
	}
	r.SVM = &svmSide{
		Seconds:    lab.Median(lab.Each(svms, func(v rivals.LIBSVMRun) float64 { return v.Seconds })),
		CPUSeconds: lab.Median(lab.Each(svms, func(v rivals.LIBSVMRun) float64 { return v.CPUSeconds })),
		Error:      lab.Spread(lab.Each(svms, func(v rivals.LIBSVMRun) float64 { return v.Error })),
		SpeedUp:    lab.Median(ups),
	}
	return r
}

// setTable lays the reports out, one row for each set.
func setTable(sets []setReport) *table.Table {
	t := table.New("set", "rows", "D", "loss", "test error", "limit", "clear error", "train s", "clear s",
		"private/clear", "MB sent", "peak MB", "svm-train s", "its CPU s", "svm error", "speed-up")
	for _, s := range sets {
		cells := []string{
			s.Set, fmt.Sprint(s.Rows), fmt.Sprint(s.Features), s.Loss, s.Error.Text(4), table.If(s.ErrorLimit > 0,
				"%.4f",
				s.ErrorLimit), s.ClearError.Text(4),
			fmt.Sprintf("%.2f", s.Seconds), fmt.Sprintf("%.2f", s.ClearSeconds), fmt.Sprintf("%.2f", s.Ratio),
			fmt.Sprintf("%.1f", float64(s.PassiveBytes)/1e6), table.If(s.PeakBytes > 0, "%.0f",
				float64(s.PeakBytes)/1e6),
		}
		if s.SVM == nil {
			cells = append(cells, "", "", "", "")
		} else {
			cells = append(cells, fmt.Sprintf("%.2f", s.SVM.Seconds), fmt.Sprintf("%.2f", s.SVM.CPUSeconds),
				s.SVM.Error.Text(4), fmt.Sprintf("%.1f", s.SVM.SpeedUp))
		}
		t.Add(cells...)
	}
	return t
}
