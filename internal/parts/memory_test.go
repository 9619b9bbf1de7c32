//go:build !race

package parts

import (
	"path/filepath"
	"runtime"
	"testing"
)

// TestMemory: no part is in memory a second time while it is written or read. Under the race detector buffers are not
// used again.
func TestMemory(t *testing.T) {
	m := filled(100_000, 20, 0, 0)
	path := filepath.Join(t.TempDir(), "part")
	const matrix, less = 16 << 20, 12 << 20
	for _, c := range []struct {
		name string
		do   func() error
		most uint64
	}{
		{"save", func() error { _, err := saveRows(path, m, 0, m.Rows); return err }, less},
		{"check", func() error { _, _, err := check(path); return err }, less},
		{"Read", func() error { _, _, err := Read(path, StandardLimits()); return err }, matrix + less},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(t, c.do())
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > c.most {
			t.Errorf("%s takes %d bytes, want %d at most", c.name, n, c.most)
		}
	}
}
