package wired

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Part is one party's part of a training.
type Part struct {
	Table  *Table               // the one that the party's facts in the contract are of
	Vault  joint.Vault          // of this contract alone, for a party that comes back after a crash; nil: in memory
	Report func(joint.Progress) // hears how far it is; may be nil
}

// Train does the part in a session of the training's contract, and returns this party's part of the model. Before
// anything of the data leaves, all parties have compared the ids of their rows.
func (p Part) Train(ctx context.Context, s *protocol.Session, c *contract.Contract) (joint.Part, error) {
	training, _, err := trainingOf(c.Job)
	if err != nil {
		return nil, err
	}
	self, f, own := s.Self(), p.Table.Facts, p.Table.own
	if agreed := c.Parties[self]; !f.Equal(agreed) {
		return nil, fmt.Errorf("the table of %s is not the one of the contract of job %q: it has %d rows and %d columns, "+
			"agreed are %d and %d; bring that one", f.Name, c.Job.Name, f.Rows, f.Columns, agreed.Rows, agreed.Columns)
	}
	differ, err := s.CompareRows(ctx, own.Table.IDDigest(), c.Holders())
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 {
		return nil, fmt.Errorf("%s and %s have rows of other ids, so that nothing was computed: want the same rows at all "+
			"parties", f.Name, s.Name(differ[0]))
	}
	if p.Vault == nil {
		p.Vault = joint.NewMemory()
	}
	if p.Report == nil {
		p.Report = func(joint.Progress) {}
	}
	opened := func(string, int64) {}
	network, err := NewNetwork(ctx, s, c, opened)
	if err != nil {
		return nil, err
	}
	part, _, err := training.Train(ctx, &joint.Session{Contract: c, Self: self, Owner: f.ID, Number: s.Number(),
		Network: network, Vault: p.Vault, Report: p.Report, Opened: opened}, &joint.Table{Columns: own.Columns,
		Normaliser: own.Normaliser, Rows: own.Rows, Labels: own.Labels, Reading: p.Table.reading})
	return part, err
}
