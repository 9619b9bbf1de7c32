package main

import (
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of processor times in /proc, the same on every Linux.
const ticksPerSecond = 100

// ownCPU returns the processor seconds that this process has taken, 0 where the system does not tell.
// What the system writes to the disk later, in its own time, is not in it.
func ownCPU() float64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	return cpuSeconds(string(text))
}

// cpuSeconds adds user and system time, the 14th and 15th field of /proc/PID/stat; 0 if they are not
// there. The second field is the program's name in brackets and may hold anything.
func cpuSeconds(stat string) float64 {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseUint(fields[11], 10, 64)
	if err != nil {
		return 0
	}
	system, err := strconv.ParseUint(fields[12], 10, 64)
	if err != nil {
		return 0
	}
	return float64(user+system) / ticksPerSecond
}
