package columns

import (
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Sharers are the parties of a sealed job that hold shares.
type Sharers struct{ Holder, Keeper, Helper string }

// SharersOf reads from a contract who holds shares: a training says it in its parameters. A prediction says it nowhere
// else than in its operations: the messages of the first truncation go from the label holder to the keeper, and from
// the helper to the keeper.
func SharersOf(c *contract.Contract) Sharers {
	var s Sharers
	if c.Job.Task == contract.TaskTrain {
		if p, err := fdskl.ParamsOf(c.Job.Parameters, c.Job.Parties); err == nil {
			return Sharers{Holder: p.Active[0], Keeper: p.Keeper, Helper: p.Helper}
		}
	}
	for i := range c.Operations {
		switch o := &c.Operations[i]; {
		case o.Collective != contract.CollectiveDirect:
		case strings.HasSuffix(o.Kind, rss.SuffixCarry) && s.Holder == "":
			s.Holder = o.Root
		case strings.HasSuffix(o.Kind, rss.SuffixOut) && s.Keeper == "":
			s.Helper, s.Keeper = o.Root, o.To
		}
	}
	return s
}

// Role says what a party does, in words.
func (s *Sharers) Role(f *contract.Facts) string {
	switch f.Name {
	case s.Holder:
		return "label holder"
	case s.Keeper:
		return "keeper"
	case s.Helper:
		return RoleHelper
	}
	return f.Role
}
