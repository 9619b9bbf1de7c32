package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
)

// TrainingParams reads the parameters of an FDSKL training from its contract. Another task or
// algorithm is an error that says so.
func TrainingParams(c *protocol.Contract) (fdskl.Params, error) {
	if c.Job.Algorithm != "fdskl" || c.Job.Task != protocol.TaskTrain {
		return fdskl.Params{}, fmt.Errorf("attacks on angles know trainings by fdskl, this is a %s job of %s", c.Job.Task, c.Job.Algorithm)
	}
	p, err := fdskl.ParamsOf(c.Job.Parameters, c.Job.Parties)
	if err == nil && c.Job.Privacy == fdskl.Sealed {
		p = sealed.WithDefaults(p)
	}
	return p, err
}

// modes prepares for the job's parameters and for what protects its sums.
func (f *follower) modes(rows []int) (err error) {
	f.params, f.sigma, f.strange = f.in.params()
	if n := jobRows(f.in.Contract); f.strange == nil && n > mostRows/len(f.params.Active) {
		f.strange = fmt.Errorf("attacks on angles work on at most %d rows, the contract has %d", mostRows/len(f.params.Active), n)
	}
	if f.encrypted, err = newSealedAngles(f.in.Contract); err != nil {
		return err
	}
	if f.shares, err = newShares(f.in, f.party, rows); f.shares != nil {
		f.active.view = viewPadded
		if n := jobRows(f.in.Contract); f.strange == nil && f.in.Contract.Job.Task == protocol.TaskTrain && n > mostSharedRows {
			f.strange = fmt.Errorf("a sealed training takes at most %d rows, the contract has %d", mostSharedRows, n)
		}
	}
	return err
}

// lay starts to follow the angles of a session.
func (f *follower) lay() {
	switch {
	case f.strange != nil:
	case f.shares != nil:
		f.shares.begin(f.in, f.params)
	default:
		f.layout = f.in.layout(f.params)
	}
}
