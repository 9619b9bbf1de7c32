package joint

import (
	"strings"

	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// RoleHelper is the role of a party that holds shares and no data.
const RoleHelper = "helper"

// Sharers are the parties of a sealed job that hold shares.
type Sharers struct{ Holder, Keeper, Helper string }

// Sharers returns who holds shares in a training.
func (g *Goal) Sharers() Sharers { return Sharers{g.Active[0], g.Keeper, g.Helper} }

// SharersByMessages reads from a contract who holds shares: the messages of the first truncation go from the label
// holder to the keeper, and from the helper to the keeper. A prediction says it nowhere else. Empty: nobody.
func SharersByMessages(c *contract.Contract) (s Sharers) {
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
