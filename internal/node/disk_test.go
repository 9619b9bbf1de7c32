package node

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
)

// awaitGone returns when a file or folder of a job is not there any more.
func (l *testNetwork) awaitGone(i int, h keys.Hash, name string) {
	l.t.Helper()
	ctx := minute(l.t)
	for {
		if _, err := os.Stat(l.jobFile(i, h, name)); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			l.t.Fatalf("%s still has %s", l.names[i], name)
		}
	}
}

// awaitPause returns when a job is paused at a party for a reason.
func (l *testNetwork) awaitPause(ctx context.Context, i int, h keys.Hash, want string) {
	l.t.Helper()
	for {
		s, _ := l.nodes[i].job(h)
		r := s.Record()
		if r.State == job.Paused && strings.Contains(r.Reason, want) {
			return
		}
		if pause(ctx, 5*time.Millisecond) != nil {
			l.t.Fatalf("%s: %+v, want it paused: %s", l.names[i], r, want)
		}
	}
}

// TestPayloadsAreKeptAsLongAsThePolicySays, by the node's clock, while it runs and when it starts; not those of a job
// that has not ended. An audit verifies what stays.
func TestPayloadsAreKeptAsLongAsThePolicySays(t *testing.T) {
	l := newTestNetwork(t, 4, 40)
	l.policy.KeepPayloads = "30d"
	noon := time.Now()
	var days atomic.Int64
	l.now = func() time.Time { return noon.AddDate(0, 0, int(days.Load())) }
	l.startAll()
	_, ended, err := l.propose(l.job("train", "record = \"full\"", activeBank+"features = 8"))
	must(t, err)
	l.awaitDone(minute(t), ended)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := l.nodes[0].Prepare(ctx, l.job("train", "record = \"full\"\nexpires = \"2000h\"", activeBank+"features = 8"),
		nil)
	must(t, err)
	open := c.Hash() // it waits for its launch
	must(t, os.Mkdir(l.jobFile(0, open, PayloadFolder), 0o700))
	ofShard := filepath.Join(shards.Path(1, 2), shards.PayloadFolder)
	for i := range l.names {
		must(t, os.MkdirAll(l.jobFile(i, ended, ofShard), 0o700))
	}
	days.Store(29)
	must(t, errors.Join(l.nodes[0].tidy(), l.nodes[1].tidy()))
	for i := range l.names {
		for _, folder := range []string{PayloadFolder, ofShard} {
			if _, err := os.Stat(l.jobFile(i, ended, folder)); err != nil {
				t.Errorf("after 29 days: %v", err)
			}
		}
	}
	l.stops[1]()
	days.Store(31)
	l.awaitGone(0, ended, PayloadFolder) // once a day
	if _, err := os.Stat(l.jobFile(1, ended, PayloadFolder)); err != nil {
		t.Errorf("a node that does not run has deleted something: %v", err)
	}
	l.start(1)
	l.awaitGone(1, ended, PayloadFolder) // at the start
	if err := l.nodes[0].tidy(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(l.jobFile(0, open, PayloadFolder)); err != nil {
		t.Errorf("the payloads of a job that is open are gone: %v", err)
	}
	for i := range l.names {
		l.awaitGone(i, ended, PayloadFolder)
		l.awaitGone(i, ended, ofShard)
	}
	r := l.audit(ended)
	said := strings.Contains(strings.Join(r.NotLookedAt, " "), "Bank, payloads: the payloads that the transcript says were "+
		"kept are not beside it")
	if r.Exit != audit.ExitPartial || !said {
		t.Errorf("the audit ends with %s, %d: %s %q", r.Verdict, r.Exit, r.Summary, r.NotLookedAt)
	}
}

// TestADeletionThatWasCutShort leaves all payloads or none.
func TestADeletionThatWasCutShort(t *testing.T) {
	l := newTestNetwork(t, 3, 40)
	l.startAll()
	_, h, err := l.propose(l.job("train", "record = \"full\"",
		"active = [\"bank\"]\nlabel = \"y\"\nfeatures = 8\nseed = \"s\""))
	must(t, err)
	folder := l.jobFile(0, h, PayloadFolder)
	l.restart(0, h, func(string) {
		must(t, os.Rename(folder, folder+".tmp"))
	})
	if _, err := os.Stat(folder + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was to be deleted is there after a start: %v", err)
	}
}

// TestTheOwnerIsWarnedBeforeTheWall, once each time that the quota comes near.
func TestTheOwnerIsWarnedBeforeTheWall(t *testing.T) {
	var out bytes.Buffer
	d := &folder{dir: t.TempDir(), quota: 1000, log: slog.New(slog.NewTextHandler(&out, nil))}
	fill := func(bytes, warnings int, refused bool) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(d.dir, "file"), make([]byte, bytes), 0o600))
		err := d.free()
		if (err != nil) != refused {
			t.Errorf("with %d bytes: %v", bytes, err)
		}
		if got := strings.Count(out.String(), "the disk quota comes near"); got != warnings {
			t.Errorf("with %d bytes there were %d warnings, want %d", bytes, got, warnings)
		}
	}
	fill(790, 0, false)
	fill(800, 1, false)
	fill(989, 1, false)
	if err := d.write(11); err != nil {
		t.Error(err)
	}
	if err := d.write(1); err == nil {
		t.Error("more is written than there is room for")
	}
	fill(990, 1, true)
	fill(10, 1, false)
	fill(900, 2, false)
	d.quota = 0
	if d.free() != nil || d.write(1<<40) != nil {
		t.Error("without a quota something is refused")
	}
}

// TestAFileThatDoesNotFitIsRefused before a byte of it is written, by the file system's room and by the quota.
func TestAFileThatDoesNotFitIsRefused(t *testing.T) {
	d := &folder{dir: t.TempDir()}
	if err := d.reserve(1 << 60); err == nil || !strings.HasPrefix(err.Error(), "a file of 1152921504.6 GB does not fit into "+
		d.dir+", where ") {
		t.Errorf("error is %v", err)
	}
	if err := d.reserve(1000); err != nil {
		t.Error(err)
	}
	d.quota = 1500
	if err := d.reserve(1000); err != nil || d.used != 1000 {
		t.Errorf("%d bytes are used, %v", d.used, err)
	}
	if err := d.reserve(1000); err == nil || !strings.HasPrefix(err.Error(), "a file of 1000 B does not fit: the node's "+
		"folder has 1000 B of its quota of 1500 B (66 %): remove a job that has ended (hanse remove JOB)") {
		t.Errorf("error is %v", err)
	}
}

// TestAJobAtTheWallGoesOnWhenThereIsSpace: it pauses with a code, at all parties; new jobs are refused, and what has
// ended can be removed.
func TestAJobAtTheWallGoesOnWhenThereIsSpace(t *testing.T) {
	l := newTestNetwork(t, 4, 4000)
	told := make(chan struct{}, 1) // the insurer, that the bank has left: it may begin the next session at once
	l.watch(1, func(e jobs.Event) {
		if strings.HasPrefix(e.Text, "paused: ") && strings.Contains(e.Text, "bank: ") {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	})
	l.startAll()
	old, err := l.nodes[0].Prepare(minute(t), l.job("train", "", activeBank+"features = 8"), nil)
	must(t, err)
	must(t, l.nodes[0].Cancel(old.Hash(), "another comes"))
	const left = 150_000
	now, err := l.nodes[0].Disk()
	must(t, err)
	filler := filepath.Join(l.nodes[0].config.Dir, "filler")
	must(t, os.WriteFile(filler, make([]byte, 8<<20), 0o600))
	l.quotas = map[int]int64{0: now.Used + 8<<20 + left}
	l.restart(0, old.Hash(), nil)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text := l.job("train", "record = \"full\"", activeBank+"loss = \"square\"\nfeatures = 64")
	c, err := l.nodes[0].Prepare(ctx, text, nil)
	must(t, err)
	ended := l.launched(ctx, 0, c.Hash())
	l.awaitPause(ctx, 0, c.Hash(), "of its quota of ")
	select {
	case <-told:
	case <-ctx.Done():
		t.Fatal("the insurer has not heard that the bank left")
	}
	if now, err := l.nodes[0].Disk(); err != nil || now.Used > now.Quota+left {
		t.Errorf("the folder has %+v, %v", now, err)
	}
	// At the wall: nothing new, and nothing of others.
	must(t, os.WriteFile(filler, make([]byte, 8<<20+left), 0o600))
	if _, err := l.nodes[0].Prepare(ctx, text, nil); err == nil || !strings.Contains(err.Error(), "hanse remove JOB") {
		t.Errorf("a new job at the wall: %v", err)
	}
	if _, err := l.nodes[1].Prepare(ctx, text, nil); err == nil || !strings.Contains(err.Error(), "bank: ") ||
		strings.Contains(err.Error(), "quota") {
		t.Errorf("another's new job at the wall: %v", err)
	}
	l.mustRemove(0, old.Hash())
	must(t, os.Remove(filler))
	must(t, <-ended)
	if l.sessions(c.Hash()) < 2 {
		t.Error("the job never came to the wall")
	}
}

// TestANodeWhoseFolderIsAnothersStops: its owner moves the folder away, or puts another in its place, while it runs.
func TestANodeWhoseFolderIsAnothersStops(t *testing.T) {
	for name, put := range map[string]func(dir string) error{
		"moved":    func(string) error { return nil },
		"replaced": func(dir string) error { return os.Mkdir(dir, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newFolder(filepath.Join(t.TempDir(), "node"), 0, slog.New(slog.DiscardHandler))
			must(t, os.Mkdir(d.dir, 0o700))
			var err error
			if d.own, err = os.Stat(d.dir); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.dir, "grows"), nil, 0o600); err != nil { // which is no other folder
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := d.watch(ctx, time.Millisecond); err != nil {
				t.Fatalf("its own folder: %v", err)
			}
			must(t, errors.Join(os.Rename(d.dir, d.dir+".old"), put(d.dir)))
			err = d.watch(t.Context(), time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "is not the one any more that it was started with") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAFolderThatCannotBeWrittenIsAnAlert at the node whose folder it is.
func TestAFolderThatCannotBeWrittenIsAnAlert(t *testing.T) {
	l := newTestNetwork(t, 3, 10)
	l.start(0)
	n := l.nodes[0]
	if s := n.Status(); s.Unwritable != "" {
		t.Fatalf("%q", s.Unwritable)
	}
	n.disk.try = func(dir string) error { return &fs.PathError{Op: "open", Path: dir, Err: syscall.EROFS} }
	s := n.Status()
	if len(s.Alerts) == 0 || s.Alerts[0].Code != CodeDisk || s.Alerts[0].Level != AlertCritical ||
		!strings.Contains(s.Alerts[0].Text, "nothing can be written") ||
		!strings.Contains(s.Alerts[0].Text, "read-only file system") {
		t.Errorf("alerts are %+v", s.Alerts)
	}
}
