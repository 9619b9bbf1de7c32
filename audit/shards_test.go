package audit

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// shardRows is how many rows a job has whose second shard is small: a shard has whole blocks of 2,048 rows.
const shardRows = 2048 + 700

// inShards is a sealed training in two shards, each of which has sessions of its own among workers of all parties.
type inShards struct {
	*threes
	cuts     []contract.Shard
	sessions []*shardTest
	said     [][]byte // by party: what it told of its shards
	mu       sync.Mutex
	broken   bool                 // a first generation of shard 0 breaks off
	change   func(one *shardTest) // changes the session of shard 1; may be nil
}

// shardTest is one session of a shard.
type shardTest struct {
	*threes
	shard contract.Shard
	force contract.InForce
	sums  []sealed.Sums // by party
}

// newInShards agrees on a training in two shards.
func newInShards(t *testing.T) *inShards {
	t.Helper()
	f := &inShards{threes: newThrees(t, shardRows, -1, fdskl.Params{Features: 256, Iterations: 2, Sigma: 1})}
	var err error
	f.cuts, err = sealed.Shards(f.params, f.rows, 2)
	mustDo(t, err)
	f.shards = len(f.cuts)
	var lists [][]contract.Operation
	for _, c := range f.cuts {
		lists = append(lists, f.operationsOf(c))
	}
	f.sharded = contract.InShards(f.shards, lists...)
	o := f.outline()
	o.InShards = true
	d, err := sealed.Disclose(o)
	mustDo(t, err)
	f.sign(contract.TaskTrain, d)
	f.threes.sums, f.said = f.sumShards, make([][]byte, len(f.names))
	return f
}

// operationsOf lists what the session of a shard does.
func (f *inShards) operationsOf(s contract.Shard) []contract.Operation {
	f.t.Helper()
	o := f.outline()
	o.Shard = &fdskl.Shard{Lo: s.First, Hi: s.First + s.Rows}
	d, err := sealed.Disclose(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return contract.SessionOperations(len(f.names), d.Operations)
}

// shard prepares the session of a shard: workers, their delegations and their contract.
func (f *inShards) shard(s contract.Shard, generation uint32, operations []contract.Operation) *shardTest {
	f.t.Helper()
	net := newTestNetwork(f.t, len(f.names))
	var list []*contract.Delegation
	var ids []keys.ID
	for i, k := range f.keys {
		d, err := contract.NewDelegation(contract.Delegation{Contract: f.contract.Hash(), Shard: s, Generation: generation,
			Worker: net.keys[i].ID(), Expires: time.Unix(1_800_000_000, 0)}, k)
		if err != nil {
			f.t.Fatal(err)
		}
		list, ids = append(list, d), append(ids, net.keys[i].ID())
	}
	job, err := f.contract.InForce()
	if err != nil {
		f.t.Fatal(err)
	}
	force, err := job.Shard(list, nil, operations)
	if err != nil {
		f.t.Fatal(err)
	}
	net.contract, net.topology, net.session, net.net = force.Contract(), f.topology, 1, testnet.New(ids)
	f.t.Cleanup(net.net.Close)
	one := &shardTest{shard: s, force: force, sums: make([]sealed.Sums, len(f.names)),
		threes: &threes{training: &training{testNetwork: net, privacy: f.privacy, params: f.params}, rows: s.Rows, idle: -1}}
	one.keep()
	return one
}

// train runs the job and all its shards.
func (f *inShards) train() {
	f.t.Helper()
	if f.broken {
		f.sessions = append(f.sessions, f.shard(f.cuts[0], 1, f.operationsOf(f.cuts[0])))
	}
	for i, s := range f.cuts {
		generation := uint32(1)
		if i == 0 && f.broken {
			generation = 2
		}
		one := f.shard(s, generation, f.operationsOf(s))
		if i == 1 && f.change != nil {
			f.change(one)
		}
		f.sessions = append(f.sessions, one)
	}
	must(f.t, f.learn(-1, 0, nil))
}

// sumShards is a party's part of all shards' sessions, and of the comparison of them.
func (f *inShards) sumShards(
	ctx context.Context, i int, s *protocol.Session, b *sealed.Begun,
) (list []sealed.Sums, err error) {
	var said []transcript.ShardSession
	for _, one := range f.sessions {
		dies := f.broken && one == f.sessions[0]
		err := one.runParty(i, func(ctx context.Context, i int, s *protocol.Session) error {
			n, err := one.network(ctx, i, s)
			if err != nil {
				return err
			}
			if dies && i == 2 {
				n.at, n.failure = 3, errKilled
			}
			lo, hi := one.shard.First, one.shard.First+one.shard.Rows
			sums, err := sealed.SumRows(ctx, sealed.Summing{Self: i, Begun: b.Model, Rows: f.rows,
				Shard: sealed.Shard{Lo: lo, Hi: hi}, Matrices: []*kernel.Matrix{f.parts[i].Rows.Cut(lo, hi)},
				Labels: b.Of(sealed.Shard{Lo: lo, Hi: hi}, f.rows), Coin: b.Coin, Network: n, Workers: 1})
			if sums != nil && !dies {
				list = append(list, sums)
			}
			return err
		})
		if dies {
			continue
		}
		if err != nil {
			return nil, err
		}
		text := one.text(i)
		said = append(said, transcript.ShardSession{Shard: one.shard, Generation: one.contract.Shard.Generation,
			Contract: one.contract.Hash(), Head: keys.Hash(text[len(text)-len(keys.Hash{}):])})
	}
	f.mu.Lock()
	f.said[i] = transcript.ShardStatement(f.contract.Hash(), said)
	f.mu.Unlock()
	_, err = s.Exchange(ctx, contract.KindShards, f.said[i], contract.ShardsSize)
	return list, err
}

// input is what an auditor has who has the folders of all parties.
func (f *inShards) input() *evidence.Input {
	in := f.threes.input()
	in.Shards = &evidence.Shards{}
	for p := range f.names {
		list := make([]evidence.ShardRecord, len(f.cuts))
		for _, one := range f.sessions {
			g := one.contract.Shard.Generation
			list[one.shard.Index] = evidence.ShardRecord{Latest: g, Done: g}
			s := one.source(p)
			in.Shards.Generations = append(in.Shards.Generations, evidence.Generation{Party: p, Shard: one.shard.Index,
				Number: g, Contract: one.force, Source: &s})
		}
		in.Shards.Records = append(in.Shards.Records, list)
	}
	return in
}

// of returns what a party's folder has of a session.
func (f *inShards) of(in *evidence.Input, party, session int) *evidence.Generation {
	return &in.Shards.Generations[party*len(f.sessions)+session]
}

// deviate gives a party another transcript of a session, that others have signed.
func (f *inShards) deviated(in *evidence.Input, party, session int, change edit) {
	one := f.sessions[session]
	s := source("forged", one.deviate(party, change))
	s.Payload = one.stores[party].Get
	f.of(in, party, session).Source = &s
}

// damaged changes the sixth record of what p1 has of the session of shard 1.
func (f *inShards) damaged(in *evidence.Input) {
	text := slices.Clone(f.sessions[1].text(1))
	text[len(text)-(len(f.sessions[1].records(1))-5)*transcript.BlockSize] ^= 1
	s := source("damaged", text)
	f.of(in, 1, 1).Source = &s
}

// masksOf gives the first factors sent to p2 the payload of the first of some records that is selected.
func masksOf(all []transcript.Record, m match) edit {
	first := slices.IndexFunc(all, func(r transcript.Record) bool { return m(&r) })
	return alter(of(sent, sealed.Factors, 2), 0, func(r *transcript.Record) { r.Proof = all[first].Proof })
}

// withoutPayloads leaves an audit nothing to attack.
func withoutPayloads(in *evidence.Input) *evidence.Input {
	for i := range in.Sources {
		in.Sources[i].Payload = nil
	}
	if in.Shards != nil {
		for _, g := range in.Shards.Generations {
			if g.Source != nil {
				g.Source.Payload = nil
			}
		}
	}
	return in
}

func TestLargeJobsInShards(t *testing.T) {
	large(t)
	f := newInShards(t)
	f.train()
	in := f.input()
	r := f.audited(in)
	wantSealed(t, r)
	wantCheck(t, r.Checks, finding.CheckShards, finding.Passed, "in all 2 shards; in shard 0: its contract is under the "+
		"delegations of all parties")
	wantCheck(t, r.Checks, finding.CheckMasks, finding.Passed, "in 3 transcripts of the job and its shards are equal")
	wantCheck(t, r.Checks, finding.CheckShardsCompared, finding.Passed, "what it told the others of its shards")
	wantAttack(t, r, "difference", "p2", views.ViewFactors, finding.Clean, "in all 2 shards; in shard ")
	if s := r.Shards; s == nil || s.Count != 2 || s.Fewest != 700 || s.Most != 2048 || s.Sessions != 2 ||
		len(s.Parties) != 4 || s.Parties[0].Done != 2 {
		t.Errorf("shards are %+v", s)
	}
	frames := 0
	for _, e := range r.Egress {
		if e.Shards > 0 && (e.Frames == 0 && e.Class == "masked" || e.Bytes > e.BudgetBytes || e.Frames > e.BudgetFrames) {
			t.Errorf("%+v", e)
		}
		frames += e.Shards
	}
	if frames == 0 {
		t.Error("no line of what was sent in shards")
	}

	for _, c := range []struct {
		name, check string
		verdict     finding.Verdict
		want        string
		change      func(in *evidence.Input)
	}{
		{"a frame that the shard's contract does not list", finding.CheckEgress, finding.Failed,
			"shard 1: record 28: surprise was sent to p1, which the contract does not list", func(in *evidence.Input) {
				f.deviated(in, 0, 1, insert(of(sent, "labels", 1), func(all []transcript.Record, at int) []transcript.Record {
					more := all[at]
					more.Kind = "surprise"
					more.Proof[0] ^= 1
					return []transcript.Record{more}
				}))
			}},
		{"a mask of another shard", finding.CheckMasks, finding.Leak, "mask reused: shard 1, record ",
			func(in *evidence.Input) {
				f.deviated(in, 0, 1, masksOf(f.sessions[0].records(0), of(sent, sealed.Factors, 2)))
			}},
		{"a mask of the job's own session", finding.CheckMasks, finding.Leak,
			"has the payload of the job's own transcript, record ", func(in *evidence.Input) {
				f.deviated(in, 0, 1, masksOf(f.records(0), of(sent, "step in", 2)))
			}},
		{"a missing transcript", finding.CheckShards, finding.Failed,
			"shard 1: p1 has no transcript of generation 1, which its record says is done",
			func(in *evidence.Input) { f.of(in, 1, 1).Source = nil }},
		{"a missing session", finding.CheckShards, finding.Failed,
			"shard 1: p3 has no transcript of generation 1, which its record says is done",
			func(in *evidence.Input) {
				in.Shards.Generations = slices.DeleteFunc(in.Shards.Generations, func(g evidence.Generation) bool {
					return g.Party == 3 && g.Shard == 1
				})
			}},
		{"two generations are done", finding.CheckShards, finding.Failed,
			"shard 1: two generations are done: 1 by the record of p0, and 2 by that of p3",
			func(in *evidence.Input) { in.Shards.Records[3][1] = evidence.ShardRecord{Latest: 2, Done: 2} }},
		{"none is done", finding.CheckShards, finding.Failed,
			"shard 0: its record has no generation that is done, and its job is",
			func(in *evidence.Input) { in.Shards.Records[3][0] = evidence.ShardRecord{} }},
		{"a record that is damaged", finding.CheckShards, finding.Failed, "shard 0: its record cannot be read: it is damaged",
			func(in *evidence.Input) { in.Shards.Records[3][0].Fault = "it is damaged" }},
		{"a session that was never delegated", finding.CheckShards, finding.Failed,
			"shard 1: there is a session of generation 1, and p2 has delegated no later one than 0",
			func(in *evidence.Input) { in.Shards.Records[2][1].Latest = 0 }},
		{"a contract that does not hold", finding.CheckShards, finding.Failed,
			"shard 0: the contract of generation 1 does not hold: a signature is wrong", func(in *evidence.Input) {
				f.of(in, 1, 0).Contract, f.of(in, 1, 0).Fault = contract.InForce{}, "a signature is wrong"
			}},
		{"the contract of another shard", finding.CheckShards, finding.Failed,
			"shard 0: the contract in its folder is that of shard 1, generation 1",
			func(in *evidence.Input) { f.of(in, 1, 0).Contract = f.sessions[1].force }},
		{"another contract than the others", finding.CheckShards, finding.Failed,
			"shard 0: the contract of generation 1 is another than at p0", func(in *evidence.Input) {
				f.of(in, 1, 0).Contract = f.shard(f.cuts[0], 1, f.operationsOf(f.cuts[0])).force
			}},
		{"one operation more", finding.CheckShards, finding.Failed,
			"shard 1: the contract of generation 1 lists what the job does not imply: extra from p1 to p0 (stage 1, direct, " +
				"opening bytes, 1 of 5600 bytes in all, shape [])", func(in *evidence.Input) {
				f.agreed(in, f.cuts[1], append(f.operationsOf(f.cuts[1]), contract.Operation{Kind: "extra", Stage: 1,
					Collective: contract.CollectiveDirect, Root: "p1", To: "p0", Class: contract.ClassOpening.String(),
					Encoding: contract.Bytes.String(), Count: 1, Bytes: 5600}))
			}},
		{"one operation less", finding.CheckShards, finding.Failed,
			"shard 1: the contract of generation 1 does not list what the job implies: ", func(in *evidence.Input) {
				f.agreed(in, f.cuts[1], f.operationsOf(f.cuts[1])[:3])
			}},
		{"another cut", finding.CheckShards, finding.Failed,
			"shard 1: the contract of generation 1 is of rows 2000 to 2748, and the job's cut gives the shard rows 2048 to 2748",
			func(in *evidence.Input) {
				f.agreed(in, contract.Shard{Index: 1, Of: 2, First: 2000, Rows: 748}, f.operationsOf(f.cuts[1]))
			}},
		{"the transcript of another party", finding.CheckShards, finding.Failed,
			"shard 0: its folder has the transcript of p2", func(in *evidence.Input) {
				s := f.sessions[0].source(2)
				f.of(in, 1, 0).Source = &s
			}},
		{"a transcript of the job's own sessions", finding.CheckContract, finding.Failed,
			"shard 0: it is of the job with contract ", func(in *evidence.Input) {
				s := f.threes.source(1)
				f.of(in, 1, 0).Source = &s
			}},
		{"a transcript that is not whole", finding.CheckChain, finding.Failed, "shard 1: record 5: ", f.damaged},
		{"an attack on one that is not whole", finding.CheckShards, finding.Skipped,
			"shard 1: no attack was tried on its transcript, which is not whole", f.damaged},
		{"another transcript of a shard than was told", finding.CheckShardsCompared, finding.Failed,
			"what it told p1 of its shards is not what the shards' contracts and its transcripts of them come to",
			func(in *evidence.Input) {
				f.deviated(in, 0, 1, alter(of(sent, "labels", 1), 0, func(r *transcript.Record) { r.Time += 1e9 }))
			}},
		{"another transcript of a shard than others were told", finding.CheckShardsCompared, finding.Failed,
			"what p0 told it of its shards is not what the shards' contracts and the transcripts of p0 come to",
			func(in *evidence.Input) {
				f.deviated(in, 0, 1, alter(of(sent, "labels", 1), 0, func(r *transcript.Record) { r.Time += 1e9 }))
			}},
		{"shards that were not compared", finding.CheckShardsCompared, finding.Failed,
			"its transcript ends as the job does, and the parties have not compared their shards in it",
			func(in *evidence.Input) {
				in.Sources[0] = source("forged", f.threes.deviate(0, drop(operationOf(contract.KindShards))))
				in.Sources[0].Payload = f.threes.stores[0].Get
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := f.input()
			c.change(in)
			r := f.audited(withoutPayloads(in))
			wantCheck(t, r.Checks, c.check, c.verdict, c.want)
			if c.verdict == finding.Leak && r.Verdict != finding.Leak ||
				c.verdict == finding.Failed && r.Verdict != finding.Unverifiable {
				t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
			}
		})
	}

	// Folders that were not given are not looked at.
	in = f.input()
	in.Shards = nil
	r = f.audited(withoutPayloads(in))
	if want := "The transcripts of the 2 shards at p0, p1, p2 and p3: it takes the job's folder of each party's node."; r.
		Verdict != finding.Partial || !slices.Contains(r.NotLookedAt, want) {
		t.Errorf("verdict %s: %q", r.Verdict, r.NotLookedAt)
	}
	in = f.input()
	in.Sources, in.Shards.Records[1], in.Shards.Records[2], in.Shards.Records[3] = in.Sources[:1], nil, nil, nil
	in.Shards.Generations = in.Shards.Generations[:2]
	r = f.audited(withoutPayloads(in))
	if r.Verdict != finding.Partial || slices.ContainsFunc(r.NotLookedAt, func(s string) bool {
		return strings.Contains(s, "shards at ")
	}) {
		t.Errorf("verdict %s: %q", r.Verdict, r.NotLookedAt)
	}
}

// agreed gives all parties another contract of a shard's session.
func (f *inShards) agreed(in *evidence.Input, s contract.Shard, operations []contract.Operation) {
	force := f.shard(s, 1, operations).force
	for p := range f.names {
		f.of(in, p, s.Index).Contract = force
	}
}

// TestLargeLeakInsideAShard: pads that are missing in one shard alone are found there.
func TestLargeLeakInsideAShard(t *testing.T) {
	large(t)
	f := newInShards(t)
	f.change = func(one *shardTest) { one.pads = without(padFirst, padSecond, padRotation) }
	f.train()
	r := f.audited(f.input())
	if r.Verdict != finding.Leak || !strings.Contains(r.Summary, "shard 1: p2, as factors, rebuilt ") {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	for _, a := range r.Attacks {
		if a.Verdict == finding.Leak && a.Shards != "shard 1" {
			t.Errorf("%s: %s", a.Shards, a.Detail)
		}
	}
	for _, c := range r.Checks {
		if c.Verdict != finding.Passed {
			t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
		}
	}
}

// TestLargeShardsThatBrokeOff: a session that broke off is examined too, and what a killed worker recorded is in the
// others' transcripts; where both ends of a link were killed, nothing shows what passed.
func TestLargeShardsThatBrokeOff(t *testing.T) {
	large(t)
	f := newInShards(t)
	f.broken = true
	f.train()
	r := f.audited(withoutPayloads(f.input()))
	for _, c := range r.Checks {
		if c.Verdict != finding.Passed && c.Name != finding.CheckPayloads {
			t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
		}
	}
	wantCheck(t, r.Checks, finding.CheckChain, finding.Passed, "in all 2 shards; in shard 0: ")
	in := f.input()
	f.of(in, 2, 0).Source = nil
	r = f.audited(in)
	const gone = "What p2 recorded of shard 0, generation 1, which broke off: there is no transcript, as where a worker " +
		"was killed. What passed over links to others is in their transcripts."
	if r.Verdict != finding.Clean || r.Shards.Sessions != 3 || !slices.Contains(r.Unchecked, gone) {
		t.Errorf("verdict %s: %q, %q", r.Verdict, r.NotLookedAt, r.Unchecked)
	}
	f.of(in, 1, 0).Source = nil
	r = f.audited(withoutPayloads(in))
	const dark = "Shard 0, generation 1, which broke off: neither p1 nor p2 has a transcript of it, and nothing shows what " +
		"passed between the two."
	if r.Verdict != finding.Partial || !slices.Contains(r.NotLookedAt, dark) {
		t.Errorf("verdict %s: %q", r.Verdict, r.NotLookedAt)
	}
	in.Shards.Generations = slices.DeleteFunc(in.Shards.Generations, func(g evidence.Generation) bool {
		return g.Shard == 0 && g.Number == 1
	})
	r = f.audited(in)
	const nobody = "Shard 0: 1 of its 2 generations, of which no party has a transcript: they never began, or all their " +
		"workers were killed."
	if r.Verdict != finding.Partial || !slices.Contains(r.NotLookedAt, nobody) {
		t.Errorf("verdict %s: %q", r.Verdict, r.NotLookedAt)
	}
}
