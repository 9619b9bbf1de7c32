package node

import (
	"github.com/hanse-project/hanse/internal/recorder"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// DefaultRecordLimit is the most bytes of payloads that are kept of one job.
const DefaultRecordLimit = 8 << 30

// Names inside a job's folder.
const (
	TranscriptFile = "transcript"
	PayloadFolder  = "payloads"
)

// newRecorder continues the job's transcript with a new session.
func (n *Node) newRecorder(s *jobState, session uint32) (*recorder.Recorder, error) {
	c := s.contract
	config := transcript.Config{Contract: c.Hash(), Self: c.Job.Index(n.name()), Key: n.config.Key}
	for _, p := range c.Parties {
		config.IDs = append(config.IDs, p.ID)
	}
	if c.Job.Record == protocol.RecordFull {
		limit := n.config.RecordLimit
		if limit == 0 {
			limit = DefaultRecordLimit
		}
		var err error
		if config.Store, err = transcript.OpenStore(s.vault.Path(PayloadFolder), limit); err != nil {
			return nil, err
		}
	}
	log, err := transcript.Open(s.vault.Path(TranscriptFile), config)
	if err != nil {
		return nil, err
	}
	return recorder.New(log, session, len(c.Parties))
}
