package wired

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// leaveTime bounds how long a party tries to tell the others why it leaves a session.
const leaveTime = time.Second

// Party is one party's place in a session of a contract.
type Party struct {
	Key       *keys.PrivateKey   // of the party, which is in the contract
	Transport protocol.Transport // has links to all other parties; peer.Host is one
	Contract  contract.InForce
	Number    uint32 // of the session, higher than in all sessions before, and the same at all parties; 0: 1
	Folder    string // where the contract and the transcript are kept, of this contract alone
}

// Run begins a session among all parties of a contract, does part in it, and ends it: then all parties have done theirs
// and have signed what passed. What the contract does not list is not sent, and all that passes is on record in the
// party's folder.
func Run[T any](ctx context.Context, p Party,
	part func(context.Context, *protocol.Session, *contract.Contract) (T, error)) (result T, err error) {
	c, number := p.Contract.Contract(), max(p.Number, 1)
	if c == nil {
		return result, errors.New("a session of no contract: want one that Contract.InForce returned")
	}
	config := protocol.SessionConfig{Contract: c.Hash(), Number: number, Parties: c.Members(), Key: p.Key}
	self, others := -1, []keys.ID(nil)
	for i, member := range config.Parties {
		if member.ID == p.Key.ID() {
			self = i
		} else {
			others = append(others, member.ID)
		}
	}
	if self < 0 {
		return result, fmt.Errorf("the key %s is of no party of job %q: want the one that it names for this party",
			p.Key.ID().Short(), c.Job.Name)
	}
	if config.Budget, err = contract.NewBudget(c, self); err != nil {
		return result, err
	}
	record, err := transcript.Begin(p.Folder, c, number, 0, transcript.Config{Key: p.Key})
	if err != nil {
		return result, err
	}
	config.Recorder = record
	defer func() { err = errors.Join(err, record.Close(err == nil)) }()
	if err := os.WriteFile(filepath.Join(p.Folder, transcript.ContractFile), c.Text(), 0o600); err != nil {
		return result, err
	}
	mesh, err := p.Transport.Open(ctx, protocol.NewSessionID(c.Hash(), number, 0), others)
	if err != nil {
		return result, err
	}
	defer mesh.Close()
	s, err := protocol.NewSession(ctx, mesh, config)
	if err != nil {
		return result, err
	}
	if result, err = part(ctx, s, c); err == nil {
		err = s.Finish(ctx)
	}
	if err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		s.Abort(leaving, protocol.ReasonOf(err))
	}
	return result, err
}
