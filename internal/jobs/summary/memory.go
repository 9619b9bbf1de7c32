package summary

import (
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// What a row takes at a party, in bytes: a cell of its table, what is kept beside the cells, and in an alignment the
// ids with the points that come of them.
const (
	cellMemory    = 8
	rowMemory     = 16
	alignedMemory = 256
)

// Memory is about how many bytes of memory a session of a job takes at the named party: its table and, of a training,
// what the algorithm keeps. Of what its workers take, who have machines of their own, nothing is in it.
func Memory(c *contract.Contract, party string, l registry.List) int64 {
	i := c.Job.Index(party)
	if i < 0 {
		return 0
	}
	rows, table := int64(c.Parties[i].Rows), int64(cellMemory*c.Parties[i].Columns+rowMemory)
	if c.Job.Task == contract.TaskAlign {
		table += alignedMemory
	}
	return rows*table + trainingMemory(c, party, l)
}

// paramsOf returns the parameters of a training by kernels or bins; false: the job is another.
func paramsOf(c *contract.Contract, l registry.List) (p fdskl.Params, ok bool) {
	if c.Job.Task != contract.TaskTrain || c.Job.OverClients() {
		return p, false
	}
	o, err := l.Outline(c.Job, nil, c.Parties, nil)
	if err != nil {
		return p, false // no such job has become a contract
	}
	return fdskl.ParamsIn(o)
}

// trainingMemory is what a training takes beside the table, 0 of any other job, and of algorithms of which that is not
// known.
func trainingMemory(c *contract.Contract, party string, l registry.List) int64 {
	p, ok := paramsOf(c, l)
	if !ok {
		return 0
	}
	if c.Job.Privacy == keys.PrivacySealed {
		three := l.Sharers(c)
		if party != three.Holder && party != three.Keeper && party != three.Helper {
			return 0
		}
		return sealed.Memory(p, c.Rows())
	}
	for _, o := range c.Openings {
		if o.Kind == "angles" && o.To == party {
			return p.Memory(c.Rows(), anglesKept(c, o))
		}
	}
	return 0
}

// anglesKept is how many angles of an opening are held in memory at once: of a job in shards none comes to the node.
func anglesKept(c *contract.Contract, o contract.Opening) int64 {
	if c.Job.Shards > 0 {
		return 0
	}
	return o.Count
}
