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

func TestMachine(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: AMD EPYC\n", "?"); got != "AMD EPYC" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("", "amd64"); got != "amd64" {
		t.Errorf("got %q", got)
	}
}

func TestProcessorSecondsOfAnyName(t *testing.T) {
	const times = " S 1 2 3 4 5 6 7 8 9 10 150 25 0 0"
	for stat, want := range map[string]float64{
		"17 (hanselab)" + times: 1.75, "17 (a) S 9 (b)" + times: 1.75, "17 (hanselab) S 1 2": 0, "": 0,
		"17 (hanselab) S 1 2 3 4 5 6 7 8 9 10 x 25": 0, "17 (hanselab) S 1 2 3 4 5 6 7 8 9 10 25 -1": 0,
	} {
		if got := cpuSeconds(stat); got != want {
			t.Errorf("cpuSeconds(%q) = %v, want %v", stat, got, want)
		}
	}
}
