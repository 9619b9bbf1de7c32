package wording

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 9999: "9999 B", 10_000: "10.0 kB", 75_022_336: "75.0 MB",
		12_345_678_901: "12.3 GB"} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min",
		59*time.Minute + 59*time.Second: "59 min", 47*time.Hour + 59*time.Minute: "47 h", 48 * time.Hour: "2 d",
		-1 << 63: "0 s"} {
		if got := Age(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
