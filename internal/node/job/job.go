// Package job is one job at a node, as a state machine: what has come of it, and what its folder keeps of that. It
// knows no network and calls nobody.
//
// Whatever happens to a job is an Event. Apply decides what it does to the job from what the job has come to, and from
// nothing else; writes that to the disk; and returns Effects, which are for its caller to carry out: to send the end to
// the others, to stop the session, to tell the owner. An event that may not happen is an error, and changes nothing.
//
// What counts is on the disk first. A node that is killed at any write stands, when it starts again, as before the
// event or as after it: it signs one ending of each session and none once the job has ended, opens each session once,
// and takes no consent from what is damaged. Of a job whose record is damaged it forgets which sessions there were: the
// transcript, which is not kept here, begins none again.
package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Disk is where a job is kept. Names are those of files in its folder.
type Disk interface {
	// Load returns a state, nil when there is none. One that is damaged, or gone though it was saved, is a
	// *vault.DamagedError; one of another version of the program a *vault.VersionError.
	Load(name string) ([]byte, error)
	// Save replaces a state. When it returns without error the new one is on the disk; with an error it may be.
	Save(name string, data []byte) error
	Remove(name string) error
	// SetAside moves a damaged state out of the way, where a person can look at it.
	SetAside(name string, why error) error
	// Names lists the states that are kept.
	Names() []string
	// Time says when a state was saved last, zero when there is none.
	Time(name string) time.Time
}

// Config is what a job is, beside what comes of it.
type Config struct {
	Self    string // this party's name in the contract
	Part    string // the file of what the job ends with at this party; see package jobs
	Program string // the version of the program that writes here
}

// Job is one job at this node. Its methods may be called from several goroutines.
type Job struct {
	disk        Disk
	over, final chan struct{}

	applying sync.Mutex // one event happens at a time
	mu       sync.Mutex // of now alone: whoever asks how the job stands waits for no disk
	now      standing
}

// standing is what a job has come to: the record and the ending are on the disk, the rest is in memory.
type standing struct {
	config   *Config
	folder   string // to be named in errors
	contract *contract.Contract
	brief    bool             // the contract is contract.Brief
	inForce  contract.InForce // the contract with all signatures, once it is kept; else it proves nothing
	record   Record
	ending   *contract.Ending // nil while the job has none
	awaited  *contract.Ending // done at all others, while a session is still on here
	trouble  trouble
}

// trouble is what keeps a job from going on.
type trouble struct {
	why   *fault.Fault  // as all may know it; nil: it is nobody's fault
	own   error         // a fault of this node's own that ended the last session; nil: there is none
	since time.Time     // of own
	lasts time.Duration // for how long this node comes to no other session
}

// Event is something that happens to a job. Those of this package are all there are.
type Event interface {
	// decide makes of what a job has come to what it comes to by the event, and says what is written and what follows, or
	// why the event may not happen: then s counts for nothing.
	decide(s *standing) (move, error)
}

// Effect is what the caller of Apply has to do, once the event counts.
type Effect struct {
	Do     Deed
	Ending *contract.Ending // of Announce
	Err    error            // of Complain
}

// Deed is one kind of Effect.
type Deed int

// What there is to do, in the order in which it is done.
const (
	Complain Deed = iota // to the owner's log: a write failed that is made good when the node starts again
	Spread               // send the ending that stands to the others, who may stand by the one that it beats
	Stop                 // stop the session that is on
	Tidy                 // erase what a job that has ended no longer needs
	Announce             // tell the owner how the job ended
	Forget               // remove the oldest jobs of the proposer that came to nothing
	Clear                // erase what a job leaves that its owner has removed
)

// move is what an event does beside what the job comes to.
type move struct {
	first   []write // on the disk before the event counts: with an error nothing has happened
	late    bool    // the event counts whatever becomes of the record's write
	later   []write // and whatever becomes of these, which go before the record's
	effects []Effect
}

// write is one change of the disk.
type write func(Disk) error

// save writes a state.
func save(name string, data []byte) write { return func(d Disk) error { return d.Save(name, data) } }

// copyOf writes what another state has, which must be there.
func (s *standing) copyOf(from, to string) write {
	return func(d Disk) error {
		data, err := d.Load(from)
		if err == nil && data == nil {
			err = &vault.DamagedError{Path: s.path(from), Why: "it is not there"}
		}
		if err != nil {
			return err
		}
		return d.Save(to, data)
	}
}

// path names a file for errors.
func (s *standing) path(name string) string { return filepath.Join(s.folder, name) }

// promote makes what the session kept that all signed for this party's part, and drops what other sessions kept. The
// drafts stay of sessions for which this party may have signed, and so may all others have: the end of such a session
// would beat this one.
func promote(s standing) write {
	return func(d Disk) error {
		if s.ending.Outcome == contract.OutcomeDone {
			data, err := d.Load(Draft(s.ending.Session))
			if err == nil && data != nil {
				err = d.Save(s.config.Part, data)
			}
			if err != nil {
				return err
			}
		}
		signed := s.record.SignedSession
		if s.record.Damaged || s.record.Renewed { // nobody knows
			signed = math.MaxUint32
		}
		var errs []error
		for _, name := range d.Names() {
			digits, isDraft := strings.CutPrefix(name, Drafts)
			of, _ := strconv.ParseUint(digits, 10, 32)
			if session := uint32(of); isDraft && (session <= s.ending.Session || session > signed) {
				errs = append(errs, d.Remove(name))
			}
		}
		return errors.Join(errs...)
	}
}

// Apply has an event happen to the job. With an error it has not happened. The effects are the caller's to carry out,
// in their order.
func (j *Job) Apply(e Event) ([]Effect, error) {
	j.applying.Lock()
	defer j.applying.Unlock()
	before := j.at()
	next := before
	m, err := e.decide(&next)
	if err != nil {
		return nil, err
	}
	for _, w := range m.first {
		if err := w(j.disk); err != nil {
			return nil, err
		}
	}
	record, err := next.written(&before)
	if err == nil && !m.late {
		err = record(j.disk)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range m.later {
		err = errors.Join(err, w(j.disk))
	}
	if m.late {
		err = errors.Join(err, record(j.disk))
	}
	j.mu.Lock()
	j.now = next
	j.mu.Unlock()
	j.signal(&before) // now: who has waited for the end finds what the job ends with in its place
	if err != nil {
		m.effects = append([]Effect{{Do: Complain, Err: err}}, m.effects...)
	}
	return m.effects, nil
}

// maxReason is the longest reason that is kept, in bytes: words of other members are in it.
const maxReason = 2000

// written completes the record, and returns how it is written: nothing where it is as it was.
func (s *standing) written(before *standing) (write, error) {
	s.record.Reason = wording.Line(s.record.Reason, maxReason)
	if s.record == before.record {
		return func(Disk) error { return nil }, nil
	}
	s.record.Program = cmp.Or(s.config.Program, s.record.Program)
	text, err := toml.Marshal(s.record)
	return save(RecordFile, text), err
}

// signal closes the channels of what has come about.
func (j *Job) signal(before *standing) {
	now := j.at()
	if now.isOver() && !before.isOver() {
		close(j.over)
	}
	if now.ending != nil && before.ending == nil {
		close(j.final)
	}
}

// isOver reports whether no more rows are waited for.
func (s *standing) isOver() bool { return s.ending != nil || s.awaited != nil }

// Final is closed once the job has ended here.
func (j *Job) Final() <-chan struct{} { return j.final }

// Over is closed once the job is done elsewhere, or has ended here: no more rows are waited for.
func (j *Job) Over() <-chan struct{} { return j.over }

// IsOver reports whether Over is closed.
func (j *Job) IsOver() bool {
	s := j.at()
	return s.isOver()
}

// at returns what the job has come to.
func (j *Job) at() standing {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now
}

// Contract returns the job's contract, of which nothing may be changed; of a job that is shed the brief one.
func (j *Job) Contract() *contract.Contract {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now.contract
}

// Brief reports whether the contract in memory is the brief one.
func (j *Job) Brief() bool { return j.at().brief }

// Self is this party's name in the contract.
func (j *Job) Self() string { return j.at().config.Self }

// Record returns the job's record.
func (j *Job) Record() Record { return j.at().record }

// State returns where the job stands.
func (j *Job) State() State { return j.at().record.State }

// Ending returns how the job ended, nil while it has not.
func (j *Job) Ending() *contract.Ending { return j.at().ending }

// Awaited returns the ending of a job that is done at all others while a session is on here, nil when there is none.
func (j *Job) Awaited() *contract.Ending { return j.at().awaited }

// InForce returns the contract once it is kept with all parties' signatures.
func (j *Job) InForce() (f contract.InForce, ok bool) {
	f = j.at().inForce
	return f, f.Contract() != nil
}

// IsEnding reports whether the job has ended well at this party, which waits for the end that all sign.
func (j *Job) IsEnding() bool {
	s := j.at()
	r := s.record
	return s.ending == nil && !r.State.Final() && (s.awaited != nil || r.Finished > 0 && r.Finished == r.Session)
}

// EndedError says that the job has ended another way than done, nil when it has not.
func (j *Job) EndedError() error {
	s := j.at()
	if s.ending == nil || s.ending.Outcome == contract.OutcomeDone {
		return nil
	}
	return faults.Errorf(fault.CodeEnded, "%s", EndingText(s.contract, s.ending, ""))
}

// Why returns what others are told who ask why the job stands still, nil where it is nobody's fault.
func (j *Job) Why() *fault.Fault { return j.at().trouble.why }

// Ailing returns a fault of this node's own that is too young for another session to try.
func (j *Job) Ailing(now time.Time) error {
	if t := j.at().trouble; t.own != nil && now.Sub(t.since) <= t.lasts {
		return t.own
	}
	return nil
}

// HeldReason is what the owner reads of a job in whose sessions the node died.
func (j *Job) HeldReason() string {
	s := j.at()
	return s.heldReason()
}

func (s *standing) heldReason() string {
	return "this node died in this job's session; hanse resume " + s.contract.Job.Name
}

// Deadly refuses a session of a job in whose sessions this node died.
func (j *Job) Deadly() error {
	s := j.at()
	if !s.record.Deaths.Hold() {
		return nil
	}
	return faults.Errorf(fault.CodeHeld, "%s", s.heldReason())
}

// StartWithin is how long after this member's consent a job may wait for its first session. Where its job file names a
// later end of the proposal, it may wait as long.
const StartWithin = contract.DefaultExpiry

// StartBy is until when an agreed job waits for its first session; zero: it does not, or has had one. The end of a
// proposal's time counts where it is later.
func (j *Job) StartBy() time.Time {
	s := j.at()
	r := s.record
	if r.Consent == nil || !r.Unbegun() || r.Damaged || r.Renewed {
		return time.Time{}
	}
	at := r.Consent.At.Add(StartWithin)
	if expiry := s.contract.Job.Expiry(); expiry.After(at) {
		at = expiry
	}
	return at
}

// Removable refuses to remove a job that has not ended, or that is removed.
func (j *Job) Removable() error {
	s := j.at()
	return s.removable()
}

func (s *standing) removable() error {
	name := s.contract.Job.Name
	switch {
	case !s.record.Removed.IsZero():
		return fmt.Errorf("job %q, contract %s, was removed here on %s; hanse jobs --removed lists what stays of it", name,
			s.contract.Hash().Short(), s.record.Removed.UTC().Format(time.DateOnly))
	case s.ending == nil:
		return fmt.Errorf("job %q is %s: only a job that has ended can be removed; hanse cancel %s ends it", name,
			s.record.State, name)
	}
	return nil
}

// Part returns what this party keeps of the job: of a session that has finished, until all have signed for it. The name
// is that of its file; no data: there is none.
func (j *Job) Part() (data []byte, name string, err error) {
	s := j.at()
	if s.ending == nil {
		name = Draft(s.record.Finished)
		data, err = j.disk.Load(name)
	}
	if data == nil && err == nil {
		name = s.config.Part
		data, err = j.disk.Load(name)
	}
	return data, name, err
}

// Text returns the contract with the signatures that are known here.
func (j *Job) Text() []byte {
	s := j.at()
	if f := s.inForce.Contract(); f != nil {
		return f.Text()
	}
	c, _ := j.Whole()
	return c.Text()
}

// Whole returns the job's contract, of one that is shed from its disk. Where that cannot be read it is the brief one,
// with the error.
func (j *Job) Whole() (*contract.Contract, error) {
	s := j.at()
	if !s.brief {
		return s.contract, nil
	}
	c, err := readContract(j.disk, s.folder, s.contract.Hash())
	if err != nil {
		return s.contract, err
	}
	return c, nil
}
