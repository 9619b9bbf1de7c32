package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// algorithms is which package runs each algorithm, and the tables that they read.
type algorithms struct {
	config    *Config
	tables    *jobs.Tables
	member    *member
	questions *questions
	memory    int64                // bytes that sessions may take together; 0: nobody knows
	kinds     map[string]jobs.Kind // by algorithm; set once
}

// register notes which package of jobs runs each algorithm.
func (n *Node) register() {
	member := &jobs.Member{
		ID: n.config.Key.ID(), Name: n.name, Charter: n.currentCharter, Tables: n.tables, Workers: n.config.Workers,
		Dir: n.config.Dir, Parts: n.config.Parts, Now: n.config.Now, Finished: n.finished,
		Secret: n.config.Key.Secret, RowKey: func() keys.Hash { return n.ledger.Key() },
		Folder: func(h keys.Hash) (*vault.Vault, bool) {
			s, ok := n.job(h)
			if !ok || !s.Record().Removed.IsZero() {
				return nil, false
			}
			return s.vault, true
		},
		Signed: func(h keys.Hash, file string) error {
			s, ok := n.job(h) // it may have been forgotten since its folder was asked for
			if !ok {
				return faults.Errorf(fault.CodeUnknown, "has no job with contract %s", h.Short())
			}
			return n.checkPart(s, file)
		},
	}
	list := n.config.Algorithms.All()
	n.columns = columns.New(member, list)
	n.kinds = map[string]jobs.Kind{contract.PSI: n.columns}
	for _, algorithm := range list.Columns {
		n.kinds[algorithm.Name] = n.columns
	}
	n.tables.Identify = func() []string { return alignment.Columns(n.currentCharter().Identifiers) }
	overClients := clients.New(member, list)
	for _, algorithm := range list.Clients {
		n.kinds[algorithm.Name] = overClients
	}
}

// kindOf finds who runs a job's algorithm.
func (n *algorithms) kindOf(job *contract.Job) (jobs.Kind, error) {
	kind, ok := n.kinds[job.Algorithm]
	if !ok {
		known := slices.Sorted(maps.Keys(n.kinds))
		var names []string
		for _, name := range known {
			names = append(names, fmt.Sprintf("%q", name))
		}
		return nil, fmt.Errorf("job %q: algorithm is %q, this version runs %s%s", job.Name, wording.Clip(job.Algorithm),
			wording.List(names, "and"), wording.DidYouMean(job.Algorithm, known))
	}
	return kind, nil
}

// newTask returns this node's part of a job.
func (n *algorithms) newTask(job *contract.Job) (jobs.Task, error) {
	kind, err := n.kindOf(job)
	if err != nil {
		return nil, err
	}
	return kind.Task(job)
}

// underCharter checks a contract against the charter in force here: each party's name stands for the key that the
// charter gives it, the job keeps the charter's rules, and no two who hold shares are affiliated. A contract that was
// right under an earlier version may be wrong now: a key was revoked, or a rule became stricter. So every step that
// acts on a contract asks first: before it is kept, signed and started, and before each session.
func (n *algorithms) underCharter(c *contract.Contract) error {
	charter := n.member.currentCharter()
	members, err := c.Job.Members(&charter.Charter)
	if err != nil {
		return n.member.outside("", "%v: version %d of the charter is in force", err, charter.Version)
	}
	for i, m := range members {
		given := c.Parties[i].ID
		if given == m.ID {
			continue
		}
		if r, ok := charter.RevokedID(given); ok {
			return n.member.outside(m.Name, "the contract of job %q names the key %s for %s, which version %d of charter %q "+
				"has revoked (%s): propose the job anew",
				c.Job.Name, given.Short(), m.Name, charter.Version, charter.Name, r.Reason)
		}
		return n.member.outside(m.Name, "the contract of job %q names the key %s for %s: the key of %s in charter %q, "+
			"version %d, is %s",
			c.Job.Name, given.Short(), m.Name, m.Name, charter.Name, charter.Version, m.ID.Short())
	}
	kind, err := n.kindOf(c.Job)
	if err == nil {
		err = kind.Stands(c.Job)
	}
	return faults.OrElse(fault.CodeCharter, err)
}

// memoryOf is what a contract's job takes of this node's memory, and what the node has.
func (n *algorithms) memoryOf(c *contract.Contract) consent.Memory {
	return consent.Memory{Takes: summary.Memory(c, n.member.nameIn(c), n.config.Algorithms), Has: n.memory}
}

// memoryNote is what this node's owner reads of a job's memory before consent, nothing where it is little.
func (n *algorithms) memoryNote(c *contract.Contract) string {
	m := n.memoryOf(c)
	text := fmt.Sprintf("Memory: the job takes about %s here, and this node has %s for all its jobs",
		wording.Size(m.Takes), wording.Size(m.Has))
	switch {
	case m.Has == 0 || m.Takes <= m.Has/2:
		return ""
	case m.Takes <= m.Has:
		text += ". It takes more than half, so that no rule without a max_memory of its own accepts it."
	default:
		text += fmt.Sprintf(". Who consents agrees to the job, and its sessions wait until the node has more, or until "+
			"hanse resume %s has them start all the same; they may kill the node.", c.Job.Name)
	}
	return "\n" + wording.Wrap(wording.Columns, "", text)
}

// question is what another member asks about, and who.
type question struct {
	asker keys.ID
	table string
}

// questions counts what other members ask about tables.
type questions struct {
	mu       sync.Mutex
	of       map[question]int // how often
	refusals map[keys.ID]int  // to speak of tables, by who asked
}

// newQuestions has counted nothing.
func newQuestions() *questions {
	return &questions{of: make(map[question]int), refusals: make(map[keys.ID]int)}
}

// asked counts a question, and returns how often it has been asked.
func (q *questions) asked(of question) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of[of]++
	return q.of[of]
}

// refused counts a refusal to speak of a table, and returns how many there were of that member.
func (q *questions) refused(from keys.ID) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusals[from]++
	return q.refusals[from]
}

// noteQuestion tells the log who asks about a table that is no file: at the first time, the tenth, the hundredth and so
// on.
func (n *algorithms) noteQuestion(from keys.ID, job *contract.Job) {
	if !n.tables.FromSource(job.Table) {
		return
	}
	asked := n.questions.asked(question{from, job.Table})
	times := asked
	for ; times > 1 && times%10 == 0; times /= 10 {
	}
	if times > 1 {
		return
	}
	n.config.Log.Info("a member asks about a table, whose source is not run for that", "member", n.member.memberName(from),
		"table", job.Table, "job", job.Name, "times", asked)
}

// refreshFor has the table of a job of the owner's read, if that is no file.
func (n *algorithms) refreshFor(ctx context.Context, job *contract.Job, why string) error {
	if job.OverClients() {
		return nil
	}
	return n.refreshOwn(ctx, job.Table, why)
}

// refreshOwn has a table read, if it is no file.
func (n *algorithms) refreshOwn(ctx context.Context, table, why string) error {
	if !n.tables.FromSource(table) {
		return nil
	}
	_, _, err := n.tables.Refresh(ctx, table, why)
	return err
}

// byCommand says for the log that the owner's command has a table read.
func byCommand(command, person string) string {
	if person == "" {
		return command
	}
	return fmt.Sprintf("%s of user %s", command, person)
}

// TableReading is how a table of the node's was read.
type TableReading struct {
	Table  string `json:"table"`
	Source string `json:"source"` // as messages call it
	Digest string `json:"digest"` // of its content
	First  bool   `json:"first"`  // it had not been read before
	// whether the digest is another than before
	Changed bool `json:"changed"`
}

// RefreshTable has a table that is no file read as it is now, for its owner; person may be empty.
func (n *algorithms) RefreshTable(ctx context.Context, name, person string) (*TableReading, error) {
	if n.tables.Has(name) && !n.tables.FromSource(name) {
		return nil, fmt.Errorf("table %q is a file, which is looked at whenever it is used: there is nothing to refresh",
			name)
	}
	before, _, unread := n.tables.Now(name)
	sum, path, err := n.tables.Refresh(ctx, name, byCommand("hanse table refresh", person))
	if err != nil {
		return nil, err
	}
	return &TableReading{Table: name, Source: path, Digest: sum.String(), First: unread != nil,
		Changed: unread == nil && before != sum}, nil
}
