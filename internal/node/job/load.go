package job

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// New is a job that Create has kept, in its folder.
func New(d Disk, folder string, config Config, c *contract.Contract, r Record) *Job {
	s := standing{config: &config, folder: folder, contract: c, record: r}
	s.inForce, _ = c.InForce()
	return newJob(d, s)
}

// newJob is a job that has come to s.
func newJob(d Disk, s standing) *Job {
	j := &Job{disk: d, over: make(chan struct{}), final: make(chan struct{}), now: s}
	j.signal(new(standing))
	return j
}

// Create keeps a job for the first time, in a folder that need not be in its place yet.
func Create(d Disk, config Config, c *contract.Contract, r Record) error {
	s := standing{config: &config, contract: c, record: r}
	record, err := s.written(new(standing))
	if err != nil {
		return err
	}
	return errors.Join(d.Save(ContractFile, c.Text()), d.Save(ContractCopy, c.Text()), record(d))
}

// Open reads a job's folder, which is named by the contract's hash. What is damaged and can be had from elsewhere is
// had from there; a record that cannot be read is that of a job nobody has consented to. What a crash left undone is
// done, or is an effect. config says what the job is, by its contract.
func Open(d Disk, folder string, config func(*contract.Contract) Config) (*Job, []Effect, error) {
	h, err := HashOf(folder)
	if err != nil {
		return nil, nil, err
	}
	c, err := readContract(d, folder, h)
	if err != nil {
		return nil, nil, err
	}
	is := config(c)
	s := standing{config: &is, folder: folder, contract: c}
	s.inForce, _ = c.InForce()
	damage, err := s.readEnding(d)
	if err == nil {
		err = s.readRecord(d, damage != nil)
	}
	if err == nil && damage != nil { // now that the record says that the job has ended
		err = d.SetAside(EndingFile, damage)
	}
	if err != nil {
		return nil, nil, err
	}
	j := newJob(d, s)
	var effects []Effect
	if s.ending != nil { // a crash may have come before what the job no longer needs was erased
		if err := promote(s)(d); err != nil {
			effects = append(effects, Effect{Do: Complain, Err: err})
		}
		effects = append(effects, Effect{Do: Tidy})
	}
	if !s.record.Removed.IsZero() {
		effects = append(effects, Effect{Do: Clear})
	}
	return j, effects, nil
}

// readContract reads the contract from the envelope or, when that is damaged, from the copy; each makes the other anew.
// Its hash names the folder, so neither can be another job's.
func readContract(d Disk, folder string, h keys.Hash) (*contract.Contract, error) {
	kept, damage := d.Load(ContractFile)
	if damage != nil && !faults.IsDamage(damage) {
		return nil, damage
	}
	copied, err := d.Load(ContractCopy)
	if err != nil {
		return nil, err
	}
	c, err := parseKept(filepath.Join(folder, ContractFile), kept, copied, h)
	if err == nil && string(kept) != string(copied) {
		err = errors.Join(d.Save(ContractFile, c.Text()), d.Save(ContractCopy, c.Text()))
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
	return nil, &vault.DamagedError{Path: path, Why: "neither it nor its copy " + ContractCopy + " can be read"}
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

// readEnding reads how the job ended, if it has. damage is what is wrong with an ending, which is asked for again.
func (s *standing) readEnding(d Disk) (damage, err error) {
	text, err := d.Load(EndingFile)
	if err == nil && text == nil || err != nil && !faults.IsDamage(err) {
		return nil, err
	}
	var e *contract.Ending
	if err == nil {
		if other := otherFormat(s.path(EndingFile), text, contract.EndingFormat); other != nil {
			return nil, other
		}
		e, err = contract.ParseEnding(s.contract, text)
	}
	if err == nil {
		err = e.InForce(s.contract)
	}
	if err == nil {
		s.ending = e
	}
	return err, nil
}

// endDamaged is what the owner reads of a job whose end cannot be read.
const endDamaged = "its end was damaged on this node's disk, and is asked for again"

// readRecord reads the record. Missing or damaged it is never consent. lost says that there is an ending, which cannot
// be read: the job has ended all the same.
func (s *standing) readRecord(d Disk, lost bool) error {
	text, err := d.Load(RecordFile)
	if err != nil && !faults.IsDamage(err) {
		return err
	}
	if err == nil && text != nil {
		if err := keys.DecodeStrict(RecordFile, text, &s.record); err != nil { // whole, and not understood
			return &vault.VersionError{Path: s.path(RecordFile), Why: err.Error()}
		}
	} else if err == nil {
		err = &vault.DamagedError{Path: s.path(RecordFile), Why: "it is not there"}
	}
	if err == nil {
		switch before := s.record; {
		case s.ending != nil: // a crash came between the two files
			if !s.record.State.Final() {
				s.record.Ended = d.Time(EndingFile)
			}
			s.record.State = State(s.ending.Outcome)
		case s.record.State.Final():
			s.record.Reason = endDamaged
		case lost: // and a crash came between the two files
			s.record.State, s.record.Reason = Failed, endDamaged
			return s.keep(d, before)
		}
		return nil
	}
	s.record = Record{State: Proposed, Damaged: true, Reason: fmt.Sprintf(
		"this node's record of it was damaged, and with it who had consented; consent again (hanse approve %s) or end it "+
			"(hanse cancel %s)", s.contract.Job.Name, s.contract.Job.Name)}
	switch {
	case lost:
		s.record.State, s.record.Reason = Failed, endDamaged
	case s.ending != nil: // an alignment may be used for so long after its end
		s.record.State, s.record.Reason, s.record.Ended = State(s.ending.Outcome), s.ending.Why(), d.Time(EndingFile)
	}
	if err := d.SetAside(RecordFile, err); err != nil {
		return err
	}
	return s.keep(d, Record{})
}

// keep writes a record that was another before.
func (s *standing) keep(d Disk, before Record) error {
	record, err := s.written(&standing{record: before})
	if err != nil {
		return err
	}
	return record(d)
}
