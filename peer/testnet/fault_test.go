package testnet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// TestKillEndsEverything kills a member in the midst of everything two members can do.
func TestKillEndsEverything(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		ended := make(chan error, 2)
		b.Transport(b.IDs[0]).Handle(forever(ended))
		b.Transport(b.IDs[1]).Handle(forever(ended))
		session2 := protocol.SessionID{2}
		waits := []func() error{
			begin(func() error { _, err := b.receive(0, 1); return err }),
			begin(func() error { return b.fill(1, 0) }),
			begin(func() error { return b.call(1, 0) }),
			begin(func() error {
				_, err := b.Transport(b.IDs[1]).Open(t.Context(), session2, []keys.ID{b.IDs[0], b.IDs[2]})
				return err
			}),
		}
		own := []func() error{
			begin(func() error { _, err := b.receive(2, 0); return err }),
			begin(func() error { return b.fill(0, 2) }),
			begin(func() error { return b.call(0, 1) }),
			begin(func() error {
				_, err := b.Transport(b.IDs[0]).Open(t.Context(), session2, []keys.ID{b.IDs[1], b.IDs[2]})
				return err
			}),
		}
		synctest.Wait()
		b.Kill(b.IDs[0])
		for _, wait := range waits {
			b.wantGone(wait(), 0, "connection reset")
		}
		for _, wait := range own {
			if err := wait(); err != testnet.ErrKilled {
				t.Errorf("the killed member gets %v, want %v", err, testnet.ErrKilled)
			}
		}
		for range 2 {
			if err := <-ended; err != context.Canceled {
				t.Errorf("a handler's context ended with %v", err)
			}
		}
		b.sendAll(1, 2, "we are left")
		b.expect(1, 2, "we are left")
	})
}

// fill sends from one member to another until a Send fails.
func (b *bubble) fill(from, to int) error {
	for {
		if err := b.send(from, to, "fill"); err != nil {
			return err
		}
	}
}

// call calls one member from another.
func (b *bubble) call(from, to int) error {
	_, err := b.Transport(b.IDs[from]).Call(b.Context(), b.IDs[to], "method", nil)
	return err
}

// TestKilledMember tries everything after death.
func TestKilledMember(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.sendAll(0, 1, "under way")
		dead := b.Transport(b.IDs[0])
		b.Kill(b.IDs[0])
		b.Kill(b.IDs[0]) // harmless
		_, received := b.receive(0, 1)
		b.wantGone(received, 0, "connection reset") // what was under way is lost
		b.wantGone(b.send(1, 0, "x"), 0, "connection reset")
		b.wantGone(b.call(1, 0), 0, "connection refused")
		_, open := dead.Open(t.Context(), protocol.SessionID{3}, []keys.ID{b.IDs[1]})
		_, own := b.receive(1, 0)
		for _, err := range []error{open, own, b.send(0, 1, "x"), b.call(0, 1)} {
			if err != testnet.ErrKilled {
				t.Errorf("got %v, want %v", err, testnet.ErrKilled)
			}
		}
		if err := b.meshes[0].Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestKillBetweenFrames kills a sender from OnFrame: its frame does not arrive.
func TestKillBetweenFrames(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.OnFrame(func(f testnet.Frame) []testnet.Frame {
			if f.Index == 1 {
				b.Kill(f.From)
			}
			return []testnet.Frame{f}
		})
		b.sendAll(0, 1, "first")
		b.expect(0, 1, "first")
		if err := b.send(0, 1, "second"); err != testnet.ErrKilled {
			t.Errorf("got %v, want %v", err, testnet.ErrKilled)
		}
		_, err := b.receive(0, 1)
		b.wantGone(err, 0, "connection reset")
		if frames, size := b.Sent(b.IDs[0], b.IDs[1]); frames != 1 || size != 9 {
			t.Errorf("%d frames of %d bytes counted, want 1 of 9", frames, size)
		}
	})
}

// TestRestart gives a member a second life: a fresh transport that meets the others in new sessions.
func TestRestart(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		old := b.Transport(b.IDs[0])
		old.Handle(forever(nil))
		fresh := b.Restart(b.IDs[0]) // kills, too
		if fresh == old || b.Transport(b.IDs[0]) != fresh {
			t.Fatal("the restarted member does not have a fresh transport")
		}
		_, err := b.receive(0, 1)
		b.wantGone(err, 0, "connection reset")
		wantText(t, b.call(1, 0), "%s answered \"method\": it is not ready yet", b.IDs[0].Short())
		b.open(2)
		b.sendAll(0, 1, "back")
		b.expect(0, 1, "back")
		if frames, _ := b.Sent(b.IDs[0], b.IDs[1]); frames != 1 {
			t.Errorf("%d frames counted, want 1", frames)
		}
	})
}

// TestRestartWhileOthersWait has a member die and come back before the third has come: Open fails
// at once for who was linked, and a new session works.
func TestRestartWhileOthersWait(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		session := protocol.SessionID{2}
		wait := begin(func() error {
			_, err := b.Transport(b.IDs[1]).Open(t.Context(), session, []keys.ID{b.IDs[0], b.IDs[2]})
			return err
		})
		first := begin(func() error {
			_, err := b.Transport(b.IDs[0]).Open(t.Context(), session, []keys.ID{b.IDs[1], b.IDs[2]})
			return err
		})
		synctest.Wait()
		b.Restart(b.IDs[0])
		b.wantGone(wait(), 0, "connection reset")
		if err := first(); err != testnet.ErrKilled {
			t.Errorf("got %v, want %v", err, testnet.ErrKilled)
		}
		b.open(3)
		b.sendAll(0, 1, "back")
		b.expect(0, 1, "back")
	})
}

// TestCutAndHeal separates two of three members.
func TestCutAndHeal(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		ended := make(chan error, 1)
		b.Transport(b.IDs[1]).Handle(forever(ended))
		receive := begin(func() error { _, err := b.receive(1, 0); return err })
		call := begin(func() error { return b.call(0, 1) })
		b.sendAll(0, 1, "under way")
		synctest.Wait()
		b.Cut(b.IDs[1], b.IDs[0])
		b.wantGone(receive(), 1, "no route")
		b.wantGone(call(), 1, "no route")
		<-ended
		_, err := b.receive(0, 1)
		b.wantGone(err, 0, "no route")
		b.wantGone(b.send(1, 0, "x"), 0, "no route")
		b.wantGone(b.call(0, 1), 1, "no route")
		b.sendAll(0, 2, "a")
		b.sendAll(2, 1, "b")
		b.expect(0, 2, "a")
		b.expect(2, 1, "b")

		opened := false
		wait := begin(func() error { b.open(2); opened = true; return nil })
		synctest.Wait()
		if opened {
			t.Fatal("a session opened across a cut")
		}
		b.Heal(b.IDs[0], b.IDs[1])
		wait()
		b.sendAll(0, 1, "healed")
		b.expect(0, 1, "healed")
	})
}

// TestOpenGivesUp opens sessions to which others come and wait, and leaves them.
func TestOpenGivesUp(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		session := protocol.SessionID{0xab, 0xcd, 0xef, 0x12, 0x34}
		patient := begin(func() error {
			_, err := b.Transport(b.IDs[1]).Open(t.Context(), session, []keys.ID{b.IDs[0]})
			return err
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.Transport(b.IDs[0]).Open(ctx, session, []keys.ID{b.IDs[1], b.IDs[2]})
		wantText(t, err, "session abcdef12: %s did not come: context deadline exceeded", b.IDs[2].Short())
		if err := patient(); err != nil { // it had its only peer, for a while
			t.Error(err)
		}
	})
}

// TestMistakes are what no caller should do.
func TestMistakes(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		x, id := b.Transport(b.IDs[0]), b.IDs[1]
		_, again := x.Open(t.Context(), protocol.SessionID{1}, []keys.ID{id})
		wantText(t, again, "session 01000000 was opened before: a session is opened at most once")
		_, twice := x.Open(t.Context(), protocol.SessionID{2}, []keys.ID{id, id})
		wantText(t, twice, "session 02000000: %s is named twice: peers are the others, each once", id.Short())
		_, self := x.Open(t.Context(), protocol.SessionID{2}, []keys.ID{x.Self()})
		wantText(t, self, "session 02000000: %s is named twice: peers are the others, each once", x.Self().Short())
		wantText(t, b.call(0, 0), "%s calls itself", x.Self().Short())
		_, unknown := x.Call(t.Context(), keys.ID{}, "method", nil)
		wantText(t, unknown, "%s is gone: not in this network", keys.ID{}.Short())
		wantText(t, b.meshes[0].Send(t.Context(), keys.ID{}), "%s is not a peer of this mesh", keys.ID{}.Short())
		_, stranger := b.meshes[0].Receive(t.Context(), keys.ID{}, nil)
		wantText(t, stranger, "%s is not a peer of this mesh", keys.ID{}.Short())
		large := b.meshes[0].Send(t.Context(), id, make([]byte, protocol.MaxFrame), []byte{1})
		wantText(t, large, "frame of 4198401 bytes to %s: at most 4198400 are allowed", id.Short())
		b.meshes[0].Close()
		wantText(t, b.send(0, 1, "x"), "the mesh is closed")
	})
}

// TestOneAtATime finds two receivers, and two senders, on one link.
func TestOneAtATime(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		receiver := begin(func() error { _, err := b.receive(0, 1); return err })
		sender := begin(func() error { return b.fill(1, 0) })
		synctest.Wait()
		_, err := b.receive(0, 1)
		wantText(t, err, "two concurrent calls for one direction of one link")
		wantText(t, b.send(1, 0, "x"), "two concurrent calls for one direction of one link")
		b.meshes[1].Close()
		if receiver() == nil || sender() == nil {
			t.Error("a call survived the mesh")
		}
	})
}

// TestLinkHolds fills a link by number and by size.
func TestLinkHolds(t *testing.T) {
	for _, test := range []struct{ size, frames int }{{0, 64}, {1, 64}, {256 << 10, 64}, {1 << 20, 16},
		{protocol.MaxFrame, 3}} {
		inBubble(t, 2, func(t *testing.T, b *bubble) {
			ctx, cancel := context.WithCancel(t.Context())
			taken := 0
			wait := begin(func() error {
				for {
					if err := b.meshes[0].Send(ctx, b.IDs[1], make([]byte, test.size)); err != nil {
						return err
					}
					taken++
				}
			})
			synctest.Wait()
			if taken != test.frames {
				t.Errorf("a link holds %d frames of %d bytes, want %d", taken, test.size, test.frames)
			}
			if _, err := b.receive(0, 1); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if taken != test.frames+1 {
				t.Errorf("a link took %d frames after one was read, want 1", taken-test.frames)
			}
			cancel()
			if err := wait(); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's error", err)
			}
		})
	}
}

// TestHandlerIsToldOfTheCallersEnd gives up a call.
func TestHandlerIsToldOfTheCallersEnd(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		ended := make(chan error, 1)
		b.Transport(b.IDs[1]).Handle(forever(ended))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.Transport(b.IDs[0]).Call(ctx, b.IDs[1], "stuck", nil)
		wantText(t, err, "call \"stuck\" to %s: context deadline exceeded", b.IDs[1].Short())
		if err := <-ended; err != context.Canceled {
			t.Errorf("the handler's context ended with %v", err)
		}
	})
}
