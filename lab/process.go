package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watchEvery is the time between two looks at the nodes' memory. The system keeps the peak, so
// only what a node takes in its last moments can be missed.
const watchEvery = 20 * time.Millisecond

// watcher follows the node processes that a demo starts. Where there is no /proc it sees nothing.
type watcher struct {
	parent int
	peaks  map[string]int64
	quit   chan struct{}
	done   chan struct{}
}

// watchNodes starts to follow the children of a process.
func watchNodes(parent int) *watcher {
	w := &watcher{parent: parent, peaks: make(map[string]int64), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// run looks until it is stopped.
func (w *watcher) run() {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
			lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.parent))
			for _, list := range lists {
				text, _ := os.ReadFile(list)
				for pid := range strings.FieldsSeq(string(text)) {
					command, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
					if name := nodeName(command); name != "" {
						w.peaks[name] = max(w.peaks[name], peakOf(pid))
					}
				}
			}
		}
	}
}

// stop ends the watch and returns the peak resident bytes by party.
func (w *watcher) stop() map[string]int64 {
	close(w.quit)
	<-w.done
	return w.peaks
}

// PeakOf returns the peak resident bytes of a process; 0 where the system does not tell.
func PeakOf(pid int) int64 { return peakOf(strconv.Itoa(pid)) }

// ResetPeak forgets this process's peak so far, and reports whether the system can.
func ResetPeak() bool { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil }

func peakOf(pid string) int64 {
	status, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	return peakBytes(status)
}

// nodeName returns whose node a process is, by the key file on its command line; "" if it is none.
func nodeName(command []byte) string {
	args := strings.Split(string(command), "\x00")
	i := slices.Index(args, "--key")
	if len(args) < 2 || args[1] != "node" || i < 0 || i+1 >= len(args) {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[i+1]), ".key")
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

// CPUOf returns the processor seconds that a process has taken, 0 where the system does not tell. What the system
// writes to the disk later, in its own time, is not in it.
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
