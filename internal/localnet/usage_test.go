package localnet

import "testing"

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
