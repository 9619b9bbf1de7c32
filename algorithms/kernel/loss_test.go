package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var allLosses = []Loss{Square, Logistic, SmoothHinge}

// drawPoint draws a loss and a point to evaluate it at.
func drawPoint(t *rapid.T, limit float64) (l Loss, f, y float64) {
	l = rapid.SampledFrom(allLosses).Draw(t, "loss")
	f = rapid.Float64Range(-limit, limit).Draw(t, "f")
	y = float64(2*rapid.IntRange(0, 1).Draw(t, "label") - 1)
	return l, f, y
}

func TestDerivativeIsSlope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, f, y := drawPoint(t, 30)
		const h = 1e-6
		slope := (l.Value(f+h, y) - l.Value(f-h, y)) / (2 * h)
		if d := l.Derivative(f, y); math.Abs(d-slope) > 1e-6*(1+math.Abs(d)) {
			t.Fatalf("%s at f = %g, y = %g: derivative %g, slope %g", l, f, y, d, slope)
		}
	})
}

func TestCurvatureBoundsDerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, f, y := drawPoint(t, 30)
		h := rapid.Float64Range(1e-3, 5).Draw(t, "h")
		rise := l.Derivative(f+h, y) - l.Derivative(f, y)
		if rise < -1e-12 || rise > h*l.Curvature()+1e-12 {
			t.Fatalf("%s between f = %g and %g: the derivative rises by %g", l, f, f+h, rise)
		}
	})
}

// TestSecondIsTheDerivativesSlope, away from the hinge's two corners.
func TestSecondIsTheDerivativesSlope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, f, y := drawPoint(t, 30)
		const h = 1e-6
		if z := y * f; l == SmoothHinge && min(math.Abs(z), math.Abs(1-z)) < 2*h {
			return
		}
		slope := (l.Derivative(f+h, y) - l.Derivative(f-h, y)) / (2 * h)
		if s := l.Second(f, y); math.Abs(s-slope) > 1e-6 {
			t.Fatalf("%s at f = %g, y = %g: second derivative %g, slope of the first %g", l, f, y, s, slope)
		}
	})
	if s := SmoothHinge.Second(0, 1); s != 1 {
		t.Errorf("the smooth hinge has second derivative %v at 0, want that of its curved side", s)
	}
}

func TestCurvatureIsAttained(t *testing.T) {
	for _, l := range allLosses {
		const f, h = 0.0, 1e-4 // the logistic loss is most curved at 0, the hinge above it
		rise := (l.Derivative(f+h, 1) - l.Derivative(f, 1)) / h
		if math.Abs(rise-l.Curvature()) > 1e-3 {
			t.Errorf("%s: curvature %g, want %g", l, rise, l.Curvature())
		}
	}
}

func TestLossesFarOut(t *testing.T) {
	for _, f := range []float64{1e3, 1e10, 1e300} {
		for _, l := range []Loss{Logistic, SmoothHinge} {
			if v := l.Value(f, 1); v != 0 {
				t.Errorf("%s of a sure and right %g is %g", l, f, v)
			}
			if v := l.Value(-f, 1); math.Abs(v-f) > 0.5+1e-12*f {
				t.Errorf("%s of a sure and wrong %g is %g", l, f, v)
			}
			if d := l.Derivative(-f, 1); d != -1 {
				t.Errorf("%s of a sure and wrong %g has slope %g", l, f, d)
			}
		}
	}
	if v := Logistic.Value(40, 1); math.Abs(v-math.Exp(-40)) > 1e-30 {
		t.Errorf("the logistic loss cancels: %g at 40", v)
	}
}

func TestUnknownLossIsNoNumber(t *testing.T) {
	var l Loss
	if !math.IsNaN(l.Value(1, 1)) || !math.IsNaN(l.Derivative(1, 1)) || !math.IsNaN(l.Second(1, 1)) ||
		!math.IsNaN(l.Curvature()) {
		t.Error("the zero loss has a value")
	}
}
