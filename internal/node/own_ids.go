package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Where too few rows are common to all, or not all, each owner is told by its own node what its own ids look like, from
// its own table alone. Nothing of it goes to others: it is in no ending, no fault and no answer.

// identifiersOf returns by which identifiers of the charter a job compares rows; none: by their id column.
func (n *keeper) identifiersOf(job *contract.Job) []keys.Identifier {
	if job.Task != contract.TaskAlign {
		return nil
	}
	p, err := psi.ParamsOf(job)
	if err != nil {
		return nil
	}
	charter := n.member.currentCharter()
	var all []keys.Identifier
	for _, name := range p.Keys {
		if id, ok := charter.Identifier(name); ok {
			all = append(all, id)
		}
	}
	return all
}

// keysHint says where an alignment compares the id column alone although the charter says what else tells people: of
// what was agreed to, and to this node's owner alone. Empty: nothing is to be said.
func (n *keeper) keysHint(job *contract.Job) string {
	p, err := psi.ParamsOf(job)
	identifiers := n.member.currentCharter().Identifiers
	if job.Task != contract.TaskAlign || err != nil || len(p.Keys) > 0 || len(identifiers) == 0 {
		return ""
	}
	var names []string
	for _, id := range identifiers {
		names = append(names, id.Name)
	}
	const hint, flag = "the id column is compared as it is written, not by the charter's ids: ", "--keys "
	if job.Proposer == n.member.name() {
		return hint + "hanse align " + flag + strings.Join(names, ",") + " compares by those"
	}
	return hint + job.Proposer + ", who proposes it, would add " + flag + strings.Join(names, ",")
}

// doubtsOf says what of the own ids other members may write otherwise than this node's table, before an alignment.
func (n *keeper) doubtsOf(job *contract.Job) []string {
	return jobs.Doubts(n.tables.Looks(job.Table, n.identifiersOf(job)))
}

// ownIDs says what the ids of a job's own table look like, doubtful or not: a sentence each.
func (n *keeper) ownIDs(job *contract.Job) []string {
	var says []string
	for _, look := range n.tables.Looks(job.Table, n.identifiersOf(job)) {
		for _, sentence := range look.Sentences() {
			says = append(says, fmt.Sprintf("of your own table %q, and told to nobody else: %s", job.Table, sentence))
		}
	}
	return says
}

// ownIDsAfter is ownIDs, and keysHint, where a job ended because the tables have too few rows in common, or not all,
// and this node brought a table.
func (n *keeper) ownIDsAfter(s *jobState, e *contract.Ending) []string {
	if e.Outcome != contract.OutcomeFailed || e.Fault == nil || s.Contract().Job.OverClients() ||
		s.Contract().Parties[s.Contract().Job.Index(s.Self())].Rows == 0 {
		return nil
	}
	codes := job.Codes(e)
	if !slices.Contains(codes, fault.CodeTooFew) && !slices.Contains(codes, fault.CodeRows) {
		return nil
	}
	says := n.ownIDs(s.Contract().Job)
	if hint := n.keysHint(s.Contract().Job); hint != "" {
		says = append(says, hint)
	}
	return says
}

// lookAtOwnIDs tells this node's owner, who proposes a job that the parties' tables do not fit, what the own ids look
// like. There is no contract yet: it goes to the log, and to listen.
func (n *keeper) lookAtOwnIDs(job *contract.Job, err error, listen func(jobs.Event)) {
	if !faults.WithCode(fault.CodeRows)(err) {
		return
	}
	for _, text := range n.ownIDs(job) {
		n.config.Log.Warn(text, "job", job.Name)
		if listen != nil {
			listen(jobs.Event{Kind: jobs.EventWarning, Time: n.config.Now(), Text: text})
		}
	}
}
