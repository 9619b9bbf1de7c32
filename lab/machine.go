package lab

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/hanse-project/hanse/secagg/ring"
)

// Machine says what the figures were measured on and how busy it was, as far as the system tells.
func Machine() string {
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		cpu = cpuModel(string(text), cpu)
	}
	s := fmt.Sprintf("%d cores, %s, %s %s, sums by %s", runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version(),
		ring.Instructions())
	if load := loadText(); load != "" {
		s += ", load at the start " + load
	}
	return s
}

// Load returns the machine's load, 0 where the system does not tell.
func Load() (load float64) {
	fmt.Sscan(loadText(), &load)
	return load
}

// loadText is the load of the last minute; empty where the system does not tell.
func loadText() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// cpuModel finds the first model name in the text of /proc/cpuinfo.
func cpuModel(text, unknown string) string {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}
