package main

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/trial/online"
)

// milli is what mean squared errors are shown times of.
const milli = 1e3

// measure is how it is shown how well clients predict: by mean squared errors, or accuracies where labels are
// classes.
type measure struct{ classes bool }

// figure is a mean over clients and the standard deviation, as shown: a mean squared error x 1000, or an accuracy in %.
type figure struct{ mean, sd float64 }

// String writes it with two digits.
func (f figure) String() string { return fmt.Sprintf("%.2f ± %.2f", f.mean, f.sd) }

// figure turns a mean error into what is shown.
func (m measure) figure(mean, sd float64) figure {
	if m.classes {
		return figure{100 * (1 - mean), 100 * sd}
	}
	return figure{milli * mean, milli * sd}
}

// of is figure for a score.
func (m measure) of(s *online.Score) figure { return m.figure(s.Error, s.SD) }

// put fills in the one or the other pair of a result.
func (m measure) put(f figure, mse, mseSD, accuracy, accuracySD **float64) {
	if m.classes {
		*accuracy, *accuracySD = &f.mean, &f.sd
		return
	}
	*mse, *mseSD = &f.mean, &f.sd
}

// curve returns a learning curve over a window of rows: in dB, or accuracies in %.
func (m measure) curve(errors []float64, window int) []float64 {
	if !m.classes {
		return online.Decibels(errors, window)
	}
	out := online.Smoothed(errors, window)
	for i, v := range out {
		out[i] = 100 * (1 - v)
	}
	return out
}

// putCurve fills in the one or the other curve of a result.
func (m measure) putCurve(curve []float64, decibels, accuracy *[]float64) {
	if m.classes {
		*accuracy = curve
		return
	}
	*decibels = curve
}

// title says what figures are.
func (m measure) title() string {
	if m.classes {
		return "accuracy in %"
	}
	return "mean squared error x 1000"
}

// unit is the end of title.
func (m measure) unit() string {
	if m.classes {
		return "%"
	}
	return "x 1000"
}

// short says what the error is that is measured while clients learn.
func (m measure) short() string {
	if m.classes {
		return "wrong"
	}
	return "mse"
}

// curveName says what learning curves are.
func (m measure) curveName() string {
	if m.classes {
		return "accuracy in %"
	}
	return "mean squared error in dB"
}

// drawing is a drawing of learning curves.
func (m measure) drawing() drawing {
	if m.classes {
		return drawing{"accuracy", " %"}
	}
	return drawing{"mean squared error", " dB"}
}
