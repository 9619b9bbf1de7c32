package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/recorder"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
)

// DefaultRecordLimit is the most bytes of payloads that are kept of one job.
const DefaultRecordLimit = 8 << 30

// newRecorder continues the job's transcript with a new session.
func (n *runner) newRecorder(s *jobState, session uint32) (*recorder.Recorder, error) {
	c := s.Contract()
	config := transcript.Config{Contract: c.Hash(), Self: c.Job.Index(n.member.nameIn(c)), Key: n.config.Key,
		Consent: s.Record().Consent.Digest(c.Hash())}
	if c.Job.Task == contract.TaskAlign {
		config.Secret = psi.Secret
	}
	for _, p := range c.Parties {
		config.IDs = append(config.IDs, p.ID)
	}
	if c.Job.Record == contract.RecordFull {
		limit := n.config.RecordLimit
		if limit == 0 {
			limit = DefaultRecordLimit
		}
		var err error
		if config.Store, err = transcript.OpenStore(s.vault.Path(PayloadFolder), limit); err != nil {
			return nil, damagedRecord(err)
		}
	}
	path := s.vault.Path(TranscriptFile)
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	size := int64(0)
	if err == nil {
		size = info.Size()
	}
	was := s.Record().Recorded
	if size < was {
		return nil, &vault.DamagedError{Path: path, Why: fmt.Sprintf("it had %d bytes when the last session ended, and "+
			"has %d", was, size)}
	}
	config.Synced = was
	log, err := transcript.Open(path, config)
	if err != nil {
		return nil, damagedRecord(err)
	}
	return recorder.New(log, session, len(c.Parties))
}

// damagedRecord is what an error of a transcript or its payloads means, but for what the system says.
func damagedRecord(err error) error {
	if faults.IsDiskFault(err) {
		return err
	}
	return &faults.Error{Code: fault.CodeDamaged, Err: err}
}
