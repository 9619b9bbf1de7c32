package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit/conform"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// fewestShardRows is how many rows of each shard attacks work on at least, however many shards there are; of few shards
// they work on shardSamples times as many in all as of a job without.
const (
	fewestShardRows = 1024
	shardSamples    = 4
)

// sharded audits the shards of a job.
type sharded struct {
	*auditor
	cuts     []contract.Shard         // of the job's rows
	records  [][]evidence.ShardRecord // by party and shard; nil where the party's folder was not given
	done     []uint32                 // by shard: the generation that the parties say is done; 0: none
	sessions []*shardSession          // by shard, then generation
}

// shardSession is one session of a shard: a generation.
type shardSession struct {
	shard      int
	generation uint32
	done       bool
	have       []*evidence.Generation // by party; nil where its folder has nothing
	audit      *auditor               // of its transcripts; without a contract where nobody has one that holds
	err        error
}

// name says which session it is.
func (s *shardSession) name() string {
	if s.done {
		return fmt.Sprintf("shard %d", s.shard)
	}
	return fmt.Sprintf("shard %d, generation %d", s.shard, s.generation)
}

// auditShards audits all sessions of a job's shards as Run does the job's own, and holds them against the job.
func (a *auditor) auditShards(ctx context.Context) error {
	if a.in.Contract.Job.Shards == 0 {
		return nil
	}
	s := &sharded{auditor: a, records: make([][]evidence.ShardRecord, len(a.in.Contract.Parties))}
	a.shards = s
	if a.in.Shards != nil {
		s.records = a.in.Shards.Records
	}
	var unread []string
	for i, p := range a.report.Job.Parties {
		if p.Audited && s.records[i] == nil {
			unread = append(unread, p.Name)
		}
	}
	if len(unread) > 0 {
		a.report.NotLookedAt = append(a.report.NotLookedAt, fmt.Sprintf("The transcripts of the %s at %s: it takes the "+
			"job's folder of each party's node.", wording.Count(a.in.Contract.Job.Shards, "shard"), several(unread)))
	}
	if a.in.Shards == nil {
		return nil
	}
	var err error
	if s.cuts, err = a.in.CutShards(); err != nil {
		s.note("", finding.Failed, "%v", err)
		return nil
	}
	s.gather()
	s.settle()
	width, err := s.width(ctx)
	if err != nil {
		return err
	}
	parallel.All(atOnce, len(s.sessions), func(i int) {
		if one := s.sessions[i]; one.audit.in.Contract != nil {
			one.err = s.examine(ctx, one, width)
		}
	})
	for _, one := range s.sessions {
		if one.err != nil {
			return fmt.Errorf("%s: %w", one.name(), one.err)
		}
	}
	s.unseen()
	if err := s.reused(ctx); err != nil {
		return err
	}
	s.compared()
	s.merge()
	s.describe()
	return nil
}

// note adds what was found of a job's shards, or of a session of one.
func (a *account) note(party string, v finding.Verdict, format string, args ...any) {
	a.report.Checks = append(a.report.Checks, finding.Check{Name: finding.CheckShards, Party: party, Verdict: v,
		Detail: fmt.Sprintf(format, args...)})
}

// party names a party.
func (s *sharded) party(i int) string { return s.in.Contract.Parties[i].Name }

// gather orders what the parties have by session.
func (s *sharded) gather() {
	for i := range s.in.Shards.Generations {
		g := &s.in.Shards.Generations[i]
		if g.Shard < 0 || g.Shard >= len(s.cuts) {
			s.note(s.party(g.Party), finding.Failed, "it has a session of shard %d, and there are shards 0 to %d", g.Shard,
				len(s.cuts)-1)
			continue
		}
		one := s.find(g.Shard, g.Number)
		if one == nil {
			one = &shardSession{shard: g.Shard, generation: g.Number,
				have:  make([]*evidence.Generation, len(s.in.Contract.Parties)),
				audit: &auditor{account: &account{report: new(finding.Report)}}}
			at, _ := s.place(g.Shard, g.Number)
			s.sessions = slices.Insert(s.sessions, at, one)
		}
		one.have[g.Party] = g
	}
}

// place says where the session of a shard stands, or would.
func (s *sharded) place(shard int, generation uint32) (int, bool) {
	return slices.BinarySearchFunc(s.sessions, shard, func(one *shardSession, _ int) int {
		return cmp.Or(cmp.Compare(one.shard, shard), cmp.Compare(one.generation, generation))
	})
}

// find returns the session of a shard, nil where nobody has anything of it.
func (s *sharded) find(shard int, generation uint32) *shardSession {
	if at, ok := s.place(shard, generation); ok {
		return s.sessions[at]
	}
	return nil
}

// settle finds out which generation of each shard is done, by the records of the parties, and what is missing of it.
func (s *sharded) settle() {
	s.done = make([]uint32, len(s.cuts))
	for i := range s.cuts {
		first := -1
		for p, list := range s.records {
			switch {
			case list == nil:
			case list[i].Fault != "":
				s.note(s.party(p), finding.Failed, "shard %d: its record cannot be read: %s", i, list[i].Fault)
			case list[i].Done == 0 && s.ended(p):
				s.note(s.party(p), finding.Failed, "shard %d: its record has no generation that is done, and its job is", i)
			case list[i].Done == 0:
				s.note(s.party(p), finding.Skipped, "shard %d: its record has no generation that is done: the job was under way", i)
			case first < 0:
				first, s.done[i] = p, list[i].Done
			case list[i].Done != s.done[i]:
				s.note(s.party(p), finding.Failed, "shard %d: two generations are done: %d by the record of %s, "+
					"and %d by that of %s", i, s.records[first][i].Done, s.party(first), list[i].Done, s.party(p))
				s.done[i] = max(s.done[i], list[i].Done)
			}
		}
		one := s.find(i, s.done[i])
		if one != nil {
			one.done = s.done[i] > 0
		}
		for p, list := range s.records {
			if list == nil || list[i].Done == 0 {
				continue
			}
			at := s.find(i, list[i].Done)
			if at == nil || at.have[p] == nil || at.have[p].Source == nil {
				s.note(s.party(p), finding.Failed, "shard %d: %s has no transcript of generation %d, which its record says is done",
					i, s.party(p), list[i].Done)
			}
		}
	}
	for _, one := range s.sessions {
		for p, list := range s.records {
			if list != nil && one.have[p] != nil && list[one.shard].Fault == "" && one.generation > list[one.shard].Latest {
				one.audit.note(s.party(p), finding.Failed, "there is a session of generation %d, and %s has delegated no "+
					"later one than %d", one.generation, s.party(p), list[one.shard].Latest)
			}
		}
		s.choose(one)
	}
}

// ended reports whether the transcript of a party's own sessions ends as the job does.
func (a *auditor) ended(party int) bool {
	e := a.exam(party)
	return e != nil && slices.ContainsFunc(e.Checks, func(c finding.Check) bool {
		return c.Name == finding.CheckComplete && c.Verdict == finding.Passed
	})
}

// choose takes the contract of a session: all parties have the same.
func (s *sharded) choose(one *shardSession) {
	from, a := -1, one.audit
	for p, g := range one.have {
		if g == nil {
			continue
		}
		c := g.Contract.Contract()
		switch {
		case c == nil:
			a.note(s.party(p), finding.Failed, "the contract of generation %d does not hold: %s", one.generation, g.Fault)
		case c.Shard.Index != one.shard || c.Shard.Generation != one.generation:
			a.note(s.party(p), finding.Failed, "the contract in its folder is that of shard %d, generation %d", c.Shard.Index,
				c.Shard.Generation)
		case from < 0:
			from, a.in.Contract = p, c
		case c.Hash() != a.in.Contract.Hash():
			a.note(s.party(p), finding.Failed, "the contract of generation %d is another than at %s", one.generation,
				s.party(from))
		}
	}
}

// width is the kernel's, as it was agreed in the job's own session; 0 where no transcript tells.
func (s *sharded) width(ctx context.Context) (float64, error) {
	for _, e := range s.exams {
		if e.Self < 0 || e.Stopped {
			continue
		}
		w, err := views.Width(ctx, &s.in, e.Source)
		if w > 0 || err != nil {
			return w, err
		}
	}
	return 0, nil
}

// examine audits one session as a job by itself, whose contract must follow from the job's.
func (s *sharded) examine(ctx context.Context, one *shardSession, width float64) error {
	a := one.audit
	a.in = s.in.OfShard(a.in.Contract, one.have)
	usual := cmp.Or(max(0, s.in.Rows), evidence.DefaultRows)
	a.in.Rows = min(usual, max(fewestShardRows, shardSamples*usual/len(s.cuts)))
	a.in.Sigma = width
	s.follows(one)
	if err := a.read(ctx); err != nil {
		return err
	}
	if !one.done { // another one follows
		a.report.Checks = slices.DeleteFunc(a.report.Checks, func(c finding.Check) bool {
			return c.Name == finding.CheckComplete && c.Verdict == finding.Skipped
		})
	}
	return a.attackViews(ctx, 1)
}

// placed reports whether a transcript is that of the party in whose folder it lies, and notes where it is another's.
func (a *auditor) placed(e *conform.Examination, of string) bool {
	if e.Self >= 0 && e.Transcript.Party != of {
		a.note(of, finding.Failed, "its folder has the transcript of %s", e.Transcript.Party)
	}
	return e.Self >= 0 && e.Transcript.Party == of
}

// follows checks that a session's contract follows from the job's: its rows, openings and operations.
func (s *sharded) follows(one *shardSession) {
	a, c := one.audit, one.audit.in.Contract
	cut, is := s.cuts[one.shard], c.Shard.Shard
	if is != cut {
		a.note("", finding.Failed, "the contract of generation %d is of rows %d to %d, and the job's cut gives the shard "+
			"rows %d to %d", one.generation, is.First, is.First+is.Rows, cut.First, cut.First+cut.Rows)
		return
	}
	openings, operations, err := s.in.DiscloseShard(cut)
	what := differ(operations, c.Operations, describeOperation)
	what = cmp.Or(what, differ(openings, c.Openings, describeOpening))
	switch {
	case errors.Is(err, registry.ErrNoModel):
		a.note("", finding.Skipped, "what openings and operations its contract should list was not made again: %v", err)
	case err != nil:
		a.note("", finding.Failed, "no contract of it can follow from the job's: %v", err)
	case what != "":
		a.note("", finding.Failed, "the contract of generation %d %s", one.generation, what)
	default:
		a.note("", finding.Passed, "its contract is under the delegations of all parties, for its part of the job's cut, "+
			"which has no gap and no overlap, and lists the openings and operations that follow from the job")
	}
}

// describeOperation says in a line what a contract lists.
func describeOperation(o contract.Operation) string {
	text := o.Kind
	switch {
	case o.To != "":
		text += " from " + o.Root + " to " + o.To
	case o.Root != "":
		text += " of " + o.Root
	}
	return fmt.Sprintf("%s (stage %d, %s, %s %s, %d of %d bytes in all, shape %v)", text, o.Stage, o.Collective, o.Class,
		o.Encoding, o.Count, o.Bytes, o.Shape)
}

// describeOpening says in a line what a contract opens.
func describeOpening(o contract.Opening) string {
	return fmt.Sprintf("the opening of %d %s to %s", o.Count, o.Kind, o.To)
}

// differ says what a list has that it should not have, or lacks; nothing where both have the same.
func differ[T any](want, got []T, describe func(T) string) string {
	left := make(map[string]int)
	for _, o := range want {
		left[describe(o)]++
	}
	for _, o := range got {
		text := describe(o)
		if left[text]--; left[text] < 0 {
			return "lists what the job does not imply: " + text
		}
	}
	for _, o := range want {
		if text := describe(o); left[text] > 0 {
			return "does not list what the job implies: " + text
		}
	}
	return ""
}

// unseen says of sessions that broke off what no transcript shows: those of killed workers are gone.
func (s *sharded) unseen() {
	for i := range s.cuts {
		latest := uint32(0)
		for _, list := range s.records {
			if list != nil {
				latest = max(latest, list[i].Latest)
			}
		}
		for _, one := range s.sessions {
			if one.shard == i {
				latest = max(latest, one.generation)
			}
		}
		nobody := int(latest) - s.generations(i)
		if nobody > 0 {
			s.report.NotLookedAt = append(s.report.NotLookedAt, fmt.Sprintf("Shard %d: %d of its %d generations, of which no "+
				"party has a transcript: they never began, or all their workers were killed.", i, nobody,
				latest))
		}
	}
	for _, one := range s.sessions {
		if one.done {
			continue
		}
		var gone []int
		for p, list := range s.records {
			if list != nil && one.audit.exam(p) == nil {
				gone = append(gone, p)
			}
		}
		var lacks []string
		for k, p := range gone {
			lacks = append(lacks, s.party(p))
			for _, q := range gone[k+1:] {
				s.report.NotLookedAt = append(s.report.NotLookedAt, fmt.Sprintf("Shard %d, generation %d, which broke off: "+
					"neither %s nor %s has a transcript of it, and nothing shows what passed between the two.", one.shard,
					one.generation, s.party(p), s.party(q)))
			}
		}
		if len(lacks) > 0 {
			s.report.Unchecked = append(s.report.Unchecked, fmt.Sprintf("What %s recorded of shard %d, generation %d, which "+
				"broke off: there is no transcript, as where a worker was killed. What passed over links to others is in their "+
				"transcripts.", several(lacks), one.shard, one.generation))
		}
	}
}

// generations counts the sessions of a shard of which somebody has something.
func (s *sharded) generations(shard int) int {
	n := 0
	for _, one := range s.sessions {
		if one.shard == shard {
			n++
		}
	}
	return n
}

// reused looks for masks and session keys that a party used in two of its transcripts.
func (s *sharded) reused(ctx context.Context) error {
	for p := range s.in.Contract.Parties {
		var parts []conform.Part
		if e := s.exam(p); e != nil {
			parts = append(parts, conform.Part{Examination: e, Name: "the job's own transcript"})
		}
		for _, one := range s.sessions {
			if e := one.audit.exam(p); e != nil {
				parts = append(parts, conform.Part{Examination: e, Name: one.name()})
			}
		}
		if len(parts) < 2 {
			continue
		}
		checks, err := conform.Reused(ctx, &s.in, s.party(p), parts)
		if err != nil {
			return err
		}
		s.report.Checks = append(s.report.Checks, checks...)
	}
	return nil
}

// statement is what a party must have told the others of its shards; nil where something of it is missing.
func (s *sharded) statement(party int) []byte {
	var list []transcript.ShardSession
	for i, generation := range s.done {
		one := s.find(i, generation)
		if one == nil || one.audit.exam(party) == nil {
			return nil
		}
		c := one.audit.in.Contract
		list = append(list, transcript.ShardSession{Shard: c.Shard.Shard, Generation: generation, Contract: c.Hash(),
			Head: one.audit.exam(party).Head})
	}
	return transcript.ShardStatement(s.in.Contract.Hash(), list)
}

// compared holds what the parties told each other of their shards, in the job's own session, against the shards.
func (s *sharded) compared() {
	statements := make([][]byte, len(s.in.Contract.Parties))
	for p := range statements {
		statements[p] = s.statement(p)
	}
	for _, e := range s.exams {
		if e.Self < 0 || s.records[e.Self] == nil {
			continue
		}
		set := finding.NewSet()
		set.Party = s.party(e.Self)
		const name = finding.CheckShardsCompared
		own := statements[e.Self]
		switch {
		case len(e.Shards) == 0 && s.ended(e.Self):
			set.Fail(name, "its transcript ends as the job does, and the parties have not compared their shards in it")
		case len(e.Shards) == 0:
			set.Skip(name, "the parties had not compared their shards yet: the job was under way")
		case own == nil:
			set.Skip(name, "what it must have told of its shards cannot be made again: a transcript is missing")
		}
		for _, m := range e.Shards {
			switch {
			case m.Sent && own != nil && m.Sum != sha256.Sum256(own):
				set.Fail(name, "record %d: what it told %s of its shards is not what the shards' contracts and its transcripts of "+
					"them come to", m.Record, s.party(m.Peer))
			case m.Sent || own == nil:
			case statements[m.Peer] != nil && m.Sum != sha256.Sum256(statements[m.Peer]):
				set.Fail(name, "record %d: what %s told it of its shards is not what the shards' contracts and the transcripts "+
					"of %s come to", m.Record, s.party(m.Peer), s.party(m.Peer))
			case statements[m.Peer] == nil && m.Kept && e.Source.Payload != nil:
				if said, err := e.Source.Payload(m.Sum); err == nil && !bytes.HasPrefix(said, own[:contract.SharedSize]) {
					set.Fail(name, "record %d: %s told it of other sessions of the shards", m.Record, s.party(m.Peer))
				}
			}
		}
		s.report.Checks = append(s.report.Checks, set.Check(name, "what it told the others of its shards, and what they "+
			"told it, is what the shards' contracts and the transcripts given come to"))
	}
}

// describe fills in the report's table of shards, and what the shards' sessions sent, against what was agreed.
func (s *sharded) describe() {
	out := &finding.Shards{Count: len(s.cuts), Rows: s.report.Job.Rows, Sessions: len(s.sessions)}
	out.Fewest = out.Rows
	for _, c := range s.cuts {
		out.Fewest, out.Most = min(out.Fewest, c.Rows), max(out.Most, c.Rows)
	}
	all := sha256.New()
	for p := range s.in.Contract.Parties {
		line, sent := finding.ShardsOf{Party: s.party(p)}, make(map[string]map[int]finding.Egress)
		for _, one := range s.sessions {
			e := one.audit.exam(p)
			if e == nil {
				continue
			}
			t := &e.Transcript
			if line.Transcripts++; one.done {
				line.Done++
			}
			line.Records, line.Kept = line.Records+t.Records, line.Kept || t.Kept
			line.BytesSent, line.BytesReceived = line.BytesSent+t.BytesSent, line.BytesReceived+t.BytesReceived
			fmt.Fprintf(all, "%d %d %d %s\n", p, one.shard, one.generation, t.SHA256)
			for _, l := range e.Egress {
				key := l.Kind + "\n" + l.To
				if sent[key] == nil {
					sent[key] = make(map[int]finding.Egress)
				}
				if most := sent[key][one.shard]; l.Bytes > most.Bytes || l.Bytes == most.Bytes && l.Frames > most.Frames {
					sent[key][one.shard] = l
				}
			}
		}
		if line.Transcripts == 0 {
			continue
		}
		out.Parties = append(out.Parties, line)
		s.egress(p, sent)
	}
	out.SHA256 = hex.EncodeToString(all.Sum(nil))
	s.report.Shards = out
}

// egress lists what all shards of a party sent together, each in its session that sent most.
func (s *sharded) egress(party int, sent map[string]map[int]finding.Egress) {
	agreed, err := s.in.Contract.ShardEgress(party)
	if err != nil {
		s.note(s.party(party), finding.Failed, "%v", err)
		return
	}
	for _, e := range agreed {
		l := finding.Egress{From: s.party(e.From), To: s.party(e.To), Kind: e.Kind, Class: e.Class.String(),
			Encoding: e.Encoding.String(), BudgetFrames: e.MaxFrames, BudgetBytes: e.MaxBytes, Shards: len(s.cuts)}
		for _, one := range sent[l.Kind+"\n"+l.To] {
			l.Frames, l.Bytes = l.Frames+one.Frames, l.Bytes+one.Bytes
		}
		s.report.Egress = append(s.report.Egress, l)
	}
}

// whole reports whether the transcripts of a party are there, of what is done of all shards, and end as they should.
func (s *sharded) whole(party int) bool {
	if len(s.done) == 0 || s.statement(party) == nil {
		return false
	}
	return !slices.ContainsFunc(s.sessions, func(one *shardSession) bool {
		return one.done && !one.audit.whole(party)
	})
}

// of lists what was read of a party's shards.
func (s *sharded) of(party int) []*conform.Examination {
	var list []*conform.Examination
	if s == nil {
		return nil
	}
	for _, one := range s.sessions {
		if e := one.audit.exam(party); e != nil {
			list = append(list, e)
		}
	}
	return list
}

// opensInShards reports whether a kind of opening, or some of it, comes about in the sessions of shards.
func (a *auditor) opensInShards(kind string) bool {
	return slices.ContainsFunc(a.in.Contract.Sharded, func(o contract.Operation) bool {
		return slices.Contains(evidence.SourcesOf(kind), o.Kind)
	})
}
