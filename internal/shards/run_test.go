package shards

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// sharded is a job of two shards among three parties, and one party's run of them.
type sharded struct {
	keys   []*keys.PrivateKey
	job    contract.InForce
	shards []contract.Shard
	now    time.Time
	run    *run
}

// operations are those of a shard's session.
func operations(int) ([]contract.Opening, []contract.Operation, error) {
	return nil, []contract.Operation{{Kind: "factors", Stage: 1, Collective: "direct", Root: "bank", To: "shop",
		Class: "masked", Encoding: "bytes", Count: 1, Bytes: 100}}, nil
}

// newSharded makes the run of the second party, whose workers are there for both shards.
func newSharded(t testing.TB) *sharded {
	t.Helper()
	l := &sharded{now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		shards: []contract.Shard{{Of: 2, Rows: 60}, {Index: 1, Of: 2, First: 60, Rows: 40}}}
	var facts []contract.Facts
	for i, name := range []string{"bank", "insurer", "shop"} {
		k, err := keys.GenerateKey()
		must(t, err)
		l.keys = append(l.keys, k)
		facts = append(facts, contract.Facts{Name: name, ID: k.ID(), Role: []string{"active", "passive", "passive"}[i],
			Rows: 100, Columns: 3})
	}
	job, err := contract.ParseJob([]byte("format = \"hanse-job-v1\"\nname = \"credit\"\nalgorithm = \"fdskl\"\n" +
		"task = \"train\"\nprivacy = \"sealed\"\nshards = 2\nparties = [\"bank\", \"insurer\", \"shop\"]\n"))
	must(t, err)
	_, one, _ := operations(0)
	c, err := contract.NewContract(job, facts, nil, contract.InShards(2, one, one))
	must(t, err)
	for _, k := range l.keys {
		c.Sign(k)
	}
	if l.job, err = c.InForce(); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Open(t.TempDir(), vault.Options{})
	must(t, err)
	t.Cleanup(func() { v.Close() })
	s := New(Config{Key: l.keys[1], Now: func() time.Time { return l.now }, Log: slog.New(slog.DiscardHandler),
		Open: nil, Job: func(string) (Job, error) { return Job{Contract: c.Hash(), Shards: 2}, nil }})
	for i := range l.shards {
		s.desk.ready(s.desk.come(place{c.Hash(), i}), l.worker(t).ID())
	}
	l.run = &run{service: s, ctx: t.Context(), heard: make(chan struct{}, 1),
		Work: Work{Contract: l.job, Self: 1, Vault: v, Shards: l.shards, Disclose: operations, ResultFile: result,
			Task: func(int) ([]byte, error) { return nil, errors.New("no session begins here") }}}
	if l.run.slots, err = openSlots(v, &l.run.Work); err != nil {
		t.Fatal(err)
	}
	return l
}

// worker draws the key of a worker.
func (l *sharded) worker(t testing.TB) *keys.PrivateKey {
	t.Helper()
	k, err := keys.GenerateKey()
	must(t, err)
	return k
}

// delegation is a party's for a shard, changed.
func (l *sharded) delegation(
	t testing.TB, by, shard int, generation uint32, change func(*contract.Delegation),
) string {
	t.Helper()
	d := contract.Delegation{Contract: l.job.Contract().Hash(), Shard: l.shards[shard], Generation: generation,
		Worker: l.worker(t).ID(), Expires: l.now.Add(time.Minute)}
	if change != nil {
		change(&d)
	}
	signed, err := contract.NewDelegation(d, l.keys[by])
	must(t, err)
	return string(signed.Text())
}

// TestALyingCoordinatorIsRefused: the proposer's node has no power but to say when shards begin. It cannot have a
// generation delegated twice or an older one, begin with a delegation that is expired, another party's, another shard's
// or another generation's, begin what this party has not delegated, or say that all is done where it is not.
func TestALyingCoordinatorIsRefused(t *testing.T) {
	l := newSharded(t)
	offer := func(generation uint32) (string, error) {
		a, err := l.run.answer(Request{Offers: []Offer{{Shard: 1, Generation: generation}}})
		if err != nil {
			return "", err
		}
		return a.Delegations[0], nil
	}
	own, err := offer(4)
	if err != nil || own == "" {
		t.Fatalf("%q, %v", own, err)
	}
	want := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v\nwant %s", err, text)
		}
	}
	for _, again := range []uint32{4, 3, 0} {
		_, err = offer(again)
		want(err, fmt.Sprintf("generation %d of shard 1 is offered, and generation 4 was: they only rise", again))
	}
	if rec, err := loadRecord(l.run.Vault, 1); err != nil || rec.Latest != 4 {
		t.Errorf("the generation is not on the disk: %+v, %v", rec, err)
	}
	begin := func(generation uint32, list ...string) error {
		_, err := l.run.answer(Request{Begin: []Begin{{Offer: Offer{Shard: 1, Generation: generation}, Delegations: list}}})
		return err
	}
	bank, shop := l.delegation(t, 0, 1, 4, nil), l.delegation(t, 2, 1, 4, nil)
	want(begin(4, bank, own), "2 delegations for shard 1, want 3")
	want(begin(4, bank, own, bank), "shop has not signed the delegation")
	want(begin(4, bank, own, l.delegation(t, 2, 1, 3, nil)),
		"the delegation of shop for shard 1 is of generation 3, want 4")
	want(begin(4, bank, own, l.delegation(t, 2, 0, 4, nil)), "the delegation of shop is for shard 0 of 2")
	past := func(d *contract.Delegation) { d.Expires = l.now.Add(-time.Second) }
	want(begin(4, bank, own, l.delegation(t, 2, 1, 4, past)), "the delegation of shop for shard 1 expired")
	want(begin(4, bank, l.delegation(t, 1, 1, 4, nil), shop), "which this party has not delegated last")
	want(begin(5, l.delegation(t, 0, 1, 5, nil), l.delegation(t, 1, 1, 5, nil), l.delegation(t, 2, 1, 5, nil)),
		"generation 5 of shard 1 is to begin, which this party has not delegated last")
	if newer, err := offer(7); err != nil || newer == "" { // what was delegated before is void
		t.Fatal(err)
	}
	want(begin(4, bank, own, shop), "generation 4 of shard 1 is to begin, which this party has not delegated last")

	_, err = l.run.answer(Request{Ended: true, Done: []uint32{1, 7}})
	want(err, "generation 1 of shard 0 is said to be done, here it is 0")
	l.run.slots.list[0].record, l.run.slots.list[1].record = record{Latest: 1, Done: 1}, record{Latest: 7, Done: 7}
	_, err = l.run.answer(Request{Ended: true, Done: []uint32{1, 4}})
	want(err, "generation 4 of shard 1 is said to be done, here it is 7")
	if _, err = l.run.answer(Request{Ended: true, Done: []uint32{1, 7}}); err != nil {
		t.Error(err)
	}
	select {
	case <-l.run.slots.ended:
	default:
		t.Error("the coordinator's last word did not end the run")
	}
	for _, wrong := range []Request{
		{Offers: make([]Offer, 3)}, {Begin: make([]Begin, 3)}, {Offers: []Offer{{Shard: 2, Generation: 9}}},
		{Begin: []Begin{{Offer: Offer{Shard: -1}}}}, {Ended: true, Done: []uint32{1}},
	} {
		if _, err := l.run.answer(wrong); err == nil {
			t.Errorf("%+v was answered", wrong)
		}
	}
}

// TestStatementsDiffer: whatever a party says other of its shards' sessions, its statement's first half is another; its
// second half follows from its own transcripts alone.
func TestStatementsDiffer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "shards")
		list := make([]Session, n)
		for i := range list {
			list[i] = Session{Shard: contract.Shard{Index: i, Of: n, First: 10 * i, Rows: 10}, Generation: 1,
				Contract: keys.HashOf("test", []byte{byte(i)}), Head: keys.HashOf("head", []byte{byte(i)})}
		}
		job := keys.HashOf("job")
		said := transcript.ShardStatement(job, list)
		i := rapid.IntRange(0, n-1).Draw(rt, "which")
		changed := append([]Session(nil), list...)
		which := rapid.IntRange(0, 4).Draw(rt, "what")
		switch which {
		case 0:
			changed[i].Generation++
		case 1:
			changed[i].Shard.Rows++
		case 2:
			changed[i].Contract[0] ^= 1
		case 3:
			changed = append(changed[:i:i], changed[i+1:]...)
		case 4:
			changed[i].Head[31] ^= 1
		}
		other := transcript.ShardStatement(job, changed)
		if len(said) != contract.ShardsSize || which < 4 && string(said[:32]) == string(other[:32]) ||
			which == 4 && (string(said[:32]) != string(other[:32]) || string(said[32:]) == string(other[32:])) {
			rt.Fatalf("change %d of shard %d: %x and %x", which, i, said, other)
		}
	})
	if !transcript.Root(nil).IsZero() {
		t.Error("no transcripts have a root")
	}
	two := []keys.Hash{{1}, {2}}
	if transcript.Root([]keys.Hash{transcript.Root(two)}) == transcript.Root(two) {
		t.Error("a node is taken for a leaf")
	}
}

// script is what a stream brings, frame by frame.
type script struct{ frames [][]byte }

func (s *script) Send(context.Context, ...[]byte) error { return nil }
func (s *script) Close() error                          { return nil }
func (s *script) Receive(context.Context, []byte) ([]byte, error) {
	if len(s.frames) == 0 {
		return nil, errors.New("the stream has ended")
	}
	f := s.frames[0]
	s.frames = s.frames[1:]
	return f, nil
}

// FuzzService: whatever a stream brings, serving it ends in an error, without much memory.
func FuzzService(f *testing.F) {
	f.Add([]byte{}, []byte{})
	f.Add([]byte{0xa2, 0x01, 0x01, 0x02, 0xa0}, []byte{0xa0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := New(Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Job: func(string) (Job, error) {
			return Job{}, ErrNoJob
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Serve(ctx, keys.ID{}, &script{[][]byte{first, second}})
	})
}

// TestHostileWorkers: files outside the folder of a generation, too many bytes and results that are too large are
// refused before anything is written.
func TestHostileWorkers(t *testing.T) {
	l := newSharded(t)
	l.run.Reserve = func(int64) error { return nil }
	h := &hearing{run: l.run, shard: 1, contract: l.job.Contract(), folder: t.TempDir(), maxFiles: 1000,
		over: make(chan error, 1)}
	refuse := func(string) error { return errors.New("written") }
	for _, c := range []struct {
		name string
		size int64
		want string
	}{
		{"../transcript", 1, "hands in a file"}, {"/etc/passwd", 1, "hands in a file"},
		{"payloads/../x", 1, "hands in a file"},
		{"payloads/..", 1, "hands in a file"}, {"contract", 1, "hands in a file"}, {"a/b/c", 1, "hands in a file"},
		{"payloads/", 1, "hands in a file"}, {"transcript", 1001, "at most 1000 are kept"},
		{"transcript", -1, "at most 1000"},
	} {
		err := h.said(Said{Kind: SaidFile, Name: c.name, Size: c.size}, nil, refuse)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %d bytes: %v, want %s", c.name, c.size, err, c.want)
		}
	}
	if _, err := receiveBytes(t.Context(), &script{}, 1<<40, 100); err == nil {
		t.Error("a result of a terabyte was to be read")
	}
	if err := h.said(Said{Kind: "other"}, nil, nil); err == nil {
		t.Error("a word that means nothing was taken")
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
