package columns

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// cutsOf is a member, and a table that it asked about.
type cutsOf struct {
	asker string
	table keys.Hash
}

// cut is how a member wants a table's columns cut into bins, and of which rows.
type cut struct {
	bins, minCell int
	rows          string // of which alignment
}

// mostCuts is by how many cuts of one table this node tells one other member its number of bins, until it is started
// again. Each tells something of how large the cells of the columns are, and is told before its owner consents: who
// could ask for any number of them could count the rows of each cell.
const mostCuts = 8

// cuts are those by which other members asked for numbers of bins.
type cuts struct {
	mu   sync.Mutex
	made map[cutsOf][]cut
}

// may refuses to cut a table for another member once more, in another way than before. self is this member's name.
func (u *cuts) may(self string, job *contract.Job, scales kernel.FitOptions, table keys.Hash) error {
	if job.Proposer == self {
		return nil
	}
	of, c := cutsOf{job.Proposer, table}, cut{scales.Bins, scales.MinCell, job.Rows + " " + job.Alignment}
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.made[of], c) {
		return nil
	}
	if len(u.made[of]) >= mostCuts {
		return fmt.Errorf("job %q: %s has asked for the number of bins of table %q in %d ways, by bins and min_cell, since "+
			"this node started: more would tell how many rows its cells have; it is to propose one of these, or this node is "+
			"started again", job.Name, job.Proposer, job.Table, mostCuts)
	}
	u.made[of] = append(u.made[of], c)
	return nil
}
