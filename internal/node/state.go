package node

import (
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
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// State is where a job stands at this node; the package comment draws the transitions.
type State string

// The states of a job. The last five are the outcomes of endings, and final.
const (
	StateProposed  State = "proposed" // waits for a person's consent
	StateAgreed    State = "agreed"   // this node has signed
	StateRunning   State = "running"  // a session is on
	StatePaused    State = "paused"   // a session broke; the coordinator starts another
	StateDone            = State(protocol.OutcomeDone)
	StateCancelled       = State(protocol.OutcomeCancelled)
	StateRefused         = State(protocol.OutcomeRefused)
	StateFailed          = State(protocol.OutcomeFailed)
	StateExpired         = State(protocol.OutcomeExpired)
)

// Final reports whether nothing changes a job any more that is in this state.
func (s State) Final() bool {
	return slices.Contains([]State{StateDone, StateCancelled, StateRefused, StateFailed, StateExpired}, s)
}

// Names inside a job's folder. All but the three that people and hanse audit read are in envelopes (package vault).
const (
	ContractFile = "contract.toml" // a copy of contractFile for people, made anew when it is damaged
	ScoresFile   = "scores.csv"    // of a prediction, at the party that the scores opened to
	ModelFile    = "model.hanse"

	contractFile = "contract"
	statusFile   = "status"
	phaseFile    = "phase"
	reportFile   = "report"
	endingFile   = "end"
)

// jobsDir is where a node's folder has the folders of jobs, each named by its contract's hash.
const jobsDir = "jobs"

// rebuildable tells the files of a job that a session makes anew when they are gone: checkpoints, and scores that the
// other parties know as scored. What was said in an opening is none: it is not said anew.
func rebuildable(name string) bool {
	return name == knownScoresFile || slices.Contains(fdskl.Files(), name) || slices.Contains(sealed.Checkpoints(), name)
}

// jobState is one job at this node: its folder and what the folder says.
type jobState struct {
	vault    *vault.Vault
	contract *protocol.Contract

	over    chan struct{} // closed when the job is done elsewhere: no more rows are waited for
	final   chan struct{} // closed when the job has ended here
	endOnce sync.Once

	mu        sync.Mutex
	record    statusRecord
	inForce   bool                       // the contract is kept with all signatures
	ending    *protocol.Ending           // nil while the job has none
	pending   *protocol.Ending           // done at all the others, told while a session is still on here
	signed    []byte                     // the contract with all signatures, once it is in force
	ailment   error                      // a fault of this node's own that ended the last session
	cause     string                     // the fault by which this node ended the job, for its owner
	told      map[string]*protocol.Fault // by the text of the error, what all were told of it
	ailed     time.Time                  // when
	why       *protocol.Fault            // what keeps the job from going on, as all may know it
	judged    string                     // why the policy leaves it to a person
	ailFor    time.Duration              // for how long this node comes to no other session
	telling   atomic.Bool                // others are being told of another end than before
	abandoned atomic.Bool                // its command could not consent to it
	looking   atomic.Bool                // this node is looking after it
	behind    atomic.Pointer[string]     // who had not stored its part when the end was to be signed
	scored    scored                     // of a training: the rows scored with its model
	asked     time.Time                  // when this node last asked how the job stands elsewhere
	gap       time.Duration              // until it asks again
}

// newJobState is a job in a folder, before anything of it is read.
func newJobState(v *vault.Vault, c *protocol.Contract) *jobState {
	return &jobState{vault: v, contract: c, over: make(chan struct{}), final: make(chan struct{})}
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
type statusRecord struct {
	State    State  `toml:"state"`
	Reason   string `toml:"reason,omitempty"`
	Session  uint32 `toml:"session"`           // the number of the last session
	Stored   uint32 `toml:"stored,omitzero"`   // over columns: the last session that made this party's part, which it keeps
	Finished uint32 `toml:"finished,omitzero"` // the last session that ended well here; over columns, countersigned by all and sealed
	Recorded int64  `toml:"recorded,omitzero"` // bytes of the transcript when the last session ended
	// What this party has signed of the job's end: one ending of one session.
	SignedSession uint32    `toml:"signed_session,omitzero"`
	Signed        keys.Hash `toml:"signed"`
	Ended         time.Time `toml:"ended,omitzero"`    // when the end was stored here
	Known         int64     `toml:"known,omitzero"`    // of a sealed prediction: the rows whose scores its receiver had
	Data          keys.Hash `toml:"data"`              // SHA-256 of the data file that was consented to
	Renewed       bool      `toml:"renewed,omitzero"`  // a record before it was damaged: something may have opened then
	Damaged       bool      `toml:"damaged,omitzero"`  // the record before was damaged: what the contract says is verified anew
	Consent       *Consent  `toml:"consent,omitempty"` // nil: nobody has consented, and nothing is signed
}

// vaultOptions are those of the folder of a contract's job.
func (n *Node) vaultOptions(contract keys.Hash) vault.Options {
	return vault.Options{
		Owner: contract, Rebuildable: rebuildable, Fault: n.config.DiskFault,
		Damaged: func(text string) {
			n.config.Log.Warn("a damaged file is not used", "job", contract.Short(), "what", text)
			n.tell(contract, Event{Kind: EventWarning, Text: text})
		},
	}
}

// jobFolder is where a job is kept.
func (n *Node) jobFolder(contract keys.Hash) string {
	return filepath.Join(n.config.Dir, jobsDir, contract.String())
}

// openJob makes the folder of a job. It is there as a whole or not at all: it is written under another name first.
func (n *Node) openJob(c *protocol.Contract, record statusRecord) (*jobState, error) {
	h := c.Hash()
	folder := n.jobFolder(h)
	draft := folder + durable.Suffix
	if err := os.RemoveAll(draft); err != nil {
		return nil, err
	}
	if err := n.writeJob(draft, c, record); err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	v, err := vault.Adopt(draft, folder, n.vaultOptions(h))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	s := newJobState(v, c)
	s.record, s.inForce = record, c.Complete() == nil
	return s, nil
}

// writeJob writes what a job begins with into a folder.
func (n *Node) writeJob(dir string, c *protocol.Contract, record statusRecord) error {
	v, err := vault.Open(dir, n.vaultOptions(c.Hash()))
	if err != nil {
		return err
	}
	s := newJobState(v, c)
	s.record = record
	return errors.Join(s.keepContract(c), s.update(func(*statusRecord) {}), v.Close())
}

// keepContract stores the contract, and beside it the copy for people.
func (s *jobState) keepContract(c *protocol.Contract) error {
	text := c.Text()
	if err := s.vault.Save(contractFile, text); err != nil {
		return err
	}
	return durable.WriteFile(s.vault.Path(ContractFile), text)
}

// loadJobs sweeps up what a killed process left half written, and reads all job folders. One that is damaged beyond
// repair is set aside: its job is as if it had never been proposed.
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
	n.forgetAll()
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
	if err := s.loadContract(h); err != nil {
		return nil, err
	}
	s.inForce = s.contract.Complete() == nil
	if err := s.loadEnding(); err != nil {
		return nil, err
	}
	if err := s.loadStatus(); err != nil {
		return nil, err
	}
	if err := s.promote(); err != nil {
		n.config.Log.Error("a model part cannot be kept", "job", s.contract.Job.Name, "error", err)
	}
	return s, nil
}

// loadContract reads the contract from the envelope or, when that is damaged, from the copy; each makes the other anew.
// Its hash names the folder, so neither can be another job's.
func (s *jobState) loadContract(h keys.Hash) error {
	kept, damage := s.vault.Load(contractFile)
	copied, err := os.ReadFile(s.vault.Path(ContractFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var unreadable *vault.DamagedError
	if damage != nil && !errors.As(damage, &unreadable) {
		return damage
	}
	for _, text := range [][]byte{kept, copied} {
		c, err := protocol.ParseContract(text)
		if err != nil || c.Hash() != h {
			continue
		}
		s.contract = c
		if string(kept) == string(copied) {
			return nil
		}
		return s.keepContract(c)
	}
	return &vault.DamagedError{Path: s.vault.Path(contractFile), Why: "neither it nor its copy " + ContractFile + " can be read"}
}

// loadEnding reads how the job ended, if it has. One that is damaged is asked for again.
func (s *jobState) loadEnding() error {
	text, err := s.vault.Load(endingFile)
	if err == nil && text == nil || err != nil && !isDamage(err) {
		return err
	}
	var ending *protocol.Ending
	if err == nil {
		ending, err = protocol.ParseEnding(s.contract, text)
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
	if err != nil && !isDamage(err) {
		return err
	}
	if err == nil && text != nil {
		err = keys.DecodeStrict(s.vault.Path(statusFile), text, &s.record)
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
		"this node's record of it was damaged, and with it who had consented; consent again (hanse approve %s) or end it (hanse cancel %s)", s.contract.Job.Name, s.contract.Job.Name)}
	if s.ending != nil {
		s.record.State, s.record.Reason = State(s.ending.Outcome), s.ending.Why()
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
	next.Reason = protocol.Plain(next.Reason, maxText)
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
	next.State, next.Reason = state, protocol.Plain(reason, maxText)
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
		r.State, r.Reason, r.Damaged, r.Data, r.Consent = StateAgreed, "", false, data, by
		return nil
	})
}

// ended returns how the job ended, nil when it has not.
func (s *jobState) ended() *protocol.Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// putInForce stores the contract with its full set of signatures. The contract in memory stays as it is:
// several calls may read it at once, and nothing here asks it who has signed.
func (s *jobState) putInForce(c *protocol.Contract) error {
	if err := s.keepContract(c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inForce, s.signed = true, c.Text()
	return nil
}

// text returns the contract with the signatures that are known here.
func (s *jobState) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signed != nil {
		return s.signed
	}
	return s.contract.Text()
}

// isInForce reports whether the contract was kept with all parties' signatures.
func (s *jobState) isInForce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce
}

// unchanged refuses a data file that is not the one consented to.
func (s *jobState) unchanged(path string, sum keys.Hash) error {
	if agreed := s.snapshot().Data; agreed != sum {
		return faultf(codeData, "%s changed after consent: its SHA-256 was %s and is %s; put the old file back and the job goes on, or end it with hanse cancel %s",
			path, agreed.Short(), sum.Short(), s.contract.Job.Name)
	}
	return nil
}

// phase returns the party's secret phase seed for this job, drawn once and kept.
func (s *jobState) phase() (fdskl.PhaseSeed, error) {
	data, err := s.vault.Load(phaseFile)
	if err != nil {
		return fdskl.PhaseSeed{}, err
	}
	if data == nil {
		seed := fdskl.NewPhaseSeed()
		return seed, s.vault.Save(phaseFile, seed[:])
	}
	if len(data) != len(fdskl.PhaseSeed{}) {
		return fdskl.PhaseSeed{}, fmt.Errorf("%s has %d bytes, want %d", s.vault.Path(phaseFile), len(data), len(fdskl.PhaseSeed{}))
	}
	return fdskl.PhaseSeed(data), nil
}

// modelDraft is where a session keeps its model part until the job is done. Shares of two sessions do not fit together,
// and all sign for the parts of one.
func modelDraft(session uint32) string { return fmt.Sprintf("%s%d", modelDrafts, session) }

// modelDrafts begins the names of the drafts.
const modelDrafts = "model-"

// saveModel stores the model part of a session.
func (s *jobState) saveModel(session uint32, m *fdskl.Model) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return s.vault.Save(modelDraft(session), data)
}

// copyModel stores the model part of an earlier session as that of a closing one.
func (s *jobState) copyModel(from, to uint32) error {
	data, err := s.vault.Load(modelDraft(from))
	if err == nil && data == nil {
		err = &vault.DamagedError{Path: s.vault.Path(modelDraft(from)), Why: "it is not there"}
	}
	if isDamage(err) {
		return errors.Join(err, s.vault.SetAside(modelDraft(from), err))
	}
	if err != nil {
		return err
	}
	return s.vault.Save(modelDraft(to), data)
}

// promote makes the model part of the session that all signed for the one that is kept, and drops those of others.
func (s *jobState) promote() error {
	if s.ending == nil {
		return nil
	}
	keep := modelDraft(s.record.SignedSession) // done may yet beat another ending, and this part was signed for
	if s.ending.Outcome == protocol.OutcomeDone {
		keep = ""
		data, err := s.vault.Load(modelDraft(s.ending.Session))
		if err == nil && data != nil {
			err = s.vault.Save(ModelFile, data)
		}
		if err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range s.vault.Names() {
		if strings.HasPrefix(name, modelDrafts) && name != keep {
			errs = append(errs, s.vault.Remove(name))
		}
	}
	return errors.Join(errs...)
}

// saveReport stores what this party says of the finished job.
func (s *jobState) saveReport(r *Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.vault.Save(reportFile, append(data, '\n'))
}

// loadReport returns what saveReport stored, nil when there is none.
func (s *jobState) loadReport() (*Report, error) {
	data, err := s.vault.Load(reportFile)
	if err != nil || data == nil {
		return nil, err
	}
	r := new(Report)
	return r, json.Unmarshal(data, r)
}

// clean removes what a finished job no longer needs: opened angles, solver states, requests and their scores, and
// shares.
func (s *jobState) clean() error {
	var errs []error
	for _, name := range append(fdskl.Files(), requestsFile, answersFile) {
		errs = append(errs, s.vault.Remove(name))
	}
	return errors.Join(append(errs, s.vault.RemoveAll(sealed.FilePrefix))...)
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
	for _, name := range []string{endingFile, ModelFile, reportFile, scoredRowsFile, knownScoresFile} {
		err = errors.Join(err, v.Remove(name))
	}
	return errors.Join(err, s.clean(), s.update(func(r *statusRecord) { r.State, r.Reason, r.Stored, r.Finished = StateAgreed, "", 0, 0 }), v.Close())
}

// ReadModel returns the model part in a job's folder, which may be that of any node on this machine. The folder's
// name says which contract it must be of.
func ReadModel(folder string) (*fdskl.Model, error) {
	data, err := readState(folder, ModelFile)
	if err != nil {
		return nil, err
	}
	return fdskl.DecodeModel(data)
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

// loadModel reads the finished model part, nil when there is none.
func (s *jobState) loadModel() (*fdskl.Model, error) {
	data, err := s.vault.Load(ModelFile)
	if err != nil || data == nil {
		return nil, err
	}
	return fdskl.DecodeModel(data)
}
