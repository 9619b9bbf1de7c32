package memory

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// TestTheLowestLimitHolds, of the machine and all control groups above a program, of both versions.
func TestTheLowestLimitHolds(t *testing.T) {
	meminfo := "MemFree: 5 kB\nMemTotal:    4000000 kB\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no Linux", nil, 0},
		{"the machine's", map[string]string{"proc/meminfo": meminfo}, 4000000 << 10},
		{"version 2", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/hanse.service\n",
			"sys/fs/cgroup/system.slice/hanse.service/memory.max": "272629760\n"}, 272629760},
		{"version 2, above", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000\n"}, 1000},
		{"version 2, none", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n"}, 4000000 << 10},
		{"version 1", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/x\n4:cpu,memory:/docker/1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1"}, 2000},
		{"version 1, none", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4000000 << 10},
		{"more than the machine", map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "9000000000000\n"}, 4000000 << 10},
		{"rubbish", map[string]string{"proc/meminfo": "MemTotal: much\n", "proc/self/cgroup": "0\n\n::\n"}, 0},
	} {
		root := t.TempDir()
		for name, text := range tc.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := limitIn(root); got != tc.want {
			t.Errorf("%s: the limit is %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestGosLimitHolds where it is set, and where it is not there is none.
func TestGosLimitHolds(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(1 << 30)
	if got := Limit(); got < 1 || got > 1<<30 {
		t.Errorf("with GOMEMLIMIT=1GiB the limit is %d", got)
	}
	debug.SetMemoryLimit(1<<63 - 1)
	if got := goLimit(); got != 0 {
		t.Errorf("without GOMEMLIMIT the limit is %d", got)
	}
}
