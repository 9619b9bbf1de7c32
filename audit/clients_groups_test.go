package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// mixers is a test network of three servers, p0 to p2, that sum each other's vectors, and a client of each that is
// not there.
type mixers struct {
	*testNetwork
	vector cohort.Vector
	sums   int
}

// newMixers makes a contract for so many sums at each server.
func newMixers(t testing.TB, sums int) *mixers {
	t.Helper()
	m := &mixers{testNetwork: newTestNetwork(t, 6),
		vector: cohort.Vector{Kind: "diffusion", Words: 20, Bits: 64}, sums: sums}
	job := &contract.Job{
		Format: "hanse-job-v1", Name: "test", Algorithm: "gfml", Task: contract.TaskTrain, Table: "stream",
		Parties: m.names, Servers: m.names[:3],
		Topology: contract.Star.String(), Privacy: "masked",
	}
	var facts []contract.Facts
	for i, member := range m.members {
		role := "server"
		if i > 2 {
			role = "client"
		}
		facts = append(facts, contract.Facts{Name: member.Name, ID: member.ID, Role: role})
	}
	var openings []contract.Opening
	var operations []contract.Operation
	for root := range 3 {
		openings = append(openings, contract.Opening{To: m.names[root], Kind: "diffusion",
			Count: int64(sums * m.vector.Words), Meaning: "a sum"})
		flows, err := m.spec(root).Flows(6, 2, m.vector, int64(sums))
		mustDo(t, err)
		for _, f := range flows {
			o := contract.Operation{
				Kind: f.Kind, Collective: contract.CollectiveDownload, Root: m.names[root],
				Class: f.Class.String(), Encoding: "bytes",
				Count: f.Count, Bytes: f.Bytes,
			}
			if f.Up {
				o.Collective = contract.CollectiveUpload
			}
			if f.Kind == m.vector.Kind {
				o.Shape = []int64{int64(sums), int64(m.vector.Words)}
			}
			for _, i := range m.others(root) {
				o.Among = append(o.Among, m.names[i])
			}
			operations = append(operations, o)
		}
	}
	var err error
	if m.contract, err = contract.NewContract(job, facts, openings,
		contract.SessionOperations(6, operations)); err != nil {
		t.Fatal(err)
	}
	for _, k := range m.keys {
		m.contract.Sign(k)
	}
	return m
}

// others lists the two other servers.
func (m *mixers) others(root int) []int { return [][]int{{1, 2}, {0, 2}, {0, 1}}[root] }

// spec says how the sums at a server are made.
func (m *mixers) spec(root int) cohort.Spec {
	return cohort.Spec{Server: root, Clients: m.others(root), Backend: cohort.Masked, Topology: contract.Star,
		MinContributors: 2, Picks: true, Patience: 20 * time.Second}
}

// mix runs a session of the servers.
func (m *mixers) mix() []error {
	m.session++
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			log, err := transcript.Open(m.path(i), m.config(i))
			if err != nil {
				errs[i] = err
				return
			}
			r, err := transcript.NewRecorder(log, m.session, len(m.names))
			if err == nil {
				err = m.mixAt(i, r)
				err = errors.Join(err, r.Close(err == nil))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errs
}

// mixAt is one server's part: all sums at p0, then all at p1, then at p2.
func (m *mixers) mixAt(i int, r protocol.Recorder) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var peers []keys.ID
	for _, j := range m.others(i) {
		peers = append(peers, m.members[j].ID)
	}
	session := protocol.SessionID(keys.HashOf("audit test room", binary.BigEndian.AppendUint32(nil, m.session)))
	mesh, err := m.net.Transport(m.members[i].ID).Open(ctx, session, peers)
	if err != nil {
		return err
	}
	defer mesh.Close()
	budget, err := contract.NewBudget(m.contract, i)
	if err != nil {
		return err
	}
	l, err := protocol.NewLinks(mesh, protocol.SessionConfig{
		Contract: m.contract.Hash(), Number: m.session, Parties: m.members, Key: m.keys[i], Budget: budget, Recorder: r,
	}, nil)
	if err != nil {
		return err
	}
	box := inbox.New(mesh, peers)
	defer box.Close()
	groups := l.NewGroups(box)
	clients := make([]*cohort.Client, 3)
	var own *protocol.Links
	for root := range 3 {
		within, err := groups.Links(m.contract.Job.Group(root))
		if err != nil {
			return err
		}
		if root == i {
			own = within
		} else if clients[root], err = cohort.NewClient(ctx, within, m.spec(root)); err != nil {
			return err
		}
	}
	server, err := cohort.NewServer(ctx, own, groups.Arrivals(m.contract.Job.Group(i)), m.others(i), m.spec(i))
	if err != nil {
		return err
	}
	for root := range 3 {
		for n := range m.sums {
			if root == i {
				_, err = server.Sum(ctx, m.vector, m.others(i))
			} else {
				words := make([]uint64, m.vector.Words)
				for j := range words {
					words[j] = uint64(i+1) * uint64(j+n)
				}
				err = clients[root].Sum(ctx, m.vector, words)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// inGroup selects those records of a kind that are of one group.
func (m match) inGroup(want uint16) match {
	return func(r *transcript.Record) bool {
		group, _ := protocol.GroupOf(r.Operation)
		return m(r) && group == want
	}
}

// TestSumsOfServersAreHeldAgainstTheContract, each group by itself.
func TestSumsOfServersAreHeldAgainstTheContract(t *testing.T) {
	m := newMixers(t, 2)
	must(t, m.mix())
	all, cross := m.examined(m.source(0), m.source(1), m.source(2))
	for _, x := range all {
		for _, c := range x.Checks {
			if c.Verdict == finding.Failed || c.Verdict == finding.Leak {
				t.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
		if f := x.Federation; f.Sums != 0 || f.Mixtures != 2 || f.MixturesOpened != 2 || f.MixturesFewest != 2 {
			t.Errorf("%s: %+v", f.Server, f)
		}
	}
	for _, c := range cross {
		if c.Verdict == finding.Failed {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	setGroup := func(group uint64) func(r *transcript.Record) {
		return func(r *transcript.Record) { r.Operation = r.Operation&(1<<48-1) | group<<48 }
	}
	for _, d := range []deviation{
		{"a group that it is not in", 0, alter(of(sent, "diffusion", 1), 0, setGroup(7)), finding.CheckOperations, "diffusion is of group 7 of the servers, of which this party is not"},
		{"another group", 0, alter(of(sent, "diffusion", 1), 0, setGroup(3)), finding.CheckOperations,
			"the contract has it go from clients to their server"},
		{"no group", 0, alter(of(sent, "diffusion", 1), 0, setGroup(0)), finding.CheckOperations,
			"the contract has it go from clients to their server"},
		{"a sum of one", 0, drop(of(received, "diffusion", 2).ofSum(1<<48 | 1)), finding.CheckContributors, "opened with the vectors of 1 client in it, at least 2 are wanted"},
		{"opened without shares", 2, drop(match(operationOf(cohort.KindShares)).inGroup(3)), finding.CheckOperations,
			"no shares have come to take the masks away"},
		{"a total of another server's group", 0, alter(of(opened, "diffusion", 0), 0, setGroup(2)), finding.CheckOpenings,
			"opened to p0, to whom the contract opens no such total"},
		{"mask reused in another group", 0, func(all []transcript.Record) []transcript.Record {
			var first *transcript.Record
			for i := range all {
				if !of(sent, "diffusion", all[i].Peer)(&all[i]) {
					continue
				}
				if first == nil {
					first = &all[i]
				} else if all[i].Peer != first.Peer {
					all[i].Proof = first.Proof
					break
				}
			}
			return all
		}, finding.CheckMasks, "has the payload of record"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := m.examined(source("forged", m.deviate(d.party, d.change)))
			want := verdictOf(d.check)
			if d.check == finding.CheckOpenings {
				want = finding.Leak
			}
			wantCheck(t, all[0].Checks, d.check, want, d.detail)
		})
	}
}
