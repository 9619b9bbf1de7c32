package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// course is operations that all parties of a session run, of which each party ends some late.
type course []step

// step is one operation.
type step struct {
	kind     string // sum, message, told
	from, to int    // to is the root of a sum
	size     int    // words of 8 bytes
	begin    bool   // it is begun, and ended later
	wait     int    // steps after which it is ended; where there are fewer, by the end of the session
}

// anyCourse draws one of q parties.
func anyCourse(rt *rapid.T, q int) course {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
		s := step{
			kind: rapid.SampledFrom([]string{"sum", "message", "message", "told"}).Draw(rt, "kind"),
			to:   rapid.IntRange(0, q-1).Draw(rt, "to"), size: rapid.IntRange(0, 20).Draw(rt, "size"),
			begin: rapid.Bool().Draw(rt, "begin"), wait: rapid.IntRange(0, 6).Draw(rt, "wait"),
		}
		s.from = (s.to + rapid.IntRange(1, q-1).Draw(rt, "from")) % q
		return s
	}), 1, 30).Draw(rt, "course")
}

// words are what a party brings to a step.
func (s step) words(n, party int) []byte {
	data := make([]byte, 8*s.size)
	for i := range data {
		data[i] = byte(n + 3*party)
	}
	return data
}

// run is one party's part of the course. It returns what came to it in each step.
func (c course) run(ctx context.Context, s *protocol.Session, self int) ([][]byte, error) {
	came, ends := make([][]byte, len(c)), make([]func(context.Context) error, len(c))
	for n, step := range c {
		if err := step.run(ctx, s, self, n, &came[n], &ends[n]); err != nil {
			return nil, err
		}
		for m := range n + 1 {
			if ends[m] != nil && m+c[m].wait <= n {
				if err := ends[m](ctx); err != nil {
					return nil, err
				}
				ends[m] = nil
			}
		}
	}
	return came, nil
}

// run runs a step, or begins it.
func (s step) run(
	ctx context.Context, session *protocol.Session, self, n int, came *[]byte, end *func(context.Context) error,
) (err error) {
	switch s.kind {
	case "told":
		data, err := session.Broadcast(ctx, "told", contract.ClassControl, s.to, s.words(n, s.to), 8*s.size)
		*came = data
		return err
	case "message":
		d := newDirect(contract.Fixed64, s.from, s.to, s.words(n, s.from))
		d.Store = func(_ int, chunk []byte) error { *came = append(*came, chunk...); return nil }
		if s.begin {
			*end, err = session.BeginPass(ctx, d.Direct)
			return err
		}
		return session.Pass(ctx, d.Direct)
	}
	r := newReduction(contract.PlanFor(contract.Tree, session.Parties(), s.to), s.size, uint64(n+3*self))
	r.Store = func(_ int, chunk []byte) error { *came = append(*came, chunk...); return nil }
	if s.begin {
		*end, err = session.BeginReduce(ctx, r.Reduction)
		return err
	}
	return session.Reduce(ctx, r.Reduction)
}

// atOnce is the course in which every step ends before the next begins.
func (c course) atOnce() course {
	c = slices.Clone(c)
	for i := range c {
		c[i].begin = false
	}
	return c
}

// TestWhatIsTakenLateIsTheSame: whatever operations are begun and however late they are ended, each party receives what
// it receives in lockstep, both ends of each link sign the same, and the records have an order that does not depend on
// when frames come.
func TestWhatIsTakenLateIsTheSame(t *testing.T) {
	const q = 4
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCourse(rt, q)
		var came [3][q][][]byte
		var order [3][q][]protocol.Entry
		for run, c := range []course{c.atOnce(), c, c} {
			l, notebooks := recorded(t, q)
			if run == 2 {
				l.OnFrame(func(f testnet.Frame) []testnet.Frame {
					runtime.Gosched()
					return []testnet.Frame{f}
				})
			}
			errs := l.each(func(i int) (err error) {
				if came[run][i], err = c.run(t.Context(), l.sessions[i], i); err != nil {
					return err
				}
				return l.sessions[i].Finish(t.Context())
			})
			must(rt, errors.Join(errs...))
			l.Close()
			for i, n := range notebooks {
				order[run][i] = n.entries
			}
		}
		for i := range q {
			if !slices.EqualFunc(came[0][i], came[1][i], bytes.Equal) {
				rt.Fatalf("party %d received %v, in lockstep %v", i, came[1][i], came[0][i])
			}
			if !slices.Equal(order[1][i], order[2][i]) {
				rt.Fatalf("party %d recorded\n%v\nand in another run\n%v", i, order[1][i], order[2][i])
			}
		}
	})
}

// narrowMesh is a mesh whose Send waits until the peer has taken the frame, once it is narrow.
type narrowMesh struct {
	protocol.Mesh
	self   keys.ID
	narrow *bool
	taken  map[[2]keys.ID]chan struct{}
}

// Send implements protocol.Mesh.
func (m narrowMesh) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	err := m.Mesh.Send(ctx, to, parts...)
	if err != nil || !*m.narrow {
		return err
	}
	select {
	case <-m.taken[[2]keys.ID{m.self, to}]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Receive implements protocol.Mesh.
func (m narrowMesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	frame, err := m.Mesh.Receive(ctx, from, buf)
	if err != nil || !*m.narrow {
		return frame, err
	}
	select {
	case m.taken[[2]keys.ID{from, m.self}] <- struct{}{}:
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestNobodyWaitsInACircle: on links that hold nothing every course comes to its end, since whoever is about to send
// has room for what it has begun to receive.
func TestNobodyWaitsInACircle(t *testing.T) {
	const q = 3
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCourse(rt, q)
		narrow := false
		l := newTestNetwork(t, "bank", "insurer", "shop")
		taken := make(map[[2]keys.ID]chan struct{})
		for _, a := range l.IDs {
			for _, b := range l.IDs {
				taken[[2]keys.ID{a, b}] = make(chan struct{})
			}
		}
		l.wrap = func(i int, m protocol.Mesh) protocol.Mesh { return narrowMesh{m, l.IDs[i], &narrow, taken} }
		l.mustOpen(t, 1, 64)
		narrow = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		errs := l.each(func(i int) error {
			_, err := c.run(ctx, l.sessions[i], i)
			return err
		})
		must(rt, errors.Join(errs...))
		l.Close()
	})
}

// TestBegunMessagesPassBesideOthers: two parties that send to each other in turn, each before it takes what the other
// has sent, need one hop in place of one a message.
func TestBegunMessagesPassBesideOthers(t *testing.T) {
	const rounds = 10
	for _, c := range []struct {
		begin bool
		want  time.Duration
	}{{false, 2 * rounds * oneWay}, {true, oneWay}} {
		inFakeTime(t, 2, func(t *testing.T, l *testNetwork) {
			got := took(t, l, func(i int) error {
				var ends []func(context.Context) error
				for n := range 2 * rounds {
					d := newDirect(contract.Fixed64, n%2, 1-n%2, make([]byte, 8)).Direct
					if !c.begin {
						if err := l.sessions[i].Pass(t.Context(), d); err != nil {
							return err
						}
						continue
					}
					end, err := l.sessions[i].BeginPass(t.Context(), d)
					if err != nil {
						return err
					}
					ends = append(ends, end)
				}
				for _, end := range ends {
					if err := end(t.Context()); err != nil {
						return err
					}
				}
				return nil
			})
			if got != c.want {
				t.Errorf("begun %t: took %v, want %v", c.begin, got, c.want)
			}
		})
	}
}

// TestFaultsInWhatIsTakenLate: what is wrong with a frame that was read early is found when it is taken, and its sender
// is named; so is a peer that is gone, or has left and said why.
func TestFaultsInWhatIsTakenLate(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(l *testNetwork)
		want  string
	}{
		{"another kind", func(l *testNetwork) {
			l.OnFrame(func(f testnet.Frame) []testnet.Frame {
				f.Data = bytes.Replace(f.Data, []byte("share"), []byte("shape"), 1)
				return []testnet.Frame{f}
			})
		}, `operation 2 (share): shop: frame 1 refused: it belongs to operation 2 (shape)`},
		{"gone", func(l *testNetwork) { l.Kill(l.IDs[2]) }, "operation 2 (share): shop: gone: connection reset"},
		{"left", func(l *testNetwork) {
			l.sessions[2].Abort(t.Context(), &fault.Fault{Code: fault.CodeDisk})
			l.meshes[2].Close()
		}, "operation 2 (share): shop: left the session: its disk is full, or cannot be written or read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := opened(t, 64, "bank", "insurer", "shop")
			c.spoil(l)
			d := newDirect(contract.Fixed64, 2, 0, make([]byte, 640)).Direct
			if c.name == "another kind" {
				if _, err := l.sessions[2].BeginPass(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			end, err := l.sessions[0].BeginPass(t.Context(), d)
			must(t, err)
			wantStep(t, end(t.Context()), c.want, "shop")
			again := end(t.Context())
			wantStep(t, again, c.want, "shop")
			other := newDirect(contract.Fixed64, 0, 1, make([]byte, 8)).Direct
			if err := l.sessions[0].Pass(t.Context(), other); err == nil || err.Error() != again.Error() {
				t.Errorf("the session went on: %v", err)
			}
		})
	}
}

// TestLateIsBeforeCountersignatures: what has begun is taken before links are signed, by itself.
func TestLateIsBeforeCountersignatures(t *testing.T) {
	l, notebooks := recorded(t, 3)
	l.must(t, func(i int) error {
		for n := range contract.CountersignEvery + 2 {
			d := newDirect(contract.Fixed64, n%2, 1-n%2, make([]byte, 8))
			if _, err := l.sessions[i].BeginPass(t.Context(), d.Direct); err != nil {
				return err
			}
		}
		return l.sessions[i].Finish(t.Context())
	})
	for i, n := range notebooks[:2] {
		if got, want := n.count(protocol.EventReceived, "share"), (contract.CountersignEvery+2)/2; got != want {
			t.Errorf("party %d recorded %d messages, want %d", i, got, want)
		}
		signed, since := 0, 0
		for _, e := range n.entries {
			switch {
			case e.Event == protocol.EventCountersigned:
				signed++
			case e.Kind == "share" && signed == 2*2: // of the session's beginning, and after 1,024 operations
				since++
			}
		}
		if since != 3 {
			t.Errorf("party %d has %d messages after the second round of signatures, want 3", i, since)
		}
	}
}

// TestLateEndsInAnyOrder ends what has begun from the last to the first: each ends those before it.
func TestLateEndsInAnyOrder(t *testing.T) {
	l := numbered(t, 2, 64)
	l.must(t, func(i int) error {
		var ends []func(context.Context) error
		var all []*direct
		for n := range 5 {
			d := newDirect(contract.Fixed64, 1, 0, bytes.Repeat([]byte{byte(n)}, 160))
			end, err := l.sessions[i].BeginPass(t.Context(), d.Direct)
			if err != nil {
				return err
			}
			ends, all = append(ends, end), append(all, d)
		}
		order := mrand.New(mrand.NewPCG(1, 2)).Perm(len(ends))
		for _, n := range order {
			if err := ends[n](t.Context()); err != nil {
				return err
			}
			if i == 0 && !bytes.Equal(all[n].stored, bytes.Repeat([]byte{byte(n)}, 160)) {
				return fmt.Errorf("message %d is %v", n, all[n].stored)
			}
		}
		return nil
	})
}

// heldMesh counts the bytes that were received.
type heldMesh struct {
	protocol.Mesh
	bytes *int
}

// Receive implements protocol.Mesh.
func (m heldMesh) Receive(ctx context.Context, from keys.ID, buf []byte) ([]byte, error) {
	frame, err := m.Mesh.Receive(ctx, from, buf)
	*m.bytes += len(frame)
	return frame, err
}

// TestNoMoreIsHeldThanHasBegun: of frames that are longer than they can be, one is read ahead of its turn, and its
// sender is named when it is taken.
func TestNoMoreIsHeldThanHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const frames, long = 10, 1 << 20
		held := 0
		l := newTestNetwork(t, "bank", "shop")
		l.wrap = func(i int, m protocol.Mesh) protocol.Mesh {
			if i == 0 {
				return heldMesh{m, &held}
			}
			return m
		}
		l.mustOpen(t, 1, 64)
		l.OnFrame(func(f testnet.Frame) []testnet.Frame {
			f.Data = append(f.Data, make([]byte, long)...)
			return []testnet.Frame{f}
		})
		held = 0
		d := newDirect(contract.Fixed64, 1, 0, make([]byte, 64*frames)).Direct
		var ends []func(context.Context) error
		for range 2 {
			end, err := l.sessions[0].BeginPass(t.Context(), d)
			must(t, err)
			ends = append(ends, end)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range 2 {
				l.sessions[1].Pass(ctx, d)
			}
		}()
		synctest.Wait()
		if held > 2*long {
			t.Errorf("%d bytes are held of messages of %d", held, 2*d.Size)
		}
		wantStep(t, ends[0](t.Context()), "operation 2 (share): shop: chunk 0 has 1048640 bytes, want 64", "shop")
		cancel()
		synctest.Wait()
	})
}

// TestLastWordsBehindWhatHasBegun: a reason is found behind all frames that were due.
func TestLastWordsBehindWhatHasBegun(t *testing.T) {
	l := numbered(t, 2, 64)
	d := newDirect(contract.Fixed64, 1, 0, make([]byte, 64*200)).Direct
	if _, err := l.sessions[0].BeginPass(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := l.sessions[1].BeginPass(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	l.sessions[1].Abort(t.Context(), &fault.Fault{Code: fault.CodeDisk})
	l.meshes[1].Close()
	other := newDirect(contract.Fixed64, 0, 1, make([]byte, 8)).Direct
	var left *protocol.AbortError
	if err := l.sessions[0].Pass(t.Context(), other); !errors.As(err, &left) {
		t.Errorf("it failed with %v, want the reason that the peer has left", err)
	}
}
