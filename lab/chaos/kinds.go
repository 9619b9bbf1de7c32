package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// kind is a kind of trial.
type kind struct {
	name       string
	about      string         // for people
	scenes     []string       // of which one is drawn
	lasting    bool           // the fault may leave a degraded result
	cause      *regexp.Regexp // what those who wait must name besides; nil: nothing
	standing   bool           // the fault is there from the start
	prediction bool           // the job under test is a prediction
	either     bool           // the job under test is drawn: the training, or a prediction with a fault before it
	byHand     bool           // nodes have no policy, jobs are approved by hand
	unable     func(ctx context.Context, l *lab) error
	prepare    func(ctx context.Context, a *attempt) error // before nodes start
	strike     func(ctx context.Context, a *attempt) error // at the moment; the fault is over when it returns
}

// kinds lists all kinds of trials.
func kinds() []*kind {
	columns := []string{sceneSealed, sceneMasked, scenePublished}
	mixed := []string{sceneSealed, sceneMasked, scenePOFMKL}
	clients := []string{scenePOFMKL, sceneGFML}
	return []*kind{
		{name: "control", about: "no fault at all: trials that fail speak against this machine, or the trials",
			scenes: append(columns, clients...), strike: nothing},
		{name: "kill-sealed", about: "a node is killed during a sealed training and started again",
			scenes: []string{sceneSealed}, strike: killAndRestart},
		{name: "kill-masked", about: "the same of a masked one", scenes: []string{sceneMasked}, strike: killAndRestart},
		{name: "kill-published", about: "the same of a published one",
			scenes: []string{scenePublished}, strike: killAndRestart},
		{name: "kill-predict", about: "the same of a prediction", scenes: columns, prediction: true, strike: killAndRestart},
		{name: "kill-consent", about: "a node without a policy is killed between proposal and consent",
			scenes: []string{sceneMasked, sceneSealed}, byHand: true, strike: killUnapproved},
		{name: "kill-clients", about: "a client or server is killed in a job over clients",
			scenes: clients, strike: killAndRestart},
		{name: "stop", about: "a node is stopped for a while, and goes on",
			scenes: mixed, unable: unableToStop, strike: stopAWhile},
		{name: "cut", about: "lines between nodes are cut, or hold everything back, for a while",
			scenes: mixed, prepare: relayAll, strike: cutAWhile},
		{name: "disk", about: "a node's disk is full for a while",
			scenes: mixed, lasting: true, cause: diskCause, unable: unableToMount, prepare: mountDisk, strike: fillAWhile},
		{name: "descriptors", about: "a node may open no more files for a while",
			scenes: mixed, lasting: true, cause: filesCause, unable: unableToLimit, strike: limitAWhile},
		{name: "clock", about: "a node's clock is a day or a month off", scenes: mixed,
			lasting: true, cause: clockCause, standing: true, unable: unableToShift, prepare: shiftClock, strike: nothing},
		{name: "rot", about: "a node is killed, and one of its files is damaged before it starts again",
			scenes: append(columns, clients...), lasting: true, cause: rotCause, either: true,
			prepare: addProposal, strike: rot},
	}
}

// Words that lead to a fault.
var (
	diskCause  = regexp.MustCompile(`(?i)\bspace\b|\bdisk\b`)
	filesCause = regexp.MustCompile(`(?i)open files|descriptor`)
	clockCause = regexp.MustCompile(`(?i)\bclocks?\b|not yet valid|expired`)
	rotCause   = regexp.MustCompile(`(?i)damage|corrupt|unreadable|checksum|cut short|does not fit|cannot be read|` +
		`\w\.(toml|hanse|json|csv)\b`)
)

// Kinds lists the kinds of trials and what each does, in the order in which they run.
func Kinds() [][2]string {
	var list [][2]string
	for _, k := range kinds() {
		list = append(list, [2]string{k.name, k.about})
	}
	return list
}

// chosen returns the kinds of these names, all for none.
func chosen(names []string) ([]*kind, error) {
	if len(names) == 0 {
		return kinds(), nil
	}
	var list []*kind
	var known []string
	for _, k := range kinds() {
		known = append(known, k.name)
	}
	for _, name := range names {
		before := len(list)
		for _, k := range kinds() {
			if k.name == name {
				list = append(list, k)
			}
		}
		if len(list) == before {
			return nil, fmt.Errorf("there is no kind %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return list, nil
}

// nothing strikes nobody: the fault was there before.
func nothing(context.Context, *attempt) error { return nil }

// killAndRestart kills the victim's node and starts it again after a while.
func killAndRestart(ctx context.Context, a *attempt) error {
	away := time.Duration(a.draw.Int64N(int64(2 * time.Second)))
	a.fault = fmt.Sprintf("killed, started again after %.1f s", away.Seconds())
	a.kill()
	if err := pause(ctx, away); err != nil {
		return err
	}
	return a.fed.start(ctx, a.victim)
}

// graceTime is how long nobody approves at a node that was killed and has started again.
const graceTime = 1500 * time.Millisecond

// killUnapproved kills the victim's node before anybody there has approved, and starts it again.
func killUnapproved(ctx context.Context, a *attempt) error {
	if err := killAndRestart(ctx, a); err != nil {
		return err
	}
	if err := pause(ctx, graceTime); err != nil {
		return err
	}
	a.approver.allow()
	return nil
}

// drawWhile draws how long a fault lasts, between two bounds and more often near the lower one.
func (a *attempt) drawWhile(least, most time.Duration) time.Duration {
	x := a.draw.Float64()
	return least + time.Duration(x*x*x*float64(most-least))
}

// Bounds of how long a node is stopped.
const (
	stopLeast = 2 * time.Second
	stopMost  = 30 * time.Second
)

// stopAWhile stops the victim's process and lets it go on.
func stopAWhile(ctx context.Context, a *attempt) error {
	d := a.drawWhile(stopLeast, stopMost)
	a.fault = fmt.Sprintf("stopped for %.1f s", d.Seconds())
	p := a.fed.Node(a.victim)
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	resume := func() { p.Signal(syscall.SIGCONT) }
	a.finish = append(a.finish, resume)
	defer resume()
	return pause(ctx, d)
}

// Sizes of the disk of a node, and for how long it is full.
const (
	diskSize   = 96 << 20
	fullMost   = 6 * time.Second
	fullLeast  = 500 * time.Millisecond
	fillerName = "filler"
)

// mountDisk gives the victim's node a small disk of its own.
func mountDisk(_ context.Context, a *attempt) error {
	dir := a.fed.NodeDir(a.victim)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := mountMemory(dir, diskSize); err != nil {
		return err
	}
	a.mounted = dir
	return nil
}

// keepMounted takes a disk away and leaves what was on it in its place.
func keepMounted(dir string) error {
	files, err := stateFiles(dir)
	if err != nil {
		return errors.Join(err, unmount(dir))
	}
	texts := make(map[string][]byte)
	for _, path := range files {
		text, e := os.ReadFile(path)
		texts[path], err = text, errors.Join(err, e)
	}
	err = errors.Join(err, unmount(dir))
	for path, text := range texts {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
	}
	return err
}

// fillAWhile fills the victim's disk to the last byte and makes room again.
func fillAWhile(ctx context.Context, a *attempt) error {
	d := a.drawWhile(fullLeast, fullMost)
	path := filepath.Join(a.fed.NodeDir(a.victim), fillerName)
	n, err := fill(path)
	a.fault = fmt.Sprintf("disk full for %.1f s, by %d bytes", d.Seconds(), n)
	if err != nil {
		return err
	}
	free := func() { os.Remove(path) }
	a.finish = append(a.finish, free)
	defer free()
	return pause(ctx, d)
}

// fill writes a file until its disk is full, and returns how long it has become.
func fill(path string) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n int64
	for size := 1 << 20; size > 0; {
		written, err := f.Write(make([]byte, size))
		n += int64(written)
		if err != nil {
			if size /= 2; !errors.Is(err, syscall.ENOSPC) {
				return n, err
			}
		}
	}
	return n, nil
}

// limitAWhile lets the victim's process open hardly any more files, and then as many as before.
func limitAWhile(ctx context.Context, a *attempt) error {
	pid := a.fed.Node(a.victim).Pid()
	open, err := openFiles(pid)
	if err != nil {
		return err
	}
	spare, d := a.draw.IntN(3), a.drawWhile(fullLeast, fullMost)
	a.fault = fmt.Sprintf("%d files open and %d more allowed for %.1f s", open, spare, d.Seconds())
	before, err := limitFiles(pid, uint64(open+spare))
	if err != nil {
		return err
	}
	lift := func() { limitFiles(pid, before) }
	a.finish = append(a.finish, lift)
	defer lift()
	return pause(ctx, d)
}

// rot kills the victim's node, damages one of its files and starts it again.
func rot(ctx context.Context, a *attempt) error {
	a.kill()
	if a.copies != nil {
		a.copies.take()
	}
	dir := a.fed.NodeDir(a.victim)
	path, err := victimFile(dir, a.draw)
	if err != nil {
		return err
	}
	var older [][]byte
	if a.copies != nil {
		older = a.copies.before(path)
	}
	ways := damages()
	said, err := damage(path, ways[a.draw.IntN(len(ways))], older, a.draw)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	a.fault = fmt.Sprintf("%s: %s", longHash.ReplaceAllString(name, "$1"), said)
	log, err := os.Stat(a.fed.Log(a.victim))
	if err != nil {
		return err
	}
	a.damaged, a.logged = []string{filepath.Base(path), filepath.Base(filepath.Dir(path))}, int(log.Size())
	return a.fed.start(ctx, a.victim)
}

// longHash finds a contract's hash; eight of its digits are left in texts.
var longHash = regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{56}`)

// copyEvery is how often copies of a victim's files are taken.
const copyEvery = 40 * time.Millisecond

// addProposal lets a change of the charter lie at all nodes, so that there are files of it, and takes copies of the
// victim's files from now on.
func addProposal(_ context.Context, a *attempt) error {
	if err := a.fed.proposeChange(); err != nil {
		return err
	}
	copying, stop := context.WithCancel(context.Background())
	a.copies = newCopies(a.fed.NodeDir(a.victim))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.copies.run(copying, copyEvery)
	}()
	a.finish = append(a.finish, func() { stop(); <-ended })
	return nil
}
