package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/disk"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// From which parts of the quota on the owner is warned, and nothing begins any more: a session that began in what is
// left would break at once, and again.
const (
	warnPercent = 80
	fullPercent = 99
)

// Disk is what a node's folder holds, against its quota.
type Disk struct {
	Used    int64 `json:"used"`            // bytes
	Quota   int64 `json:"quota,omitempty"` // bytes; 0: there is none
	Percent int   `json:"percent,omitempty"`
	Default bool  `json:"default,omitempty"` // its owner set none: it stops no session that is on
}

// Low reports whether the owner should make room.
func (d *Disk) Low() bool { return d.Quota > 0 && d.Percent >= warnPercent }

// String says it for people.
func (d *Disk) String() string {
	of := "its quota of " + wording.Size(d.Quota)
	if d.Default {
		of = "the " + wording.Size(d.Quota) + " that it may have without a quota of its owner's"
	}
	return fmt.Sprintf("the node's folder has %s of %s (%d %%)", wording.Size(d.Used), of, d.Percent)
}

// folder measures a node's folder, and holds it to its quota. Between two measurements what transcripts and their
// payloads take is added up; other states are counted when it is measured next, so that the folder may exceed its
// quota by what sessions save of those within measureEvery.
type folder struct {
	dir   string
	quota int64 // bytes; 0: there is none
	plain bool  // the quota is the default one: what is under way goes on
	log   *slog.Logger
	own   os.FileInfo            // the folder as it was when the node started
	try   func(dir string) error // tries whether a file can be written there

	mu     sync.Mutex
	used   int64
	warned bool
}

// newFolder is a node's folder, of which its owner wants at most so many bytes; 0: the default.
func newFolder(dir string, quota int64, log *slog.Logger) *folder {
	return &folder{dir: dir, quota: quota, log: log, try: tryWrite}
}

// lookEvery is how often a node looks whether its folder is still its own.
const lookEvery = 5 * time.Second

// ErrMoved is inside the error of a node whose folder was moved or replaced. It must not be started again by itself: in
// an empty folder it has no jobs, and its ledger, which bounds what jobs may tell, begins anew.
var ErrMoved = errors.New("is not the one any more that it was started with")

// watch returns an error when the folder is not the node's own any more, with ErrMoved; nil when ctx ends.
func (d *folder) watch(ctx context.Context, every time.Duration) error {
	for pause(ctx, every) == nil {
		if err := d.moved(); err != nil {
			return err
		}
	}
	return nil
}

// moved returns an error with ErrMoved where the folder is not the node's own any more.
func (d *folder) moved() error {
	now, err := os.Stat(d.dir)
	if err == nil && os.SameFile(now, d.own) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // what cannot be looked at may come right
	}
	return fmt.Errorf("the node stops: its folder %s %w, as where it was moved or replaced; put it back, and start the "+
		"node again", d.dir, ErrMoved)
}

// Moved returns an error with ErrMoved where the node's folder is not its own any more.
func (n *sessions) Moved() error { return n.disk.moved() }

// tryWrite writes a file into a folder, and deletes it.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, "look.*.tmp") // a crash leaves it to be swept up
	if err != nil {
		return err
	}
	_, err = f.WriteString("a node looks whether it can write\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// trouble says why nothing can be written into the folder; empty where it can.
func (d *folder) trouble() string {
	if err := d.try(d.dir); err != nil {
		return err.Error()
	}
	return ""
}

// setDefault works out the default quota: a tenth of the room that the file system has for the folder, or a third more
// than the folder holds now, whichever is more. Where the system does not say, there is none.
func (d *folder) setDefault() error {
	space, err := disk.Of(d.dir)
	if d.quota > 0 || err != nil {
		return nil
	}
	used, err := sizeOf(d.dir)
	if err != nil {
		return err
	}
	d.quota, d.plain = max((space.Free+used)/10, used+used/3), true
	return nil
}

// measure adds up the folder's files. It warns once when the quota comes near, and anew after there was room again.
func (d *folder) measure() (Disk, error) {
	used, err := sizeOf(d.dir)
	if err != nil {
		return Disk{}, err
	}
	d.mu.Lock()
	d.used = used
	now := d.state()
	warn := now.Low() && !d.warned
	d.warned = now.Low()
	d.mu.Unlock()
	if warn {
		d.log.Warn("the disk quota comes near: at its end no job begins or goes on; hanse remove JOB makes room",
			"used", wording.Size(now.Used), "quota", wording.Size(now.Quota), "percent", now.Percent)
	}
	return now, nil
}

// state is what is known of the folder. d.mu is held.
func (d *folder) state() Disk {
	s := Disk{Used: d.used, Quota: d.quota, Default: d.plain}
	if d.quota > 0 {
		s.Percent = int(100 * float64(d.used) / float64(d.quota))
	}
	return s
}

// free refuses to begin anything when the quota is used up. It measures first: what its owner has deleted counts.
func (d *folder) free() error {
	if d.quota == 0 {
		return nil
	}
	now, err := d.measure()
	if err == nil && now.Percent >= fullPercent {
		err = fullError(now)
	}
	return err
}

// write counts bytes that are to be written, and refuses them when there is no room for them.
func (d *folder) write(bytes int64) error {
	if d.quota == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used+bytes > d.quota && !d.plain {
		return fullError(d.state())
	}
	d.used += bytes
	return nil
}

// reserve counts the bytes of a file that is to be written, and refuses it where the file system or the quota has no
// room for the whole.
func (d *folder) reserve(bytes int64) error {
	if space, err := disk.Of(d.dir); err == nil && space.Free < bytes { // an error: not known
		return faults.Errorf(fault.CodeDisk, "a file of %s does not fit into %s, where %s are free: make room, and the job "+
			"goes on", wording.Size(bytes), d.dir, wording.Size(space.Free))
	}
	if err := d.write(bytes); err != nil {
		return fmt.Errorf("a file of %s does not fit: %w", wording.Size(bytes), err)
	}
	return nil
}

// fullError says that the quota is used up. It pauses a job, which goes on when there is room.
func fullError(d Disk) error {
	return faults.Errorf(fault.CodeDisk, "%s: remove a job that has ended (hanse remove JOB), or start the node with a "+
		"larger quota, and what waits goes on", d.String())
}

// metered counts what a session's transcript takes.
type metered struct {
	protocol.Recorder
	disk *folder
	full bool // payloads are kept
}

// Record implements protocol.Recorder.
func (m metered) Record(e protocol.Entry, payload []byte) error {
	bytes := int64(transcript.BlockSize)
	if m.full {
		bytes += int64(len(payload))
	}
	if err := m.disk.write(bytes); err != nil {
		return err
	}
	return m.Recorder.Record(e, payload)
}

// known is what is known of the folder without measuring it.
func (d *folder) known() Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

// Disk measures the node's folder.
func (n *sessions) Disk() (Disk, error) { return n.disk.measure() }
