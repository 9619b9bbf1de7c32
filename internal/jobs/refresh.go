package jobs

import (
	"context"
	"log/slog"
	"reflect"
	"strconv"
	"time"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A table that is no file costs its owner something whenever it is read: a query of a database, a run of a command. So
// its source is run by Refresh alone, which the owner, a consent, a session and the clock ask for; whatever else asks
// about the table is answered from the reading that is kept.

// How long after a failure the node itself tries a source again: a while, and longer each time.
const (
	againLeast = time.Minute
	againMost  = time.Hour
)

// sourced is how a table that is no file stands. The lock of Tables guards it, but for turn.
type sourced struct {
	turn     chan struct{} // holds one while the source runs: it runs once at a time
	running  bool          // or is about to
	times    int           // that it was read
	read     time.Time     // when, for the last time
	tried    time.Time     // when the last run ended
	failures int           // one behind another, up to now
	err      error         // of the last run
}

// FromSource reports whether the named table is a query of a database or what a command writes.
func (t *Tables) FromSource(name string) bool {
	spec, ok := t.Specs[name]
	if !ok {
		return false
	}
	l, err := source.Parse(spec.Path)
	return err == nil && !l.IsFile()
}

// sourcedAs finds how a table stands. The caller holds the lock.
func (t *Tables) sourcedAs(name string) *sourced {
	s := t.sources[name]
	if s == nil {
		s = &sourced{turn: make(chan struct{}, 1)}
		t.sources[name] = s
	}
	return s
}

// owned returns how the owner says that a table is read, under the charter in force.
func (t *Tables) owned(spec TableSpec) dataset.Options {
	o := spec.Options
	if t.Identify != nil {
		o.Identify = t.Identify()
	}
	return o
}

// Refresh returns what Now does once the named table has been read as it is now; why is who asks for that, for the log.
// Where the source gives the same as before, the reading that is kept stays. With an error it stays too, unless the
// source gave something else and then failed.
func (t *Tables) Refresh(ctx context.Context, name, why string) (sum keys.Hash, path string, err error) {
	if !t.FromSource(name) {
		return t.Now(name)
	}
	spec := t.Specs[name]
	t.mu.Lock()
	s := t.sourcedAs(name)
	t.mu.Unlock()
	ctx, stop := t.alive(ctx)
	defer stop()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return sum, "", ctx.Err()
	}
	defer func() { <-s.turn }()
	t.log().Info("the source of a table is run", "table", name, "for", why)
	o := t.owned(spec)
	t.mu.Lock()
	s.running = true
	r := t.Read[name]
	t.mu.Unlock()
	r, err = t.ask(ctx, name, spec.Path, o, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	s.running = false
	switch {
	case ctx.Err() != nil: // whoever asked has gone: this says nothing of the source
		return sum, "", context.Cause(ctx)
	case err != nil:
		s.tried, s.failures, s.err = t.clock(), s.failures+1, err
		t.log().Warn("the source of a table could not be read", "table", name, "for", why, "error", err)
		return sum, "", err
	}
	if t.Read[name] != r {
		t.Readings++
	}
	t.Read[name] = r
	s.tried, s.failures, s.err = t.clock(), 0, nil
	s.read, s.times = s.tried, s.times+1
	if s.times == 1 {
		if survey, err := r.file.Survey(o); err == nil {
			note(t.log(), name, survey)
		}
	}
	return r.now()
}

// alive returns a context that ends with the tables' life, too.
func (t *Tables) alive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if t.Life == nil {
		return ctx, cancel
	}
	left := context.AfterFunc(t.Life, cancel)
	return ctx, func() { left(); cancel() }
}

// ask runs a table's source: for its digest, where r is a reading of it, and for the whole where that is another.
func (t *Tables) ask(ctx context.Context, name, path string, o dataset.Options, r *reading) (*reading, error) {
	if r != nil && r.path == path && reflect.DeepEqual(r.loaded, o.ForLoading()) {
		sum, err := dataset.Digest(ctx, path, o)
		if err != nil {
			return nil, faults.OrElse(fault.CodeData, err) // the job pauses until it is there again
		}
		if sum == r.file.Sum {
			return r, nil
		}
	}
	t.mu.Lock()
	delete(t.Read, name) // its memory is free for the new one
	t.mu.Unlock()
	file, err := dataset.Load(ctx, path, o)
	if err != nil {
		return nil, faults.OrElse(fault.CodeData, err)
	}
	return &reading{file: file, path: path, loaded: o.ForLoading()}, nil
}

// kept returns the reading that is kept of a table that is no file, and runs nothing. The caller holds the lock.
func (t *Tables) kept(name string, spec TableSpec, o, owned dataset.Options) (*reading, error) {
	r, s := t.Read[name], t.sourcedAs(name)
	if r != nil && r.path == spec.Path {
		if reflect.DeepEqual(r.loaded, o.ForLoading()) {
			return r, nil
		}
		if reflect.DeepEqual(r.loaded, owned.ForLoading()) {
			return nil, faults.Errorf(fault.CodeData, "table %q is kept as its owner reads it, and the training of this model "+
				"took other words for a missing cell: start the node with the na of that training for %[1]q as well, or have "+
				"its source leave such cells empty", name)
		}
	}
	switch {
	case s.running, s.err == nil && spec.Options.Refresh != dataset.Manual:
		return nil, faults.Errorf(fault.CodeBusy, "table %q is being read from its source", name)
	case s.err != nil:
		return nil, faults.Errorf(fault.CodeData, "table %q has not been read: %w; mend that and run hanse table refresh "+
			"%[1]s", name, s.err)
	}
	return nil, faults.Errorf(fault.CodeData, "table %q is read when its owner says so (refresh = %s), and has not been: "+
		"run hanse table refresh %[1]s", name, dataset.Manual)
}

// Times returns how often a table that is no file was read.
func (t *Tables) Times(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sourcedAs(name).times
}

// Tend has those sources run by start that the clock says are due: when the node starts, as often as the owner says,
// after a failure, and under a charter that identifies rows by other columns. Those that the owner runs by hand it
// leaves alone.
func (t *Tables) Tend(ctx context.Context, start func(run func())) {
	for _, name := range t.tended {
		if why := t.claim(name); why != "" {
			start(func() {
				_, _, _ = t.Refresh(ctx, name, why) // an error is in the log, and for whoever asks about the table
				t.mu.Lock()
				defer t.mu.Unlock()
				t.sourcedAs(name).running = false
			})
		}
	}
}

// claim says why a source is due, and counts it as running; empty where it is not due.
func (t *Tables) claim(name string) (why string) {
	owned := t.owned(t.Specs[name])
	every, _ := dataset.RefreshEvery(owned.Refresh) // checked with the location
	t.mu.Lock()
	defer t.mu.Unlock()
	r, s, now := t.Read[name], t.sourcedAs(name), t.clock()
	switch {
	case s.running:
	case s.err != nil:
		if now.Sub(s.tried) >= min(againLeast<<min(s.failures-1, 10), againMost) {
			why = "another try after " + strconv.Itoa(s.failures) + " that failed"
		}
	case r == nil && s.times > 0:
		why = "a run before it, which was broken off"
	case r == nil || r.path != t.Specs[name].Path:
		why = "the start of the node"
	case !reflect.DeepEqual(r.loaded, owned.ForLoading()):
		why = "the charter, which identifies rows by other columns now"
	case every > 0 && now.Sub(s.read) >= every:
		why = "its refresh = " + owned.Refresh
	}
	s.running = s.running || why != ""
	return why
}

// clock returns the time.
func (t *Tables) clock() time.Time {
	if t.Clock == nil {
		return time.Now()
	}
	return t.Clock()
}

// log returns where it is said who has a source run.
func (t *Tables) log() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}
