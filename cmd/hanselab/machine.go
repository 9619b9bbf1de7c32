package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine says what the figures were measured on and how busy it was, as far as the system tells.
func machine() string {
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		cpu = cpuModel(string(text), cpu)
	}
	s := fmt.Sprintf("%d cores, %s, %s %s", runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version())
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, _, ok := strings.Cut(string(text), " "); ok {
			s += ", load at the start " + load
		}
	}
	return s
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
