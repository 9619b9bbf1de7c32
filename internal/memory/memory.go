// Package memory says how much memory this program may take: the machine's, less where a control group or Go's own
// limit leaves less.
package memory

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// Limit returns the most bytes of memory that this program may take: the lowest of what the machine has, what the
// control groups above it allow, and GOMEMLIMIT. 0: nobody knows.
func Limit() int64 {
	return lowest(limitIn("/"), machine(), goLimit())
}

// lowest is the smallest of the limits that are known, 0 where none is.
func lowest(limits ...int64) (low int64) {
	for _, n := range limits {
		if n > 0 && (low == 0 || n < low) {
			low = n
		}
	}
	return low
}

// goLimit is GOMEMLIMIT, 0 where it is not set.
func goLimit() int64 {
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64 {
		return n
	}
	return 0
}

// unlimited is from which number of bytes on a limit of a control group is none: version 1 writes a number near 2^63.
const unlimited = 1 << 60

// limitIn is the lowest limit that the files of a Linux below root know, 0 where there are none.
func limitIn(root string) int64 {
	low := lowest(memTotal(filepath.Join(root, "proc/meminfo")))
	f, err := os.Open(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return low
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); { // number:controllers:path
		part := strings.SplitN(lines.Text(), ":", 3)
		if len(part) < 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		if part[1] != "" {
			if !strings.Contains(","+part[1]+",", ",memory,") {
				continue
			}
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A limit holds for all below it. In a container the path may be one of the host's, and its own is the root.
		for path := filepath.Join("/", part[2]); ; path = filepath.Dir(path) {
			low = lowest(low, number(filepath.Join(root, base, path, file)))
			if path == "/" {
				break
			}
		}
	}
	return low
}

// number reads a limit; 0: there is none, such as "max".
func number(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= unlimited {
		return 0
	}
	return n
}

// memTotal reads the line MemTotal of /proc/meminfo, which is in KiB.
func memTotal(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(words[1], 10, 53) // not known where it is no number
			return n << 10
		}
	}
	return 0
}
