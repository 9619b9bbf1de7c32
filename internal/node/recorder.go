package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/psi"
)

// newRecorder continues the job's transcript with a new session.
func (n *runner) newRecorder(s *jobState, session uint32) (*transcript.Recorder, error) {
	c := s.Contract()
	config := transcript.Config{Key: n.config.Key, Consent: s.Record().Consent.Digest(c.Hash())}
	if c.Job.Task == contract.TaskAlign {
		config.Secret = psi.Secret
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
	r, err := transcript.Begin(filepath.Dir(path), c, session, n.config.RecordLimit, config)
	if err != nil {
		return nil, damagedRecord(err)
	}
	return r, nil
}

// damagedRecord is what an error of a transcript or its payloads means, but for what the system says.
func damagedRecord(err error) error {
	if faults.IsDiskFault(err) {
		return err
	}
	return &faults.Error{Code: fault.CodeDamaged, Err: err}
}
