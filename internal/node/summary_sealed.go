package node

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
)

// sharers are the parties of a sealed job that hold shares.
type sharers struct{ holder, keeper, helper string }

// sharersOf reads from a contract's operations who holds shares, which a predict job says nowhere else: the label
// holder sends the factors of the first block to the helper, and the keeper the first half of its features.
func sharersOf(c *protocol.Contract) sharers {
	var s sharers
	for i := range c.Operations {
		switch o := &c.Operations[i]; {
		case o.Kind == sealed.Factors && s.holder == "":
			s.holder, s.helper = o.Root, o.To
		case o.Kind == sealed.Features && s.keeper == "":
			s.keeper = o.Root
		}
	}
	return s
}

// role says what a party does, in words.
func (s *sharers) role(f *protocol.Facts) string {
	switch f.Name {
	case s.holder:
		return "label holder"
	case s.keeper:
		return "keeper"
	case s.helper:
		return roleHelper
	}
	return f.Role
}

// writeSharers says who holds shares, and what any two of them could do.
func writeSharers(b *strings.Builder, c *protocol.Contract) {
	if c.Job.Privacy != fdskl.Sealed {
		return
	}
	s := sharersOf(c)
	whole, alone := "all columns, the labels and the model", "each alone"
	if c.Job.Task == protocol.TaskPredict {
		whole = "all columns of these rows, their scores and the model"
	}
	if len(c.Parties) > 3 {
		alone += ", together with any of the other parties,"
	}
	fmt.Fprintf(b, "\n%s", wrapped("", fmt.Sprintf(
		"%s (label holder), %s (keeper) and %s (helper) hold shares of whatever is computed. Any two of these three together could rebuild %s; %s learns nothing but what is listed below.",
		s.holder, s.keeper, s.helper, whole, alone)))
}

// writeSealedMemory says what a sealed training keeps in memory: shares of a matrix, and for some losses of all
// features, at those who hold shares.
func writeSealedMemory(b *strings.Builder, c *protocol.Contract) {
	p, err := fdskl.ParamsOf(c.Job.Parameters, c.Job.Parties)
	if err != nil {
		return
	}
	s, others := sharersOf(c), ""
	if len(c.Parties) > 3 {
		others = "; the others a few megabytes"
	}
	fmt.Fprintf(b, "\nmemory beside the table: about %s at each of %s, %s and %s%s\n", Size(sealed.Memory(p, rows(c))), s.holder, s.keeper, s.helper, others)
}
