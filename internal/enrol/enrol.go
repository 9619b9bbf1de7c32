package enrol

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/keys"
)

// Intervals of Run.
const (
	lookEvery  = time.Second      // at the files
	askEvery   = 30 * time.Second // the others for a version that this node has missed
	retryAfter = time.Minute      // after a member's node has refused what it was told
)

// Config is what an Enrolment is made of.
type Config struct {
	Key         *keys.PrivateKey
	Charter     *keys.SignedCharter // in force
	CharterFile string              // where it stands; replaced when a new version comes into force
	Dir         string              // the node's own folder
	// Call asks another member's node; a host's Call.
	Call func(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error)
	// Near are the members whose nodes this one calls, as a host's Neighbours: they pass on what
	// goes round. nil means all members. Whoever calls is answered all the same.
	Near []keys.ID
	// Changed hears of each charter that comes into force, from Run's goroutine; it may be nil.
	Changed func(*keys.SignedCharter)
	Log     *slog.Logger // nil: no log
	// References keeps the full text of what others are told a code of; nil: a book of its own in Dir.
	References *reference.Log
}

// Enrolment is a member's part in changes of the charter. Its methods may be called concurrently. Each of its parts
// owns a piece of its state and calls only parts that stand above it here. All are under the lock of the versions,
// since a version, its file and what the others have been told of it change together.
type Enrolment struct {
	*versions
	files      *files
	dispatcher *dispatcher
}

// New prepares a member's part, reads the proposals in its folder and says which of them wait for
// its owner. Handle and Invited work from then on; Run must follow.
func New(c Config) (*Enrolment, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.References == nil {
		c.References = reference.Open(c.Dir)
	}
	if err := c.Charter.Complete(); err != nil {
		return nil, err
	}
	if _, ok := c.Charter.Member(c.Key.ID()); !ok {
		return nil, fmt.Errorf("charter %q: the key %s is not that of a member", c.Charter.Name, c.Key.ID().Short())
	}
	for _, dir := range []string{invitationsDir, proposalsDir} {
		if err := os.MkdirAll(filepath.Join(c.Dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	v := &versions{config: &c, self: c.Key.ID(), wake: make(chan struct{}, 1), charter: c.Charter,
		proposals: make(map[keys.Hash]*proposal)}
	e := &Enrolment{v, &files{versions: v, seen: make(map[string]string)},
		&dispatcher{versions: v, members: make(map[keys.ID]*member)}}
	e.files.look()
	return e, nil
}

// Run watches the files, spreads what is new and puts complete versions into force until ctx ends.
// It returns nil, when nothing it started is left.
func (e *Enrolment) Run(ctx context.Context) error {
	defer e.dispatcher.work.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		e.files.look()
		e.adopt()
		e.dispatcher.dispatch(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-e.wake:
		}
	}
}
