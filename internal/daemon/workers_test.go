package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
)

// pipe is one end of frames in memory, which end with ctx.
type pipe struct {
	in, out chan []byte
	ctx     context.Context
}

// Send implements shards.Frames.
func (p *pipe) Send(ctx context.Context, parts ...[]byte) error {
	select {
	case p.out <- slices.Concat(parts...):
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Receive implements shards.Frames.
func (p *pipe) Receive(ctx context.Context, _ []byte) ([]byte, error) {
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements shards.Frames.
func (p *pipe) Close() error { return nil }

// borrower has a worker's key that was meant for one shard of one job, and asks the node for another place with it.
type borrower struct{ key keys.ID }

// isServed reports whether the node has the borrower in a place of a job: it hears then that the shards are done, which
// is all that there is to hear in this test, and else why it is refused.
func (b *borrower) isServed(t *testing.T, s *shards.Service, job keys.Hash, shard, of int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x, y := make(chan []byte, 4), make(chan []byte, 4)
	own, node := &pipe{x, y, ctx}, &pipe{y, x, ctx}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve(ctx, b.key, node)
	}()
	fresh, err := keys.GenerateKey()
	must(t, err)
	ready := &shards.Ready{Job: job.String(), Shard: shard, Of: of, Key: fresh.ID()}
	must(t, shards.SendMessage(ctx, own, shards.Hello{Version: shards.Version, Ready: ready}))
	var o shards.Order
	must(t, shards.ReceiveMessage(ctx, own, &o))
	<-served
	t.Logf("shard %d of job %s: %s %s", shard, job.Short(), o.Kind, o.Text)
	return o.Kind == shards.OrderDone
}

// office is a node's register of keys of workers, the service behind its door, and what runs there.
type office struct {
	t        *testing.T
	dir      string
	now      time.Time
	register *workerkeys.Register
	*shards.Service
	log bytes.Buffer
}

const officeShards = 3

// newOffice opens a register in a folder, and serves workers of jobs whose shards are done already.
func newOffice(t *testing.T, dir string, now time.Time, jobs ...keys.Hash) *office {
	o := &office{t: t, dir: dir, now: now}
	log := slog.New(slog.NewTextHandler(&o.log, nil))
	o.register = workerkeys.Open(dir, func() time.Time { return o.now }, log)
	o.Service = shards.New(shards.Config{
		Now: time.Now, Log: log,
		Worker: func(id keys.ID) (keys.Hash, int, bool) {
			at, standing := o.register.Find(id)
			return at.Contract, at.Shard, standing == workerkeys.Good
		},
		Job: func(digits string) (shards.Job, error) {
			for _, j := range jobs {
				if j.String() == digits {
					return shards.Job{Contract: j, Shards: officeShards}, nil
				}
			}
			return shards.Job{}, fmt.Errorf("no job %s", digits)
		},
	})
	for _, j := range jobs {
		o.End(j, "")
	}
	return o
}

// makes has the register make the key of a shard, and returns who has borrowed it.
func (o *office) makes(job keys.Hash, shard int) *borrower {
	o.t.Helper()
	made, err := o.register.Issue(workerkeys.Request{Contract: job, Job: "credit", Party: "bank", Of: officeShards,
		Shards: workerkeys.Range{First: shard, Last: shard}, For: 48 * time.Hour})
	if err != nil {
		o.t.Fatal(err)
	}
	return &borrower{made.Keys[shard].ID()}
}

// TestBorrower: whoever has a worker's key is served with it for the one shard of the one job that it was made for, and
// not at another job's shard, nor at another shard of the job, nor once its time has ended, or it was revoked. That it
// is not after its job has ended is TestBorrowerAfterTheEnd's. Each has the control in which it is served.
func TestBorrower(t *testing.T) {
	job, other := keys.HashOf("job"), keys.HashOf("another job")
	at := func(contract keys.Hash, shard int) func(t *testing.T, o *office, b *borrower) bool {
		return func(t *testing.T, o *office, b *borrower) bool {
			return b.isServed(t, o.Service, contract, shard, officeShards)
		}
	}
	for _, c := range []struct {
		name    string
		first   func(t *testing.T, o *office)
		is      func(t *testing.T, o *office, b *borrower) bool
		control bool
	}{
		{"control: where the key is for", nil, at(job, 1), true},
		{"another job's shard", nil, at(other, 1), false},
		{"another shard of the job", nil, at(job, 0), false},
		{"control: just before the time ends", func(_ *testing.T, o *office) {
			o.now = o.now.Add(48*time.Hour - time.Second)
		}, at(job, 1), true},
		{"after the time has ended", func(_ *testing.T, o *office) {
			o.now = o.now.Add(48 * time.Hour)
		}, at(job, 1), false},
		{"control: another shard's key was revoked", func(t *testing.T, o *office) {
			if _, err := o.register.Revoke(job, workerkeys.Range{First: 2, Last: 2}); err != nil {
				t.Fatal(err)
			}
		}, at(job, 1), true},
		{"after it was revoked", func(t *testing.T, o *office) {
			if n, err := o.register.Revoke(job, workerkeys.Range{First: 0, Last: 2}); err != nil || n != 1 {
				t.Fatalf("%d keys were revoked, want 1: %v", n, err)
			}
		}, at(job, 1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice(t, t.TempDir(), time.Now(), job, other)
			b := o.makes(job, 1)
			if c.first != nil {
				c.first(t, o)
			}
			if served := c.is(t, o, b); served != c.control {
				t.Errorf("the borrower is served: %t, want %t", served, c.control)
			}
			// The node is started again, with the folder that it has.
			again := newOffice(t, o.dir, o.now, job, other)
			if served := c.is(t, again, b); served != c.control {
				t.Errorf("at a node that was started again the borrower is served: %t, want %t", served, c.control)
			}
		})
	}
}

// TestAnotherMasterKnowsNoKey: a node whose worker.key was drawn anew serves no key that the old one made, and
// worker.key itself, or what followed from it in earlier versions of the program, is no worker's.
func TestAnotherMasterKnowsNoKey(t *testing.T) {
	job := keys.HashOf("job")
	o := newOffice(t, t.TempDir(), time.Now(), job)
	b := o.makes(job, 1)
	path := filepath.Join(o.dir, workerkeys.MasterFile)
	file, err := keys.LoadKeyFile(path, nil)
	must(t, err)
	old, err := file.Key.Derive("hanse worker v1", binary.BigEndian.AppendUint32(nil, 1))
	must(t, err)
	for what, id := range map[string]keys.ID{"worker.key": file.Key.ID(), "the key of shard 1 of any job": old.ID()} {
		if (&borrower{id}).isServed(t, o.Service, job, 1, officeShards) {
			t.Errorf("%s is served", what)
		}
	}
	if !b.isServed(t, o.Service, job, 1, officeShards) {
		t.Error("control: the job's key is not served")
	}
	must(t, os.Remove(path))
	if b.isServed(t, newOffice(t, o.dir, o.now, job).Service, job, 1, officeShards) {
		t.Error("a key of another worker.key is served")
	}
}

// TestFirstUseIsLogged once, with the address, also over a start of the node.
func TestFirstUseIsLogged(t *testing.T) {
	const line = "a worker's key is used for the first time"
	job := keys.HashOf("job")
	o := newOffice(t, t.TempDir(), time.Now(), job)
	b := o.makes(job, 1)
	o.register.Came(b.key, "/ip4/192.0.2.7/tcp/4711")
	o.register.Came(b.key, "/ip4/192.0.2.8/tcp/4711")
	o.register.Came(keys.ID{1}, "/ip4/192.0.2.9/tcp/4711")
	if text := o.log.String(); strings.Count(text, line) != 1 || !strings.Contains(text, "192.0.2.7") {
		t.Errorf("the log says\n%s", text)
	}
	again := newOffice(t, o.dir, o.now, job)
	again.register.Came(b.key, "/ip4/192.0.2.8/tcp/4711")
	if text := again.log.String(); strings.Contains(text, line) {
		t.Errorf("the log of a node that was started again says\n%s", text)
	}
}

// TestDamagedWorkerKeyStopsNothingElse: an empty or damaged worker.key, or one that others may read, is said once in
// the log, with what to do; no key is made or accepted until then. With the file in its place again all keys are good.
func TestDamagedWorkerKeyStopsNothingElse(t *testing.T) {
	job := keys.HashOf("job")
	for name, damage := range map[string]func(path string) error{
		"empty":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"damaged":        func(path string) error { return os.WriteFile(path, []byte("HANSE-SECRET-KEY-1AAAA"), 0o600) },
		"open to others": func(path string) error { return os.Chmod(path, 0o644) },
		"a folder":       func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, t.TempDir(), time.Now(), job)
			b := o.makes(job, 1)
			path := filepath.Join(o.dir, workerkeys.MasterFile)
			good, err := os.ReadFile(path)
			must(t, err)
			must(t, damage(path))
			hurt := newOffice(t, o.dir, o.now, job)
			if text := hurt.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "worker.key") ||
				!strings.Contains(text, "hanse worker key") {
				t.Errorf("the log says\n%s", text)
			}
			if b.isServed(t, hurt.Service, job, 1, officeShards) {
				t.Error("a worker is served")
			}
			hurt.register.Came(b.key, "")
			if _, err := hurt.register.Issue(workerkeys.Request{}); err == nil || !errors.Is(err, hurt.register.Fault()) {
				t.Errorf("a key is made: %v", err)
			}
			must(t, errors.Join(os.RemoveAll(path), os.WriteFile(path, good, 0o600)))
			if !b.isServed(t, newOffice(t, o.dir, o.now, job).Service, job, 1, officeShards) {
				t.Error("control: with worker.key in its place again the worker is not served")
			}
		})
	}
}
