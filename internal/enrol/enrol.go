package enrol

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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

// Enrolment is a member's part in changes of the charter. Its methods may be called concurrently.
type Enrolment struct {
	config Config
	self   keys.ID
	wake   chan struct{} // of capacity 1: something has come in
	work   sync.WaitGroup

	mu        sync.Mutex
	charter   *keys.SignedCharter
	proposals map[keys.Hash]*proposal // that follow the charter in force
	settled   *proposal               // how the charter in force was agreed on; nil since the start
	seen      map[string]string       // what was last read from each file, by path
	members   map[keys.ID]*member     // what the others have been told
}

// member is what this node knows of another member's node.
type member struct {
	busy  bool      // it is being told or asked something
	asked time.Time // for a newer version
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
	e := &Enrolment{
		config: c, self: c.Key.ID(), wake: make(chan struct{}, 1), charter: c.Charter,
		proposals: make(map[keys.Hash]*proposal), seen: make(map[string]string), members: make(map[keys.ID]*member),
	}
	e.look()
	return e, nil
}

// Run watches the files, spreads what is new and puts complete versions into force until ctx ends.
// It returns nil, when nothing it started is left.
func (e *Enrolment) Run(ctx context.Context) error {
	defer e.work.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		e.look()
		e.adopt()
		e.dispatch(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-e.wake:
		}
	}
}

// notify makes Run take another turn now.
func (e *Enrolment) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// look reads what the owner may have changed.
func (e *Enrolment) look() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.readProposals()
	e.readCharterFile()
}

// name returns what the charter in force calls a member, or the short form of its id. e.mu is held.
func (e *Enrolment) name(id keys.ID) string {
	if m, ok := e.charter.Member(id); ok {
		return m.Name
	}
	return id.Short()
}
