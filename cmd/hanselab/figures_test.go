package main

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	for _, b := range []float64{0, 0.5, 1, 2} {
		var points []point
		for _, size := range []float64{3, 4, 8, 16} {
			points = append(points, point{Size: size, Seconds: 0.01 * math.Pow(size, b)})
		}
		if got := exponent(points, func(p point) float64 { return p.Seconds }); math.Abs(got-b) > 1e-9 {
			t.Errorf("exponent %v, want %v", got, b)
		}
	}
}

func TestMedianAndSpread(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median %v, want 2", got)
	}
	if got := median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median %v, want 2.5", got)
	}
	if got := spread([]float64{1, 2, 3}); got != (measured{2, 1}) {
		t.Errorf("spread %v, want mean 2 and deviation 1", got)
	}
	if got := spread([]float64{7}); got != (measured{7, 0}) {
		t.Errorf("spread %v, want mean 7 and deviation 0", got)
	}
}

func TestNodeName(t *testing.T) {
	for command, want := range map[string]string{
		"/bin/hanse\x00node\x00--key\x00/x/bank/bank.key\x00--charter\x00c\x00": "bank",
		"/bin/hanse\x00train\x00--key\x00/x/bank/bank.key\x00":                  "",
		"/bin/hanse\x00node\x00--key":                                           "",
		"":                                                                      "",
	} {
		if got := nodeName([]byte(command)); got != want {
			t.Errorf("nodeName(%q) = %q, want %q", command, got, want)
		}
	}
}

func TestPeakBytes(t *testing.T) {
	for status, want := range map[string]int64{
		"Name:\thanse\nVmPeak:\t  900 kB\nVmHWM:\t  227 kB\nVmRSS:\t  100 kB\n": 227 << 10,
		"VmHWM:\t  227 pages\n": 0,
		"VmHWM:":                0,
		"":                      0,
	} {
		if got := peakBytes([]byte(status)); got != want {
			t.Errorf("peakBytes(%q) = %d, want %d", status, got, want)
		}
	}
}

func TestSVMGamma(t *testing.T) {
	if got := (&benchmarkSet{sigma: 2}).svmGamma(); got != 0.125 {
		t.Errorf("gamma %v, want 1/8", got)
	}
	if got := (&benchmarkSet{sigma: 2, gamma: 0.25}).svmGamma(); got != 0.25 {
		t.Errorf("gamma %v, want the set's own", got)
	}
}

func TestMachine(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: AMD EPYC\n", "?"); got != "AMD EPYC" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("", "amd64"); got != "amd64" {
		t.Errorf("got %q", got)
	}
}
