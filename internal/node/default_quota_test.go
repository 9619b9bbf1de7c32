package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestADefaultQuotaStopsNothingThatIsOn: a node whose owner sets no quota begins nothing at the end of the default one,
// and what is under way writes on. The control is a quota of the owner's of the same size.
func TestADefaultQuotaStopsNothingThatIsOn(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	n := l.nodes[1]
	space, err := disk.Of(n.config.Dir)
	if err != nil {
		t.Skip(err)
	}
	s := n.Status().Folder
	if !s.Default || s.Quota < space.Free/20 || s.Quota > space.Total {
		t.Errorf("the default quota is %+v, %d bytes are free", s, space.Free)
	}
	if err := errors.Join(n.disk.free(), n.disk.write(1)); err != nil {
		t.Errorf("with room: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(n.config.Dir, "filler"), make([]byte, 1<<20), 0o600))
	l.stops[1]() // it looks at its quota now and then
	n.disk.quota = 1 << 20
	if err := n.disk.free(); !faults.WithCode(fault.CodeDisk)(err) || !strings.Contains(err.Error(),
		"without a quota of its owner's") {
		t.Errorf("what begins at the end of the default quota: %v", err)
	}
	if err := errors.Join(n.disk.write(1<<30), n.disk.reserve(1)); err != nil {
		t.Errorf("what is under way: %v", err)
	}
	n.disk.plain = false
	if err := n.disk.write(1); !faults.WithCode(fault.CodeDisk)(err) {
		t.Errorf("what is under way at the end of the owner's quota: %v", err)
	}
}

// TestAFolderThatIsLargeAlreadyHasSpace: a default quota never begins near its end, however full the disk is.
func TestAFolderThatIsLargeAlreadyHasSpace(t *testing.T) {
	d := newFolder(t.TempDir(), 0, nil)
	must(t, os.WriteFile(filepath.Join(d.dir, "large"), nil, 0o600))
	const size = 1 << 50 // in name alone: more than any disk has
	if err := os.Truncate(filepath.Join(d.dir, "large"), size); err != nil {
		t.Skip(err)
	}
	must(t, d.setDefault())
	if now, err := d.measure(); err != nil || now.Low() {
		t.Errorf("at its start the folder has %+v, %v", now, err)
	}
}
