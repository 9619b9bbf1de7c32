package localnet

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakOf returns the peak resident bytes of a process that runs; 0 where the system does not tell.
func PeakOf(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return peakBytes(status)
}

// peakBytes reads VmHWM from the text of /proc/PID/status; 0 if it is not there.
func peakBytes(status []byte) int64 {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !ok {
			continue
		}
		fields := strings.Fields(string(rest))
		if len(fields) != 2 || fields[1] != "kB" {
			return 0
		}
		n, _ := strconv.ParseInt(fields[0], 10, 64)
		return n << 10
	}
	return 0
}

// ticksPerSecond is the unit of processor times in /proc, the same on every Linux.
const ticksPerSecond = 100

// CPUOf returns the processor seconds that a process which runs has taken, 0 where the system does not tell. What the
// system writes to the disk later, in its own time, is not in it.
func CPUOf(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return cpuSeconds(string(text))
}

// cpuSeconds adds user and system time, the 14th and 15th field of /proc/PID/stat; 0 if they are not there. The
// second field is the program's name in brackets and may hold anything.
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
