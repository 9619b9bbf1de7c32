package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hanse-project/hanse/internal/doctor"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// TestDoctorFullDisk: the node's folder is a file system of one megabyte.
func TestDoctorFullDisk(t *testing.T) {
	w := newWard(t)
	dir := filepath.Join(w.dir, "node")
	must(t, os.Mkdir(dir, 0o700))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		needs.Missing(t, "this machine lets the test mount nothing: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	diagnosed(t, w.examine(w.bank, w.charter(1)), "", doctor.CheckDisk, []string{"is on a disk that is full", dir},
		[]string{"make space", "--dir"})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the doctor leaves %v, %v", left, err)
	}
}
