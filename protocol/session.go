package protocol

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// SessionConfig is what the parties of a session agreed on before it starts.
type SessionConfig struct {
	Contract keys.Hash
	Number   uint32           // 1 for the first run of a contract, one more for each resumption
	Parties  []contract.Party // in the contract's order; indices everywhere are into this list
	Key      *keys.PrivateKey // this party's identity
	Chunk    int              // bytes; a multiple of 8; 0 means DefaultChunk
	Waits    *Waits           // where this party's waits are counted; nil: nowhere

	// Budget is what this party may send. A session that may send anything says so in Unbounded.
	Budget    *contract.Budget
	Unbounded bool
	// Recorder keeps the transcript; all parties of a session have one, or none. A session that nobody can audit says so
	// in Unrecorded.
	Recorder   Recorder
	Unrecorded bool
}

// checkGuards refuses a configuration that leaves out a guard without a word.
func (c *SessionConfig) checkGuards() error {
	if c.Budget == nil && !c.Unbounded {
		return fmt.Errorf("session %d of contract %s has no Budget, and this party could send anything: want one from "+
			"contract.NewBudget, or Unbounded: true where nothing is agreed", c.Number, c.Contract.Short())
	}
	if c.Recorder == nil && !c.Unrecorded {
		return fmt.Errorf("session %d of contract %s has no Recorder, and nobody could audit it: want one from "+
			"transcript.Begin, or Unrecorded: true where nobody will", c.Number, c.Contract.Short())
	}
	return nil
}

// Session is one execution of a contract among its parties: numbered operations over one mesh.
// All parties call the same operations in the same order. It is not safe for concurrent use.
// After an error it is of no further use: the parties start a new session.
type Session struct {
	wire
	operation uint64
	shared    keys.Hash // digest of all that was broadcast
	chunk     []byte    // own chunk of a reduce
	incoming  []byte    // a child's chunk of a reduce
	pairs     []*PairSecret
	pending   pendings
}

// NewSession starts a session over a mesh that links all parties, and agrees on fresh pair
// secrets (see PairSecret). It returns when every party's signed ephemeral key has come and, where
// transcripts are kept, what each says of the sessions before and signs.
func NewSession(ctx context.Context, mesh Mesh, config SessionConfig) (*Session, error) {
	w, err := newWire(mesh, config)
	if err != nil {
		return nil, err
	}
	s := &Session{wire: *w, pairs: make([]*PairSecret, len(config.Parties)),
		shared: keys.HashOf(domainShared, config.Contract[:], number(config.Number))}
	if err := s.agree(ctx); err != nil {
		return nil, err
	}
	if config.Recorder == nil {
		return s, nil
	}
	err = s.exchangePast(ctx)
	if err == nil {
		err = s.countersign(ctx)
	}
	if err != nil {
		s.blame(ctx, err)
		s.sayGone(ctx, err)
		return nil, err
	}
	return s, nil
}

// Number returns the session's number in its contract, from 1.
func (s *Session) Number() uint32 { return s.config.Number }

// Operations returns how many collective operations the session has run.
func (s *Session) Operations() uint64 { return s.operation }

// next begins an operation: its number is the same at all parties. Now and then they countersign
// first.
func (s *Session) next(ctx context.Context) (uint64, error) {
	if s.operation > 0 && s.operation%contract.CountersignEvery == 0 {
		if err := s.countersign(ctx); err != nil {
			return 0, err
		}
	}
	s.operation++
	return s.operation, nil
}
