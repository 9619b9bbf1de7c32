package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
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
				for child := range strings.FieldsSeq(string(text)) {
					command, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
					pid, err := strconv.Atoi(child)
					if name := nodeName(command); name != "" && err == nil {
						w.peaks[name] = max(w.peaks[name], localnet.PeakOf(pid))
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

// ResetPeak forgets this process's peak so far, and reports whether the system can.
func ResetPeak() bool { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil }

// nodeName returns whose node a process is, by the key file on its command line; "" if it is none.
func nodeName(command []byte) string {
	args := strings.Split(string(command), "\x00")
	i := slices.Index(args, "--key")
	if len(args) < 2 || args[1] != "node" || i < 0 || i+1 >= len(args) {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[i+1]), ".key")
}
