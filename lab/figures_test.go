package lab

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	for _, b := range []float64{0, 0.5, 1, 2} {
		sizes := []float64{3, 4, 8, 16}
		seconds := Each(sizes, func(size float64) float64 { return 0.01 * math.Pow(size, b) })
		if got := Exponent(sizes, seconds); math.Abs(got-b) > 1e-9 {
			t.Errorf("exponent %v, want %v", got, b)
		}
	}
}

func TestMedianAndSpread(t *testing.T) {
	if got := Median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median %v, want 2", got)
	}
	if got := Median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Errorf("median %v, want 2.5", got)
	}
	if got := Spread([]float64{1, 2, 3}); got != (Measured{2, 1}) {
		t.Errorf("spread %v, want mean 2 and deviation 1", got)
	}
	if got := Spread([]float64{7}); got != (Measured{7, 0}) {
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

func TestMachine(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: AMD EPYC\n", "?"); got != "AMD EPYC" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("", "amd64"); got != "amd64" {
		t.Errorf("got %q", got)
	}
}
