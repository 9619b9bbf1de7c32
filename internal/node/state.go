package node

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// State is where a job stands at this node; the package comment draws the transitions.
type State string

// The states of a job. All from StateDone on are final, and outcomes of endings but for the last.
const (
	StateProposed  State = "proposed" // waits for a person's consent
	StateAgreed    State = "agreed"   // this node has signed
	StateRunning   State = "running"  // a session is on
	StatePaused    State = "paused"   // a session broke; the coordinator starts another
	StateDone            = State(contract.OutcomeDone)
	StateCancelled       = State(contract.OutcomeCancelled)
	StateRefused         = State(contract.OutcomeRefused)
	StateFailed          = State(contract.OutcomeFailed)
	StateExpired         = State(contract.OutcomeExpired)
	// StateUnread is that of a job that another version of the program made, in lists alone; see unreadJob.
	StateUnread State = "unread"
)

// States lists all of them, in the order of a job's life.
func States() []State {
	return []State{StateProposed, StateAgreed, StateRunning, StatePaused, StateDone, StateCancelled, StateRefused,
		StateFailed, StateExpired, StateUnread}
}

// Final reports whether nothing changes a job any more that is in this state, here and by this program.
func (s State) Final() bool {
	return slices.Contains([]State{StateDone, StateCancelled, StateRefused, StateFailed, StateExpired, StateUnread}, s)
}

// Names inside a job's folder. All but the three that people and hanse audit read are in envelopes (package vault).
const (
	ContractFile = "contract.toml" // a copy of contractFile for people, made anew when it is damaged

	contractFile = "contract"
	statusFile   = "status"
	reportFile   = "report"
	endingFile   = "end"
)

// jobsDir is where a node's folder has the folders of jobs, each named by its contract's hash.
const jobsDir = "jobs"

// jobState is one job at this node: its folder and what the folder says. Of a job that has ended the contract is brief;
// see shed.
type jobState struct {
	contract *contract.Contract
	brief    bool
	*jobLife
}

// jobLife is what changes of a job. A job that is shed goes on with the one that it had.
type jobLife struct {
	vault   *vault.Vault
	program string // that writes here, its version

	agreed  chan struct{} // closed when this node's owner consents in this life of the node
	over    chan struct{} // closed when the job is done elsewhere: no more rows are waited for
	final   chan struct{} // closed when the job has ended here
	endOnce sync.Once

	watched watched   // has a lock of its own
	audit   auditNote // too
	counted counted   // too

	mu        sync.Mutex
	record    statusRecord
	inForce   contract.InForce        // the contract with all signatures, once it is kept; else it proves nothing
	ending    *contract.Ending        // nil while the job has none
	pending   *contract.Ending        // done at all the others, told while a session is still on here
	ailment   error                   // a fault of this node's own that ended the last session
	cause     string                  // the fault by which this node ended the job, for its owner
	told      map[string]*fault.Fault // by the text of the error, what all were told of it
	ailed     time.Time               // when
	why       *fault.Fault            // what keeps the job from going on, as all may know it
	judged    string                  // why the policy leaves it to a person
	ailFor    time.Duration           // for how long this node comes to no other session
	telling   atomic.Bool             // others are being told of another end than before
	abandoned atomic.Bool             // its command could not consent to it
	looking   atomic.Bool             // this node is looking after it
	launching bool                    // a command waits for approvals and will coordinate it; under Node.judging
	behind    atomic.Pointer[string]  // who had not stored its part when the end was to be signed
	asked     time.Time               // when this node last asked how the job stands elsewhere
	gap       time.Duration           // until it asks again
	held      held                    // against the table, before a rule's consent; under Node.judging
	sourced   time.Time               // when the source of its table was run last for a session, or will be
	forecast  *forecast.Forecast      // what was expected of it when it came; nil: nobody knew. It does not change
	summary   shown                   // of a job that is shed, once somebody has asked for it
}

// newJobState is a job in a folder, before anything of it is read.
func newJobState(v *vault.Vault, c *contract.Contract) *jobState {
	return &jobState{contract: c, jobLife: &jobLife{vault: v, agreed: make(chan struct{}), over: make(chan struct{}),
		final: make(chan struct{})}}
}

// end notes that the job is done elsewhere: no more rows are waited for.
func (s *jobState) end() { s.endOnce.Do(func() { close(s.over) }) }

// isOver reports whether the job has ended.
func (s *jobState) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// statusRecord is what is kept of a job beside its contract and its ending.
//
// Evolution: the line of program stays as it is in every version, for those who can read no other; see writtenBy.
type statusRecord struct {
	State   State  `toml:"state"`
	Program string `toml:"program,omitempty"` // that wrote this last, its version
	Reason  string `toml:"reason,omitempty"`
	Session uint32 `toml:"session"` // the number of the last session
	// over columns: the last session that made this party's part, which it keeps
	Stored uint32 `toml:"stored,omitzero"`
	// the last session that ended well here; over columns, countersigned by all and sealed
	Finished uint32 `toml:"finished,omitzero"`
	Recorded int64  `toml:"recorded,omitzero"` // bytes of the transcript when the last session ended
	// What this party has signed of the job's end: one ending of one session.
	SignedSession uint32    `toml:"signed_session,omitzero"`
	Signed        keys.Hash `toml:"signed"`
	Made          time.Time `toml:"made,omitzero"`    // when the job came to this node
	Ended         time.Time `toml:"ended,omitzero"`   // when the end was stored here
	Removed       time.Time `toml:"removed,omitzero"` // when its owner removed what the job left
	Known         int64     `toml:"known,omitzero"`   // of a sealed prediction: the rows whose scores its receiver had
	Data          keys.Hash `toml:"data"`             // digest of the table that was consented to
	Renewed       bool      `toml:"renewed,omitzero"` // a record before it was damaged: something may have opened then
	// the record before was damaged: what the contract says is verified anew
	Damaged bool     `toml:"damaged,omitzero"`
	Consent *Consent `toml:"consent,omitempty"` // nil: nobody has consented, and nothing is signed
	Deaths  deaths   `toml:"deaths"`            // of this node in the job's sessions
	Anyway  bool     `toml:"anyway,omitempty"`  // its owner has it start though it takes more memory than there is
	// approvals that have come while more are wanted; nil: none
	Pending *pending `toml:"pending,omitempty"`
}

// pending is approvals that are not enough yet.
type pending struct {
	Approvals []string `toml:"approvals"` // texts of package consent
}

// vaultOptions are those of the folder of a contract's job.
func (n *Node) vaultOptions(contract keys.Hash) vault.Options {
	return vault.Options{
		Owner: contract, Rebuildable: columns.Rebuildable, Fault: n.config.DiskFault, Reserve: n.disk.reserve,
		Damaged: func(text string) {
			n.config.Log.Warn("a damaged file is not used", "job", contract.Short(), "what", text)
			n.notify(contract, jobs.Event{Kind: jobs.EventWarning, Text: text})
		},
	}
}

// JobFolder is where the node with its own folder dir keeps a job.
func JobFolder(dir string, contract keys.Hash) string {
	return filepath.Join(dir, jobsDir, contract.String())
}

// jobFolder is where a job is kept.
func (n *Node) jobFolder(contract keys.Hash) string { return JobFolder(n.config.Dir, contract) }

// openJob makes the folder of a job. It is there as a whole or not at all: it is written under another name first.
func (n *Node) openJob(c *contract.Contract, record statusRecord) (*jobState, error) {
	record.Made = n.config.Now().UTC().Round(0)
	h := c.Hash()
	folder := n.jobFolder(h)
	if j, ok := n.unread[h]; ok {
		return nil, faults.Errorf(fault.CodeBusy, "%s", j.Reason)
	}
	draft := folder + durable.Suffix
	expected := n.forecast(c)
	if err := os.RemoveAll(draft); err != nil {
		return nil, err
	}
	v, err := vault.Open(draft, n.vaultOptions(h))
	if err == nil {
		s := newJobState(v, c)
		s.record, s.program = record, n.config.Version
		err = errors.Join(s.keepContract(c), s.keepForecast(expected), s.update(func(*statusRecord) {}), v.Close())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	v, err = vault.Adopt(draft, folder, n.vaultOptions(h))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	s := newJobState(v, c)
	s.record, s.forecast, s.program = record, expected, n.config.Version
	s.inForce, _ = c.InForce()
	return s, nil
}

// keepContract stores the contract, and beside it the copy for people.
func (s *jobState) keepContract(c *contract.Contract) error {
	text := c.Text()
	if err := s.vault.Save(contractFile, text); err != nil {
		return err
	}
	return durable.WriteFile(s.vault.Path(ContractFile), text)
}

// loadJobs sweeps up what a killed process left half written, and reads all job folders. One that is damaged beyond
// repair is set aside: its job is as if it had never been proposed. One of another version of the program stays as it
// is, and is listed.
func (n *Node) loadJobs() error {
	dir := filepath.Join(n.config.Dir, jobsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, swept := range []string{n.config.Dir, dir} {
		if _, err := durable.Sweep(swept); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		h := new(keys.Hash)
		if !e.IsDir() || h.UnmarshalText([]byte(e.Name())) != nil {
			continue
		}
		s, err := n.loadJob(*h)
		if other, ok := errors.AsType[*vault.VersionError](err); ok {
			j := unreadJob(n.jobFolder(*h), *h, other)
			n.config.Log.Warn("a job was made by another version: "+j.Reason, "job", j.Name, "contract", h.Short())
			n.unread[*h] = j
			continue
		}
		var damaged *vault.DamagedError
		if errors.As(err, &damaged) {
			aside := fmt.Sprintf("%s.damaged-%d", n.jobFolder(*h), time.Now().Unix())
			n.config.Log.Warn("a job's folder cannot be read and was set aside", "folder", aside, "error", err)
			if err := os.Rename(n.jobFolder(*h), aside); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("job folder %s: %w", e.Name(), err)
		}
		n.jobs[*h] = s
	}
	proposers := make(map[string]bool)
	for _, s := range n.jobs {
		proposers[s.contract.Job.Proposer] = true
	}
	for p := range proposers {
		if err := n.forgetOldest(p); err != nil {
			n.config.Log.Error("an old job's folder could not be removed", "error", err)
		}
	}
	return nil
}

// loadJob reads a job's folder after a restart. What is damaged and can be had from elsewhere is had from there; a
// status that cannot be read is that of a job nobody has consented to.
func (n *Node) loadJob(h keys.Hash) (*jobState, error) {
	dir := n.jobFolder(h)
	if _, err := durable.Sweep(dir); err != nil {
		return nil, err
	}
	v, err := vault.Open(dir, n.vaultOptions(h))
	if err != nil {
		return nil, err
	}
	s := newJobState(v, nil)
	s.program = n.config.Version
	if err := s.loadContract(h); err != nil {
		return nil, err
	}
	s.inForce, _ = s.contract.InForce()
	if err := s.loadEnding(); err != nil {
		return nil, err
	}
	if err := s.loadStatus(); err != nil {
		return nil, err
	}
	if err := s.loadForecast(); err != nil {
		return nil, err
	}
	if err := s.died(); err != nil {
		return nil, err
	}
	if s.deadly() != nil && s.ending == nil {
		n.config.Log.Warn("a job is held back: "+s.heldReason(), "job", s.contract.Job.Name, "contract", h.Short(),
			"session", s.record.Session)
	}
	if err := s.promote(); err != nil {
		n.config.Log.Error("a model part cannot be kept", "job", s.contract.Job.Name, "error", err)
	}
	if s.isRemoved() { // a crash may have come before all of it was
		if err := s.clearRemoved(); err != nil {
			n.config.Log.Error("what a removed job left could not be deleted", "job", s.contract.Job.Name, "error", err)
		}
	}
	if s.ending != nil { // a crash may have come before what the job no longer needs was erased
		if err := columns.Clean(v); err != nil {
			n.config.Log.Error("the folder of a job that has ended could not be put in order", "job", s.contract.Job.Name,
				"error", err)
		}
		n.removeParts(s)
		return s.shedded(), nil
	}
	return s, nil
}

// loadContract reads the contract, and makes anew what is damaged of it.
func (s *jobState) loadContract(h keys.Hash) (err error) {
	s.contract, err = s.readContract(h)
	return err
}

// readContract reads the contract from the envelope or, when that is damaged, from the copy; each makes the other anew.
// Its hash names the folder, so neither can be another job's.
func (s *jobState) readContract(h keys.Hash) (*contract.Contract, error) {
	kept, damage := s.vault.Load(contractFile)
	copied, err := os.ReadFile(s.vault.Path(ContractFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var unreadable *vault.DamagedError
	if damage != nil && !errors.As(damage, &unreadable) {
		return nil, damage
	}
	c, err := parseKept(s.vault.Path(contractFile), kept, copied, h)
	if err == nil && string(kept) != string(copied) {
		err = s.keepContract(c)
	}
	return c, err
}

// parseKept parses a contract as it was kept at path or, where that cannot be read, its copy. One that is whole, its
// signatures fit, and that this program does not understand is another version's.
func parseKept(path string, kept, copied []byte, h keys.Hash) (*contract.Contract, error) {
	for _, text := range [][]byte{kept, copied} {
		if c, err := contract.ParseContract(text); err == nil && c.Hash() == h {
			return c, nil
		}
	}
	if other := otherFormat(path, kept, contract.Format); other != nil {
		return nil, other
	}
	if _, err := keys.ParseDocument(contract.DomainContract, kept); kept != nil && err == nil {
		if _, err = contract.ParseContract(kept); err != nil {
			return nil, &vault.VersionError{Path: path, Why: err.Error()}
		}
	}
	return nil, &vault.DamagedError{Path: path, Why: "neither it nor its copy " + ContractFile + " can be read"}
}

// otherFormat is the error of a text that is whole and says that it is of another format than the one wanted, nil of
// any other.
func otherFormat(path string, text []byte, want string) *vault.VersionError {
	got := keys.FormatOf(text)
	if got == "" || got == want {
		return nil
	}
	return &vault.VersionError{Path: path, Why: fmt.Sprintf("it is in format %q, this program reads %q", wording.Clip(got),
		want)}
}

// loadEnding reads how the job ended, if it has. One that is damaged is asked for again.
func (s *jobState) loadEnding() error {
	text, err := s.vault.Load(endingFile)
	if err == nil && text == nil || err != nil && !faults.IsDamage(err) {
		return err
	}
	var ending *contract.Ending
	if err == nil {
		if other := otherFormat(s.vault.Path(endingFile), text, contract.EndingFormat); other != nil {
			return other
		}
		ending, err = contract.ParseEnding(s.contract, text)
	}
	if err == nil {
		err = ending.InForce(s.contract)
	}
	if err != nil {
		return s.vault.SetAside(endingFile, err)
	}
	s.ending = ending
	close(s.final)
	s.end()
	return nil
}

// loadStatus reads the status. Missing or damaged it is never consent.
func (s *jobState) loadStatus() error {
	text, err := s.vault.Load(statusFile)
	if err != nil && !faults.IsDamage(err) {
		return err
	}
	if err == nil && text != nil {
		if err := keys.DecodeStrict(statusFile, text, &s.record); err != nil { // whole, and not understood
			return &vault.VersionError{Path: s.vault.Path(statusFile), Why: err.Error()}
		}
	} else if err == nil {
		err = &vault.DamagedError{Path: s.vault.Path(statusFile), Why: "it is not there"}
	}
	if err == nil {
		if s.ending != nil { // a crash came between the two files
			if !s.record.State.Final() {
				s.record.Ended = s.endedAt()
			}
			s.record.State = State(s.ending.Outcome)
		} else if s.record.State.Final() { // the ending was damaged; the job has ended all the same
			s.record.Reason = "its end was damaged on this node's disk, and is asked for again"
		}
		return nil
	}
	s.record = statusRecord{State: StateProposed, Damaged: true, Reason: fmt.Sprintf(
		"this node's record of it was damaged, and with it who had consented; consent again (hanse approve %s) or end it "+
			"(hanse cancel %s)", s.contract.Job.Name, s.contract.Job.Name)}
	if s.ending != nil { // an alignment may be used for so long after its end
		s.record.State, s.record.Reason, s.record.Ended = State(s.ending.Outcome), s.ending.Why(), s.endedAt()
	}
	if err := s.vault.SetAside(statusFile, err); err != nil {
		return err
	}
	return s.update(func(*statusRecord) {})
}

// status returns the job's state.
func (s *jobState) status() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.State
}

// snapshot returns the job's record.
func (s *jobState) snapshot() statusRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// update changes the record and stores it. With an error the record is as it was.
func (s *jobState) update(change func(*statusRecord)) error {
	return s.tryUpdate(func(r *statusRecord) error { change(r); return nil })
}

// tryUpdate is update for a change that may be refused.
func (s *jobState) tryUpdate(change func(*statusRecord) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.record
	if err := change(&next); err != nil {
		return err
	}
	return s.store(next)
}

// store is update for a caller who holds the lock.
func (s *jobState) store(next statusRecord) error {
	next.Reason, next.Program = wording.Line(next.Reason, jobs.MaxText), cmp.Or(s.program, next.Program)
	text, err := toml.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.vault.Save(statusFile, text); err != nil {
		return err
	}
	s.record = next
	return nil
}

// show moves a job that has not ended to a state that commits to nothing: a node that cannot write it shows it all the
// same, and after a restart stands in the state before.
func (s *jobState) show(state State, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record.State.Final() {
		return nil
	}
	next := s.record
	next.State, next.Reason = state, wording.Line(reason, jobs.MaxText)
	if next == s.record {
		return nil
	}
	err := s.store(next)
	s.record = next
	return err
}

// remark changes what is said of a job that stands still.
func (s *jobState) remark(reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record.State == StateRunning || s.record.State.Final() || s.record.Reason == reason {
		return nil
	}
	next := s.record
	next.Reason = reason
	return s.store(next)
}

// consent records that somebody consented to a proposed job; data is the SHA-256 of the table that it is for.
func (s *jobState) consent(by *Consent, data keys.Hash) error {
	return s.tryUpdate(func(r *statusRecord) error {
		if r.State != StateProposed {
			return fmt.Errorf("job %q is %s, not waiting for consent", s.contract.Job.Name, r.State)
		}
		r.Renewed = r.Renewed || r.Damaged
		r.State, r.Reason, r.Damaged, r.Data, r.Consent, r.Pending = StateAgreed, "", false, data, by, nil
		return nil
	})
}

// ended returns how the job ended, nil when it has not.
func (s *jobState) ended() *contract.Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// putInForce stores the contract with its full set of signatures. The contract in memory stays as it is: several calls
// may read it at once.
func (s *jobState) putInForce(f contract.InForce) error {
	if err := s.keepContract(f.Contract()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce = f
	return nil
}

// text returns the contract with the signatures that are known here.
func (s *jobState) text() []byte {
	if f, ok := s.proof(); ok {
		return f.Contract().Text()
	}
	if s.brief {
		if c, err := s.readContract(s.contract.Hash()); err == nil {
			return c.Text()
		}
	}
	return s.contract.Text()
}

// proof returns the contract once it is kept with all parties' signatures.
func (s *jobState) proof() (f contract.InForce, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce, s.inForce.Contract() != nil
}

// promote makes the model part of the session that all signed for the one that is kept, and drops those of others.
func (s *jobState) promote() error {
	if s.ending == nil {
		return nil
	}
	keep := jobs.ModelDraft(s.record.SignedSession) // done may yet beat another ending, and this part was signed for
	if s.ending.Outcome == contract.OutcomeDone {
		keep = ""
		data, err := s.vault.Load(jobs.ModelDraft(s.ending.Session))
		if err == nil && data != nil {
			err = s.vault.Save(jobs.PartFile(s.contract.Job), data)
		}
		if err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range s.vault.Names() {
		if strings.HasPrefix(name, jobs.ModelDrafts) && name != keep {
			errs = append(errs, s.vault.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// saveReport stores what this party says of the finished job.
func (s *jobState) saveReport(r *jobs.Report) error {
	s.compare(r)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.vault.Save(reportFile, append(data, '\n'))
}

// loadReport returns what saveReport stored, nil when there is none.
func (s *jobState) loadReport() (*jobs.Report, error) {
	data, err := s.vault.Load(reportFile)
	if err != nil || data == nil {
		return nil, err
	}
	r := new(jobs.Report)
	return r, json.Unmarshal(data, r)
}

// RunAgain puts the folder of a finished job back to before its first session: contract, consent and phases stay, so
// that it runs again and, where it is to be repeatable, gives the same. No node may be running on it. Tests and trials
// use it.
func RunAgain(folder string) error {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(filepath.Base(folder))); err != nil {
		return fmt.Errorf("%s is no job's folder: %w", folder, err)
	}
	v, err := vault.Open(folder, vault.Options{Owner: h})
	if err != nil {
		return err
	}
	s := newJobState(v, nil)
	text, err := v.Load(statusFile)
	if err == nil {
		err = keys.DecodeStrict(statusFile, text, &s.record)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{endingFile, jobs.ModelFile, jobs.AlignmentFile, reportFile, columns.ScoredRowsFile,
		columns.KnownScoresFile, columns.DecisionFile, columns.DecisionRowsFile, columns.TrainedRowsFile,
		columns.AloneFile, auditedFile} {
		err = errors.Join(err, v.Remove(name))
	}
	return errors.Join(err, columns.Clean(s.vault), s.update(func(r *statusRecord) {
		r.State, r.Reason, r.Stored, r.Finished = StateAgreed, "", 0, 0
	}), v.Close())
}

// SamePhase gives a training whose session was stopped the phase of another of the same party and takes back what that
// session had come to, so that both trainings come to the same model. The arguments are the jobs' folders. No node may
// be running on them. Tests and trials use it.
func SamePhase(from, to string) error {
	var vaults [2]*vault.Vault
	for i, folder := range []string{from, to} {
		var h keys.Hash
		if err := h.UnmarshalText([]byte(filepath.Base(folder))); err != nil {
			return fmt.Errorf("%s is no job's folder: %w", folder, err)
		}
		v, err := vault.Open(folder, vault.Options{Owner: h})
		if err != nil {
			return err
		}
		defer v.Close()
		vaults[i] = v
	}
	return errors.Join(columns.CopyPhase(vaults[0], vaults[1]), columns.Clean(vaults[1]))
}

// ReadModel returns the model part in a job's folder, which may be that of any node on this machine. The folder's
// name says which contract it must be of.
func ReadModel(folder string) (*fdskl.Model, error) {
	data, err := readState(folder, jobs.ModelFile)
	if err != nil {
		return nil, err
	}
	return fdskl.DecodeModel(data)
}

// ReadAlignment returns the common rows in an alignment job's folder, which may be that of any node on this machine.
// The folder's name says which contract they must be of.
func ReadAlignment(folder string) (*alignment.Alignment, error) {
	data, err := readState(folder, jobs.AlignmentFile)
	if err != nil {
		return nil, err
	}
	a, err := alignment.Decode(data)
	if err == nil && a.Contract.String() != filepath.Base(folder) {
		return nil, fmt.Errorf("%s is of contract %s", filepath.Join(folder, jobs.AlignmentFile), a.Contract.Short())
	}
	return a, err
}

// ConsentedTable returns the SHA-256 of the table that the node of a job's folder consented to use, zero where
// it brought none.
func ConsentedTable(folder string) (keys.Hash, error) {
	text, err := readState(folder, statusFile)
	if err != nil {
		return keys.Hash{}, err
	}
	var r statusRecord
	if err := keys.DecodeStrict(statusFile, text, &r); err != nil {
		return keys.Hash{}, err
	}
	return r.Data, nil
}

// readState reads a state from a job's folder, which the contract's hash names.
func readState(folder, name string) ([]byte, error) {
	var h keys.Hash
	if err := h.UnmarshalText([]byte(strings.TrimSpace(filepath.Base(folder)))); err != nil {
		return nil, fmt.Errorf("%s is no job's folder: %w", folder, err)
	}
	return vault.ReadFile(filepath.Join(folder, name), h)
}
