package shards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestFilesAreCounted: what a worker hands in is counted so that neither a size near the largest number nor many empty
// files pass the limit.
func TestFilesAreCounted(t *testing.T) {
	l := newSharded(t)
	l.run.Reserve = func(int64) error { return nil }
	h := &hearing{run: l.run, shard: 1, contract: l.job.Contract(), folder: t.TempDir(), maxFiles: 10_000,
		over: make(chan error, 1)}
	keep := func(string) error { return nil }
	must(t, h.said(Said{Kind: SaidFile, Name: TranscriptFile, Size: 1}, nil, keep))
	err := h.said(Said{Kind: SaidFile, Name: "payloads/a", Size: math.MaxInt64}, nil, keep)
	if err == nil || !strings.Contains(err.Error(), "at most 10000 are kept") {
		t.Errorf("the largest number of bytes: %v", err)
	}
	for range 100 {
		if err = h.said(Said{Kind: SaidFile, Name: "payloads/a"}, nil, keep); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("files without end are kept, if they are empty")
	}
}

// TestNothingAfterTheEnd: once the coordinator has said that all is done, or the run has ended otherwise, a request
// that comes late changes no record: what is compared and added up stays what it is, and a run that follows knows all
// generations.
func TestNothingAfterTheEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		last slot // how the other shard stands in the end
		end  func(t *testing.T, r *run)
	}{
		{"all is done", slot{record: record{Latest: 7, Done: 7}}, func(t *testing.T, r *run) {
			if _, err := r.answer(Request{Ended: true, Done: []uint32{1, 7}}); err != nil {
				t.Fatal(err)
			}
		}},
		{"the run has ended", slot{record: record{Latest: 7, Done: 7}}, func(_ *testing.T, r *run) { r.slots.finish() }},
		{"the run has ended in a session", slot{record: record{Latest: 7}, running: true}, func(_ *testing.T, r *run) {
			r.slots.finish()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newSharded(t)
			known := l.run.slots
			known.list[0].record, known.list[1].record = record{Latest: 1, Done: 1}, record{Latest: 7, Done: 7}
			own, err := l.run.answer(Request{Offers: []Offer{{Shard: 1, Generation: 8}}})
			must(t, err)
			c.last.shard, c.last.offered = l.shards[1], known.list[1].offered
			known.list[1] = c.last
			must(t, saveRecord(l.run.Vault, 1, c.last.record))
			c.end(t, l.run)
			begin := Begin{Offer: Offer{Shard: 1, Generation: 8}, Delegations: []string{l.delegation(t, 0, 1, 8, nil),
				own.Delegations[0], l.delegation(t, 2, 1, 8, nil)}}
			for _, late := range []Request{{Offers: []Offer{{Shard: 1, Generation: 8}}}, {Begin: []Begin{begin}}} {
				if _, err := l.run.answer(late); err == nil {
					t.Errorf("%+v was answered", late)
				}
			}
			h := &hearing{run: l.run, shard: 1, contract: shardContract(t, l, 1, 7), folder: t.TempDir(), begun: true}
			l.run.Check = func(int, []byte) error { return nil }
			known.resultFile = recordFile // it would be written over the record
			must(t, os.WriteFile(filepath.Join(h.folder, TranscriptFile), make([]byte, 32), 0o600))
			if err := h.done([]byte("late"), Traffic{}); err == nil {
				t.Error("a result that came late was kept")
			}
			rec, err := loadRecord(l.run.Vault, 1)
			if err != nil || !reflect.DeepEqual(rec, known.list[1].record) || !reflect.DeepEqual(rec, c.last.record) {
				t.Errorf("the record is %+v and on the disk %+v: %v", known.list[1].record, rec, err)
			}
		})
	}
}

// shardContract is the contract of a generation of a shard.
func shardContract(t *testing.T, l *sharded, shard int, generation uint32) *contract.Contract {
	t.Helper()
	var list []*contract.Delegation
	for p := range l.keys {
		d, err := contract.ParseDelegation([]byte(l.delegation(t, p, shard, generation, nil)))
		must(t, err)
		list = append(list, d)
	}
	openings, operations, _ := operations(shard)
	f, err := l.job.Shard(list, openings, operations)
	must(t, err)
	return f.Contract()
}

// TestADiskThatWasPutBack: a party whose disk has an earlier copy of a shard's record, of what the shard came to, or of
// both, has none of the sums that the others hold. All make them again: nobody adds up sums of two sessions.
func TestADiskThatWasPutBack(t *testing.T) {
	for name, files := range map[string][]string{
		"record and result": {recordFile(0), result(0)}, "the result": {result(0)}, "the record": {recordFile(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newParties(t)
			run := func() {
				t.Helper()
				lists, err := l.runAll()
				must(t, err)
				l.wantOne(lists)
			}
			run()
			v := l.vaults[1]
			old := make(map[string][]byte)
			for _, f := range files {
				var err error
				if old[f], err = os.ReadFile(v.Path(f)); err != nil {
					t.Fatal(err)
				}
			}
			l.digests[0][0]++ // the first party's labels are others
			run()
			for f, data := range old {
				must(t, os.WriteFile(v.Path(f), data, 0o600))
			}
			run()
		})
	}
}

// TestTheCoordinatorIsKilledAnywhere: whichever of the coordinator's requests is the last, before it comes or behind
// what it did, the run that follows has all sums of one session, and no generation is delegated twice.
func TestTheCoordinatorIsKilledAnywhere(t *testing.T) {
	for last := 1; last <= 9; last++ {
		came := last%3 > 0
		t.Run(fmt.Sprint(last, " ", came), func(t *testing.T) {
			t.Parallel()
			l := newParties(t)
			killed := errors.New("killed")
			l.asks = func(number int) (before, behind error) {
				switch {
				case number < last:
					return nil, nil
				case came:
					return nil, killed
				}
				return killed, nil
			}
			if lists, err := l.runAll(); err == nil {
				l.wantOne(lists) // it had fewer requests
			}
			l.mu.Lock()
			l.asks = nil
			l.mu.Unlock()
			lists, err := l.runAll()
			must(t, err)
			l.wantOne(lists)
		})
	}
}

// TestWorkersFailOneByOne: whichever party's worker fails or leaves in the first generations, where the others' workers
// have done theirs, all end with the sums of one session.
func TestWorkersFailOneByOne(t *testing.T) {
	for party := range 3 {
		for _, how := range []error{errLeaves, errors.New("no rows")} {
			t.Run(fmt.Sprint(party, " ", how), func(t *testing.T) {
				t.Parallel()
				l := newParties(t)
				l.act = func(p, shard int, generation uint32) error {
					if p == (party+int(generation))%3 && generation < 3 {
						return how
					}
					return nil
				}
				lists, err := l.runAll()
				must(t, err)
				l.wantOne(lists)
				for _, s := range lists[0] {
					if s.Generation != 3 {
						t.Errorf("shard %d is done in generation %d", s.Shard.Index, s.Generation)
					}
				}
			})
		}
	}
}

// TestAKeyHasOneSession: a worker that says again that it is ready with the key of its last session is let go, at its
// own shard and at another, and so is one that stands at two shards with one key. What was meant for a worker does not
// come to the one that has taken its place meanwhile.
func TestAKeyHasOneSession(t *testing.T) {
	l := newSharded(t)
	s, h := l.run.service, l.job.Contract().Hash()
	l.run.Task = func(int) ([]byte, error) { return nil, errors.New("begun") }
	at := place{h, 1}
	c := shardContract(t, l, 1, 4)
	key := c.Parties[l.run.Self].ID
	first := s.desk.workers[at]
	s.desk.ready(first, key)
	s.desk.ready(s.desk.workers[place{h, 0}], key)
	f := inForce(t, l, c)
	if err := l.run.session(at, f); err == nil || err.Error() != "begun" {
		t.Fatalf("the first session: %v", err)
	}
	if o := <-first.order; o.kind != OrderAgain {
		t.Errorf("the worker is told %q", o.kind)
	}
	for shard := range 2 {
		if err := l.run.session(place{h, shard}, f); err == nil || !strings.Contains(err.Error(), "key had a session") {
			t.Errorf("a second session with the key, at shard %d: %v", shard, err)
		}
	}
	s.desk.leave(at, first)
	err := s.serveWorker(t.Context(), keys.ID{}, &script{}, &Ready{Job: "job", Shard: 1, Of: 2, Key: key})
	if err == nil || !strings.Contains(err.Error(), "ready with a key that had a session") {
		t.Errorf("a worker with the key of a session: %v", err)
	}
	second := s.desk.come(at)
	if s.desk.send(at, first, order{kind: OrderWork}) || len(second.order) > 0 {
		t.Error("a worker has the task of the one whose place it has taken")
	}
}

// TestRelaysAreOfTheOwnShard: a worker has no stream of the session of another shard, or of another job, also where it
// knows the session's name.
func TestRelaysAreOfTheOwnShard(t *testing.T) {
	l := newSharded(t)
	s, h := l.run.service, l.job.Contract().Hash()
	workers := map[keys.ID]place{{1}: {h, 1}, {2}: {h, 0}, {3}: {keys.HashOf("another job"), 1}}
	s.config.Worker = func(id keys.ID) (keys.Hash, int, bool) {
		at, ok := workers[id]
		return at.contract, at.shard, ok
	}
	session := SessionID(shardContract(t, l, 1, 4))
	peers := make([]keys.ID, 3)
	for i := range peers {
		peers[i] = keys.ID{9, byte(i)}
	}
	over, end := context.WithCancel(t.Context())
	end() // a stream that is taken ends at once
	s.relays.Store(session, &relay{at: place{h, 1}, ctx: over, mesh: silentMesh{}, peers: peers, taken: make([]bool, 3)})
	for id, want := range map[keys.ID]string{{2}: "that of shard 0, not of shard 1", {3}: "is of job",
		{4}: "no longer one"} {
		err := s.serveRelay(t.Context(), id, &script{}, &Relay{Session: session, Party: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("worker %d: error is %v, want %s", id[0], err, want)
		}
	}
	if err := s.serveRelay(t.Context(), keys.ID{1}, &script{}, &Relay{Session: session, Party: 1}); err != nil {
		t.Errorf("control: the shard's own worker: %v", err)
	}
}

// silentMesh is a mesh on which nothing passes.
type silentMesh struct{ protocol.Mesh }

// Receive implements protocol.Mesh.
func (silentMesh) Receive(ctx context.Context, _ keys.ID, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// inForce reads a shard's contract again.
func inForce(t *testing.T, l *sharded, c *contract.Contract) contract.InForce {
	t.Helper()
	f, err := l.job.ParseShard(c.Text())
	must(t, err)
	return f
}

// TestALyingPartyIsNamed: a party whose answers to the coordinator no honest party gives ends the run by its name, and
// the others have delegated no generation that would be the shard's last.
func TestALyingPartyIsNamed(t *testing.T) {
	for name, lie := range map[string]func(l *parties, q Request, a *Response){
		"shop says how 1 shards stand": func(_ *parties, _ Request, a *Response) { a.Standing = a.Standing[:1] },
		"shop says that shard 0 has had 4294967295 generations": func(_ *parties, _ Request, a *Response) {
			a.Standing[0].Latest = math.MaxUint32
		},
		"generation 5 is done": func(_ *parties, _ Request, a *Response) { a.Standing[1].Done = 5 },
		"what shop says is its delegation for shard": func(_ *parties, q Request, a *Response) {
			for i := range q.Offers {
				a.Delegations[i] = "a delegation"
			}
		},
		"shop has not signed the delegation": func(l *parties, q Request, a *Response) {
			for i, o := range q.Offers {
				a.Delegations[i] = l.delegation(l.t, 1, o.Shard, o.Generation, nil)
			}
		},
		"is of generation 9, want 1": func(l *parties, q Request, a *Response) {
			for i, o := range q.Offers {
				a.Delegations[i] = l.delegation(l.t, 2, o.Shard, 9, nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newParties(t)
			l.lie = func(party int, q Request, a *Response) {
				if party == 2 && len(a.Standing) > 0 {
					lie(l, q, a)
				}
			}
			_, err := l.runAll()
			if !errors.Is(err, contract.ErrDeviation) || !strings.Contains(err.Error(), name) {
				t.Errorf("error is %v\nwant %s", err, name)
			}
			for _, v := range l.vaults {
				if rec, err := loadRecord(v, 0); err != nil || rec.Latest > 1 {
					t.Errorf("the record is %+v: %v", rec, err)
				}
			}
		})
	}
	l := newSharded(t)
	if _, err := l.run.answer(Request{Offers: []Offer{{Shard: 1, Generation: math.MaxUint32}}}); err == nil {
		t.Error("a generation that is the last of all is delegated")
	}
}

// deaf is a worker's stream that takes nothing from the node any more once it has said that it is ready.
type deaf struct {
	pipe
	stuck chan struct{}
	once  sync.Once
}

func (d *deaf) Send(ctx context.Context, parts ...[]byte) error {
	d.once.Do(func() { close(d.stuck) })
	<-ctx.Done()
	return ctx.Err()
}

// TestNothingStays: a run that is cancelled while workers wait, work, and read no more ends at once, and what serves
// them ends with their streams.
func TestNothingStays(t *testing.T) {
	l := newParties(t)
	working := make(chan struct{}, 6)
	forever, stop := context.WithCancel(t.Context())
	l.act = func(int, int, uint32) error {
		working <- struct{}{}
		<-forever.Done()
		return errLeaves
	}
	life, end := context.WithCancel(t.Context())
	silent := &deaf{pipe: pipe{make(chan []byte, 1), nil, life}, stuck: make(chan struct{})}
	key := l.worker(t)
	hello, err := cbor.Marshal(Hello{Version: Version, Ready: &Ready{Job: "job", Shard: 1, Of: 2, Key: key.ID()}})
	must(t, err)
	silent.in <- hello
	var serving sync.WaitGroup
	serving.Go(func() { l.services[2].Serve(life, key.ID(), silent) })
	for len(l.services[2].Progress(l.job.Contract().Hash(), 2).Workers) == 0 {
		runtime.Gosched()
	}
	over := make(chan error, 1)
	go func() {
		_, err := l.runAll()
		over <- err
	}()
	for range 5 { // three at the first shard, two at the other
		<-working
	}
	<-silent.stuck
	l.mu.Lock()
	l.asks = func(int) (before, behind error) { return errors.New("the session is cancelled"), nil }
	l.mu.Unlock()
	if err := <-over; err == nil || !strings.Contains(err.Error(), "the session is cancelled") {
		t.Errorf("the run ends with %v", err)
	}
	end()
	serving.Wait()
	l.stop()
	stop()
	l.works.Wait()
	for p, s := range l.services {
		var left []any
		note := func(key, _ any) bool {
			left = append(left, key)
			return true
		}
		s.runs.Range(note)
		s.relays.Range(note)
		if len(s.desk.workers)+len(left) > 0 {
			t.Errorf("party %d has %d workers, and runs and relays %v", p, len(s.desk.workers), left)
		}
	}
}
